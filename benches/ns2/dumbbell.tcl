# One dumbbell in ns-2: `flows` SACK senders and as many receivers, each behind a private access link, around one bottleneck.
# Prints one line of JSON at the end. Nothing is traced: counters are read at `warmup` and at `duration`.
# Usage: ns dumbbell.tcl key=value ...   (keys, units and defaults: the table below; what ns-2 does with them: README.md)

# ---------------------------------------------------------------------------------------------------------------- parameters
array set opt {
    flows          1
    rate           100e6
    delay          0.250
    queue          1000
    discipline     droptail
    access_rate    100e6
    access_delay   0.005
    access_queue   100
    payload        1000
    duration       200.0
    warmup         50.0
    loss           0.0
    window         1000000
    initial_window 2
    congestion     reno
    max_ssthresh   0
    delack         0
    overhead       0.0
    min_rto        1.0
    max_rto        60.0
    initial_rto    1.0
    starts         ""
    traffic        bulk
    event          210
    event_rate     64e3
    on             0.5
    off            0.5
    shape          1.5
    seed           1
    scheduler      Calendar
    all_headers    0
    monitor        1
}
# flows, queues (packets, the one being sent included), window and initial_window (packets) are counts; rates are bit/s, times
# are seconds, delays are one way; payload is bytes without headers; loss is the probability of losing a data packet after the
# bottleneck; discipline is droptail, red, which marks (adaptive, gentle, automatic thresholds for 5 ms) and switches ECN on, or
# red_drop, which drops instead;
# congestion is reno or highspeed; max_ssthresh in packets limits slow start (0: it does not); overhead is the largest random delay before a
# transmission in seconds; delack is 0 (every packet is acknowledged) or the timer in seconds; starts names a file with one start time per
# line, one line per flow (all flows start at 0 without it); traffic is bulk, or
# pareto or exponential for sources that write `event` bytes at event_rate for on seconds, and rest for off seconds, on average, with
# the shape of Pareto's distribution: TCP sends a packet for each such write; monitor=0 leaves the counters out, to see what they cost.

foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: unknown argument '$arg'; known keys: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}
set header 40                              ;# IPv4 + TCP, without options
set packet [expr {$opt(payload) + $header}]

# --------------------------------------------------------------------------------------------- how ns-2 is set up, and why
# ns-2 reserves room in every packet for the header of every protocol it knows. Keeping only those in use makes it
# faster and smaller; it changes no result. A benchmark against the default would flatter us.
if {!$opt(all_headers)} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}

Agent/TCP set packetSize_        $opt(payload)
Agent/TCP set tcpip_base_hdr_size_ $header
Agent/TCP set window_            $opt(window)          ;# the receiver's window; the default of 20 packets would be the bottleneck
Agent/TCP set windowInit_        $opt(initial_window)
Agent/TCP set windowInitOption_  1                     ;# 1: windowInit_ as it stands
Agent/TCP set syn_               false                 ;# no 40-byte first packet standing for a SYN: flows start established,
Agent/TCP set delay_growth_      false                 ;# and with windowInit_ rather than with 1 until the first ACK
Agent/TCP set tcpTick_           0.001                 ;# RTT is measured in ticks; the default of 10 ms rounds a 20 ms RTT by half
Agent/TCP set overhead_          $opt(overhead)        ;# random delay before each transmission, uniform from 0
Agent/TCP set minrto_            $opt(min_rto)         ;# RFC 6298 (2.4); default 0.2 s
Agent/TCP set maxrto_            $opt(max_rto)         ;# RFC 6298 (2.5)
Agent/TCP set rtxcur_init_       $opt(initial_rto)     ;# RFC 6298 (2.1); default 3 s
Agent/TCP set maxburst_          0                     ;# no burst limit
Agent/TCP set numdupacks_        3                     ;# RFC 5681
Agent/TCP set singledup_         1                     ;# RFC 3042, limited transmit
Agent/TCP set timestamps_        false                 ;# 40-byte headers, one RTT sample per round trip
set marking [expr {$opt(discipline) eq "red"}]
set early   [expr {$opt(discipline) in {red red_drop}}]
Agent/TCP set ecn_               $marking
Agent/TCP set windowOption_      1                     ;# cwnd += 1/cwnd per ACK in congestion avoidance
Agent/TCP set max_ssthresh_      $opt(max_ssthresh)    ;# RFC 3742; 0: off
if {$opt(congestion) eq "highspeed"} {
    Agent/TCP set windowOption_  8                     ;# RFC 3649, with the parameters of LBNL-52549, table 5.3
    Agent/TCP set low_window_    31
    Agent/TCP set high_window_   83000
    Agent/TCP set high_p_        0.0000001
    Agent/TCP set high_decrease_ 0.1
}
Agent/TCP set maxcwnd_           0                     ;# unlimited
Agent/TCPSink set maxSackBlocks_ 3                     ;# 8 bytes of ACK each
Agent/TCPSink set packetSize_    40
Queue/DropTail set queue_in_bytes_ false
Queue/DropTail set drop_front_   false
# LBNL-52549, table 5.1: adaptive, gentle RED that marks; 0 stands for what follows from the rate and the target delay.
Queue/RED set adaptive_          1
Queue/RED set gentle_            true
Queue/RED set setbit_            $marking
Queue/RED set queue_in_bytes_    false                 ;# packets; the defaults are bytes, by a mean packet of 500 B
Queue/RED set bytes_             false
Queue/RED set thresh_            0
Queue/RED set maxthresh_         0
Queue/RED set q_weight_          0
Queue/RED set bottom_            0.0001
Queue/RED set targetdelay_       0.005
Queue/RED set drop_tail_         true

