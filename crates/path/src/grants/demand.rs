//! Capacity on request, as on the return link of a satellite network: a terminal requests what has come into its queue, and the hub
//! assigns it in a later frame. Volume based dynamic capacity (VBDC) and continuous rate assignment (CRA) of DVB-RCS2 (ETSI EN 301
//! 545-2), for a terminal that gets all that it requests.

use super::{Grants, Parameters};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Rate, Size};

/// Settings of a link whose capacity is assigned on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandSpec {
    /// Length of a frame: requests go out and assignments begin at its boundaries.
    #[serde(default = "superframe")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "10 s"))]
    pub frame: Duration,
    /// Time from a request to the earliest beginning of what was assigned for it: a round trip to the hub, and its scheduling.
    #[schemars(extend("x-maximum" = "1 h"))]
    pub delay: Duration,
    /// Capacity that the terminal has without a request, evenly over time; none if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub constant: Option<Rate>,
}

fn superframe() -> Duration {
    Duration::from_micros(26_500)
}

impl Parameters for DemandSpec {
    fn build(&self) -> Box<dyn Grants> {
        Box::new(Demand::new(*self))
    }
}

/// A terminal that requests capacity.
struct Demand {
    spec: DemandSpec,
    /// When the capacity that needs no request is free again.
    constant_free_at: Instant,
}

impl Demand {
    fn new(spec: DemandSpec) -> Self {
        Demand { spec, constant_free_at: Instant::ZERO }
    }

    /// The first boundary of a frame that is not before `time`.
    fn boundary(&self, time: Instant) -> Instant {
        let frame = self.spec.frame.as_nanos().max(1);
        Instant::from_nanos(time.as_nanos().div_ceil(frame).saturating_mul(frame))
    }
}

impl Grants for Demand {
    fn begin(&mut self, arrival: Instant, free_at: Instant, len: u32) -> Instant {
        let requested = self.boundary(arrival);
        let assigned = self.boundary(requested + self.spec.delay).max(free_at);
        let Some(rate) = self.spec.constant else { return assigned };
        let unasked = self.constant_free_at.max(free_at);
        if unasked > assigned {
            return assigned;
        }
        self.constant_free_at = unasked + rate.transmission_time(Size::from_bytes(u64::from(len)));
        unasked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::ranges::{Key, out_of_range};

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }
    fn demand(constant: Option<Rate>) -> Demand {
        let (frame, delay) = (Duration::from_millis(30), Duration::from_millis(600));
        Demand::new(DemandSpec { frame, delay, constant })
    }

    /// Requests at multiples of 30 ms, assignments 600 ms (20 frames) later.
    #[test]
    fn a_packet_waits_for_the_request_and_for_the_assignment() {
        let mut demand = demand(None);
        assert_eq!(demand.begin(ms(0), ms(0), 1000), ms(600));
        assert_eq!(demand.begin(ms(1), ms(601), 1000), ms(630));
        assert_eq!(demand.begin(ms(30), ms(631), 1000), ms(631), "already assigned, behind the one before");
        assert_eq!(demand.begin(ms(31), ms(632), 1000), ms(660));
    }

    /// 40 kbit/s are 1000 bytes in 200 ms: four of five packets that come together need not wait for an assignment.
    #[test]
    fn constant_capacity_needs_no_request() {
        let mut demand = demand(Some(Rate::from_bps(40_000)));
        let begins: Vec<Instant> = (0..5).map(|_| demand.begin(ms(5), ms(5), 1000)).collect();
        assert_eq!(begins, [ms(5), ms(205), ms(405), ms(605), ms(630)]);
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let good = DemandSpec { frame: superframe(), delay: Duration::from_millis(500), constant: None };
        assert_eq!(out_of_range(&good), []);
        let outside = |spec: DemandSpec| out_of_range(&spec).remove(0).place;
        assert_eq!(outside(DemandSpec { frame: Duration::ZERO, ..good }), [Key::Field("frame")]);
        assert_eq!(outside(DemandSpec { delay: Duration::from_secs(3601), ..good }), [Key::Field("delay")]);
        assert_eq!(outside(DemandSpec { constant: Some(Rate::ZERO), ..good }), [Key::Field("constant")]);
    }
}
