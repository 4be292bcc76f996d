# Web sessions in ns-2 (PagePool/WebTraf) over one link: `sessions` readers on one side, as many servers on the other.
# Prints one line of JSON at the end: what the link carried towards the readers between `warmup` and `duration`.
# Usage: ns web.tcl key=value ...   (keys, units and defaults: the table below)

array set opt {
    sessions       10
    rate           100e6
    delay          0.050
    access_rate    1e9
    access_delay   0.010
    queue          10000
    payload        1460
    think          4.0
    objects        10
    spacing        0.01
    object         10
    duration       500.0
    warmup         50.0
    initial_window 2
    seed           1
}
# rates are bit/s, delays (one way) and times seconds; payload is bytes without headers; think and spacing are means of
# exponential distributions; objects is the number on each page; object is the mean of their exponential sizes in packets.

foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "web.tcl: unknown argument '$arg'; known keys: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags
Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set windowInit_ $opt(initial_window)
Agent/TCP set window_ 100000
Agent/TCP set syn_ false
ns-random $opt(seed)

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(queue)
$ns queue-limit $right $left $opt(queue)

# Counts the answers: ns-2 keeps no number of them.
set answers 0
Class CountedWeb -superclass PagePool/WebTraf
CountedWeb instproc launch-resp {args} {
    global answers
    incr answers
    eval $self next $args
}

set pool [new CountedWeb]
$pool set-num-client $opt(sessions)
$pool set-num-server $opt(sessions)
for {set i 0} {$i < $opt(sessions)} {incr i} {
    foreach {side router} [list client $right server $left] {
        set host [$ns node]
        $ns duplex-link $host $router $opt(access_rate) $opt(access_delay) DropTail
        $ns queue-limit $host $router $opt(queue)
        $ns queue-limit $router $host $opt(queue)
        $pool set-$side $i $host
    }
}
$pool set-num-session $opt(sessions)
for {set i 0} {$i < $opt(sessions)} {incr i} {
    set think [new RandomVariable/Exponential]
    $think set avg_ $opt(think)
    set objects [new RandomVariable/Constant]
    $objects set val_ $opt(objects)
    set spacing [new RandomVariable/Exponential]
    $spacing set avg_ $opt(spacing)
    set object [new RandomVariable/Exponential]
    $object set avg_ $opt(object)
    $pool create-session $i 100000000 0.0 $think $objects $spacing $object
}

set monitor [$ns monitor-queue $left $right ""]
proc counters {} {
    global monitor answers
    return [list [$monitor set bdepartures_] $answers]
}
$ns at $opt(warmup) {set before [counters]}
$ns at $opt(duration) {
    set after [counters]
    set span [expr {$opt(duration) - $opt(warmup)}]
    set bits [expr {8.0 * ([lindex $after 0] - [lindex $before 0])}]
    set count [expr {[lindex $after 1] - [lindex $before 1]}]
    puts [format {{"load_bps": %.1f, "answers": %d}} [expr {$bits / $span}] $count]
    exit 0
}
$ns run
