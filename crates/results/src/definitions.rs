//! Every metric's name, unit, title and definition, in one place: results, tables, plots and the reference use these.

use crate::metrics::metrics;

metrics! {
    GOODPUT_BPS: "goodput_bps", "bit/s", "Goodput",
        "Payload delivered in order to the receiving application (over UDP that of each datagram once, as it comes), in bits, over the time in which the flow was active \
         while measured (from its start or the end of the warm-up to its completion, stop or the end of the run). Of a \
         group or a run: the sum over its flows of bits delivered, over the measured time. Data that waited for a hole to be \
         filled when the warm-up ended counts when it is delivered, so that a short time can show more than the link carries.";
    GOODPUT_MAX_BPS: "goodput_max_bps", "bit/s", "Largest goodput of an interval",
        "Payload that arrived in order, in bits, in one interval of `run.sample`, over its length: the largest of the intervals \
         that lie after the warm-up. Of a group or a run: the largest of its flows. Only \
         where `run.peak_goodput` asks for it.";
    THROUGHPUT_BPS: "throughput_bps", "bit/s", "Throughput",
        "Of a flow: payload bits sent, retransmissions included, over its active measured time. Of a link: bits \
         transmitted, headers included, over the measured time.";
    DELIVERED_BYTES: "delivered_bytes", "B", "Delivered",
        "Payload bytes delivered in order to the application while measured; over UDP those of each datagram once, as it comes.";
    SENT_PACKETS: "sent_packets", "", "Data packets sent",
        "Segments with payload that left the sender while measured.";
    RETRANSMITTED_PACKETS: "retransmitted_packets", "", "Retransmitted packets",
        "Segments with payload that were sent again while measured.";
    RETRANSMISSION_RATE: "retransmission_rate", "", "Retransmission rate",
        "Retransmitted segments over segments sent, while measured.";
    RECEIVED_PACKETS: "received_packets", "", "Data packets received",
        "Segments with payload that reached the receiver's host while measured, duplicates included: the packets sent PS of \
         the HighSpeed TCP study (section 5), which counts those that left the bottleneck.";
    LOST_PACKETS: "lost_packets", "", "Lost packets",
        "The flow's data packets that were dropped anywhere, for any cause, while measured, whoever had sent them: the sender, or \
         a middlebox for the flow.";
    LOSS_RATE: "loss_rate", "", "Loss rate",
        "Lost data packets over data packets offered to the path, while measured: those that the sender has sent, and those that \
         middleboxes have sent for the flow.";
    MARKED_PACKETS: "marked_packets", "", "Marked packets",
        "Data packets that reached the receiver's host with congestion experienced (RFC 3168) while measured.";
    CONGESTION_EVENTS: "congestion_events", "", "Congestion events",
        "Reductions of the congestion window while measured: fast retransmits, timeouts (back-offs included) and ECN \
         reactions.";
    CONGESTION_EVENT_RATE: "congestion_event_rate", "", "Congestion event rate",
        "Congestion events over data packets sent, while measured: the p of response functions.";
    FIRST_CONGESTION_EVENT_S: "first_congestion_event_s", "s", "First congestion event",
        "Time of the first congestion event (reduction of the window) while measured, from the start of the run; of a \
         group the first of all flows.";
    LAST_CONGESTION_EVENT_S: "last_congestion_event_s", "s", "Last congestion event",
        "Time of the last congestion event while measured; of a group the last of all flows.";
    CONGESTION_SIGNALS: "congestion_signals", "", "Losses and marks",
        "Data packets lost or marked while measured, each for itself however many are in a window: the congestion events \
         CE of the HighSpeed TCP study (section 5). Of a link: all packets dropped or marked there (GCE).";
    CONGESTION_SIGNAL_RATE: "congestion_signal_rate", "", "Loss and mark rate",
        "(lost + marked) / received data packets, while measured: the congestion event rate CER of the HighSpeed TCP \
         study (section 5). Of a link: (drops + marks) / transmitted packets, the general rate GCER.";
    FAST_RETRANSMITS: "fast_retransmits", "", "Fast retransmits",
        "Times that loss recovery was entered on duplicate ACKs or SACK, while measured.";
    REDUCTIONS_UNDONE: "reductions_undone", "", "Reductions undone",
        "Reductions of the congestion window that were taken back, while measured, since they had been for nothing (RFC 3522, RFC 5682, \
         RFC 3708). Only of senders that detect it.";
    TIMEOUTS: "timeouts", "", "Timeouts",
        "Expirations of the retransmission timer, back-offs included, while measured.";
    FAILED_STARTS: "failed_starts", "", "Failed starts",
        "Connections that never opened, of those that begin with probes (slow start packet_pair): a probe or its echo was lost \
         and not sent again, or the rate measured was too low. In the whole run.";
    RTT_MEAN_S: "rtt_mean_s", "s", "Mean RTT",
        "Mean of the sender's round trip samples (Karn's rule) while measured.";
    RTT_MIN_S: "rtt_min_s", "s", "Least RTT",
        "Smallest round trip sample since the start.";
    RTT_MAX_S: "rtt_max_s", "s", "Largest RTT",
        "Largest round trip sample since the start.";
    CWND_MEAN_BYTES: "cwnd_mean_bytes", "B", "Mean cwnd",
        "Mean of the sampled congestion window while measured and active.";
    COMPLETION_TIME_S: "completion_time_s", "s", "Completion time",
        "From the flow's start, handshake included, to the delivery of the last byte to the receiving application. \
         Empty for a flow without end or one that did not finish.";
    RESPONSE_TIME_MEAN_S: "response_time_mean_s", "s", "Mean response time",
        "Mean time from a question to the delivery of the last byte of its answer, over the answers completed while measured. \
         Requests: from writing one. Keystrokes: from writing one to the delivery of its echo. Web: of objects, from when one is wanted, so that waiting for a connection and its handshake count.";
    RESPONSE_TIME_P50_S: "response_time_p50_s", "s", "Median response time",
        "Half of such times are no longer; to within 3 %.";
    RESPONSE_TIME_P95_S: "response_time_p95_s", "s", "95 % response time",
        "95 % of such times are no longer; to within 3 %.";
    RESPONSE_TIME_P99_S: "response_time_p99_s", "s", "99 % response time",
        "99 % of such times are no longer; to within 3 %.";
    RESPONSE_TIME_MAX_S: "response_time_max_s", "s", "Largest response time",
        "The largest such time.";
    RESPONSES: "responses", "", "Responses",
        "Applications that ask (requests, keystrokes, web and others): answers completed while measured.";
    FAILED_RESPONSES: "failed_responses", "", "Failed responses",
        "Web: objects whose connection was reset or given up while measured.";
    PAGES: "pages", "", "Pages",
        "Web: pages completed while measured.";
    PAGE_TIME_MEAN_S: "page_time_mean_s", "s", "Mean page time",
        "Web: mean time from the beginning of a page, when its first object is wanted, to the delivery of the last byte of all its \
         objects, over the pages completed while measured.";
    PAGE_TIME_P50_S: "page_time_p50_s", "s", "Median page time",
        "Half of such times are no longer; to within 3 %.";
    PAGE_TIME_P95_S: "page_time_p95_s", "s", "95 % page time",
        "95 % of such times are no longer; to within 3 %.";
    PAGE_TIME_MAX_S: "page_time_max_s", "s", "Largest page time",
        "The largest such time.";
    MOS: "mos", "", "Mean opinion score",
        "Estimated opinion of users, from 1 (bad) to 5 (excellent). Web: the mean over the pages completed while measured of \
         5 - 4 ln(t / 0.165 s) / ln(15 s / 0.165 s), t the page's time, at least 1 and at most 5 (ITU-T G.1030 Annex A, one page, for people who \
         expect 15 s at most). Video: 3.5 exp(-(0.15 L + 0.19) N) + 1.5, N the stalls in 30 s of film, L their mean length in s (T. Hossfeld \
         et al., Quantification of YouTube QoE via crowdsourcing, 2011). Calls (cbr with `voice`): the E-model with the codec, by default G.711 and \
         concealment of losses (ITU-T G.107, G.113 Appendix I; its delay as in Cole and Rosenbluth 2001), for the best fixed playout delay or \
         the playout that `voice` has; over UDP messages that never come are lost, at random by assumption; over TCP or QUIC a call begins \
         with its connection. Of a group: the mean of \
         its pages, films or calls.";
    STALLS: "stalls", "", "Stalls",
        "Video: times that the film stood still while measured since the next frame had not come; one that lasts until the end is included. \
         The player begins, and goes on, once `app.buffer` of film is there.";
    STALL_TIME_S: "stall_time_s", "s", "Time of stalls",
        "Video: time that the film stood still while measured. A film that never began stands still from its start. Of a group: the sum.";
    STALL_SHARE: "stall_share", "", "Share of stalls",
        "Video: time that the film stood still over the time from its first frame on, while measured.";
    STARTUP_TIME_S: "startup_time_s", "s", "Time to the first frame",
        "Video: from the flow's start to the first frame shown, if that came while measured. Of a group: the mean.";
    CALL_DELAY_S: "call_delay_s", "s", "Delay of the call",
        "Calls (cbr with `voice`): from mouth to ear, with the fixed playout delay of the best mean opinion score, or that of `voice.playout` on \
         average: the time to speak a message, and that within which all but the late ones came. Of a group: the mean.";
    LATE_MESSAGES: "late_messages", "", "Late messages",
        "Calls: share of the messages that come too late to be played with that delay. Of a group: the mean.";
    ONE_WAY_DELAY_MEAN_S: "one_way_delay_mean_s", "s", "Mean one-way delay",
        "Flows over UDP: mean time from the writing of a datagram's message to its arrival, over those that came while measured \
         (RFC 7679); duplicates are not counted.";
    ONE_WAY_DELAY_P50_S: "one_way_delay_p50_s", "s", "Median one-way delay",
        "Half of such times are no longer; to within 3 %.";
    ONE_WAY_DELAY_P95_S: "one_way_delay_p95_s", "s", "95 % one-way delay",
        "95 % of such times are no longer; to within 3 %.";
    ONE_WAY_DELAY_P99_S: "one_way_delay_p99_s", "s", "99 % one-way delay",
        "99 % of such times are no longer; to within 3 %.";
    ONE_WAY_DELAY_MAX_S: "one_way_delay_max_s", "s", "Largest one-way delay",
        "The largest such time.";
    JITTER_S: "jitter_s", "s", "Interarrival jitter",
        "Flows over UDP: J of RFC 3550 section 6.4.1, J += (|D| - J) / 16 for each datagram, D the difference between its transit time and \
         that of the one that came before it: the mean of J after each datagram that came while measured. RTP reports and iperf print the \
         last J.";
    REORDERED_PACKETS: "reordered_packets", "", "Reordered packets",
        "Flows over UDP: datagrams that came while measured after one that was sent later (RFC 4737 section 3.3); duplicates are not counted.";
    DUPLICATE_PACKETS: "duplicate_packets", "", "Duplicate packets",
        "Flows over UDP: datagrams that came while measured and had come before.";
    UTILISATION: "utilisation", "", "Utilisation",
        "Bits transmitted while measured, headers and packets lost on the wire included, over what the rate allows in \
         that time. Of a flow or group: bits of its data packets that reached the receivers' hosts, headers included, over \
         what the slowest link of the path allows: FLU and LU of the HighSpeed TCP study (section 5). Of a run: the largest \
         of all links.";
    PACKETS_PER_RTT: "packets_per_rtt", "packets", "Packets per RTT",
        "Received data packets x base RTT / active measured time: the sending rate W of response functions W(p). Of a \
         group: the sum over its flows.";
    RELATIVE_FAIRNESS: "relative_fairness", "", "Relative fairness",
        "Utilisation of one group over that of another: RF of the HighSpeed TCP study (section 5). Computed by \
         longhaul.metrics.";
    PER_FLOW_RELATIVE_FAIRNESS: "per_flow_relative_fairness", "", "Relative fairness per flow",
        "Utilisation of one transfer (all its streams together) over the mean of a group's flows: FRF of the HighSpeed TCP \
         study (section 5). Computed by longhaul.metrics.";
    BANDWIDTH_STOLEN: "bandwidth_stolen", "", "Bandwidth stolen",
        "Utilisation of a set of flows that competes with flows of its own kind, less that of the same set when it competes \
         with flows of another kind: BS of the HighSpeed TCP study (section 5). Computed by longhaul.metrics from two runs.";
    ARRIVALS: "arrivals", "", "Arrivals",
        "Packets offered to the link while measured, of all flows, ACKs included.";
    OFFERED_PACKETS: "offered_packets", "", "Offered packets",
        "Of a flow at a link with a monitor (`run.monitor`): packets of any kind that arrived at the queue while measured, first \
         transmissions and retransmissions, counted there and not by endpoints.";
    OFFERED_BYTES: "offered_bytes", "B", "Offered bytes",
        "Bytes of the offered packets, headers included.";
    DROPPED_PACKETS: "dropped_packets", "", "Dropped packets",
        "Of a flow at a link with a monitor: its packets that the queue dropped while measured, those pushed out included.";
    DROPPED_BYTES: "dropped_bytes", "B", "Dropped bytes",
        "Bytes of the dropped packets, headers included.";
    TRANSMITTED_PACKETS: "transmitted_packets", "", "Transmitted packets",
        "Packets whose transmission ended while measured, those lost on the wire included.";
    DROPS_QUEUE: "drops_queue", "", "Queue drops",
        "Packets dropped by the queue, for whatever cause, while measured.";
    DROPS_OVERFLOW: "drops_overflow", "", "Overflow drops",
        "Packets dropped since the queue was full, while measured.";
    DROPS_EARLY: "drops_early", "", "Early drops",
        "Packets that active queue management chose to drop before the queue was full, while measured.";
    DROPS_FORCED: "drops_forced", "", "Forced drops",
        "Packets dropped while RED's average queue was so long that it let nothing in, while measured.";
    DROPS_LOSS: "drops_loss", "", "Packets lost",
        "Packets lost on the link without congestion (loss model, outage, header compression out of step) while measured.";
    CORRUPTED_PACKETS: "corrupted_packets", "", "Packets corrupted",
        "Packets damaged on the link's wire behind their IP header while measured: they go on, and the host at the end of their way drops \
         them for their checksum. They are none of the link's drops, and losses of their flow.";
    DUPLICATED_PACKETS: "duplicated_packets", "", "Packets duplicated",
        "Packets that came out of the link twice while measured: so many copies beside what was transmitted.";
    REPEATED_PACKETS: "repeated_packets", "", "Packets repeated by the link",
        "Transmissions on the link that repeated what it had lost (`arq`), while measured; they are among those transmitted.";
    VJ_COMPRESSED_PACKETS: "vj_compressed_packets", "", "Compressed headers",
        "Packets that crossed the line with a compressed header (RFC 1144), while measured.";
    VJ_UNCOMPRESSED_PACKETS: "vj_uncompressed_packets", "", "Headers in full",
        "Packets that crossed a line with header compression with their header in full, while measured: duplicate ACKs, \
         retransmissions, changed options, first packets of connections.";
    VJ_TOSSED_PACKETS: "vj_tossed_packets", "", "Unreadable headers",
        "Packets tossed at the end of a line since the two ends were out of step, so that the TCP checksum did not fit, while \
         measured.";
    VJ_HEADER_MEAN_BYTES: "vj_header_mean_bytes", "B", "Compressed header",
        "Mean length of the compressed headers, while measured.";
    ROHC_COMPRESSED_PACKETS: "rohc_compressed_packets", "", "Compressed headers",
        "Packets that crossed the line with a header compressed robustly (in the manner of RFC 6846), while measured.";
    ROHC_UNCOMPRESSED_PACKETS: "rohc_uncompressed_packets", "", "Headers in full",
        "Packets that crossed a line with robust header compression with all fields of their header, while measured: first packets of \
         connections, refreshes, what the far end requested, and what cannot be compressed.";
    ROHC_TOSSED_PACKETS: "rohc_tossed_packets", "", "Unreadable headers",
        "Packets tossed at the end of a line since their header did not fit its CRC or the TCP checksum, while measured.";
    ROHC_HEADER_MEAN_BYTES: "rohc_header_mean_bytes", "B", "Compressed header",
        "Mean length of the robustly compressed headers, while measured.";
    ROHC_REQUESTS: "rohc_requests", "", "Requests",
        "Requests of a line's far end for a header in full that have come back, while measured (RFC 6846's NACK and STATIC-NACK).";
    DROP_RATE: "drop_rate", "", "Drop rate",
        "All drops over arrivals, while measured. Of a run or group: data packets lost over sent.";
    MARKS: "marks", "", "ECN marks",
        "Packets marked with congestion experienced while measured (RFC 3168).";
    MARK_RATE: "mark_rate", "", "Mark rate",
        "ECN marks over arrivals, while measured.";
    ECN_REDUCTIONS: "ecn_reductions", "", "ECN reactions",
        "Reductions of the congestion window that answered an ECN echo (RFC 3168 section 6.1.2), while measured.";
    ACK_CONGESTION_EVENTS: "ack_congestion_events", "", "ACK congestion events",
        "Windows of data of which the sender found a pure ACK lost or marked, while measured (RFC 5690); absent without ACK congestion control.";
    ACK_RATIO_MAX: "ack_ratio_max", "", "Largest ACK ratio",
        "The largest ACK Ratio that the receiver has used (RFC 5690); absent without ACK congestion control.";
    QUEUE_MEAN_PACKETS: "queue_mean_packets", "packets", "Mean queue",
        "Time average of the packets waiting, without the one in transmission, while measured.";
    QUEUE_MAX_PACKETS: "queue_max_packets", "packets", "Largest queue",
        "Most packets in the queue while measured, the one in transmission included.";
    QUEUE_DELAY_MEAN_S: "queue_delay_mean_s", "s", "Mean queueing delay",
        "Mean time from a packet's arrival to the beginning of its transmission, over packets accepted while measured.";
    QUEUE_DELAY_P50_S: "queue_delay_p50_s", "s", "Median queueing delay",
        "Half of the packets waited no longer; to within 3 %.";
    QUEUE_DELAY_P95_S: "queue_delay_p95_s", "s", "95 % queueing delay",
        "95 % of the packets waited no longer; to within 3 %.";
    QUEUE_DELAY_P99_S: "queue_delay_p99_s", "s", "99 % queueing delay",
        "99 % of the packets waited no longer; to within 3 %.";
    JAIN_INDEX: "jain_index", "", "Jain's index",
        "(sum x)^2 / (n sum x^2) over the goodputs x of the n flows: 1 if all are equal, 1/n if one has all (Jain, Chiu, \
         Hawe 1984).";
    COMPLETED_FLOWS: "completed_flows", "", "Completed flows",
        "Transfers of a given size that finished before the end of the run; of several streams all have to.";
    COMPLETION_TIME_MEAN_S: "completion_time_mean_s", "s", "Mean completion time",
        "Mean over the transfers that finished; the last of several streams counts.";
    COMPLETION_TIME_P95_S: "completion_time_p95_s", "s", "95 % completion time",
        "95 % of the transfers that finished took no longer.";
    BUFFER_MEAN_PACKETS: "buffer_mean_packets", "packets", "Mean buffer",
        "Of a middlebox: time average of the data packets that it keeps, while measured.";
    BUFFER_MAX_PACKETS: "buffer_max_packets", "packets", "Largest buffer",
        "Of a middlebox: most data packets kept at once, while measured.";
    BUFFER_MEAN_BYTES: "buffer_mean_bytes", "B", "Mean buffer in bytes",
        "Of a middlebox: time average of the payload that it keeps, while measured.";
    BUFFER_MAX_BYTES: "buffer_max_bytes", "B", "Largest buffer in bytes",
        "Of a middlebox: most payload kept at once, while measured.";
    UNDELIVERED_MEAN_BYTES: "undelivered_mean_bytes", "B", "Acknowledged, not delivered",
        "Time average of the payload that a middlebox has acknowledged to its sender and that its receiver has not \
         acknowledged, while measured: what would be lost if the middlebox broke down.";
    UNDELIVERED_MAX_BYTES: "undelivered_max_bytes", "B", "Acknowledged, not delivered, at most",
        "Most payload acknowledged by a middlebox and not by its receiver, while measured.";
    LOST_ACKNOWLEDGED_BYTES: "lost_acknowledged_bytes", "B", "Acknowledged and lost",
        "Payload that a middlebox had acknowledged to its sender and that can no longer be delivered, since the middlebox \
         broke down, or the connection to the receiver was reset or given up.";
    COMPACTED_ACKS: "compacted_acks", "", "Compacted ACKs",
        "ACKs that crossed a thin link in packets with others, while measured.";
    COMPACTED_PACKETS: "compacted_packets", "", "Packets of ACKs",
        "Packets of the tunnel that carried compacted ACKs, while measured.";
    UNCOMPACTED_PACKETS: "uncompacted_packets", "", "Uncompacted packets",
        "Packets that crossed the tunnel as they were, while measured: data, SYN, FIN, single ACKs of the traditional form.";
    TUNNEL_LOSSES: "tunnel_losses", "", "Tunnel losses",
        "Packets of the tunnel that did not arrive or could not be read, noticed while measured.";
    EXPANDED_ACKS: "expanded_acks", "", "Expanded ACKs",
        "ACKs that the far end of a tunnel made of compacted ones, while measured.";
    ACK_RATIO_INCREASES: "ack_ratio_increases", "", "ACK ratio increases",
        "How often an ACK filter let fewer ACKs pass than before, since the line behind it had too much to send, while measured.";
    DELAYED_PACKETS: "delayed_packets", "", "Delayed packets",
        "Packets that a throttle kept waiting, while measured.";
    THROTTLE_DROPS: "throttle_drops", "", "Throttle drops",
        "Packets that the queue of a throttle dropped, while measured.";
    PACED_ITEMS: "paced_items", "", "Paced datagrams",
        "Datagrams with data, openings or ends that a paced hop sent over its satellite link, while measured.";
    PACED_LOST: "paced_lost", "", "Reported lost",
        "Of those, the ones that were sent again since a report of the pseudo proxy named them as missing.";
    PACED_EXPIRED: "paced_expired", "", "Expired in the delay loop",
        "Of those, the ones that were sent again since they came out of the delay loop and had not been reported.";
    PACED_PARITIES: "paced_parities", "", "Parities",
        "Datagrams with parities of an erasure code that a paced hop sent, while measured.";
    PACED_PROBES: "paced_probes", "", "Probes",
        "Datagrams without data that a paced hop sent since it had nothing else to send, while measured.";
    PACED_RESTORED: "paced_restored", "", "Restored by parities",
        "Datagrams that an erasure code restored at the far end of a paced hop, while measured.";
    PACED_DUPLICATES: "paced_duplicates", "", "Paced duplicates",
        "Datagrams with what had come before to the far end of a paced hop, while measured.";
    PACED_TOSSED: "paced_tossed", "", "Tossed",
        "Datagrams and messages of a paced hop that were damaged, forged or invalid, while measured.";
    REPORTS: "reports", "", "Reports",
        "Reports that the pseudo proxy of a paced hop sent over its control connection, while measured.";
    CONTROL_BYTES: "control_bytes", "B", "Control bytes",
        "Bytes of all messages of a pseudo proxy in its control connection, headers of TCP and below not included, while measured.";
    SESSIONS_ENDED: "sessions_ended", "", "Sessions ended",
        "How often a paced hop ended all connections since its pseudo proxy was silent, while measured.";
    CHANGED_OPTIONS: "changed_options", "", "Changed options",
        "SYNs whose MSS option a middlebox rewrote, while measured.";
    PREMATURE_ACKS: "premature_acks", "", "Premature ACKs",
        "ACKs that a middlebox sent on the destination's behalf, one for each data packet.";
    SUPPRESSED_ACKS: "suppressed_acks", "", "Suppressed ACKs",
        "ACKs of the destination that a middlebox kept from the source: a premature ACK has acknowledged the same data, or the loss is being repaired.";
    LOCAL_RETRANSMISSIONS: "local_retransmissions", "", "Local retransmissions",
        "Data packets that a middlebox sent again from its buffer.";
    LOCAL_TIMEOUTS: "local_timeouts", "", "Local timeouts",
        "Expirations of a middlebox's retransmission timers.";
    UNCACHED_PACKETS: "uncached_packets", "", "Packets without a copy",
        "Data packets that a snoop agent forwarded without a copy, since its cache was full.";
    LOCAL_QUEUE_DROPS: "local_queue_drops", "", "Local queue drops",
        "Data packets that the queue before a split connection dropped, while measured.";
    LONG_HOP_PACKETS: "long_hop_packets", "", "Long hop packets",
        "Data segments that a split sent over its long hop; of the accelerator's transport, all its datagrams.";
    LONG_HOP_RETRANSMISSIONS: "long_hop_retransmissions", "", "Long hop retransmissions",
        "Data segments that a split sent again over its long hop.";
    LONG_HOP_TIMEOUTS: "long_hop_timeouts", "", "Long hop timeouts",
        "Expirations of the retransmission timers of connections over a long hop.";
    HOP_LOST_PACKETS: "hop_lost_packets", "", "Hop: lost packets",
        "Datagrams of the accelerator's transport that its senders declared lost, while measured.";
    HOP_PARITY_BYTES: "hop_parity_bytes", "B", "Hop: parities",
        "Bytes of parities that the accelerator's transport sent ahead, so that a loss costs no round trip, while measured.";
    HOP_RESTORED_BYTES: "hop_restored_bytes", "B", "Hop: restored",
        "Bytes that parities restored at the other node before they were sent again, while measured.";
    HOP_ACKS: "hop_acks", "", "Hop: ACKs",
        "ACK frames of the accelerator's transport, while measured.";
    HOP_OVERLOADS: "hop_overloads", "", "Hop: overloads",
        "How often the rate controller of the accelerator's transport cut its rate for an overloaded link, while measured.";
    THROUGH_PACKETS: "through_packets", "", "Through packets",
        "Data packets that a middlebox forwarded without a copy, since its buffer was full.";
    WINDOW_LIMIT_BPS: "window_limit_bps", "bit/s", "Window limit",
        "Receive buffer over the mean RTT: no sender can be faster.";
    FAIR_SHARE_BPS: "fair_share_bps", "bit/s", "Fair share",
        "The least over the links of the path of (payload share of its mean rate in the measured time, outages counting as \
         0) / (mean number of flows with something to send over the link, while measured).";
    MATHIS_BPS: "mathis_bps", "bit/s", "Mathis",
        "Reno's response function, MSS/RTT sqrt(3/(2 b p)) (Mathis et al. 1997), at the measured mean RTT and congestion \
         event rate p; b segments to an ACK.";
    CUBIC_BPS: "cubic_bps", "bit/s", "CUBIC",
        "CUBIC's response function (RFC 9438 section 5.1; at least that of Reno) at the measured mean RTT and congestion event rate.";
    HIGHSPEED_BPS: "highspeed_bps", "bit/s", "HighSpeed TCP",
        "HighSpeed TCP's response function (RFC 3649 section 5) at the measured mean RTT and congestion event rate.";
    SCALABLE_BPS: "scalable_bps", "bit/s", "Scalable TCP",
        "Scalable TCP's response function, MSS/RTT a/(b p) (Kelly 2003), Reno's up to the legacy window, at the measured mean RTT and \
         congestion event rate.";
    HYBLA_BPS: "hybla_bps", "bit/s", "Hybla",
        "Hybla's response function, rho times Reno's window, rho = least RTT / RTT_0 (Caini and Firrincieli 2004), at the measured \
         mean RTT and congestion event rate.";
    COMPOUND_BPS: "compound_bps", "bit/s", "Compound",
        "Compound's response function while its queue is short (Tan et al. 2006; at least that of Reno) at the measured mean RTT and \
         congestion event rate.";
    MOVED_PACKETS: "moved_packets", "", "Packets moved",
        "Emulator: packets handed to the kernels of hosts, over the whole run.";
    LATENESS_MEAN_S: "lateness_mean_s", "s", "Mean lateness",
        "Emulator: mean time between when a packet was due at its host, by rates, delays and queues, and when it was handed to \
         the kernel there, over the whole run.";
    LATENESS_P99_S: "lateness_p99_s", "s", "99 % lateness",
        "99 % of the packets were no later; to within 3 %.";
    LATENESS_P999_S: "lateness_p999_s", "s", "99.9 % lateness",
        "99.9 % of the packets were no later; to within 3 %.";
    LATENESS_MAX_S: "lateness_max_s", "s", "Largest lateness",
        "The latest packet.";
    STANDSTILL_MAX_S: "standstill_max_s", "s", "Longest standstill",
        "Emulator: the longest time for which the loop that moves packets did not run although it was to: stopped by a signal, \
         or not served by the machine. What packets waited in their devices meanwhile is in no lateness.";
    DEVICE_DROPS: "device_drops", "", "Device drops",
        "Emulator: packets that its own devices lost, since it did not take them in time or a kernel did not take them.";
    UNREADABLE_PACKETS: "unreadable_packets", "", "Unreadable packets",
        "Emulator: packets refused since not even the addresses of an IP packet could be read.";
    UNROUTED_PACKETS: "unrouted_packets", "", "Unrouted packets",
        "Emulator: packets refused since no host has the address that they go to.";
}

#[cfg(test)]
mod tests {
    use super::{CONSTANTS, DEFINITIONS};
    use crate::Metric;
    use std::collections::BTreeSet;

    #[test]
    fn constants_are_named_as_their_metrics_and_no_name_is_there_twice() {
        for (constant, name) in CONSTANTS {
            assert_eq!(constant.to_lowercase(), *name);
            assert_eq!(Metric::named(name).map(Metric::name), Some(*name));
        }
        let names: BTreeSet<&str> = CONSTANTS.iter().map(|(_, name)| *name).collect();
        assert_eq!(names.len(), DEFINITIONS.len());
        assert_eq!(Metric::named("no such metric"), None);
    }
}
