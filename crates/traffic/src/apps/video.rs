//! A synthetic film that is shown: a frame at a time.

use crate::app::{Parts, end_client, filled};
use crate::qoe::Player;
use crate::{Application, Base, End, Film, Parameters, Qoe, Setup, Streams, Timing, VideoModel};
use longhaul_units::{Duration, Instant, Random, Size};

impl Parameters for VideoModel {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        Box::new(Projector {
            film: Film::new(self, setup.random("film")),
            phase: Some(setup.random("first frame")),
            interval: self.frame_time(),
            whole: self.whole_packets,
            mss: setup.mss,
            next: setup.start,
            frames: Parts::default(),
            player: Player::new(setup.start, self.frame_time(), self.buffer),
        })
    }
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        VideoModel::check(self).err().into_iter().collect()
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Projector {
    film: Film,
    /// For the time of the first frame, before it is drawn.
    phase: Option<Random>,
    interval: Duration,
    whole: bool,
    mss: Size,
    next: Instant,
    frames: Parts,
    player: Player,
}

impl Application for Projector {
    /// Writes the next frame. The first one comes within the time between two, so that films are out of step.
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        match self.phase.take() {
            Some(mut random) => self.next += Duration::from_nanos(random.up_to(self.interval.as_nanos())),
            None => {
                let bytes = filled(self.film.next_frame(), self.whole, self.mss);
                streams.end(End::CLIENT).write(bytes);
                self.frames.add(bytes, streams);
                self.player.frame_written();
                self.next += self.interval;
            }
        }
        base.wake_at(self.next);
    }
    fn reached(&mut self, now: Instant, _end: End, _base: &mut Base, streams: &mut dyn Streams) {
        self.player.frame_arrived(now);
        self.frames.next(streams);
    }
    fn qoe(&self, now: Instant) -> Option<Qoe> {
        Some(Qoe::Film(self.player.viewing(now)))
    }
    fn measure_from(&mut self, now: Instant) {
        self.player.measure_from(now);
    }
    fn stop(&mut self, base: &mut Base, streams: &mut dyn Streams) {
        self.player.film_is_complete();
        end_client(base, streams);
    }
}
