//! What happens to a connection and its streams.

use super::streams::Order;
use super::{Bundle, BundleEnd, Done};
use crate::endpoint::{ConnectionKey, Event, number};
use longhaul_cc::careful_resume::Phase;
use longhaul_tcp::Event as TcpEvent;
use longhaul_traffic::Side;
use quinn_proto::StreamId;

/// What an event of a connection means for its world.
#[derive(Default)]
pub struct Told {
    /// The same in TCP's words, for a list of events.
    pub note: Option<TcpEvent>,
    /// Careful resume has come to this phase.
    pub phase: Option<Phase>,
    /// A flow and its pair of which something came or ended.
    pub stream: Option<(usize, usize)>,
    /// The connection is no more.
    pub lost: bool,
}

impl Bundle {
    /// The next event of an endpoint, taken up.
    pub fn poll_event(&mut self, side: Side) -> Option<Told> {
        let (key, event) = self.ends[side as usize].endpoint.poll_event()?;
        let told = self.take(side, key, &event);
        if told.lost {
            self.end_connection(side);
        }
        self.carry_out();
        Some(told)
    }

    /// Takes up an event of one end.
    fn take(&mut self, side: Side, key: ConnectionKey, event: &Event) -> Told {
        let lane_of = |stream: &StreamId| self.lane_of.get(&number(*stream)).copied();
        let place = |lane: usize| {
            let flow = self.flows.iter().position(|flow| flow.lanes().contains(&lane));
            flow.map(|flow| (flow, lane - self.flows[flow].first))
        };
        let end = &mut self.ends[side as usize];
        let note = |event| Told { note: Some(event), ..Told::default() };
        let about = |lane: usize| Told { stream: place(lane), ..Told::default() };
        match event {
            Event::Connected => {
                end.key = Some(key);
                return note(TcpEvent::Connected);
            }
            Event::Opened(stream) => {
                // Early data come before the handshake is complete.
                end.key = Some(key);
                if let Some(lane) = lane_of(stream) {
                    end.lanes[lane].stream = Some(*stream);
                    let told = about(lane);
                    if let Some((flow, _)) = told.stream {
                        end.endpoint.set_priority(key, *stream, self.flows[flow].member.priority);
                    }
                    return told;
                }
            }
            Event::Received { stream, bytes, end: last } => {
                if let Some(at) = lane_of(stream).filter(|lane| end.lanes[*lane].stream == Some(*stream)) {
                    let lane = &mut end.lanes[at];
                    lane.received += bytes;
                    if *last {
                        lane.complete = true;
                        // Whoever has no more to come has no more to answer: as with TCP.
                        lane.orders.push_back(Order::Close);
                    }
                    return about(at);
                }
            }
            Event::Acknowledged(stream) | Event::Stopped { stream, .. } | Event::Reset { stream, .. } => {
                if let Some(at) = lane_of(stream).filter(|lane| end.lanes[*lane].stream == Some(*stream)) {
                    let lane = &mut end.lanes[at];
                    lane.acknowledged = true;
                    lane.complete |= !matches!(event, Event::Acknowledged(_));
                    return about(at);
                }
            }
            Event::LossEvent { in_flight } => {
                return note(TcpEvent::FastRetransmit { lost: 0, flight_size: *in_flight });
            }
            Event::EcnEvent => return note(TcpEvent::EcnReduction),
            Event::PersistentCongestion => {
                return note(TcpEvent::Timeout { lost: 0, flight_size: 0, backoff: 1 });
            }
            Event::RecoveryEnd => return note(TcpEvent::RecoveryEnd),
            Event::Resume(phase) => return Told { phase: Some(*phase), ..Told::default() },
            Event::Lost { reason, closed } => {
                let alone = self.flows.len() == 1;
                for flow in self.flows.iter_mut().filter(|flow| alone || (flow.asked && !flow.gone)) {
                    if !closed {
                        flow.failure.get_or_insert_with(|| reason.clone());
                    }
                }
                let event = if *closed { TcpEvent::Closed } else { TcpEvent::TimedOut };
                return Told { lost: true, ..note(event) };
            }
        }
        Told::default()
    }

    /// A connection is no more at one end: its counters are kept.
    fn end_connection(&mut self, side: Side) {
        let (now, end) = (self.now, &mut self.ends[side as usize]);
        let Some(key) = end.key.take() else { return };
        let BundleEnd { endpoint, past, incidents, .. } = end;
        incidents.merge(&endpoint.incidents(key));
        past.merge(&Done {
            sender: endpoint.stats(key),
            received: endpoint.received_bytes(key),
            limited: endpoint.limited_time(now, key),
        });
        if self.flows.len() > 1 {
            // The next connection uses the same numbers for other streams.
            for flow in &mut self.flows {
                for lane in flow.lanes() {
                    if let Some(stream) = self.ends[side as usize].lanes[lane].stream {
                        let end = &mut self.ends[side as usize];
                        flow.past[side as usize].merge(&end.endpoint.sent_on(key, stream));
                        if !flow.several() {
                            end.lanes[lane].stream = None;
                        }
                    }
                }
            }
        }
        if side == Side::Client {
            for flow in self.flows.iter_mut().filter(|flow| flow.asked && !flow.several()) {
                flow.dead = true;
            }
        }
    }
}
