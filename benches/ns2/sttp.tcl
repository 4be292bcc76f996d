# Experiment 2 of the STTP study in ns-2: greedy one-way TCP sources, one every 2 s, over a dumbbell with packets of 1000 bytes in all and
# a window of 20, as ns-2 of 1999 has them by default. Prints bytes offered to the bottleneck and dropped there, as one line of JSON.
# Usage: ns sttp.tcl key=value ...
array set opt {
    agent     Reno
    sources   10
    rate      2e6
    access    10e6
    delay     0.001
    queue     128
    duration  900.0
    interval  2.0
    first     0.1
    seed      1
    trace     ""
    min_rto   0.2
}
# agent is Reno or Vegas; trace names a file in ns-2's format that each source plays from a random record on, instead of greedy data.
foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "sttp.tcl: unknown argument '$arg'; known keys: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}
remove-all-packet-headers
add-packet-header IP TCP Flags

# Packets have 1000 bytes with their headers, ACKs 40; a clock of 100 ms; the first RTO is 6 s.
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 20
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ $opt(min_rto)
Agent/TCP set maxrto_ 64
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set singledup_ 0
Agent/TCP set overhead_ 0
Agent/TCP set syn_ false

set ns [new Simulator]
$defaultRNG seed $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(queue)
$ns queue-limit $right $left $opt(queue)
set monitor [$ns monitor-queue $left $right ""]
if {$opt(trace) ne ""} {
    set file [new Tracefile]
    $file filename $opt(trace)
}
for {set i 0} {$i < $opt(sources)} {incr i} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left $opt(access) $opt(delay) DropTail
    $ns duplex-link $right $to $opt(access) $opt(delay) DropTail
    $ns queue-limit $from $left $opt(queue)
    $ns queue-limit $right $to $opt(queue)
    set tcp [new Agent/TCP/$opt(agent)]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    if {$opt(trace) eq ""} {
        set source [new Application/FTP]
    } else {
        set source [new Application/Traffic/Trace]
        $source attach-tracefile $file
    }
    $source attach-agent $tcp
    $ns at [expr {$opt(first) + $i * $opt(interval) + [$starts uniform 0 0.1]}] "$source start"
}
$ns at $opt(duration) {
    puts "{\"offered_bytes\": [$monitor set barrivals_], \"dropped_bytes\": [$monitor set bdrops_]}"
    exit 0
}
$ns run
