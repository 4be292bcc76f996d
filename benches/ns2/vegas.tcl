# One flow over a lossy path in ns-2, without delayed ACKs: 10 Mbit/s, 50 ms one way, 500 packets of queue, 1000 B per segment.
# Prints goodput in kbit/s from 20 to 220 s and the timeouts in that time, as JSON.
# Usage: ns vegas.tcl AGENT LOSS SEED   (AGENT: Vegas, Newreno or Sack1; LOSS: probability of losing a data packet)
foreach {agent loss seed} $argv break
remove-all-packet-headers
add-packet-header IP TCP Flags
Agent/TCP set packetSize_   1000
Agent/TCP set window_       1000
Agent/TCP set windowInit_   2
Agent/TCP set syn_          false
Agent/TCP set delay_growth_ false
Agent/TCP set tcpTick_      0.001
Agent/TCP set minrto_       1.0
Agent/TCP set maxrto_       60
Agent/TCP set rtxcur_init_  1.0
Agent/TCP set singledup_    1
set ns [new Simulator]
$defaultRNG seed $seed

set source [$ns node]
set target [$ns node]
$ns duplex-link $source $target 10e6 0.05 DropTail
$ns queue-limit $source $target 500
$ns queue-limit $target $source 500
set uniform [new RandomVariable/Uniform]
$uniform use-rng [new RNG]
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
$errors ranvar $uniform
$errors drop-target [new Agent/Null]
$ns link-lossmodel $errors $source $target

set sender [new Agent/TCP/$agent]
set sink [new [expr {$agent eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
$ns attach-agent $source $sender
$ns attach-agent $target $sink
$ns connect $sender $sink
set transfer [new Application/FTP]
$transfer attach-agent $sender
$ns at 0.001 "$transfer start"
$ns at 20 {
    set acked [$sender set ack_]
    set timeouts [$sender set nrexmit_]
}
$ns at 220 {
    set goodput [expr {([$sender set ack_] - $acked) * 8.0 / 200}]
    puts "{\"goodput_kbps\": $goodput, \"timeouts\": [expr {[$sender set nrexmit_] - $timeouts}]}"
    exit 0
}
$ns run
