//! What proxies need for their connections to hosts, whatever lies between those: how such connections begin and end, and how
//! much was acknowledged to one host and has not reached the other.

use super::local::{Broken, Local};
use super::{Plans, Side};
use crate::base::counters;
use crate::levels::Levels;
use crate::nodes::Account;
use crate::{Direction, Payload};
use longhaul_segment::{Flags, Segment, SeqNumber};
use longhaul_tcp::Ports;
use longhaul_units::{ConnectionId, Id, IdVec, Instant, Random};

/// Makes the connections to hosts, and remembers what those have counted that are gone.
pub(crate) struct Hosts {
    plans: Plans,
    random: Random,
    gone: LocalCounts,
}

counters! {
    /// What connections to hosts have sent again.
    struct LocalCounts {
        local_retransmissions,
        local_timeouts,
    }
}

impl LocalCounts {
    fn add<P: Payload>(&mut self, local: &Local<P>) {
        let stats = local.connection.stats();
        self.local_retransmissions += stats.retransmitted_segments;
        self.local_timeouts += stats.timeouts;
    }
}

impl Hosts {
    /// `random` is for initial sequence numbers.
    pub fn new(plans: Plans, random: Random) -> Self {
        Hosts { plans, random, gone: LocalCounts::default() }
    }
    pub fn isn(&mut self) -> SeqNumber {
        SeqNumber(self.bits() as u32)
    }
    /// Random bits, for what else nobody shall guess.
    pub fn bits(&mut self) -> u64 {
        self.random.bits()
    }
    /// The settings of a connection whose packets go in this direction.
    fn side(&self, number: ConnectionId, direction: Direction) -> &Side {
        let plan = self.plans.of(number);
        match direction {
            Direction::Reverse => &plan.near,
            Direction::Forward => &plan.far,
        }
    }
    /// A connection that its host opens with `syn`.
    pub fn accept<P: Payload>(
        &mut self,
        number: ConnectionId,
        direction: Direction,
        syn: &Segment,
    ) -> Local<P> {
        let isn = self.isn();
        let mut local = Local::accept(self.side(number, direction), isn, ports_to_sender(syn), direction);
        local.syn = Some(syn.seq);
        local
    }
    /// A connection that the proxy opens to a host.
    pub fn connect<P: Payload>(
        &mut self,
        number: ConnectionId,
        direction: Direction,
        ports: Ports,
    ) -> Local<P> {
        let isn = self.isn();
        Local::connect(self.side(number, direction), isn, ports, direction)
    }
    /// A connection that is there from the start; `None` if those of this number are not.
    pub fn established<P: Payload>(
        &self,
        number: ConnectionId,
        direction: Direction,
        ports: Ports,
    ) -> Option<Local<P>> {
        let host = self.plans.of(number).established.as_ref()?;
        Some(Local::established(self.side(number, direction), host, ports, direction))
    }
    /// A connection is forgotten.
    pub fn retire<P: Payload>(&mut self, local: &Local<P>) {
        self.gone.add(local);
    }
    /// Of the connections that are gone and of those that are there.
    pub fn counters<'a, P: Payload>(
        &self,
        there: impl Iterator<Item = &'a Local<P>>,
    ) -> Vec<(&'static str, u64)> {
        let mut counts = self.gone;
        there.for_each(|local| counts.add(local));
        counts.list()
    }
}

/// True for the first packet of a handshake.
pub(crate) fn opens(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK)
}

/// The ports of a connection to the host that has sent this.
pub(crate) fn ports_to_sender(segment: &Segment) -> Ports {
    Ports { local: segment.dst_port, remote: segment.src_port }
}

/// Bytes that one host has sent and the other has not acknowledged.
fn undelivered_from(from: Option<Account>, to: Option<Account>) -> u64 {
    let received = from.map_or(0, |account| account.received);
    received.saturating_sub(to.map_or(0, |account| account.acked))
}

/// Leaves out the connection that has the number of a newer one.
fn of_one_stream(accounts: [Option<Account>; 2]) -> [Option<Account>; 2] {
    match accounts {
        [Some(one), Some(other)] if one.stream != other.stream => {
            accounts.map(|account| account.filter(|account| !account.over))
        }
        accounts => accounts,
    }
}

/// Bytes that either host has sent and the other has not acknowledged; nothing is under way any more on a broken connection.
pub(crate) fn undelivered(accounts: [Option<Account>; 2]) -> u64 {
    if accounts.iter().flatten().any(|account| account.broken) {
        return 0;
    }
    let [one, other] = of_one_stream(accounts);
    undelivered_from(one, other) + undelivered_from(other, one)
}

/// Acknowledged bytes that are lost because the connection of one host, the first, has ended before its time.
pub(crate) fn lost(why: Broken, accounts: [Option<Account>; 2]) -> u64 {
    let [broken, other] = of_one_stream(accounts);
    let to_it = undelivered_from(other, broken);
    match why {
        // A host that resets gives up what it had sent; one that is silent does not.
        Broken::Reset => to_it,
        Broken::TimedOut => to_it + undelivered_from(broken, other),
        // Either node finds out: what the first has counted is no longer under way.
        Broken::Hop if other.is_some_and(|other| other.broken) => 0,
        Broken::Hop => to_it + undelivered_from(broken, other),
    }
}

/// Bytes of each flow that were acknowledged to one host and not by the other.
#[derive(Debug, Default)]
pub(crate) struct Undelivered(IdVec<ConnectionId, u64>);

impl Undelivered {
    /// They have changed.
    pub fn set(&mut self, now: Instant, levels: &mut Levels, number: ConnectionId, bytes: u64) {
        if number.index() >= self.0.len() {
            self.0.resize(number.index() + 1, 0);
        }
        let before = std::mem::replace(&mut self.0[number], bytes);
        levels.shift(now, [0, before, before], [0, bytes, bytes]);
    }
    /// Of all flows.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
    /// Numbers of all connections that have had any.
    pub fn ids(&self) -> impl Iterator<Item = ConnectionId> + use<> {
        self.0.ids()
    }
    /// All are lost; returns how many there were.
    pub fn lose_all(&mut self, now: Instant, levels: &mut Levels) -> u64 {
        let lost = self.total();
        self.0.clear();
        levels.undelivered.set(now, 0);
        levels.bytes.set(now, 0);
        lost
    }
}
