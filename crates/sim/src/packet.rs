//! A packet of the simulation: a small handle that links hand on, and the segment that it stands for, which stays where
//! it was put when it was sent.

use crate::datagram::{UDP_HEADERS, stand_in};
use longhaul_middlebox::Sparse;
use longhaul_quic::Datagram;
use longhaul_segment::{Ecn, Segment};
use longhaul_units::{Dscp, EndpointId, Instant};
use std::net::IpAddr;

/// What links and queues need of a packet, and where its segment is: four numbers, since a packet is copied some ten times on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Endpoint that it goes to.
    pub to: EndpointId,
    /// Slot of its segment in [`Segments`].
    slot: u32,
    /// Bytes of the IP packet.
    pub wire_len: u32,
    marks: Marks,
}

/// What a flow gives all of its packets for queues to see: its weight and its DSCP, where they stand among [`Marks`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(u32);

impl Label {
    pub fn new(weight: u8, dscp: Dscp) -> Self {
        Label(u32::from(weight) << Marks::WEIGHT | u32::from(dscp.get()) << Marks::DSCP)
    }
}

impl Default for Label {
    fn default() -> Self {
        Label::new(1, Dscp::DEFAULT)
    }
}

/// Some small facts of a packet.
#[derive(Clone, Copy, Debug)]
struct Marks(u32);

impl Marks {
    /// The ECN field, as in the IP header.
    const ECN: u32 = 3;
    /// A link has damaged it: its checksum is wrong.
    const DAMAGED: u32 = 1 << 2;
    /// It comes out of the link that it is on twice.
    const TWICE: u32 = 1 << 3;
    /// What its flow gives all of its packets stands above all these.
    const WEIGHT: u32 = 8;
    const DSCP: u32 = 16;

    #[inline]
    fn new(ecn: Ecn, label: Label) -> Self {
        Marks(ecn as u32 | label.0)
    }
    #[inline]
    fn contains(self, mark: u32) -> bool {
        self.0 & mark != 0
    }
}

impl Packet {
    /// Its ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.marks.0 as u8)
    }
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.marks.0 = (self.marks.0 & !Marks::ECN) | ecn as u32;
    }
    /// Its DSCP.
    pub fn dscp(&self) -> Dscp {
        Dscp::of_byte((self.marks.0 >> (Marks::DSCP - 2)) as u8)
    }
    /// A link has damaged it.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.marks.contains(Marks::DAMAGED)
    }
    /// Another packet in the same slot.
    #[inline]
    fn another(&self, to: EndpointId, label: Label, ecn: Ecn, wire_len: u32) -> Packet {
        Packet { to, slot: self.slot, wire_len, marks: Marks::new(ecn, label) }
    }
}

impl longhaul_path::Packet for Packet {
    #[inline]
    fn wire_len(&self) -> u32 {
        self.wire_len
    }
    fn flow(&self) -> u64 {
        u64::from(self.to.0)
    }
    fn weight(&self) -> u8 {
        (self.marks.0 >> Marks::WEIGHT) as u8
    }
    fn damage(&mut self, _draw: u64) -> bool {
        self.marks.0 |= Marks::DAMAGED;
        true
    }
    fn duplicate(&mut self) -> bool {
        self.marks.0 |= Marks::TWICE;
        true
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        Packet::ecn(self)
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        Packet::set_ecn(self, ecn);
    }
    fn dscp(&self) -> Dscp {
        Packet::dscp(self)
    }
}

/// Addresses of a packet's IP header, for captures.
pub(crate) struct Hosts {
    pub src: IpAddr,
    pub dst: IpAddr,
}

/// A place for a segment, at the beginning of a cache line: what most segments need of it is in that line.
#[derive(Default)]
#[repr(align(64))]
struct Slot(Segment);

/// All segments that are on their way. Payload is only a length.
#[derive(Default)]
pub(crate) struct Segments {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// What packets carry beside a segment and a length, beside their slots; empty as long as there is none.
    cargo: Vec<Option<Cargo>>,
}

