//! COBALT, CAKE's control of one flow's queue (Høiland-Jørgensen, Täht and Morton 2018): CoDel, which answers to senders that slow down,
//! beside BLUE (Feng et al. 2002), which drops at random of those that do not. Numbers and order of steps are those of Linux
//! (`net/sched/sch_cake.c`).

use crate::{Packet, Random};
use longhaul_units::{Duration, Instant};

/// What BLUE adds to its probability when the buffer is full, in parts of 2^32: 1/256.
const BLUE_UP: u32 = 1 << 24;
/// What it subtracts when the queue is empty: 1/4096.
const BLUE_DOWN: u32 = 1 << 20;

/// What a control loop needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltSettings {
    pub target: Duration,
    pub interval: Duration,
    /// The time of a full packet on the line; zero where no rate is known.
    pub packet_time: Duration,
}

/// The control loop of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Cobalt {
    /// Signals given less those that have expired; 0 at rest.
    count: u32,
    /// 1 / sqrt(count), in parts of 2^32.
    inverse_root: u32,
    dropping: bool,
    next: Instant,
    /// BLUE's probability in parts of 2^32, and when it changed.
    blue: u32,
    blue_changed: Instant,
}

impl Default for Cobalt {
    fn default() -> Self {
        Cobalt {
            count: 0,
            inverse_root: u32::MAX,
            dropping: false,
            next: Instant::ZERO,
            blue: 0,
            blue_changed: Instant::ZERO,
        }
    }
}

