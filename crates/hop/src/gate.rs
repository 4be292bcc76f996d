//! Between quinn-proto and the rate controller: decides before each batch whether it may leave, and passes on what was
//! acknowledged and lost.
//!
//! quinn-proto needs a window from a congestion controller. It gets one without end or none at all, and its own pacer, which
//! does nothing for windows above 2^32 bytes, stays out of the way.

use crate::controller::RateController;
use longhaul_quic::Clock;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a connection's owner and the controller inside of it share.
pub struct Core {
    pub clock: Clock,
    pub controller: RateController,
    /// A batch may leave.
    pub open: bool,
    /// There was something to send, and the gate was closed.
    pub asked: bool,
    /// Bytes declared lost since the owner last looked.
    pub lost: u64,
}

/// Shared by one thread at a time: the lock is never contended.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Core>>);

impl Shared {
    pub fn new(clock: Clock, controller: RateController) -> Self {
        Shared(Arc::new(Mutex::new(Core { clock, controller, open: true, asked: false, lost: 0 })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for Shared {
    fn on_ack(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        bytes: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let mut core = self.lock();
        let (now, sent) = (core.clock.from_std(now), core.clock.from_std(sent));
        core.controller.on_ack(now, sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: std::time::Instant,
        in_flight: u64,
        _app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let mut core = self.lock();
        let now = core.clock.from_std(now);
        core.controller.on_end_acks(now, in_flight);
    }

    fn on_congestion_event(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        _is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut core = self.lock();
        let (now, sent) = (core.clock.from_std(now), core.clock.from_std(sent));
        core.lost += lost_bytes;
        core.controller.on_loss(now, sent, lost_bytes);
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        let mut core = self.lock();
        if core.open {
            // Halved, since quinn-proto adds to what it compares with.
            return u64::MAX / 2;
        }
        core.asked = true;
        1
    }

    /// A path that changes keeps its controller.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gives a connection the controller that was made for it.
pub struct Given(pub Shared);

impl ControllerFactory for Given {
    fn build(self: Arc<Self>, _now: std::time::Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.0.clone())
    }
}
