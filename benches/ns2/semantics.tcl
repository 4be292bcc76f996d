# What ns-2's agents and queues do in the corners where simulators differ: each probe prints what it saw.
# The findings are explained in README.md. Usage: ns semantics.tcl PROBE; without one it names them.

remove-all-packet-headers
add-packet-header IP TCP Flags
Agent/TCP set window_ 10000
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 1.0
Agent/TCP set rtxcur_init_ 1.0
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false

# Two hosts, 1040-byte packets: 1 ms each at 8.32 Mbit/s, and 50 ms of delay. `script` sees $ns $a $b $tcp $sink.
proc probe {title sinkclass limit until script} {
    puts "--- $title"
    set ns [new Simulator]
    set a [$ns node]
    set b [$ns node]
    $ns duplex-link $a $b 8.32e6 0.05 DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a 1000
    set tcp [new Agent/TCP/Sack1]
    set sink [new $sinkclass]
    $ns attach-agent $a $tcp
    $ns attach-agent $b $sink
    $ns connect $tcp $sink
    set app [new Application/FTP]
    $app attach-agent $tcp
    eval $script
    $ns at 0 "$app start"
    $ns at $until "$ns halt"
    $ns run
}


# A packet's way: sent, received, dropped, as ns-2's own trace prints it.
proc show_link {ns from to} { $ns trace-queue $from $to stdout }

set which [lindex $argv 0]
proc lose {ns from to numbers} {
    set error [new ErrorModel/List]
    $error droplist $numbers
    $ns link-lossmodel $error $from $to
}

array set probes {
    limit {
        probe "a burst of 10 packets into a queue of 4 (+ enters, - leaves, d dropped, r received)" Agent/TCPSink/Sack1 4 0.08 {
            $tcp set windowInit_ 10
            show_link $ns $a $b
        }
    }
    initial {
        probe "initial window of 2, an ACK for every packet" Agent/TCPSink/Sack1 1000 0.16 {
            show_link $ns $a $b
            show_link $ns $b $a
        }
    }
    delack {
        probe "delayed ACK: packets 0, 1 and 2 in one burst" Agent/TCPSink/Sack1/DelAck 1000 0.31 {
            $tcp set windowInit_ 4
            show_link $ns $a $b
            show_link $ns $b $a
        }
    }
    rto {
        probe "every packet lost: when it is sent again" Agent/TCPSink/Sack1 1000 190 {
            lose $ns $a $b {0 1 2 3 4 5 6 7 8 9}
            show_link $ns $a $b
        }
    }
    recovery {
        probe "packets 3, 6 and 20 lost, window 20" Agent/TCPSink/Sack1 1000 0.25 {
            $tcp set windowInit_ 20
            lose $ns $a $b {3 6 20}
            show_link $ns $a $b
            show_link $ns $b $a
        }
    }
    lost_retransmission {
        probe "packet 3 lost twice, window 20" Agent/TCPSink/Sack1 1000 1.6 {
            $tcp set windowInit_ 20
            lose $ns $a $b {3 28}
            show_link $ns $a $b
            show_link $ns $b $a
        }
    }
}
# ns-2 has one simulator to a process.
set which [lindex $argv 0]
if {![info exists probes($which)]} {
    puts stderr "usage: ns semantics.tcl [join [lsort [array names probes]] |]"
    exit 2
}
eval $probes($which)
