//! Reading packets of a connection whatever secures it: each packet is seen before it is sealed and after it was opened. Counters of
//! connections with TLS and logs need that.

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which kind of packet (RFC 9000 section 17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    OneRtt,
}

impl Kind {
    /// From the first byte of a header.
    pub fn of(first: u8) -> Self {
        match (first & 0x80, first >> 4 & 3) {
            (0, _) => Kind::OneRtt,
            (_, 0) => Kind::Initial,
            (_, 1) => Kind::ZeroRtt,
            _ => Kind::Handshake,
        }
    }
}

/// A packet that was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub kind: Kind,
    pub number: u64,
    /// Bytes of the packet, header and tag included.
    pub length: usize,
    /// Where its frames end.
    end: usize,
}

#[cfg(test)]
impl Packet {
    /// A packet for tests.
    pub fn of(kind: Kind, number: u64) -> Self {
        Packet { kind, number, length: 0, end: 0 }
    }
}

/// Packets in order, and their frames one after the other.
#[derive(Default)]
pub(crate) struct Seen {
    packets: Vec<Packet>,
    frames: Vec<u8>,
}

impl Seen {
    fn add(&mut self, first: u8, number: u64, length: usize, frames: &[u8]) {
        self.frames.extend_from_slice(frames);
        self.packets.push(Packet { kind: Kind::of(first), number, length, end: self.frames.len() });
    }

    /// Hands over each packet with its frames, and forgets them.
    pub fn take(&mut self, mut each: impl FnMut(Packet, &[u8])) {
        let mut begin = 0;
        for packet in self.packets.drain(..) {
            each(packet, &self.frames[begin..packet.end]);
            begin = packet.end;
        }
        self.frames.clear();
    }
}

/// What is seen of a connection: sealed and opened packets.
#[derive(Clone, Default)]
pub(crate) struct Eyes([Arc<Mutex<Seen>>; 2]);

impl Eyes {
    fn key(&self, inner: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(Key { inner, eyes: self.clone() })
    }

    fn pair(&self, pair: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair { local: self.key(pair.local), remote: self.key(pair.remote) }
    }

    fn keys(&self, keys: Keys) -> Keys {
        Keys { header: keys.header, packet: self.pair(keys.packet) }
    }

    /// Packets that were sealed.
    pub fn sent(&self) -> MutexGuard<'_, Seen> {
        self.0[0].lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Packets that were opened.
    pub fn received(&self) -> MutexGuard<'_, Seen> {
        self.0[1].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sees the packets of the connections of one endpoint.
#[derive(Clone, Default)]
pub struct Observer {
    made: Arc<Mutex<Option<Eyes>>>,
    first: Arc<Mutex<Eyes>>,
}

impl Observer {
    /// The observer of the connection that was made last.
    pub(crate) fn take(&self) -> Option<Eyes> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn session(&self, inner: Box<dyn crypto::Session>, eyes: Eyes) -> Box<dyn crypto::Session> {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(eyes.clone());
        Box::new(Session { inner, eyes })
    }

    /// The observer of a client's first packet, which a server opens before there is a connection.
    fn first(&self) -> MutexGuard<'_, Eyes> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn client(&self, inner: Arc<dyn crypto::ClientConfig>) -> Arc<dyn crypto::ClientConfig> {
        Arc::new(Observed { inner, observer: self.clone() })
    }

    pub(crate) fn server(&self, inner: Arc<dyn crypto::ServerConfig>) -> Arc<dyn crypto::ServerConfig> {
        Arc::new(Observed { inner, observer: self.clone() })
    }
}

struct Observed<C: ?Sized> {
    inner: Arc<C>,
    observer: Observer,
}

impl crypto::ClientConfig for Observed<dyn crypto::ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let inner = Arc::clone(&self.inner).start_session(version, server_name, params)?;
        Ok(self.observer.session(inner, Eyes::default()))
    }
}

impl crypto::ServerConfig for Observed<dyn crypto::ServerConfig> {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        let eyes = Eyes::default();
        *self.observer.first() = eyes.clone();
        Ok(eyes.keys(self.inner.initial_keys(version, dst_cid)?))
    }
    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }
    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        let eyes = std::mem::take(&mut *self.observer.first());
        self.observer.session(Arc::clone(&self.inner).start_session(version, params), eyes)
    }
}

struct Session {
    inner: Box<dyn crypto::Session>,
    eyes: Eyes,
}

impl crypto::Session for Session {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.eyes.keys(self.inner.initial_keys(dst_cid, side))
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto().map(|(header, packet)| (header, self.eyes.key(packet)))
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        Some(self.eyes.keys(self.inner.write_handshake(buf)?))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(self.eyes.pair(pair))
    }
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct Key {
    inner: Box<dyn PacketKey>,
    eyes: Eyes,
}

impl PacketKey for Key {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.inner.tag_len());
        if let (Some(first), Some(frames)) = (buf.first(), buf.get(header_len..end)) {
            self.eyes.sent().add(*first, packet, buf.len(), frames);
        }
        self.inner.encrypt(packet, buf, header_len);
    }
    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = header.len() + payload.len();
        self.inner.decrypt(packet, header, payload)?;
        if let Some(first) = header.first() {
            self.eyes.received().add(*first, packet, length, payload);
        }
        Ok(())
    }
    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }
    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
