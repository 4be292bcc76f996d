//! How a congestion control and a slow start come together.

use crate::params::{SlowStartSpec, Spec};
use crate::slow_start::packet_pair::PacketPairParams;
use crate::{Avoidance, CongestionControl, Setup, WindowBased};

/// A slow start that any avoidance rule can be put beside.
pub(crate) trait Compose {
    /// Each pair is a type of its own, so that the connection's call is the only one that is not resolved when compiling.
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl>;
    /// Its parameters if it measures with pairs of packets: for algorithms that begin so themselves.
    fn packet_pair(&self) -> Option<&PacketPairParams> {
        None
    }
}

impl<P: SlowStartSpec> Compose for P {
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl> {
        Box::new(WindowBased::new(avoidance, self.start(setup), setup))
    }
}

/// Parameters of a congestion control algorithm.
pub(crate) trait AlgorithmSpec: Spec {
    /// The algorithm at the start of a connection: `slow_start.compose(rule, setup)` for an [`Avoidance`] rule.
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl>;
}
