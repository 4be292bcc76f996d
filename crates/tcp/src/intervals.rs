//! A set of stream offsets as disjoint intervals `[start, end)` in ascending order, never touching each other.
//! The scoreboard and the reassembly queue are such sets: work at either end is O(1), elsewhere a binary search.

use std::cell::Cell;
use std::collections::VecDeque;

/// So many of the last intervals are looked at one by one: as many as an ACK reports, and one more.
const NEAR_THE_END: usize = 5;

#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalSet {
    intervals: VecDeque<(u64, u64)>,
    /// The index that the last search between the ends found: the next one is most often for the same interval or the one above.
    found: Cell<usize>,
}

impl IntervalSet {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }
    pub fn len(&self) -> usize {
        self.intervals.len()
    }
    pub fn clear(&mut self) {
        self.intervals.clear();
    }
    pub fn first(&self) -> Option<(u64, u64)> {
        self.intervals.front().copied()
    }
    #[inline]
    pub fn last(&self) -> Option<(u64, u64)> {
        self.intervals.back().copied()
    }
    /// The intervals from the highest to the lowest.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.intervals.iter().rev().copied()
    }
    /// The intervals that end above `position`, ascending.
    pub fn ending_above(&self, position: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.intervals.range(self.index_ending_above(position)..).copied()
    }
    /// The interval that holds `position`.
    pub fn containing(&self, position: u64) -> Option<(u64, u64)> {
        let interval = *self.intervals.get(self.index_ending_above(position))?;
        (interval.0 <= position).then_some(interval)
    }
    /// Total length of the parts within `[start, end)`.
    pub fn covered(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        self.ending_above(start)
            .take_while(|interval| interval.0 < end)
            .map(|interval| interval.1.min(end) - interval.0.max(start))
            .sum()
    }

    /// Index of the first interval that ends above `position`.
    #[inline]
    fn index_ending_above(&self, position: u64) -> usize {
        // Both ends are where nearly all the work is.
        match (self.intervals.front(), self.intervals.back()) {
            (Some(front), Some(back)) => {
                if front.1 > position {
                    0
                } else if back.1 <= position {
                    self.intervals.len()
                } else {
                    self.inner_index_ending_above(position)
                }
            }
            _ => 0,
        }
    }

    /// The same where it is neither the first nor beyond the last: most often, it is one of the last.
    fn inner_index_ending_above(&self, position: u64) -> usize {
        let near = self.intervals.len().saturating_sub(NEAR_THE_END);
        let ends_below = |interval: &(u64, u64)| interval.1 <= position;
        if self.intervals.get(near).is_some_and(ends_below) {
            let above = self.intervals.range(near + 1..).take_while(|interval| ends_below(interval)).count();
            return near + 1 + above;
        }
        let found = self.found.get();
        let is_it = |index: &usize| {
            let below = self.intervals.get(index.wrapping_sub(1)).is_some_and(ends_below);
            below && self.intervals.get(*index).is_some_and(|interval| interval.1 > position)
        };
        let index = [found, found + 1].into_iter().find(is_it);
        let index = index.unwrap_or_else(|| self.intervals.partition_point(ends_below));
        self.found.set(index);
        index
    }

    /// Adds `[start, end)`, which is not empty, and calls `new` for each part that was not there before. Returns the interval that
    /// holds it now.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) -> (u64, u64) {
        if start >= end {
            return (start, start);
        }
        match self.intervals.back_mut() {
            Some(last) if start <= last.1 => {
                if start >= last.0 {
                    if end > last.1 {
                        new(last.1, end);
                        last.1 = end;
                    }
                    return *last;
                }
            }
            _ => {
                self.intervals.push_back((start, end));
                new(start, end);
                return (start, end);
            }
        }
        // The first interval that overlaps or touches; there is one at or above, since `start < last.start`.
        let first = if start == 0 { 0 } else { self.index_ending_above(start - 1) };
        if self.intervals[first].0 > end {
            self.intervals.insert(first, (start, end));
            new(start, end);
            return (start, end);
        }
        let mut merged = (start.min(self.intervals[first].0), end);
        let mut position = start;
        let mut next = first;
        while let Some(&(other_start, other_end)) = self.intervals.get(next) {
            if other_start > end {
                break;
            }
            if other_start > position {
                new(position, other_start);
            }
            position = position.max(other_end);
            merged.1 = merged.1.max(other_end);
            next += 1;
        }
        if position < end {
            new(position, end);
        }
        self.intervals[first] = merged;
        match next - first {
            1 => {}
            2 => drop(self.intervals.remove(first + 1)),
            _ => drop(self.intervals.drain(first + 1..next)),
        }
        merged
    }

    /// Removes all below `position` and calls `removed` for each part that was there.
    #[inline]
    pub fn remove_below(&mut self, position: u64, mut removed: impl FnMut(u64, u64)) {
        while let Some(first) = self.intervals.front_mut() {
            if first.0 >= position {
                return;
            }
            if first.1 > position {
                removed(first.0, position);
                first.0 = position;
                return;
            }
            removed(first.0, first.1);
            self.intervals.pop_front();
            self.found.set(self.found.get().saturating_sub(1));
        }
    }

    /// Removes `[start, end)`; returns the length of what was there.
    pub fn remove(&mut self, start: u64, end: u64) -> u64 {
        let mut removed = 0;
        if start >= end {
            return removed;
        }
        let mut index = self.index_ending_above(start);
        while let Some(&(a, b)) = self.intervals.get(index) {
            if a >= end {
                break;
            }
            removed += b.min(end) - a.max(start);
            match (a < start, b > end) {
                (false, false) => drop(self.intervals.remove(index)),
                (true, false) => {
                    self.intervals[index].1 = start;
                    index += 1;
                }
                (false, true) => self.intervals[index].0 = end,
                (true, true) => {
                    self.intervals[index].1 = start;
                    self.intervals.insert(index + 1, (end, b));
                }
            }
            if b >= end {
                break;
            }
        }
        removed
    }

    /// The first part of `[position, limit)` that is not in the set.
    pub fn first_gap(&self, position: u64, limit: u64) -> Option<(u64, u64)> {
        let mut start = position;
        let mut index = self.index_ending_above(position);
        let mut end = limit;
        if let Some(interval) = self.intervals.get(index) {
            end = interval.0;
            if interval.0 <= position {
                start = interval.1;
                index += 1;
                end = self.intervals.get(index).map_or(limit, |next| next.0);
            }
        }
        (start < limit).then(|| (start, end.min(limit)))
    }

    /// The last part of `[floor, limit)` that is not in the set.
    pub fn last_gap(&self, floor: u64, limit: u64) -> Option<(u64, u64)> {
        let mut end = limit;
        let mut start = floor;
        for interval in self.descending() {
            if interval.1 < end {
                start = start.max(interval.1);
                break;
            }
            end = end.min(interval.0);
        }
        (start < end).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(intervals: &[(u64, u64)]) -> IntervalSet {
        IntervalSet { intervals: intervals.iter().copied().collect(), ..IntervalSet::default() }
    }

    #[test]
    fn touching_intervals_become_one() {
        let mut s = set(&[(10, 20), (30, 40)]);
        let mut new = vec![];
        s.insert(20, 30, |a, b| new.push((a, b)));
        assert_eq!(s.intervals, [(10, 40)]);
        assert_eq!(new, [(20, 30)]);
    }

    #[test]
    fn an_insertion_over_several_reports_only_the_gaps() {
        let mut s = set(&[(10, 20), (30, 40), (50, 60), (90, 95)]);
        let mut new = vec![];
        s.insert(5, 55, |a, b| new.push((a, b)));
        assert_eq!(s.intervals, [(5, 60), (90, 95)]);
        assert_eq!(new, [(5, 10), (20, 30), (40, 50)]);
    }

    #[test]
    fn gaps_are_found_from_both_sides() {
        let s = set(&[(10, 20), (30, 40)]);
        assert_eq!(s.first_gap(0, 100), Some((0, 10)));
        assert_eq!(s.first_gap(10, 100), Some((20, 30)));
        assert_eq!(s.first_gap(30, 100), Some((40, 100)));
        assert_eq!(s.first_gap(30, 40), None);
        assert_eq!(s.last_gap(0, 100), Some((40, 100)));
        assert_eq!(s.last_gap(0, 40), Some((20, 30)));
        assert_eq!(s.last_gap(25, 40), Some((25, 30)));
        assert_eq!(s.last_gap(30, 40), None);
    }

    proptest! {
        #[test]
        fn equals_a_set_of_single_offsets(
            operations in prop::collection::vec((0u8..5, 0u64..120, 0u64..20), 1..60),
        ) {
            let mut naive = std::collections::BTreeSet::new();
            let mut intervals = IntervalSet::default();
            let mut floor = 0;
            for (operation, start, len) in operations {
                if operation == 0 {
                    floor = floor.max(start / 2);
                    let mut removed = 0;
                    intervals.remove_below(floor, |a, b| removed += b - a);
                    let before = naive.len();
                    naive.retain(|&offset| offset >= floor);
                    prop_assert_eq!(removed as usize, before - naive.len());
                } else if operation == 4 {
                    let removed = intervals.remove(start, start + len);
                    let before = naive.len();
                    naive.retain(|offset| !(start..start + len).contains(offset));
                    prop_assert_eq!(removed as usize, before - naive.len());
                } else {
                    let start = start.max(floor);
                    let mut new = 0;
                    intervals.insert(start, start + len, |a, b| new += b - a);
                    let before = naive.len();
                    naive.extend(start..start + len);
                    prop_assert_eq!(new as usize, naive.len() - before);
                }
                let listed: Vec<u64> = intervals.intervals.iter().flat_map(|i| i.0..i.1).collect();
                prop_assert_eq!(&listed, &naive.iter().copied().collect::<Vec<_>>());
                for pair in intervals.intervals.iter().collect::<Vec<_>>().windows(2) {
                    prop_assert!(pair[0].1 < pair[1].0);
                }
                let naive_covered = naive.range(30..70).count() as u64;
                prop_assert_eq!(intervals.covered(30, 70), naive_covered);
                let gap = (40..100).find(|offset| !naive.contains(offset));
                prop_assert_eq!(intervals.first_gap(40, 100).map(|g| g.0), gap);
                let gap = (40..100).rev().find(|offset| !naive.contains(offset));
                prop_assert_eq!(intervals.last_gap(40, 100).map(|g| g.1 - 1), gap);
                let held = intervals.containing(50).is_some();
                prop_assert_eq!(held, naive.contains(&50));
            }
        }
    }
}
