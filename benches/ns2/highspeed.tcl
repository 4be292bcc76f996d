# One cell of the HighSpeed TCP study (LBNL-52549) in ns-2: long SACK flows, some of them HighSpeed (windowOption_ 8), between the two
# ends of one bottleneck with RED (adaptive, gentle, ECN, all automatic) or DropTail; random loss before the queue; perturbations.
# Prints one line of JSON: what the second half of the run gave, and the first cut of the first flow. Keys and defaults: the table below.
array set opt {
    hstcp 1  regtcp 0  perturbations 0
    queue red  rate 1000e6  delay 0.050  limit 8333  loss 0.0
    duration 300.0  spread 15.0  max_ssthresh 100
    low_window 31  high_window 83000  high_p 1e-7  high_decrease 0.1
    min_rto 1.0  overhead 0.000008  seed 1  trace ""  starts ""  bursts ""
}
# Counts of flows; rate in bit/s; delay and duration in s; limit in
# packets. Long flows start uniformly from 0 to `spread`, perturbations uniformly over the run, or when `starts` and `bursts` say: lists of
# times in s with commas. `trace` names a file for time and cwnd of all long flows every 0.05 s.
foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "highspeed.tcl: unknown argument '$arg'; known keys: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags
Agent/TCP set ecn_               1
Agent/TCP set packetSize_        1460
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set window_            100000
Agent/TCP set overhead_          $opt(overhead)
Agent/TCP set windowInit_        2
Agent/TCP set windowInitOption_  1
Agent/TCP set syn_               false
Agent/TCP set delay_growth_      false
Agent/TCP set tcpTick_           0.01
Agent/TCP set minrto_            $opt(min_rto)
Agent/TCP set timestamps_        false
Agent/TCP set max_ssthresh_      $opt(max_ssthresh)
Queue/RED set thresh_            0
Queue/RED set maxthresh_         0
Queue/RED set q_weight_          0
Queue/RED set gentle_            true
Queue/RED set adaptive_          1
Queue/RED set bottom_            0.0001
Queue/RED set setbit_            true
Queue/RED set drop_tail_         false
Queue/RED set targetdelay_       0.005
Queue/RED set queue_in_bytes_    false
Queue/RED set bytes_             false

set ns [new Simulator]
$ns use-scheduler Calendar
$defaultRNG seed $opt(seed)
set n1 [$ns node]
set n2 [$ns node]
set discipline [expr {$opt(queue) eq "red" ? "RED" : "DropTail"}]
$ns duplex-link $n1 $n2 $opt(rate) $opt(delay) $discipline
$ns queue-limit $n1 $n2 $opt(limit)
$ns queue-limit $n2 $n1 $opt(limit)

# Random loss in front of the queue: the first thing that a packet for the link meets.
if {$opt(loss) > 0} {
    set error [new ErrorModel]
    $error set rate_ $opt(loss)
    $error unit pkt
    set draw [new RandomVariable/Uniform]
    set generator [new RNG]
    $generator seed [expr {$opt(seed) + 1000}]
    $draw use-rng $generator
    $error ranvar $draw
    $error drop-target [new Agent/Null]
    set link [$ns link $n1 $n2]
    $error target [$link set head_]
    $link set head_ $error
}

set link [$ns link $n1 $n2]
set monitor [new QueueMonitor/ED]
$link attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] [new SnoopQueue/Drop] $monitor
if {$opt(queue) eq "red"} {
    set early [new SnoopQueue/EDrop]
    $early set-monitor $monitor
    $early target [$ns set nullAgent_]
    [$link queue] early-drop-target $early
}

set uniform [new RandomVariable/Uniform]
set starts [new RNG]
$starts seed [expr {$opt(seed) + 2000}]
$uniform use-rng $starts
$uniform set min_ 0.0
$uniform set max_ 1.0

