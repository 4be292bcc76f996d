//! Applications: what is written to a connection, and when. One for each flow; it knows both ends.

use longhaul_path::{Histogram, Random};
use longhaul_scenario::{AppSpec, Ending, FlowInstance, FlowSpec, TraceBegin};
use longhaul_tcp::Connection;
use longhaul_traffic::{Film, Trace};
use longhaul_units::{Duration, Instant, Size};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::web::Session;

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

/// Messages of a burst of this length: rounded to the nearest whole number, at least 1, as ns-2 does
/// (`Application/Traffic/Exponential` and `Pareto`).
fn messages_in(burst: Duration, interval: Duration) -> u64 {
    let interval = interval.as_nanos().max(1);
    (burst.as_nanos().saturating_add(interval / 2) / interval).max(1)
}

/// Bytes of a write that may have to be filled up to whole segments.
fn filled(bytes: u64, whole: bool, mss: Size) -> u64 {
    if whole { bytes.div_ceil(mss.as_bytes()) * mss.as_bytes() } else { bytes }
}

/// A trace that is played.
struct Playback {
    trace: Arc<Trace>,
    first: usize,
    /// Records played so far.
    played: u64,
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
    /// Bytes of a transfer of given size: of a stream its part.
    size: u64,
    /// Messages of the present burst that are still to come.
    burst: u64,
    random: Option<Box<Random>>,
    playback: Option<Playback>,
    film: Option<Box<Film>>,
    /// Keystrokes that have not been echoed, by when they were made.
    unechoed: VecDeque<Instant>,
    /// Keystrokes made so far, and how many of them the other end has echoed.
    typed: u64,
    echoed: u64,
    mss: Size,
    /// Writes are filled up to whole segments.
    whole: bool,
    /// The session, if it is one of web pages. Then `responses` are objects.
    pub web: Option<Box<Session>>,
}

impl App {
    /// The application of one flow of the group `spec`, in a run with `seed`.
    pub fn new(spec: &FlowSpec, flow: &FlowInstance, seed: u64) -> Self {
        let start = flow.start;
        let stream = |what| Random::stream(seed, &format!("{} {what}", flow.transfer_name()));
        let draws = match spec.app {
            AppSpec::OnOff { .. } => Some("bursts"),
            AppSpec::Keystrokes { .. } => Some("keystrokes"),
            AppSpec::Messages { .. } => Some("messages"),
            AppSpec::Video(_) => Some("first frame"),
            _ => None,
        };
        let playback = match &spec.app {
            AppSpec::Trace(played) => played.content.clone().map(|trace| {
                let first = match played.begin {
                    TraceBegin::First => 0,
                    TraceBegin::Random => trace.draw_first(&mut stream("first record")),
                };
                Playback { trace, first, played: 0 }
            }),
            _ => None,
        };
        let film = match &spec.app {
            AppSpec::Video(model) => Some(Box::new(Film::new(model, stream("film")))),
            _ => None,
        };
        let whole = match &spec.app {
            AppSpec::Trace(played) => played.whole_packets,
            AppSpec::Video(model) => model.whole_packets,
            AppSpec::Messages { whole_packets, .. } => *whole_packets,
            _ => false,
        };
        App {
            spec: spec.app.clone(),
            size: spec.transfer_bytes(flow, seed).unwrap_or(0),
            burst: 0,
            random: draws.map(|what| Box::new(stream(what))),
            playback,
            film,
            unechoed: VecDeque::new(),
            typed: 0,
            echoed: 0,
            mss: spec.tcp.mss,
            whole,
            web: matches!(spec.app, AppSpec::Web { .. })
                .then(|| Box::new(Session::new(spec, &flow.name, seed))),
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

    /// True for an application whose two ends both act, at times that matter: nothing is handed to it ahead of time.
    pub fn is_dialogue(spec: &AppSpec) -> bool {
        matches!(spec, AppSpec::Keystrokes { .. })
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
            AppSpec::Bulk { .. }
            | AppSpec::Cbr { .. }
            | AppSpec::OnOff { .. }
            | AppSpec::Keystrokes { .. }
            | AppSpec::Messages { .. }
            | AppSpec::Trace(_)
            | AppSpec::Video(_) => Side::Client,
            AppSpec::Request { .. } | AppSpec::Web { .. } => Side::Server,
        }
    }

    /// Its kind, for results.
    pub fn name(&self) -> &'static str {
        match self.spec {
            AppSpec::Bulk { .. } => "bulk",
            AppSpec::Cbr { .. } => "cbr",
            AppSpec::OnOff { .. } => "on_off",
            AppSpec::Web { .. } => "web",
            AppSpec::Request { .. } => "request",
            AppSpec::Keystrokes { .. } => "keystrokes",
            AppSpec::Messages { .. } => "messages",
            AppSpec::Trace(_) => "trace",
            AppSpec::Video(_) => "video",
        }
    }

    /// True for a transfer that ends by itself.
    pub fn has_end(&self) -> bool {
        matches!(
            self.spec,
            AppSpec::Bulk { size: Some(_) }
                | AppSpec::Request { requests: Some(_), .. }
                | AppSpec::Web { pages: Some(_), .. }
                | AppSpec::Keystrokes { count: Some(_), .. }
        )
    }

