//! Which satellites carry a link: the choice of those in sight, and the shortest way over lasers.

use super::sky::{Point, Sky, Vector, distance};
use super::{Choice, Relay};
use crate::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Satellites from the terminal to the gateway, by their numbers; at least one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Route(Vec<usize>);

impl Route {
    /// The satellites that the ends use are the same.
    pub fn has_ends_of(&self, other: &Route) -> bool {
        (self.0.first(), self.0.last()) == (other.0.first(), other.0.last())
    }

    /// The length of the whole way at a time, in km.
    pub fn length_km(&self, sky: &dyn Sky, terminal: &Point, gateway: &Point, time: f64) -> f64 {
        let mut length = 0.0;
        let mut last = terminal.at;
        let above = self.0.iter().map(|number| sky.position(*number, time));
        for next in above.chain([gateway.at]) {
            length += distance(last, next);
            last = next;
        }
        length
    }
}

/// Chooses for each slot.
pub(super) struct Chooser<'a> {
    sky: &'a dyn Sky,
    terminal: Point,
    gateway: Point,
    choice: Choice,
    relay: Relay,
    /// The satellite above the terminal in the slot before.
    last: Option<usize>,
    random: Random,
}

impl<'a> Chooser<'a> {
    pub fn new(sky: &'a dyn Sky, terminal: Point, gateway: Point, choice: Choice, relay: Relay) -> Self {
        Chooser {
            sky,
            terminal,
            gateway,
            choice,
            relay,
            last: None,
            random: Random::stream(0, "choice of satellites"),
        }
    }

    /// The way from a time on.
    ///
    /// # Errors
    /// If there is none: the highest elevation of a satellite above the terminal and above the gateway, in degrees.
    pub fn route(&mut self, time: f64) -> Result<Route, [f64; 2]> {
        let all = self.sky.positions(time);
        self.route_among(&all).ok_or_else(|| [&self.terminal, &self.gateway].map(|end| end.highest(&all)))
    }

    fn route_among(&mut self, all: &[Vector]) -> Option<Route> {
        let seen: Vec<usize> = (0..all.len())
            .filter(|number| {
                self.terminal.sees(all[*number])
                    && (self.relay == Relay::Lasers || self.gateway.sees(all[*number]))
            })
            .collect();
        if self.relay == Relay::Lasers {
            return self.over_lasers(&seen, all);
        }
        let first = self.choose(&seen, all);
        self.last = first.or(self.last);
        Some(Route(vec![first?]))
    }

    fn choose(&mut self, seen: &[usize], all: &[Vector]) -> Option<usize> {
        if self.choice == Choice::Stay {
            if let Some(last) = self.last.filter(|last| seen.contains(last)) {
                return Some(last);
            }
        }
        if self.choice == Choice::Random && !seen.is_empty() {
            return Some(seen[self.random.up_to(seen.len() as u64 - 1) as usize]);
        }
        let height = |number: usize| self.terminal.height(all[number]);
        seen.iter().copied().max_by(|a, b| height(*a).total_cmp(&height(*b)))
    }

    /// The shortest way from the terminal over one of the satellites that it sees to the gateway (Dijkstra 1959).
    fn over_lasers(&self, seen: &[usize], all: &[Vector]) -> Option<Route> {
        let mut best = vec![(f64::INFINITY, usize::MAX); all.len()];
        let mut heap = BinaryHeap::new();
        for first in seen.iter().copied() {
            let up = distance(self.terminal.at, all[first]);
            best[first] = (up, first);
            heap.push(Reverse((Metres(metres_of(up)), first)));
        }
        let (mut shortest, mut end) = (f64::INFINITY, None);
        while let Some(Reverse((Metres(metres), number))) = heap.pop() {
            let so_far = best[number].0;
            if metres > metres_of(so_far) {
                continue;
            }
            if so_far >= shortest {
                break;
            }
            if self.gateway.sees(all[number]) {
                let whole = so_far + distance(all[number], self.gateway.at);
                if whole < shortest {
                    (shortest, end) = (whole, Some(number));
                }
            }
            for next in self.sky.neighbours(number) {
                let length = so_far + distance(all[number], all[next]);
                if length < best[next].0 {
                    best[next] = (length, number);
                    heap.push(Reverse((Metres(metres_of(length)), next)));
                }
            }
        }
        let mut route = vec![end?];
        // The first one comes from itself.
        while let Some(last) = route.last().copied().filter(|last| best[*last].1 != *last) {
            route.push(best[last].1);
        }
        route.reverse();
        Some(Route(route))
    }
}

/// Distances that can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Metres(u64);

fn metres_of(km: f64) -> u64 {
    (km * 1e3) as u64
}

#[cfg(test)]
mod tests {
    use super::super::sky::{Orbits, Walker};
    use super::*;

    fn sky(phasing: u32) -> Walker {
        let (planes, satellites) = (24, 20);
        let inclination = 53f64.to_radians();
        Walker::new(Orbits {
            altitude_km: 550.0,
            inclination,
            planes,
            satellites,
            phasing,
            spread: core::f64::consts::TAU,
            longitude: 0.0,
        })
    }

    /// Who is my neighbour has me for one, also across the seam; neighbours in the next plane are nearer than any other of that plane but
    /// one.
    #[test]
    fn lasers_join_neighbours() {
        for phasing in [0, 1, 7, 23] {
            let sky = sky(phasing);
            for number in 0..sky.count() {
                let next = sky.neighbours(number);
                assert_eq!(next.len(), 4);
                assert!(next.iter().all(|next| sky.neighbours(*next).contains(&number)), "{phasing}");
            }
        }
    }

    /// Dijkstra's way is as long as the shortest of all ways that Bellman and Ford's sums find.
    #[test]
    fn the_way_over_lasers_is_the_shortest() {
        let sky = sky(3);
        let (terminal, gateway) = (Point::on_ground(50.0, 8.0, 25.0), Point::on_ground(-34.0, 18.0, 25.0));
        let mut chooser = Chooser::new(&sky, terminal, gateway, Choice::Highest, Relay::Lasers);
        for time in [0.0, 777.0, 5000.0] {
            let route = chooser.route(time).expect("there is a way");
            let all = sky.positions(time);
            let mut lengths: Vec<f64> = all
                .iter()
                .map(|at| if terminal.sees(*at) { distance(terminal.at, *at) } else { f64::INFINITY })
                .collect();
            for _ in 0..60 {
                for number in 0..all.len() {
                    for next in sky.neighbours(number) {
                        lengths[next] = lengths[next].min(lengths[number] + distance(all[number], all[next]));
                    }
                }
            }
            let ends = (0..all.len()).filter(|number| gateway.sees(all[*number]));
            let shortest = ends
                .map(|number| lengths[number] + distance(all[number], gateway.at))
                .fold(f64::INFINITY, f64::min);
            let whole = route.length_km(&sky, &terminal, &gateway, time);
            assert!((whole - shortest).abs() < 1e-6, "{whole} {shortest}");
        }
    }
}