/// What a packet carries that is more than a length.
#[derive(Clone)]
enum Cargo {
    /// It is a UDP datagram of QUIC.
    Datagram(Box<Datagram>),
    /// It is a UDP datagram that nothing else is known of.
    Stamp(Stamp),
    /// What a middlebox has written for its other node.
    Payload(Box<Sparse>),
}

/// What a receiver of plain datagrams has to know of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// The lowest 32 bits of its number in its flow.
    pub number: u32,
    /// When the application has written it.
    pub written: Instant,
}

/// Of packets that carry none.
static NO_PAYLOAD: Sparse = Sparse::EMPTY;

impl Segments {
    /// Makes a packet of the segment that `write` writes, if it does; it returns the packet's ECN field and length.
    #[inline]
    pub fn packet(
        &mut self,
        to: EndpointId,
        label: Label,
        write: impl FnOnce(&mut Segment) -> Option<(Ecn, u32)>,
    ) -> Option<Packet> {
        if self.free.is_empty() {
            self.grow();
        }
        let slot = *self.free.last()?;
        let segment = &mut self.slots[slot as usize].0;
        let (ecn, wire_len) = write(segment)?;
        self.free.pop();
        Some(Packet { to, slot, wire_len, marks: Marks::new(ecn, label) })
    }

    /// Makes a packet of the segment that `write` writes, if it does; `write` also returns where it goes, and the flow's label.
    pub fn packet_to(
        &mut self,
        write: impl FnOnce(&mut Segment) -> Option<(EndpointId, Label, Ecn)>,
    ) -> Option<Packet> {
        let (mut to, mut label) = (EndpointId(0), Label::default());
        let packet = self.packet(to, label, |segment| {
            let ecn;
            (to, label, ecn) = write(segment)?;
            Some((ecn, segment.ipv4_len()))
        })?;
        Some(packet.another(to, label, packet.ecn(), packet.wire_len))
    }

    /// Makes a packet of a UDP datagram.
    pub fn packet_of(&mut self, to: EndpointId, label: Label, datagram: Datagram) -> Option<Packet> {
        let (segment, ecn) = stand_in(&datagram);
        let packet = self.packet(to, label, |slot| {
            *slot = segment;
            Some((ecn, segment.ipv4_len()))
        })?;
        let wire_len = UDP_HEADERS + datagram.bytes.len() as u32;
        self.put_cargo(&packet, Cargo::Datagram(Box::new(datagram)));
        Some(Packet { wire_len, ..packet })
    }

    /// Makes a packet of a plain UDP datagram with so many bytes of payload, which are only a length.
    pub fn stamped_packet(
        &mut self,
        to: EndpointId,
        label: Label,
        ecn: Ecn,
        payload_len: u32,
        stamp: Stamp,
    ) -> Option<Packet> {
        let packet = self.packet(to, label, |slot| {
            *slot = Segment { payload_len, ..Segment::default() };
            Some((ecn, UDP_HEADERS + payload_len))
        })?;
        self.put_cargo(&packet, Cargo::Stamp(stamp));
        Some(packet)
    }

    /// The stamp of a plain UDP datagram, if a packet is one.
    pub fn stamp(&self, packet: &Packet) -> Option<Stamp> {
        match self.cargo.get(packet.slot as usize)?.as_ref()? {
            Cargo::Stamp(stamp) => Some(*stamp),
            Cargo::Datagram(_) | Cargo::Payload(_) => None,
        }
    }

    /// Whether a packet is a UDP datagram, of whatever kind: its segment stands in for it.
    #[inline]
    pub fn is_datagram(&self, packet: &Packet) -> bool {
        let cargo = self.cargo.get(packet.slot as usize).and_then(Option::as_ref);
        matches!(cargo, Some(Cargo::Datagram(_) | Cargo::Stamp(_)))
    }

    /// The UDP datagram of QUIC that a packet carries, if it is one.
    #[inline]
    pub fn datagram(&self, packet: &Packet) -> Option<&Datagram> {
        match self.cargo.get(packet.slot as usize)?.as_ref()? {
            Cargo::Datagram(datagram) => Some(datagram),
            Cargo::Stamp(_) | Cargo::Payload(_) => None,
        }
    }

