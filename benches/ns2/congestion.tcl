# One flow over a path that loses packets at random, in ns-2: its congestion controls side by side with ours. Prints one line of
# JSON: when the measurement began and ended, and what was acknowledged in between.
# Usage: ns congestion.tcl key=value ...   (keys, units and defaults: the table below; what ns-2 does with them: README.md)

array set opt {
    agent     Linux
    control   reno
    rate      10e9
    delay     0.05
    queue     83333
    payload   1460
    loss      1e-4
    delack    0
    warmup    100000
    packets   1000000
    seed      1
}
# agent is Linux (`control` names one of its modules) or HighSpeed (ns-2's own, windowOption_ 8, with the low_window of RFC 3649);
# rate in bit/s, delay one way in seconds, queue in packets, payload in bytes without headers; loss is a probability per
# packet; delack is 0 or the timer in seconds; warmup and packets count what is acknowledged before and while measuring.

foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "congestion.tcl: unknown argument '$arg'; known keys: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags

Agent/TCP set packetSize_   $opt(payload)
Agent/TCP set window_       10000000         ;# never the limit
Agent/TCP set windowInit_   2
Agent/TCP set syn_          false
Agent/TCP set delay_growth_ false
Agent/TCP set tcpTick_      0.001
Agent/TCP set minrto_       1.0
Agent/TCP set maxrto_       60.0
Agent/TCP set timestamps_   true             ;# the modules measure the round trip by them
Agent/TCP set windowOption_ 1

set ns [new Simulator]
$defaultRNG seed $opt(seed)
set left  [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(queue)
$ns queue-limit $right $left $opt(queue)

# Random loss behind the link, as in dumbbell.tcl.
set uniform [new RandomVariable/Uniform]
$uniform use-rng [new RNG]
set random [new ErrorModel]
$random unit pkt
$random set rate_ $opt(loss)
$random ranvar $uniform
$random drop-target [new Agent/Null]
$ns link-lossmodel $random $left $right

# Packet 1000 is lost in every run: that ends slow start. It would otherwise overshoot by tens of thousands of packets where losses
# are rare, from which the Linux agent recovers a few packets per round trip.
set first [new ErrorModel/List]
$first unit pkt
$first droplist {1000}
$first drop-target [new Agent/Null]
$ns lossmodel $first $left $right

if {$opt(agent) eq "Linux"} {
    set sender [new Agent/TCP/Linux]
    $ns at 0 "$sender select_ca $opt(control)"
} else {
    set sender [new Agent/TCP/Sack1]
    $sender set windowOption_  8
    $sender set low_window_    38
    $sender set high_window_   83000
    $sender set high_p_        0.0000001
    $sender set high_decrease_ 0.1
}
set sink_class [expr {$opt(delack) > 0 ? "Agent/TCPSink/Sack1/DelAck" : "Agent/TCPSink/Sack1"}]
set sink [new $sink_class]
$sink set ts_echo_rfc1323_ true
if {$opt(delack) > 0} { $sink set interval_ $opt(delack) }
$ns attach-agent $left $sender
$ns attach-agent $right $sink
$ns connect $sender $sink
set source [new Application/FTP]
$source attach-agent $sender
$ns at 0.001 "$source start"

# Looks once a second whether enough is acknowledged.
proc watch {} {
    global ns opt sender began acked_before cuts_before
    set acked [$sender set ack_]
    if {![info exists began] && $acked >= $opt(warmup)} {
        set began [$ns now]
        set acked_before $acked
        set cuts_before [$sender set ncwndcuts_]
    }
    if {[info exists began] && $acked >= $acked_before + $opt(packets)} {
        puts [format {{"began_s": %.0f, "ended_s": %.0f, "acked_packets": %d, "cuts": %d}} \
            $began [$ns now] [expr {$acked - $acked_before}] [expr {[$sender set ncwndcuts_] - $cuts_before}]]
        exit 0
    }
    $ns at [expr {[$ns now] + 1.0}] watch
}
$ns at 1.0 watch
$ns run