proc flow {name kind start} {
    global ns n1 n2 opt sender
    set sender($name) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    if {$kind eq "hstcp"} {
        $sender($name) set windowOption_ 8
        $sender($name) set low_window_ $opt(low_window)
        $sender($name) set high_window_ $opt(high_window)
        $sender($name) set high_p_ $opt(high_p)
        $sender($name) set high_decrease_ $opt(high_decrease)
    }
    if {$kind eq "perturbation"} { $sender($name) set max_ssthresh_ 0 }
    $ns attach-agent $n1 $sender($name)
    $ns attach-agent $n2 $sink
    $ns connect $sender($name) $sink
    set app [new Application/FTP]
    $app attach-agent $sender($name)
    $ns at $start "$app start"
    if {$kind eq "perturbation"} { $ns at [expr {$start + 1.6}] "$app stop; $sender($name) reset" }
}
foreach kind {hstcp regtcp} {
    for {set i 0} {$i < $opt($kind)} {incr i} {
        set drawn [expr {[$uniform value] * $opt(spread)}]
        set given [lindex [split $opt(starts) ,] [expr {$i + ($kind eq "regtcp") * $opt(hstcp)}]]
        flow $kind,$i $kind [expr {$given eq "" ? $drawn : $given}]
    }
}
for {set i 0} {$i < $opt(perturbations)} {incr i} {
    set drawn [expr {[$uniform value] * $opt(duration)}]
    set given [lindex [split $opt(bursts) ,] $i]
    flow perturbation,$i perturbation [expr {$given eq "" ? $drawn : $given}]
}

proc total {kind variable} {
    global sender opt
    set sum 0
    for {set i 0} {$i < $opt($kind)} {incr i} { set sum [expr {$sum + [$sender($kind,$i) set $variable]}] }
    return $sum
}
proc snapshot {name} {
    global at monitor
    foreach kind {hstcp regtcp} {
        foreach variable {ack_ ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_ necnresponses_} {
            set at($name,$kind,$variable) [total $kind $variable]
        }
    }
    foreach variable {parrivals_ pdepartures_ pdrops_ pmarks_} { set at($name,$variable) [$monitor set $variable] }
}

# The first cut of the first flow: its time, and the window before.
set cut_time -1
set cut_cwnd -1
set before 0
set of [expr {$opt(hstcp) ? "hstcp,0" : "regtcp,0"}]
proc watch {} {
    global ns sender of before cut_time cut_cwnd
    set cwnd [$sender($of) set cwnd_]
    if {[$sender($of) set ncwndcuts_] > 0} {
        set cut_time [$ns now]
        set cut_cwnd $before
        return
    }
    set before $cwnd
    $ns at [expr {[$ns now] + 0.01}] watch
}
$ns at 0.01 watch
if {$opt(trace) ne ""} {
    set file [open $opt(trace) w]
    proc trace {} {
        global ns sender opt file
        set line [format %.2f [$ns now]]
        foreach kind {hstcp regtcp} {
            for {set i 0} {$i < $opt($kind)} {incr i} { append line " [format %.1f [$sender($kind,$i) set cwnd_]]" }
        }
        puts $file $line
        $ns at [expr {[$ns now] + 0.05}] trace
    }
    $ns at 0.05 trace
}

proc report {} {
    global at opt cut_time cut_cwnd monitor
    snapshot end
    set seconds [expr {$opt(duration) / 2}]
    set carries [expr {$opt(rate) * $seconds / 12000.0}]
    set fields {}
    foreach kind {hstcp regtcp} {
        foreach {label variable} {delivered ack_ sent ndatapack_ retransmitted nrexmitpack_ timeouts nrexmit_ cuts ncwndcuts_ ecn necnresponses_} {
            set value [expr {$at(end,$kind,$variable) - $at(half,$kind,$variable)}]
            lappend fields "\"${kind}_$label\": $value"
            if {$label eq "delivered"} { lappend fields "\"${kind}_lu\": [format %.3f [expr {100.0 * $value / $carries}]]" }
        }
    }
    foreach {label variable} {departures pdepartures_ drops pdrops_ marks pmarks_} {
        lappend fields "\"$label\": [expr {$at(end,$variable) - $at(half,$variable)}]" "\"first_$label\": $at(half,$variable)"
    }
    lappend fields "\"utilisation\": [format %.3f [expr {100.0 * ($at(end,pdepartures_) - $at(half,pdepartures_)) / $carries}]]"
    lappend fields "\"cut_time\": $cut_time" "\"cut_cwnd\": $cut_cwnd"
    puts "{[join $fields {, }]}"
    exit 0
}
$ns at [expr {$opt(duration) / 2}] { snapshot half }
$ns at $opt(duration) report
$ns run
