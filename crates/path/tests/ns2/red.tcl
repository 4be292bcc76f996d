# A RED queue under traffic that does not react (on/off and Poisson-like sources of several packet sizes), or that does (TCP with ECN).
# Usage: ns red.tcl TRACE AVERAGES SECONDS SEED {NAME VALUE ...} [tcp]
#   TRACE     every arrival, departure and drop of the queue
#   AVERAGES  the average queue every 100 ms: time, average, max_p
#   NAME VALUE ...  variables of Queue/RED
set trace [open [lindex $argv 0] w]
set averages [open [lindex $argv 1] w]
set seconds [lindex $argv 2]
ns-random [lindex $argv 3]
foreach {name value} [lindex $argv 4] { Queue/RED set $name $value }
Queue set limit_ 1000

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 1Mb 10ms RED
set red [[$ns link $left $right] queue]
$ns trace-queue $left $right $trace

proc source {kind size rate start} {
    global ns left right
    set udp [new Agent/UDP]
    $udp set packetSize_ $size
    set sink [new Agent/Null]
    $ns attach-agent $left $udp
    $ns attach-agent $right $sink
    $ns connect $udp $sink
    set traffic [new Application/Traffic/$kind]
    $traffic set packetSize_ $size
    $traffic set rate_ $rate
    if {$kind == "CBR"} {
        $traffic set random_ 1
    } else {
        $traffic set burst_time_ 4s
        $traffic set idle_time_ 6s
    }
    $traffic attach-agent $udp
    $ns at $start "$traffic start"
}
# A transfer without end that answers marks, with ACKs over a link of their own.
proc transfer {size start} {
    global ns left right
    set tcp [new Agent/TCP/Sack1]
    $tcp set packetSize_ $size
    $tcp set ecn_ 1
    $tcp set window_ 1000
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $left $tcp
    $ns attach-agent $right $sink
    $ns connect $tcp $sink
    set traffic [new Application/FTP]
    $traffic attach-agent $tcp
    $ns at $start "$traffic start"
}
if {[lindex $argv 5] == "tcp"} {
    $ns simplex-link $right $left 10Mb 40ms DropTail
    for {set i 0} {$i < 8} {incr i} {
        transfer [lindex {217 469 981} [expr $i % 3]] [expr 0.1 * $i]
    }
} else {
    # 110 kbit/s always, and 20 sources of 98 kbit/s that are on 40 % of the time. Sizes are prime, so that idle times are no
    # multiples of a transmission time, which ns-2 would round up or down by chance.
    source CBR 503 0.06Mb 0.0
    source CBR 1499 0.05Mb 0.1
    for {set i 0} {$i < 20} {incr i} {
        source Exponential [lindex {257 509 1021} [expr $i % 3]] 0.0983Mb [expr 0.1 * $i]
    }
}

proc sample {} {
    global ns red averages
    puts $averages "[$ns now] [$red set ave_] [$red set cur_max_p_]"
    $ns at [expr [$ns now] + 0.1] sample
}
$ns at 0.1 sample
$ns at $seconds { close $trace; close $averages; exit 0 }
$ns run