# Every new link is looked up in the list of all links for the animator, which is not used: time quadratic in the flows.
Simulator instproc register-nam-linkconfig link {}

set ns [new Simulator]
$ns use-scheduler $opt(scheduler)
# All-pairs routing over 10,000 hosts would take hours and gigabytes. Nodes route by hand here: hosts to their router,
# routers to their hosts and to each other by default.
$ns rtproto Manual
$defaultRNG seed $opt(seed)

# ----------------------------------------------------------------------------------------------------------------- topology
proc route {at next} { [$at get-module Manual] add-route-to-adj-node $next }
proc route_default {at next} { [$at get-module Manual] add-route-to-adj-node -default $next }

proc duplex {a b rate delay limit {discipline DropTail}} {
    global ns
    $ns duplex-link $a $b $rate $delay $discipline
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
}

# Packets dropped at a link, counted by a monitor that several links may share. It sees only the drops.
proc count_drops {from to monitor} {
    global ns
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $monitor
    $snoop target [$ns set nullAgent_]
    [[$ns link $from $to] queue] drop-target $snoop
}

set left  [$ns node]
set right [$ns node]
duplex $left $right $opt(rate) $opt(delay) $opt(queue) [expr {$early ? "RED" : "DropTail"}]
route_default $left $right
route_default $right $left

# `monitor-queue` would integrate the queue length at every packet as well, which is not asked for: counters only.
set bottleneck   [new QueueMonitor]
set access_fwd   [new QueueMonitor]
set access_back  [new QueueMonitor]
set reverse      [new QueueMonitor]
set random_loss  [new QueueMonitor]
if {$opt(monitor)} {
    [$ns link $left $right] attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] [new SnoopQueue/Drop] $bottleneck
    count_drops $right $left $reverse
}

if {$opt(loss) > 0} {
    set error [new ErrorModel]
    $error set rate_ $opt(loss)
    $error unit pkt
    set draw [new RandomVariable/Uniform]
    $draw use-rng [new RNG]
    $error ranvar $draw
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $random_loss
    $snoop target [$ns set nullAgent_]
    $ns link-lossmodel $error $left $right
    $error drop-target $snoop
}

# -------------------------------------------------------------------------------------------------------------------- flows
set starts {}
if {$opt(starts) ne ""} {
    set file [open $opt(starts)]
    set starts [split [string trim [read $file]] \n]
    close $file
    if {[llength $starts] != $opt(flows)} {
        puts stderr "dumbbell.tcl: $opt(starts) has [llength $starts] start times for $opt(flows) flows"
        exit 2
    }
}

for {set i 0} {$i < $opt(flows)} {incr i} {
    set host [$ns node]
    set peer [$ns node]
    duplex $host $left  $opt(access_rate) $opt(access_delay) $opt(access_queue)
    duplex $right $peer $opt(access_rate) $opt(access_delay) $opt(access_queue)
    route_default $host $left
    route_default $peer $right
    route $left $host
    route $right $peer
    if {$opt(monitor)} {
        count_drops $host $left $access_fwd
        count_drops $right $peer $access_fwd
        count_drops $peer $right $access_back
        count_drops $left $host $access_back
    }

    set sender($i) [new Agent/TCP/Sack1]
    if {$opt(delack) > 0} {
        set sink [new Agent/TCPSink/Sack1/DelAck]
        $sink set interval_ $opt(delack)
    } else {
        set sink [new Agent/TCPSink/Sack1]
    }
    $ns attach-agent $host $sender($i)
    $ns attach-agent $peer $sink
    $ns connect $sender($i) $sink
    switch $opt(traffic) {
        bulk { set app [new Application/FTP] }
        pareto - exponential {
            set app [new Application/Traffic/[string totitle $opt(traffic)]]
            $app set packetSize_ $opt(event)
            $app set rate_       $opt(event_rate)
            $app set burst_time_ $opt(on)
            $app set idle_time_  $opt(off)
            if {$opt(traffic) eq "pareto"} { $app set shape_ $opt(shape) }
        }
        default {
            puts stderr "dumbbell.tcl: unknown traffic '$opt(traffic)'; known: bulk, pareto, exponential"
            exit 2
        }
    }
    $app attach-agent $sender($i)
    set start [expr {[llength $starts] ? [lindex $starts $i] : 0.0}]
    $ns at $start "$app start"
}

