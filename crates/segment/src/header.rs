//! The headers of one IPv4 packet that carries TCP, as bytes: what both ends of a line keep of a connection.

use crate::checksum::Checksum;
use crate::ip::PROTOCOL_TCP;
use crate::{Flags, IPV4_HEADER, TCP_HEADER};
use std::net::{IpAddr, Ipv4Addr};

/// Fragment offset and the more-fragments bit of the IPv4 header.
const FRAGMENT: u16 = 0x3fff;
/// An IPv4 and a TCP header with all the options that they can have.
const LONGEST: usize = 120;

/// IPv4 and TCP header. Both are complete, with the lengths of their own fields.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    bytes: [u8; LONGEST],
    /// Bytes of the IPv4 header.
    ip: u8,
    /// Bytes of both.
    len: u8,
}

impl Header {
    /// The headers at the beginning of a packet; `None` unless it is IPv4 with a whole TCP header, not a fragment, and of
    /// the total length that it states or more.
    pub fn of(packet: &[u8]) -> Option<Header> {
        Header::of_headers(packet).filter(|header| packet.len() >= header.total_len())
    }

    /// The same where the payload is not there.
    pub fn of_headers(packet: &[u8]) -> Option<Header> {
        let first = *packet.first()?;
        let ip = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || ip < IPV4_HEADER as usize || packet.len() < ip + TCP_HEADER as usize {
            return None;
        }
        let words = usize::from(packet[ip + 12] >> 4) * 4;
        let len = ip + words;
        if packet[9] != PROTOCOL_TCP || words < TCP_HEADER as usize || packet.len() < len {
            return None;
        }
        let mut bytes = [0; LONGEST];
        bytes[..len].copy_from_slice(&packet[..len]);
        let header = Header { bytes, ip: ip as u8, len: len as u8 };
        (header.u16_at(6) & FRAGMENT == 0 && header.total_len() >= len).then_some(header)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }
    /// Bytes of the IPv4 header.
    pub fn ip_len(&self) -> usize {
        usize::from(self.ip)
    }
    /// Bytes of both headers.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }
    fn set_u16(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
    fn tcp(&self, at: usize) -> usize {
        usize::from(self.ip) + at
    }
    fn tcp_u32(&self, at: usize) -> u32 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|byte| self.bytes[self.tcp(at + byte)]);
        u32::from_be_bytes([a, b, c, d])
    }
    fn set_tcp_u32(&mut self, at: usize, value: u32) {
        let at = self.tcp(at);
        self.bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Bytes of the whole packet.
    pub fn total_len(&self) -> usize {
        usize::from(self.u16_at(2))
    }
    /// Bytes behind the headers.
    pub fn data_len(&self) -> usize {
        self.total_len() - self.len()
    }
    pub fn id(&self) -> u16 {
        self.u16_at(4)
    }
    pub fn set_id(&mut self, id: u16) {
        self.set_u16(4, id);
    }
    /// The IP protocol field, where an uncompressed frame carries the slot's number.
    pub fn set_protocol(&mut self, protocol: u8) {
        self.bytes[9] = protocol;
    }
    /// Addresses and ports, side by side.
    pub fn connection(&self) -> [u8; 12] {
        let mut key = [0; 12];
        key[..8].copy_from_slice(&self.bytes[12..20]);
        key[8..].copy_from_slice(&self.bytes[self.tcp(0)..self.tcp(4)]);
        key
    }

    pub fn seq(&self) -> u32 {
        self.tcp_u32(4)
    }
    pub fn set_seq(&mut self, seq: u32) {
        self.set_tcp_u32(4, seq);
    }
    pub fn ack(&self) -> u32 {
        self.tcp_u32(8)
    }
    pub fn set_ack(&mut self, ack: u32) {
        self.set_tcp_u32(8, ack);
    }
    pub fn window(&self) -> u16 {
        self.u16_at(self.tcp(14))
    }
    pub fn set_window(&mut self, window: u16) {
        self.set_u16(self.tcp(14), window);
    }
    pub fn checksum(&self) -> u16 {
        self.u16_at(self.tcp(16))
    }
    pub fn set_checksum(&mut self, checksum: u16) {
        self.set_u16(self.tcp(16), checksum);
    }
    pub fn urgent_pointer(&self) -> u16 {
        self.u16_at(self.tcp(18))
    }
    pub fn set_urgent_pointer(&mut self, pointer: u16) {
        self.set_u16(self.tcp(18), pointer);
    }
    pub fn flags(&self) -> Flags {
        Flags(u16::from(self.bytes[self.tcp(13)]))
    }
    pub fn set_flag(&mut self, flag: Flags, on: bool) {
        let byte = &mut self.bytes[usize::from(self.ip) + 13];
        *byte = if on { *byte | flag.0 as u8 } else { *byte & !(flag.0 as u8) };
    }

    /// True if all fields are the same that must not change within a connection for a difference to suffice (RFC 1144
    /// section 3.2.4): version, header lengths, type of service, DF, TTL, options. RFC 1144 is older than ECN; the bits
    /// beside the six flags that it defines have no place in a difference either and must be the same.
    pub fn same_constants(&self, other: &Header) -> bool {
        // Reserved bits and AE; CWR and ECE.
        let beside_flags =
            |header: &Header| (header.bytes[header.tcp(12)], header.bytes[header.tcp(13)] & 0xc0);
        let options = |header: &Header| header.len() - header.tcp(20);
        self.bytes[..2] == other.bytes[..2]
            && self.bytes[6..9] == other.bytes[6..9]
            && self.len == other.len
            && self.bytes[20..usize::from(self.ip)] == other.bytes[20..usize::from(self.ip)]
            && beside_flags(self) == beside_flags(other)
            && self.bytes[self.len() - options(self)..self.len()]
                == other.bytes[other.len() - options(other)..other.len()]
    }

    /// Sets the total length for so much data, and the IPv4 checksum; false, and nothing done, if it would be over 65,535.
    pub fn set_data_len(&mut self, data: usize) -> bool {
        let Ok(total) = u16::try_from(self.len() + data) else { return false };
        self.set_u16(2, total);
        self.set_u16(10, 0);
        let mut checksum = Checksum::new();
        checksum.add(&self.bytes[..usize::from(self.ip)]);
        self.set_u16(10, checksum.finish());
        true
    }

    /// The sum of the IPv4 header is right.
    pub fn ip_is_intact(&self) -> bool {
        let mut checksum = Checksum::new();
        checksum.add(&self.bytes[..usize::from(self.ip)]);
        checksum.is_intact()
    }

    /// The TCP checksum fits header and data. Data that are not there count as zeros.
    pub fn tcp_is_intact(&self, data: &[u8]) -> bool {
        let v4 = |at: usize| {
            IpAddr::V4(Ipv4Addr::new(
                self.bytes[at],
                self.bytes[at + 1],
                self.bytes[at + 2],
                self.bytes[at + 3],
            ))
        };
        let mut checksum = Checksum::new();
        let len = (self.total_len() - usize::from(self.ip)) as u32;
        checksum.add_pseudo_header(v4(12), v4(16), crate::ip::PROTOCOL_TCP, len);
        checksum.add(&self.bytes[usize::from(self.ip)..self.len()]);
        checksum.add(data);
        checksum.is_intact()
    }
}