    /// The same, taken out.
    pub fn take_datagram(&mut self, packet: &Packet) -> Option<Datagram> {
        match self.cargo.get_mut(packet.slot as usize)?.take()? {
            Cargo::Datagram(datagram) => Some(*datagram),
            Cargo::Stamp(_) | Cargo::Payload(_) => None,
        }
    }

    fn put_cargo(&mut self, packet: &Packet, cargo: Cargo) {
        let slot = packet.slot as usize;
        if self.cargo.len() <= slot {
            self.cargo.resize_with(slot + 1, || None);
        }
        self.cargo[slot] = Some(cargo);
    }

    /// A packet carries this.
    pub fn set_payload(&mut self, packet: &Packet, payload: Sparse) {
        if !payload.is_virtual() {
            self.put_cargo(packet, Cargo::Payload(Box::new(payload)));
        }
    }

    /// The segment of a packet, to be changed, and what it carries.
    pub fn with_payload(&mut self, packet: &Packet) -> (&mut Segment, &Sparse) {
        let slot = packet.slot as usize;
        let payload = match self.cargo.get(slot) {
            Some(Some(Cargo::Payload(payload))) => payload,
            _ => &NO_PAYLOAD,
        };
        (&mut self.slots[slot].0, payload)
    }

    #[cold]
    fn copied(&mut self, packet: &mut Packet) -> Option<Packet> {
        packet.marks.0 &= !Marks::TWICE;
        let (segment, cargo) = (*self.get(packet), self.cargo.get(packet.slot as usize).cloned().flatten());
        let copy = self.packet(packet.to, Label::default(), |slot| {
            *slot = segment;
            Some((packet.ecn(), segment.ipv4_len()))
        })?;
        if let Some(cargo) = cargo {
            self.put_cargo(&copy, cargo);
        }
        Some(Packet { slot: copy.slot, ..*packet })
    }

    #[cold]
    fn grow(&mut self) {
        self.free.push(self.slots.len() as u32);
        self.slots.push(Slot::default());
    }

    /// The segment of a packet.
    #[inline]
    pub fn get(&self, packet: &Packet) -> &Segment {
        &self.slots[packet.slot as usize].0
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, packet: &Packet) -> &mut Segment {
        &mut self.slots[packet.slot as usize].0
    }

    /// Makes another packet, which carries nothing else, of one whose segment was overwritten.
    #[inline]
    pub fn reuse(&mut self, packet: &mut Packet, to: EndpointId, label: Label, ecn: Ecn, wire_len: u32) {
        self.drop_cargo(packet);
        *packet = packet.another(to, label, ecn, wire_len);
    }

    #[inline]
    fn drop_cargo(&mut self, packet: &Packet) {
        if let Some(cargo) = self.cargo.get_mut(packet.slot as usize) {
            *cargo = None;
        }
    }

    /// The copy of a packet that comes out of a link twice, in a slot of its own; `None` if it comes out once.
    #[inline]
    pub fn copy(&mut self, packet: &mut Packet) -> Option<Packet> {
        if packet.marks.contains(Marks::TWICE) { self.copied(packet) } else { None }
    }

    /// Forgets the segment of a packet that has arrived or was dropped.
    #[inline]
    pub fn release(&mut self, packet: Packet) {
        self.drop_cargo(&packet);
        self.free.push(packet.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_path::Packet as _;

    /// Neither mark, damage nor duplication touches what the flow has given its packets; the ECN field has all four values.
    #[test]
    fn a_handle_has_room_for_all() {
        assert_eq!(size_of::<Packet>(), 16);
        let mut segments = Segments::default();
        for code in [0, 1, 46, 63] {
            let label = Label::new(255, Dscp::new(code).unwrap());
            for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                let mut packet = segments.packet(EndpointId(3), label, |_| Some((ecn, 1500))).unwrap();
                assert_eq!(packet.ecn(), ecn);
                packet.damage(0);
                packet.duplicate();
                assert_eq!(packet.mark_congestion(), ecn != Ecn::NotEct);
                assert_eq!((packet.dscp().get(), packet.weight()), (code, 255));
            }
        }
    }
}