impl Cobalt {
    /// A packet that came at `came` is about to leave: it is marked if a signal is due and it can carry one. True if it is to be dropped.
    pub fn judge<P: Packet>(
        &mut self,
        settings: &CobaltSettings,
        now: Instant,
        came: Instant,
        packet: &mut P,
        marked: &mut u64,
        random: &mut Random,
    ) -> bool {
        let waited = now.since(came);
        let late = waited > settings.target && waited > settings.packet_time * 4;
        let due = self.is_due(now);
        let mut passed = now > self.next;
        if late {
            if !self.dropping {
                self.dropping = true;
                self.next = now + self.gap(settings);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if due && self.dropping {
            drop = !packet.mark_congestion();
            *marked += u64::from(!drop);
            self.set_count(self.count.saturating_add(1));
            self.next += self.gap(settings);
            passed = now > self.next;
        } else if due {
            while self.is_due(now) {
                self.set_count(self.count - 1);
                self.next += self.gap(settings);
            }
            passed = now > self.next;
        }
        // BLUE does not mark: it is for those who do not answer.
        drop |= self.blue > 0 && (random.bits() >> 32) < u64::from(self.blue);
        if self.count == 0 {
            self.next = now + settings.interval;
        } else if passed && !drop {
            self.next = now;
        }
        drop
    }

    /// A packet of this queue was dropped because the buffer is full.
    pub fn overflowed(&mut self, settings: &CobaltSettings, now: Instant) {
        if now.since(self.blue_changed) > settings.target {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// It was the queue's turn, and there was no packet.
    pub fn was_empty(&mut self, settings: &CobaltSettings, now: Instant) {
        if self.blue > 0 && now.since(self.blue_changed) > settings.target {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.set_count(self.count - 1);
            self.next += self.gap(settings);
        }
    }

    /// True while something is left of past signals.
    pub fn is_awake(&self, now: Instant) -> bool {
        self.blue > 0 || self.count > 0 || now < self.next
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.next
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root =
            if count < KNOWN { inverse_root(count) } else { newton_step(count, self.inverse_root) };
    }

    /// interval / sqrt(count).
    fn gap(&self, settings: &CobaltSettings) -> Duration {
        let nanos = (u128::from(settings.interval.as_nanos()) * u128::from(self.inverse_root)) >> 32;
        Duration::from_nanos(nanos as u64)
    }
}

/// Below this count roots are found anew; from it on by one step from the last one.
const KNOWN: u32 = 16;

/// 1 / sqrt(count) in parts of 2^32, by four steps from that of each number below; of 0 as of 1.
fn inverse_root(count: u32) -> u32 {
    (1..=count).fold(u32::MAX, |root, number| (0..4).fold(root, |root, _| newton_step(number, root)))
}

/// One step of Newton's method towards 1 / sqrt(count): half of x (3 - count x^2).
fn newton_step(count: u32, root: u32) -> u32 {
    let square = (u64::from(root) * u64::from(root)) >> 32;
    let rest = (3u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
    (rest.wrapping_mul(u64::from(root)) >> 31) as u32
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at_ms, packet};
    use super::*;

    const SETTINGS: CobaltSettings = CobaltSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        packet_time: Duration::ZERO,
    };

    fn random() -> Random {
        Random::stream(1, "cobalt")
    }

    /// So many milliseconds after one second.
    fn after(ms: f64) -> Instant {
        at_ms(1000.0 + ms)
    }
    /// Whether a packet that has waited for `waited` ms is dropped or marked `ms` after one second.
    fn signalled(cobalt: &mut Cobalt, ms: f64, waited: f64, ecn_capable: bool) -> (bool, u64) {
        let mut marked = 0;
        let mut one = packet(0, 1000, ecn_capable);
        let drop =
            cobalt.judge(&SETTINGS, after(ms), after(ms - waited), &mut one, &mut marked, &mut random());
        (drop, marked)
    }

    /// Linux's table of 2^32 / sqrt(count), `net/sched/sch_cake.c` as of 2024.
    #[test]
    fn roots_are_those_of_linux() {
        let roots: Vec<u32> = (10..16).map(inverse_root).collect();
        for (found, known) in roots.into_iter().zip([
            1_358_187_914u32,
            1_294_981_364,
            1_239_850_263,
            1_191_209_601,
            1_147_878_294,
            1_108_955_788,
        ]) {
            assert!(found.abs_diff(known) <= 2, "{found}, not {known}");
        }
        assert!(inverse_root(0) == u32::MAX && inverse_root(1) > u32::MAX - 8);
    }

    /// From 16 on one step each, up and down: less than 0.2 % from the root, as a step from a neighbour's root that is 3 % off leaves
    /// 1.5 times the square of that.
    #[test]
    fn one_step_follows_large_counts() {
        let mut cobalt = Cobalt::default();
        for count in (0..200).chain((16..200).rev()) {
            cobalt.set_count(count);
            let exact = 4_294_967_296.0 / libm::sqrt(f64::from(count.max(1)));
            let error = f64::from(cobalt.inverse_root) / exact - 1.0;
            assert!(error.abs() < 2e-3, "{count}: {error}");
        }
    }

    /// The delay stands above the target from 0 on. The first signal comes an interval later, the next ones 100 / sqrt(2), 100 / sqrt(3),
    /// .. ms after each other: at 100, 170.7, 228.4, 278.4, 323.2, 364.0 ms.
    #[test]
    fn signals_speed_up_while_the_delay_stands() {
        for ecn_capable in [false, true] {
            let mut cobalt = Cobalt::default();
            signalled(&mut cobalt, 0.0, 0.0, ecn_capable);
            let times: Vec<u32> = (0..380)
                .filter(|ms| signalled(&mut cobalt, f64::from(*ms), 20.0, ecn_capable) != (false, 0))
                .collect();
            assert_eq!(times, [100, 171, 229, 279, 324, 364]);
            let last = signalled(&mut cobalt, 403.0, 20.0, ecn_capable);
            assert_eq!(last, if ecn_capable { (false, 1) } else { (true, 0) });
        }
    }

    /// Below the target the count falls at the pace of its signals, so that a delay that comes back soon meets a higher rate.
    #[test]
    fn signals_expire_at_their_own_pace() {
        let mut cobalt = Cobalt::default();
        signalled(&mut cobalt, 0.0, 0.0, false);
        for ms in 0..380 {
            signalled(&mut cobalt, f64::from(ms), 20.0, false);
        }
        assert_eq!(cobalt.count, 7);
        // 364.0 + 100 / sqrt(7) = 401.8; then 40.8 (6), 44.7 (5), 50 (4), ..
        for (ms, count) in [(401.0, 7), (402.0, 6), (443.0, 5), (488.0, 4), (538.0, 3)] {
            signalled(&mut cobalt, ms, 1.0, false);
            assert_eq!(cobalt.count, count, "at {ms} ms");
        }
    }

    /// On a slow line a few packets are no standing queue, however long they take.
    #[test]
    fn four_packets_of_a_slow_line_are_left_alone() {
        let slow = CobaltSettings { packet_time: Duration::from_millis(10), ..SETTINGS };
        let mut cobalt = Cobalt::default();
        for ms in 0..1000 {
            let now = at_ms(f64::from(ms));
            let mut one = packet(0, 1500, false);
            let came = Instant::from_nanos(now.as_nanos().saturating_sub(40_000_000));
            assert!(!cobalt.judge(&slow, now, came, &mut one, &mut 0, &mut random()), "{ms}");
        }
    }

    /// 1/256 more when the buffer is full and 1/4096 less when the queue is empty, each at most once in a target.
    #[test]
    fn blue_goes_up_and_down_in_steps() {
        let mut cobalt = Cobalt::default();
        for (ms, steps) in [(10.0, 1), (14.0, 1), (15.0, 1), (15.1, 2), (30.0, 3)] {
            cobalt.overflowed(&SETTINGS, at_ms(ms));
            assert_eq!(cobalt.blue, steps * BLUE_UP, "at {ms} ms");
        }
        cobalt.was_empty(&SETTINGS, at_ms(34.0));
        assert_eq!(cobalt.blue, 3 * BLUE_UP);
        (0..48).for_each(|step| cobalt.was_empty(&SETTINGS, at_ms(100.0 + 6.0 * f64::from(step))));
        assert_eq!(cobalt.blue, 0, "16 steps down for each one up");
        assert_eq!((BLUE_UP, BLUE_DOWN), (u32::MAX / 256 + 1, u32::MAX / 4096 + 1));
    }

    /// At a probability of a half, half of the packets go, ECN-capable or not, whatever their delay.
    #[test]
    fn blue_drops_what_could_be_marked() {
        let mut cobalt = Cobalt { blue: 1 << 31, ..Cobalt::default() };
        let mut random = random();
        let drops = (0..10_000)
            .filter(|_| {
                cobalt.judge(
                    &SETTINGS,
                    at_ms(1.0),
                    at_ms(1.0),
                    &mut packet(0, 1000, true),
                    &mut 0,
                    &mut random,
                )
            })
            .count();
        assert!((4800..5200).contains(&drops), "{drops}");
    }

    /// An overflow is a signal that is due: the next packet that is late is dropped or marked.
    #[test]
    fn an_overflow_begins_to_drop() {
        let mut cobalt = Cobalt::default();
        cobalt.overflowed(&SETTINGS, after(1.0));
        assert_eq!(signalled(&mut cobalt, 2.0, 20.0, true), (false, 1));
        assert!(cobalt.is_awake(after(2.0)));
    }
}
