//! Applications: what is written to a connection, and when. One for each flow; it knows both ends.

use longhaul_path::Histogram;
use longhaul_scenario::{AppSpec, Ending, FlowInstance, FlowSpec};
use longhaul_tcp::Connection;
use longhaul_units::{Instant, Size};

/// Which end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The active opener.
    Client,
    /// The passive opener.
    Server,
}

/// Never reached: the application does not wait for data.
pub(crate) const NO_GOAL: u64 = u64::MAX;

/// What one of `streams` does: its part of the transfer's bytes, the first ones one more where they cannot be divided.
fn share(app: &AppSpec, streams: u32, stream: u32) -> AppSpec {
    match app {
        AppSpec::Bulk { size: Some(size) } => {
            let (all, streams) = (size.as_bytes(), u64::from(streams));
            let part = all / streams + u64::from(u64::from(stream) < all % streams);
            AppSpec::Bulk { size: Some(Size::from_bytes(part)) }
        }
        other => other.clone(),
    }
}

/// An application's state.
pub(crate) struct App {
    spec: AppSpec,
    /// Received bytes at which the application at each end wants to be told.
    pub goals: [u64; 2],
    /// When the application next acts by itself.
    pub wake: Instant,
    pub started: bool,
    pub stopped: bool,
    /// When the last byte of a transfer of given size was delivered.
    pub finished: Option<Instant>,
    stop: Instant,
    ending: Ending,
    /// When the next message or request is due.
    next_action: Instant,
    asked_at: Instant,
    pub responses: Histogram,
    answered: u64,
}

impl App {
    /// The application of one flow of the group `spec`.
    pub fn new(spec: &FlowSpec, flow: &FlowInstance) -> Self {
        let start = flow.start;
        App {
            spec: share(&spec.app, spec.streams, flow.stream),
            goals: [NO_GOAL; 2],
            wake: start,
            started: false,
            stopped: false,
            finished: None,
            stop: flow.stop.unwrap_or(Instant::FAR_FUTURE),
            ending: spec.ending,
            next_action: start,
            asked_at: start,
            responses: Histogram::default(),
            answered: 0,
        }
    }

    /// True for an application that, once started, acts on its client's end only when packets arrive.
    pub fn is_passive(spec: &AppSpec) -> bool {
        matches!(spec, AppSpec::Bulk { .. })
    }

    /// True for an application that has data to send until it is stopped.
    pub fn is_endless(spec: &AppSpec) -> bool {
        matches!(spec, AppSpec::Bulk { size: None })
    }

    /// The end that sends the bulk of the data.
    pub fn data_sender(&self) -> Side {
        Self::data_sender_of(&self.spec)
    }

    /// The end that would send the bulk of the data.
    pub fn data_sender_of(spec: &AppSpec) -> Side {
        match spec {
            AppSpec::Bulk { .. } | AppSpec::Cbr { .. } => Side::Client,
            AppSpec::Request { .. } => Side::Server,
        }
    }

    /// Its kind, for results.
    pub fn name(&self) -> &'static str {
        match self.spec {
            AppSpec::Bulk { .. } => "bulk",
            AppSpec::Cbr { .. } => "cbr",
            AppSpec::Request { .. } => "request",
        }
    }

    /// True for a transfer that ends by itself.
    pub fn has_end(&self) -> bool {
        matches!(self.spec, AppSpec::Bulk { size: Some(_) } | AppSpec::Request { requests: Some(_), .. })
    }

    /// Acts at [`App::wake`]: starts, writes the next message, asks again, or stops. Acts on the client's end.
    pub fn act(&mut self, now: Instant, client: &mut Connection) {
        if now >= self.stop {
            self.wake = Instant::FAR_FUTURE;
            if self.finished.is_none() {
                self.stopped = true;
                match self.ending {
                    Ending::Close => client.close(),
                    Ending::Reset => client.abort(),
                }
            }
            return;
        }
        let first = !std::mem::replace(&mut self.started, true);
        match &self.spec {
            AppSpec::Bulk { size: None } if first => client.write_unlimited(),
            AppSpec::Bulk { size: Some(size) } if first => {
                client.write(size.as_bytes());
                self.goals[Side::Server as usize] = size.as_bytes();
            }
            AppSpec::Bulk { .. } => {}
            AppSpec::Cbr { rate, message } => {
                client.write(message.as_bytes());
                self.next_action += rate.transmission_time(*message);
            }
            AppSpec::Request { request, .. } => {
                let request = *request;
                self.ask(now, client, request);
            }
        }
        if !matches!(self.spec, AppSpec::Cbr { .. }) {
            self.next_action = Instant::FAR_FUTURE;
        }
        self.wake = self.next_action.min(self.stop);
    }

    /// The connection is established. Closing it earlier would give it up (RFC 9293 section 3.10.4, CLOSE in SYN-SENT).
    pub fn connected(&self, client: &mut Connection) {
        if matches!(self.spec, AppSpec::Bulk { size: Some(_) }) {
            client.close();
        }
    }

    fn ask(&mut self, now: Instant, client: &mut Connection, request: Size) {
        client.write(request.as_bytes());
        self.asked_at = now;
        let AppSpec::Request { response, .. } = &self.spec else { return };
        let asked = self.answered + 1;
        self.goals[Side::Server as usize] = asked * request.as_bytes();
        self.goals[Side::Client as usize] = asked * response.as_bytes();
    }

    /// The end at `side` has received its goal. Acts on that end.
    pub fn reached_goal(&mut self, now: Instant, side: Side, connection: &mut Connection) {
        self.goals[side as usize] = NO_GOAL;
        match (&self.spec, side) {
            (AppSpec::Bulk { .. }, Side::Server) => self.finished = Some(now),
            (AppSpec::Request { response, .. }, Side::Server) => connection.write(response.as_bytes()),
            (AppSpec::Request { think, requests, .. }, Side::Client) => {
                self.answered += 1;
                self.responses.record(now - self.asked_at);
                if requests.is_some_and(|requests| self.answered >= requests) {
                    self.finished = Some(now);
                    connection.close();
                } else {
                    self.next_action = now + *think;
                    self.wake = self.next_action.min(self.stop);
                }
            }
            _ => {}
        }
    }
}