    /// Forgets the times of answers and pages.
    pub fn clear_times(&mut self) {
        self.responses.clear();
        if let Some(session) = &mut self.web {
            session.pages.clear();
            session.failed = 0;
        }
    }

    /// True if it is time to stop.
    pub fn is_due_to_stop(&self, now: Instant) -> bool {
        now >= self.stop
    }

    /// Wants to act again at `time`, or when it has to stop.
    pub fn wake_at(&mut self, time: Instant) {
        self.wake = time.min(self.stop);
    }

    /// Acts at [`App::wake`]: starts, writes what is due, asks again, or stops. Acts on the client's end.
    pub fn act(&mut self, now: Instant, client: &mut Connection) {
        if self.is_due_to_stop(now) {
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
            AppSpec::Bulk { size: Some(_) } if first => {
                client.write(self.size);
                self.goals[Side::Server as usize] = self.size;
            }
            AppSpec::Bulk { .. } | AppSpec::Web { .. } => {}
            AppSpec::Cbr { rate, message } => {
                client.write(message.as_bytes());
                self.next_action += rate.transmission_time(*message);
            }
            AppSpec::OnOff { rate, message, on, off } => {
                if !first {
                    client.write(message.as_bytes());
                }
                let interval = rate.transmission_time(*message);
                self.next_action += interval;
                if self.burst == 0 {
                    let Some(random) = &mut self.random else { return };
                    self.burst = messages_in(on.next(random), interval);
                    self.next_action += off.next(random);
                }
                self.burst -= 1;
            }
            AppSpec::Request { request, .. } => {
                let request = *request;
                self.ask(now, client, request);
            }
            AppSpec::Keystrokes { .. } => self.type_key(now, first, client),
            AppSpec::Messages { .. } => self.write_message(first, client),
            AppSpec::Trace(_) => self.play(first, client),
            AppSpec::Video(_) => self.show_frame(first, client),
        }
        if matches!(self.spec, AppSpec::Bulk { .. } | AppSpec::Web { .. } | AppSpec::Request { .. }) {
            self.next_action = Instant::FAR_FUTURE;
        }
        self.wake_at(self.next_action);
    }

    /// The connection is established. Closing it earlier would give it up (RFC 9293 section 3.10.4, CLOSE in SYN-SENT).
    pub fn connected(&self, client: &mut Connection) {
        if matches!(self.spec, AppSpec::Bulk { size: Some(_) }) {
            client.close();
        }
    }

    /// Makes a keystroke, but for the first time, and decides when the next one is made.
    fn type_key(&mut self, now: Instant, first: bool, client: &mut Connection) {
        let AppSpec::Keystrokes { gap, keystroke, echo, count } = &self.spec else { return };
        if first {
            self.goals = [echo.as_bytes(), keystroke.as_bytes()];
        } else {
            client.write(keystroke.as_bytes());
            self.unechoed.push_back(now);
            self.typed += 1;
        }
        let Some(random) = &mut self.random else { return };
        let done = count.is_some_and(|count| self.typed >= count);
        self.next_action = if done { Instant::FAR_FUTURE } else { now + gap.next(random) };
    }

    /// Writes a message, but for the first time, and waits for the next one.
    fn write_message(&mut self, first: bool, client: &mut Connection) {
        let AppSpec::Messages { gap, size, .. } = &self.spec else { return };
        let Some(random) = &mut self.random else { return };
        if !first {
            client.write(filled(size.next(random).bytes(self.mss), self.whole, self.mss));
        }
        self.next_action += gap.next(random);
    }

    /// Writes the next record of a trace, but for the first time, and waits as long as the record after it says.
    fn play(&mut self, first: bool, client: &mut Connection) {
        let Some(playback) = &mut self.playback else { return };
        if !first {
            let bytes = playback.trace.record(playback.first, playback.played).bytes;
            playback.played += 1;
            client.write(filled(bytes, self.whole, self.mss));
        }
        self.next_action += playback.trace.record(playback.first, playback.played).gap;
    }

    /// Writes the next frame of a film. The first one comes within the time between two, so that films are out of step.
    fn show_frame(&mut self, first: bool, client: &mut Connection) {
        let (AppSpec::Video(model), Some(film)) = (&self.spec, &mut self.film) else { return };
        let interval = model.frame_time();
        match &mut self.random {
            Some(random) if first => {
                self.next_action += Duration::from_nanos(random.up_to(interval.as_nanos()));
            }
            _ => {
                client.write(filled(film.next_frame(), self.whole, self.mss));
                self.next_action += interval;
            }
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
                    self.wake_at(self.next_action);
                }
            }
            (AppSpec::Keystrokes { keystroke, echo, .. }, Side::Server) => {
                connection.write(echo.as_bytes());
                self.echoed += 1;
                self.goals[Side::Server as usize] = (self.echoed + 1) * keystroke.as_bytes();
            }
            (AppSpec::Keystrokes { echo, count, .. }, Side::Client) => {
                self.answered += 1;
                self.goals[Side::Client as usize] = (self.answered + 1) * echo.as_bytes();
                if let Some(typed) = self.unechoed.pop_front() {
                    self.responses.record(now - typed);
                }
                if count.is_some_and(|count| self.answered >= count) {
                    self.finished = Some(now);
                    connection.close();
                }
            }
            _ => {}
        }
    }
}
