//! UDP flows at work: what an application writes leaves at once as datagrams, and what arrives is counted.

use crate::packet::{Packet, Stamp};
use crate::totals::Totals;
use crate::world::World;
use longhaul_results::Arrived;
use longhaul_scenario::{AppSpec, UdpSpec};
use longhaul_segment::Ecn;
use longhaul_tcp::{Limit, LimitedTime, Stats};
use longhaul_traffic::{App, Datagrams, Qoe, Reception, Side, Streams, Written};
use longhaul_units::{EndpointId, FlowId, Instant};

/// A flow over UDP, both ends.
pub(crate) struct UdpFlow {
    datagrams: Datagrams,
    ecn: Ecn,
    start: Instant,
    arrived: Arrived,
    /// When its application stopped.
    stopped: Option<Instant>,
}

impl UdpFlow {
    pub fn new(spec: &UdpSpec, app: &AppSpec, start: Instant) -> Self {
        UdpFlow {
            datagrams: Datagrams::new(spec.payload.as_bytes(), app.call()),
            ecn: if spec.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            start,
            arrived: Arrived::default(),
            stopped: None,
        }
    }

    /// Counters from the start to now, without what was lost. Only the application limits such a flow.
    pub fn totals(&self, now: Instant) -> Totals {
        let (sent, bytes) = self.datagrams.sent();
        Totals {
            sender: Stats { data_segments_sent: sent, data_bytes_sent: bytes, ..Stats::default() },
            delivered: self.datagrams.received_bytes(),
            arrived: self.arrived,
            lost: 0,
            made: 0,
            limited: self.limited(now),
        }
    }

    /// Time in which the application decided what was sent, and after its end.
    pub fn limited(&self, now: Instant) -> LimitedTime {
        let end = self.stopped.unwrap_or(now).min(now);
        let times = [(Limit::Application, end.since(self.start.min(end))), (Limit::Closed, now.since(end))];
        times.into_iter().collect()
    }

    /// What its receiver has measured.
    pub fn reception(&self) -> Reception {
        self.datagrams.reception().clone()
    }

    /// How the call was heard, if it is one.
    pub fn qoe(&self, now: Instant) -> Option<Qoe> {
        self.datagrams.qoe(now)
    }

    /// Datagrams that have arrived since the start, duplicates included.
    pub fn data_packets(&self) -> u64 {
        self.arrived.packets
    }

    pub fn state(&self) -> &'static str {
        if self.stopped.is_some() { "Closed" } else { "Open" }
    }

    /// What comes later is measured.
    pub fn measure_anew(&mut self) {
        self.datagrams.measure_anew();
    }
}

impl World<'_> {
    /// Calls the application of a UDP flow, and sends what it has written.
    pub fn call_over_udp(&mut self, flow: FlowId, action: impl FnOnce(&mut App, &mut dyn Streams)) {
        let mut streams = Written::default();
        action(&mut self.apps[flow], &mut streams);
        let sender = self.first_connection(flow).end(Side::Client);
        let (messages, closed) = streams.take();
        for message in messages {
            self.send_message(flow, sender, message);
        }
        if closed {
            let now = self.now;
            self.udp[flow].iter_mut().for_each(|udp| udp.stopped = Some(now));
        }
    }

    fn send_message(&mut self, flow: FlowId, sender: EndpointId, mut left: u64) {
        loop {
            let Some(udp) = self.udp[flow].as_deref_mut() else { return };
            let Some((number, payload)) = udp.datagrams.take(self.now, &mut left) else { return };
            let endpoint = &mut self.endpoints[sender];
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            let (to, label, link) = (endpoint.peer, endpoint.label, endpoint.first_link);
            // The receiver works out the rest of the number.
            let stamp = Stamp { number: number as u32, written: self.now };
            if let Some(packet) = self.fabric.freight.stamped_packet(to, label, udp.ecn, payload, stamp) {
                self.fabric.send(&mut self.recorder, departure, link, packet, true);
            }
        }
    }

    /// A datagram reaches its receiver, which answers nothing.
    #[inline(never)]
    pub fn receive_over_udp(&mut self, packet: Packet) {
        let stamp = self.fabric.freight.stamp(&packet);
        let payload = self.fabric.freight.get(&packet).payload_len;
        self.fabric.freight.release(packet);
        let flow = self.network.flow_of(packet.to);
        let (Some(stamp), Some(udp)) = (stamp, self.udp[flow].as_deref_mut()) else { return };
        udp.arrived.packets += 1;
        udp.arrived.wire_bytes += u64::from(packet.wire_len);
        udp.arrived.marked += u64::from(packet.ecn() == Ecn::Ce);
        let number = udp.datagrams.number(stamp.number);
        udp.datagrams.arrive(self.now, number, stamp.written, payload);
    }
}
