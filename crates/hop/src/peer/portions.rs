//! Classes of a peer's flows, and what a hub grants a terminal.

use super::{Peer, State};
use crate::config::{LEAST_RATE, MOST_RATE, Role};
use crate::shares::{MOST_WEIGHT, Portion};
use crate::types::{Bounds, Event};
use crate::wire::{CLASSES, Record};
use longhaul_units::Rate;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

fn rate(bps: u64) -> Option<Rate> {
    (bps > 0).then(|| Rate::from_bps(bps.clamp(LEAST_RATE, MOST_RATE)))
}

fn record(class: u16, portion: Option<&Portion>) -> Record {
    let bps = |rate: Option<Rate>| rate.map_or(0, Rate::as_bps);
    let weight = portion.map_or(0, |portion| portion.weight.clamp(1, MOST_WEIGHT));
    let (floor, ceiling) = portion.map_or((0, 0), |portion| (bps(portion.floor), bps(portion.ceiling)));
    Record::Class { class, weight: weight.into(), floor, ceiling }
}

impl Bounds {
    /// In the form in which a hub writes them.
    pub(crate) fn record(self) -> Record {
        Record::Bounds { flows: self.flows.map_or(0, u64::from), rate: self.rate.map_or(0, Rate::as_bps) }
    }

    /// Those of a record; 0 stands for no bound.
    pub(crate) fn from_record(flows: u64, bps: u64) -> Bounds {
        let flows = (flows > 0).then(|| u32::try_from(flows).unwrap_or(u32::MAX));
        Bounds { flows, rate: rate(bps) }
    }
}

impl Peer {
    /// Other classes of this node's own: they hold for what it sends, and the hub is notified of them.
    pub fn set_classes(&mut self, classes: &Arc<BTreeMap<u16, Portion>>) {
        let before = std::mem::replace(&mut self.classes, Arc::clone(classes));
        for class in before.keys().filter(|class| !classes.contains_key(class)) {
            self.define(*class, None);
        }
        for (class, portion) in classes.iter().filter(|(class, portion)| before.get(class) != Some(portion)) {
            self.define(*class, Some(portion));
        }
    }

    fn define(&mut self, class: u16, portion: Option<&Portion>) {
        self.scheduler.set_portion(class, portion.copied());
        if self.state == State::Up {
            record(class, portion).write(&mut self.records);
        }
        self.dirty = true;
    }

    /// The peer is up: it learns what was defined before.
    pub(super) fn introduce_classes(&mut self) {
        for (class, portion) in self.classes.iter() {
            record(*class, Some(portion)).write(&mut self.records);
        }
        self.dirty |= !self.classes.is_empty();
    }

    /// The class of a flow, in both directions if this node has opened it.
    pub fn classify(&mut self, key: u64, class: u16) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.out.turn.class() == class || class >= CLASSES {
            return;
        }
        self.scheduler.set_class(key, &mut flow.out.turn, class);
        if !flow.remote {
            Record::Classify { stream: key, class }.write(&mut self.records);
        }
        self.dirty = true;
    }

    /// A terminal has defined a class, or has ended it. Numbers out of their ranges are those of a later version.
    pub(super) fn class_of_peer(&mut self, class: u16, weight: u64, (floor, ceiling): (u64, u64)) {
        if self.config.role != Role::Hub || class >= CLASSES {
            return;
        }
        let portion = (weight > 0).then(|| Portion {
            weight: weight.min(MOST_WEIGHT.into()) as u32,
            floor: rate(floor),
            ceiling: rate(ceiling),
        });
        self.scheduler.set_portion(class, portion);
        self.dirty = true;
    }

    /// A terminal has given one of its flows a class. The record may be faster than what opens the flow.
    pub(super) fn classified_by_peer(&mut self, key: u64, class: u16) {
        let known = self.flows.contains_key(&key) || self.open_early(key);
        if self.config.role != Role::Hub || class >= CLASSES || !known {
            return;
        }
        if let Some(flow) = self.flows.get_mut(&key).filter(|flow| flow.remote) {
            self.scheduler.set_class(key, &mut flow.out.turn, class);
            self.dirty = true;
        }
    }

    /// Notifies a terminal of its bounds.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        if std::mem::replace(&mut self.granted, bounds) == bounds || self.state != State::Up {
            return;
        }
        bounds.record().write(&mut self.records);
        self.dirty = true;
    }

    /// The hub has notified this terminal of its bounds.
    pub(super) fn bounds_of_peer(&mut self, flows: u64, bps: u64, events: &mut VecDeque<Event>) {
        if self.config.role == Role::Hub {
            return;
        }
        self.bounds = Bounds::from_record(flows, bps);
        self.apply_most(None);
        events.push_back(Event::Bounded { peer: self.id });
    }

    /// Never sends faster than any of those who may bound it; begins again at another rate, if one is given.
    pub fn apply_most(&mut self, start: Option<Rate>) {
        let all = [self.most, self.ceiling, self.bounds.rate];
        let most = all.into_iter().flatten().min().unwrap_or(Rate::from_bps(MOST_RATE));
        self.shared.lock().controller.set_rates(start, most);
        self.dirty = true;
    }
}