# ----------------------------------------------------------------------------------------------------------------- counters
# CPU seconds of this process so far: to the nanosecond where the kernel keeps them so, else in clock ticks of 10 ms.
proc cpu_seconds {} {
    if {![catch {open /proc/self/schedstat} file]} {
        set seconds [expr {[lindex [read $file] 0] / 1e9}]
    } else {
        set file [open /proc/self/stat]
        set fields [split [lindex [split [read $file] )] end]]
        set seconds [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
    }
    close $file
    return [format %.4f $seconds]
}

# ack_ is the number of the highest packet acknowledged in sequence, counted from 0: it cannot overflow, while the receivers'
# 32-bit byte counters do after 2 GB.
proc snapshot {name} {
    global opt sender bottleneck access_fwd access_back reverse random_loss
    upvar #0 $name now
    set now(sent) 0
    set now(retransmissions) 0
    set now(timeouts) 0
    set now(reductions) 0
    set now(acks) 0
    set now(acked) {}
    for {set i 0} {$i < $opt(flows)} {incr i} {
        incr now(sent)            [$sender($i) set ndatapack_]
        incr now(retransmissions) [$sender($i) set nrexmitpack_]
        incr now(timeouts)        [$sender($i) set nrexmit_]
        incr now(reductions)      [$sender($i) set ncwndcuts_]
        incr now(acks)            [$sender($i) set nackpack_]
        lappend now(acked)        [expr {[$sender($i) set ack_] + 1}]
    }
    set now(arrivals)     [$bottleneck set parrivals_]
    set now(departures)   [$bottleneck set pdepartures_]
    set now(drops)        [$bottleneck set pdrops_]
    set now(random)       [$random_loss set pdrops_]
    set now(access_data)  [$access_fwd set pdrops_]
    set now(access_acks)  [expr {[$access_back set pdrops_] + [$reverse set pdrops_]}]
    # Losses on the link count as delivered by the queue, not to the receivers.
    set now(delivered)    [expr {$now(departures) - $now(random)}]
}

proc json_object {pairs} {
    set parts {}
    foreach {key value} $pairs { lappend parts "\"$key\": $value" }
    return "{[join $parts {, }]}"
}

# The largest resident set of this process in bytes, as Linux accounts it. (What a parent is told of its child includes the
# parent's own size at the time of the fork.)
proc peak_memory {} {
    set file [open /proc/self/status]
    set found [regexp {VmHWM:\s+(\d+) kB} [read $file] -> kilobytes]
    close $file
    return [expr {$found ? $kilobytes * 1024 : 0}]
}

proc finish {} {
    global opt packet setup_cpu at_warmup at_end
    snapshot at_end
    foreach key [array names at_end] {
        if {$key ne "acked"} { set measured($key) [expr {$at_end($key) - $at_warmup($key)}] }
    }
    set seconds [expr {$opt(duration) - $opt(warmup)}]
    set goodput {}
    set unique 0
    foreach before $at_warmup(acked) after $at_end(acked) {
        lappend goodput [format %.0f [expr {($after - $before) * 8.0 * $opt(payload) / $seconds}]]
        incr unique $after
    }
    set offered $measured(arrivals)
    set utilisation [expr {$measured(departures) * 8.0 * $packet / ($opt(rate) * $seconds)}]
    puts [json_object [list \
        simulator            "\"ns-2\"" \
        flows                $opt(flows) \
        duration_s           $opt(duration) \
        warmup_s             $opt(warmup) \
        data_packets_delivered $at_end(delivered) \
        data_packets_acked   $unique \
        data_packets_sent    $at_end(sent) \
        acks_received        $at_end(acks) \
        retransmissions      $at_end(retransmissions) \
        timeouts             $at_end(timeouts) \
        window_reductions    $at_end(reductions) \
        bottleneck_drops     $at_end(drops) \
        access_drops_data    $at_end(access_data) \
        drops_acks           $at_end(access_acks) \
        random_losses        $at_end(random) \
        measured_arrivals    $measured(arrivals) \
        measured_drops       $measured(drops) \
        measured_timeouts    $measured(timeouts) \
        measured_retransmissions $measured(retransmissions) \
        utilisation          [format %.6f $utilisation] \
        drop_rate            [format %.8f [expr {$offered ? double($measured(drops)) / $offered : 0.0}]] \
        loss_rate            [format %.8f [expr {$offered ? double($measured(drops) + $measured(random)) / $offered : 0.0}]] \
        setup_cpu_s          $setup_cpu \
        peak_memory_bytes    [peak_memory] \
        goodput_bps          "\[[join $goodput {, }]\]"]]
    exit 0
}

set setup_cpu [cpu_seconds]
$ns at $opt(warmup) "snapshot at_warmup"
$ns at $opt(duration) "finish"
$ns run
