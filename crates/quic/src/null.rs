//! A cryptographic session without cryptography: its messages have the sizes of a TLS 1.3 handshake (RFC 8446, RFC 9001) and
//! its packets those of AES-128-GCM, but nothing is computed. Signatures of some algorithms vary in length, and keys are
//! random: with this session a simulation is fast and the same every time.
//!
//! Each message carries what the other end needs (transport parameters, and whether early data are offered and taken);
//! the rest is filler. A packet's tag names its key, so that a packet that is opened with the wrong key is refused, as with
//! real keys.

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::any::Any;
use std::hash::Hasher;
use std::io::Cursor;
use std::sync::Arc;

/// Bytes of the tag of AES-128-GCM (RFC 9001 section 5.3).
const TAG: usize = 16;
/// Bytes of ciphertext that header protection samples (RFC 9001 section 5.4.2).
const SAMPLE: usize = 16;
/// Packets under one key of AES-128-GCM: 2^23 (RFC 9001 section 6.6).
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
/// Forged packets that AES-128-GCM bears: 2^52 (RFC 9001 section 6.6).
const INTEGRITY_LIMIT: u64 = 1 << 52;

/// Type and length before each handshake message (RFC 8446 section 4).
const MESSAGE_HEADER: usize = 4;
/// ClientHello without server name and transport parameters, as rustls with its default provider *ring* sends it for one
/// X25519 share.
const CLIENT_HELLO: usize = 165;
/// ServerHello: 40 bytes to the compression method, extensions supported_versions (6) and key_share of X25519 (40), their
/// length (2), header included (RFC 8446 section 4.1.3).
const SERVER_HELLO: usize = 90;
/// The pre_shared_key extension in a ServerHello (RFC 8446 section 4.2.11).
const SELECTED_IDENTITY: usize = 6;
/// EncryptedExtensions without transport parameters: length, extension header.
const ENCRYPTED_EXTENSIONS: usize = MESSAGE_HEADER + 2 + 4;
/// An extension without content: `early_data` (RFC 8446 section 4.2.10), acknowledged `server_name` (RFC 6066 section 3).
const EMPTY_EXTENSION: usize = 4;
/// Finished with SHA-256 (RFC 8446 section 4.4.4) and SHA-384, which rustls prefers.
const FINISHED: usize = MESSAGE_HEADER + 48;
/// CertificateVerify without the signature: algorithm and length.
const CERTIFICATE_VERIFY: usize = MESSAGE_HEADER + 4;
/// Certificate without its entries: context and length of the list (RFC 8446 section 4.4.2).
const CERTIFICATE: usize = MESSAGE_HEADER + 4;
/// Length and extensions of each entry.
const CERTIFICATE_ENTRY: usize = 5;
/// NewSessionTicket of rustls: lifetime, age, a nonce of 32 bytes, a ticket of 32 bytes, length of extensions (RFC 8446
/// section 4.6.1).
const SESSION_TICKET: usize = MESSAGE_HEADER + 4 + 4 + 33 + 34 + 2;
/// The early_data extension of a ticket.
const TICKET_EARLY_DATA: usize = EMPTY_EXTENSION + 4;
/// Tickets that rustls sends after a full handshake.
const SESSION_TICKETS: usize = 2;
/// The pre_shared_key extension of a ClientHello that offers one of these tickets, with a binder of SHA-384
/// (RFC 8446 section 4.2.11).
const PRE_SHARED_KEY: usize = 4 + 2 + 2 + 32 + 4 + 2 + 1 + 48;

/// Sizes of what authenticates the server, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// Length of each certificate of the chain in DER.
    pub certificates: Vec<u32>,
    /// Length of the signature: 64 for Ed25519, 70 to 72 for ECDSA with P-256, 256 for RSA with 2048 bits.
    pub signature: u32,
}

impl Default for Credentials {
    /// A leaf and an intermediate certificate with ECDSA keys, and an ECDSA signature: what a public server sends now.
    fn default() -> Self {
        Credentials { certificates: vec![1000, 1100], signature: 71 }
    }
}

impl Credentials {
    fn certificate(&self) -> usize {
        let entries = self.certificates.iter().map(|length| *length as usize + CERTIFICATE_ENTRY);
        CERTIFICATE + entries.sum::<usize>()
    }
    fn verify(&self) -> usize {
        CERTIFICATE_VERIFY + self.signature as usize
    }
}

/// What a client keeps of an earlier connection to the same server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The server's transport parameters, as it sent them.
    parameters: Vec<u8>,
    /// Data may be sent before the handshake is complete (0-RTT).
    pub early_data: bool,
}

impl Ticket {
    /// Of a session that has seen its server's parameters; `None` before. `early_data` allows 0-RTT.
    pub(crate) fn of(session: &dyn crypto::Session, early_data: bool) -> Option<Self> {
        let parameters = session.transport_parameters().ok()??;
        let mut written = vec![];
        parameters.write(&mut written);
        Some(Ticket { parameters: written, early_data })
    }
}

/// Makes the tokens of stateless resets (RFC 9000 section 10.3) with a key of the owner's.
pub fn reset_key(key: [u8; 16]) -> Arc<dyn HmacKey> {
    Arc::new(NullSigner { key })
}

/// A client's side of the null session.
#[derive(Debug, Default)]
pub(crate) struct NullClient {
    pub ticket: Option<Ticket>,
}

/// A server's side of the null session.
#[derive(Debug, Default)]
pub(crate) struct NullServer {
    pub credentials: Credentials,
    /// Whether early data are taken.
    pub early_data: bool,
}

impl crypto::ClientConfig for NullClient {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let remembered = self.ticket.as_ref().map(|ticket| ticket.parameters.clone());
        let hello = Hello {
            resumes: self.ticket.is_some(),
            early_data: self.ticket.as_ref().is_some_and(|ticket| ticket.early_data),
        };
        Ok(Box::new(NullSession {
            // Type, length of list, type, length of name (RFC 6066 section 3).
            server_name: server_name.len() + 9,
            hello,
            peer: remembered,
            ..NullSession::new(Side::Client, params, Credentials::default(), false)
        }))
    }
}

impl crypto::ServerConfig for NullServer {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(Level::Initial, Side::Server))
    }
    fn retry_tag(&self, _version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        retry_tag(orig_dst_cid, &[packet])
    }
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        Box::new(NullSession::new(Side::Server, params, self.credentials.clone(), self.early_data))
    }
}

/// What a ClientHello offers and a ServerHello accepts.
#[derive(Clone, Copy, Default)]
struct Hello {
    resumes: bool,
    early_data: bool,
}

impl Hello {
    fn byte(self) -> u8 {
        u8::from(self.resumes) | u8::from(self.early_data) << 1
    }
    fn read(byte: u8) -> Self {
        Hello { resumes: byte & 1 != 0, early_data: byte & 2 != 0 }
    }
}

/// Which message comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    ClientHello,
    ServerHello,
    ServerFlight,
    ClientFinished,
    Tickets,
    Done,
}

struct NullSession {
    side: Side,
    own: Vec<u8>,
    peer: Option<Vec<u8>>,
    credentials: Credentials,
    takes_early_data: bool,
    server_name: usize,
    /// Offered by the client, and once the ServerHello is made or read, what was agreed on.
    hello: Hello,
    /// The next message to read and to write.
    read: Step,
    write: Step,
    /// The client's keys come with messages that it does not answer.
    handshake_keys_due: bool,
    /// Bytes of a message that has not come as a whole.
    partial: Vec<u8>,
    /// Bytes of the server's messages that are still to come after the first.
    generation: u64,
}

impl NullSession {
    fn new(side: Side, params: &TransportParameters, credentials: Credentials, early_data: bool) -> Self {
        let mut own = vec![];
        params.write(&mut own);
        let (read, write) = match side {
            Side::Client => (Step::ServerHello, Step::ClientHello),
            Side::Server => (Step::ClientHello, Step::Done),
        };
        NullSession {
            side,
            own,
            peer: None,
            credentials,
            takes_early_data: early_data,
            server_name: 0,
            hello: Hello::default(),
            read,
            write,
            handshake_keys_due: false,
            partial: vec![],
            generation: 0,
        }
    }

    /// Length of the flight of the server after its ServerHello: a resumed handshake has no certificate.
    fn server_flight(&self) -> usize {
        // The name is acknowledged unless the session is resumed (RFC 6066 section 3).
        let named = if self.hello.resumes { 0 } else { EMPTY_EXTENSION };
        let early = if self.hello.early_data { EMPTY_EXTENSION } else { 0 };
        let extensions = ENCRYPTED_EXTENSIONS + self.own.len() + named + early;
        let authentication =
            if self.hello.resumes { 0 } else { self.credentials.certificate() + self.credentials.verify() };
        extensions + authentication + FINISHED
    }

    fn client_hello(&self) -> usize {
        let resumption = if self.hello.resumes { PRE_SHARED_KEY } else { 0 };
        let early = if self.hello.early_data { EMPTY_EXTENSION } else { 0 };
        CLIENT_HELLO + self.server_name + self.own.len() + resumption + early
    }

    fn server_hello(&self) -> usize {
        SERVER_HELLO + if self.hello.resumes { SELECTED_IDENTITY } else { 0 }
    }

    /// A message as a whole, as soon as all of it is there.
    fn next_message(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let Some(length) = self.partial.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length < LEAST_MESSAGE {
            return Err(violation("a message shorter than its header"));
        }
        let whole = self.partial.len() >= length;
        Ok(whole.then(|| self.partial.drain(..length).collect()))
    }

    fn take(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        let flags = message.get(4).copied().unwrap_or(0);
        match self.read {
            Step::ClientHello => {
                let offered = Hello::read(flags);
                self.hello = Hello { early_data: offered.early_data && self.takes_early_data, ..offered };
                self.peer = Some(parameters_in(message)?);
                (self.read, self.write) = (Step::ClientFinished, Step::ServerHello);
                return Ok(true);
            }
            Step::ServerHello => {
                self.hello = Hello::read(flags);
                (self.read, self.handshake_keys_due) = (Step::ServerFlight, true);
            }
            Step::ServerFlight => {
                self.peer = Some(parameters_in(message)?);
                (self.read, self.write) = (Step::Tickets, Step::ClientFinished);
                return Ok(true);
            }
            Step::ClientFinished => (self.read, self.write) = (Step::Done, Step::Tickets),
            Step::Tickets => {}
            Step::Done => return Err(violation("a message after the handshake")),
        }
        Ok(false)
    }
}

/// A message has its length and its flags at least.
const LEAST_MESSAGE: usize = 5;

/// A message of `length` bytes: its length, flags, parameters with their length, filler.
fn message(length: usize, hello: Hello, parameters: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.push(hello.byte());
    if !parameters.is_empty() {
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        out.extend_from_slice(parameters);
    }
    debug_assert!(out.len() - start <= length, "content of {} bytes in {length}", out.len() - start);
    out.resize(start + length, 0);
}

fn violation(reason: &str) -> TransportError {
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason: reason.to_string() }
}

fn parameters_in(message: &[u8]) -> Result<Vec<u8>, TransportError> {
    let read = || {
        let length = u16::from_be_bytes(*message.get(5..)?.first_chunk::<2>()?);
        message.get(7..7 + usize::from(length))
    };
    read().map(<[u8]>::to_vec).ok_or_else(|| violation("a message without parameters"))
}

impl crypto::Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, side: Side) -> Keys {
        keys(Level::Initial, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        // Early data go from the client to the server only: both ends have the client's key.
        let key = || Box::new(NullKey::new(Level::Early, Side::Client, 0));
        self.hello.early_data.then(|| (key() as _, key() as _))
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.side.is_client().then_some(self.hello.early_data)
    }
    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => self.write == Step::ClientHello || self.read != Step::Tickets,
            Side::Server => self.read != Step::Done,
        }
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(buf);
        let mut ready = false;
        while let Some(message) = self.next_message()? {
            ready |= self.take(&message)?;
        }
        Ok(ready)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(peer) = &self.peer else { return Ok(None) };
        let parameters = TransportParameters::read(self.side, &mut Cursor::new(peer))?;
        Ok(Some(parameters))
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        if std::mem::take(&mut self.handshake_keys_due) {
            return Some(keys(Level::Handshake, self.side));
        }
        match self.write {
            Step::ClientHello => {
                message(self.client_hello(), self.hello, &self.own, buf);
                self.write = Step::Done;
                None
            }
            Step::ServerHello => {
                message(self.server_hello(), self.hello, &[], buf);
                self.write = Step::ServerFlight;
                Some(keys(Level::Handshake, self.side))
            }
            Step::ServerFlight => {
                message(self.server_flight(), self.hello, &self.own, buf);
                self.write = Step::Done;
                Some(keys(Level::Data, self.side))
            }
            Step::ClientFinished => {
                message(FINISHED, self.hello, &[], buf);
                self.write = Step::Done;
                Some(keys(Level::Data, self.side))
            }
            Step::Tickets => {
                let early = if self.takes_early_data { TICKET_EARLY_DATA } else { 0 };
                (0..SESSION_TICKETS).for_each(|_| message(SESSION_TICKET + early, self.hello, &[], buf));
                self.write = Step::Done;
                None
            }
            Step::Done => None,
        }
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation += 1;
        let key = |side| Box::new(NullKey::new(Level::Data, side, self.generation)) as Box<dyn PacketKey>;
        Some(KeyPair { local: key(self.side), remote: key(!self.side) })
    }
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some((rest, tag)) = payload.split_last_chunk::<16>() else { return false };
        retry_tag(orig_dst_cid, &[header, rest]) == *tag
    }
    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Encryption levels (RFC 9001 section 2.1).
#[derive(Clone, Copy)]
enum Level {
    Initial,
    Early,
    Handshake,
    Data,
}

fn keys(level: Level, side: Side) -> Keys {
    let header = || Box::new(NullKey::new(level, side, 0)) as Box<dyn HeaderKey>;
    let packet = |side| Box::new(NullKey::new(level, side, 0)) as Box<dyn PacketKey>;
    Keys {
        header: KeyPair { local: header(), remote: header() },
        packet: KeyPair { local: packet(side), remote: packet(!side) },
    }
}

/// A key that only has a name: level, side, and number of the key update.
struct NullKey {
    name: [u8; TAG],
}

impl NullKey {
    fn new(level: Level, side: Side, generation: u64) -> Self {
        let mut name = [0; TAG];
        name[..8].copy_from_slice(&generation.to_le_bytes());
        name[8] = level as u8;
        name[9] = u8::from(side.is_client());
        NullKey { name }
    }
}

impl NullKey {
    /// What authenticates a packet with this number. A receiver that takes a late packet's short number for a later one
    /// (RFC 9000 section 17.1) cannot open it, as with real keys, whose nonce the number is.
    fn tag(&self, packet: u64) -> [u8; TAG] {
        let mut tag = self.name;
        tag[10..].copy_from_slice(&packet.to_le_bytes()[..TAG - 10]);
        tag
    }
}

impl PacketKey for NullKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], _header_len: usize) {
        if let Some(tag) = buf.last_chunk_mut::<TAG>() {
            *tag = self.tag(packet);
        }
    }
    fn decrypt(&self, packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        if payload.last_chunk::<TAG>() != Some(&self.tag(packet)) {
            return Err(CryptoError);
        }
        payload.truncate(payload.len() - TAG);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }
    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

impl HeaderKey for NullKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

fn retry_tag(orig_dst_cid: &ConnectionId, parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = SipHasher13::new();
    hasher.write(orig_dst_cid);
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish128().as_bytes()
}

/// Signs with a keyed hash (SipHash-1-3), which is not secure: for reset tokens and address tokens of a simulation.
#[derive(Clone, Copy)]
pub(crate) struct NullSigner {
    pub key: [u8; 16],
}

impl NullSigner {
    fn tag(&self, data: &[u8]) -> [u8; 16] {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(data);
        hasher.finish128().as_bytes()
    }
}

impl HmacKey for NullSigner {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        // As long as that of SHA-256.
        let tag = self.tag(data);
        signature_out.chunks_mut(tag.len()).for_each(|part| part.copy_from_slice(&tag[..part.len()]));
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; 32];
        self.sign(data, &mut expected);
        if signature == expected { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for NullSigner {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NullSigner { key: self.tag(random_bytes) })
    }
}

impl AeadKey for NullSigner {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let tag = self.tag(&[data.as_slice(), additional_data].concat());
        data.extend_from_slice(&tag);
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let length = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (content, tag) = data.split_at_mut(length);
        if *tag != self.tag(&[&*content, additional_data].concat()) {
            return Err(CryptoError);
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quinn_proto::crypto::{ClientConfig as _, ServerConfig as _};
    use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
    use rustls::quic::{ClientConnection, Connection, ServerConnection, Version};

    const CERTIFICATE: &[u8] = include_bytes!("../tests/data/certificate.der");
    const KEY: &[u8] = include_bytes!("../tests/data/key.der");
    /// Transport parameters: max_idle_timeout of 30 s and initial_max_data of 2^20 (RFC 9000 section 18.2).
    const CLIENT: &[u8] = &[1, 4, 0x80, 0, 0x75, 0x30, 4, 4, 0x80, 0x10, 0, 0];
    const SERVER: &[u8] = &[1, 4, 0x80, 0, 0x75, 0x30];

    struct Tls {
        client: Arc<rustls::ClientConfig>,
        server: Arc<rustls::ServerConfig>,
    }

    #[test]
    fn a_message_without_length_is_an_error() {
        let own = TransportParameters::read(Side::Client, &mut Cursor::new(SERVER)).unwrap();
        let mut server = Arc::new(NullServer::default()).start_session(1, &own);
        assert!(server.read_handshake(&[0; 8]).is_err());
    }

    /// rustls with a chain of `certificates` copies of an Ed25519 certificate.
    fn tls(certificates: usize, early_data: bool) -> Tls {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = [&rustls::version::TLS13];
        let certificate = CertificateDer::from(CERTIFICATE);
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let mut client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.enable_early_data = early_data;
        let mut server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate; certificates], PrivatePkcs8KeyDer::from(KEY).into())
            .unwrap();
        server.max_early_data_size = if early_data { u32::MAX } else { 0 };
        Tls { client: Arc::new(client), server: Arc::new(server) }
    }

    /// Lengths of what the two ends write, call by call, client first.
    fn flights(
        mut write: [impl FnMut(&mut Vec<u8>); 2],
        mut read: [impl FnMut(&[u8]); 2],
    ) -> Vec<(usize, usize)> {
        let mut lengths = vec![];
        for _ in 0..3 {
            for end in 0..2 {
                loop {
                    let mut flight = vec![];
                    write[end](&mut flight);
                    if flight.is_empty() {
                        // Keys without a message may come first.
                        write[end](&mut flight);
                    }
                    if flight.is_empty() {
                        break;
                    }
                    lengths.push((end, flight.len()));
                    read[1 - end](&flight);
                }
            }
        }
        lengths
    }

    fn tls_flights(tls: &Tls) -> Vec<(usize, usize)> {
        let name = "localhost".try_into().unwrap();
        let client =
            ClientConnection::new(Arc::clone(&tls.client), Version::V1, name, CLIENT.to_vec()).unwrap();
        let server = ServerConnection::new(Arc::clone(&tls.server), Version::V1, SERVER.to_vec()).unwrap();
        let ends = [Connection::Client(client), Connection::Server(server)].map(std::cell::RefCell::new);
        let [client, server] = &ends;
        flights(
            [client, server].map(|end| move |out: &mut Vec<u8>| drop(end.borrow_mut().write_hs(out))),
            [client, server].map(|end| move |flight: &[u8]| end.borrow_mut().read_hs(flight).unwrap()),
        )
    }

    fn null_flights(certificates: usize, early_data: bool, resumes: bool) -> Vec<(usize, usize)> {
        let parameters =
            |side, bytes: &[u8]| TransportParameters::read(side, &mut Cursor::new(bytes)).unwrap();
        let (own, servers) = (parameters(Side::Server, CLIENT), parameters(Side::Client, SERVER));
        let ticket = resumes.then(|| Ticket { parameters: SERVER.to_vec(), early_data });
        let credentials =
            Credentials { certificates: vec![CERTIFICATE.len() as u32; certificates], signature: 64 };
        let client = Arc::new(NullClient { ticket }).start_session(1, "localhost", &own).ok().unwrap();
        let server = Arc::new(NullServer { credentials, early_data }).start_session(1, &servers);
        let ends = [client, server].map(std::cell::RefCell::new);
        let [client, server] = &ends;
        let lengths = flights(
            [client, server].map(|end| move |out: &mut Vec<u8>| drop(end.borrow_mut().write_handshake(out))),
            [client, server]
                .map(|end| move |flight: &[u8]| assert!(end.borrow_mut().read_handshake(flight).is_ok())),
        );
        assert!(ends.iter().all(|end| !end.borrow().is_handshaking()));
        assert_eq!(client.borrow().early_data_accepted(), Some(early_data && resumes));
        lengths
    }

    /// ClientHello, ServerHello, the server's flight, Finished, two tickets: full, resumed, and with early data.
    #[test]
    fn messages_are_as_long_as_those_of_rustls() {
        for (certificates, early_data) in [(1, false), (1, true), (4, false)] {
            let tls = tls(certificates, early_data);
            for resumes in [false, true] {
                let (with_tls, without) =
                    (tls_flights(&tls), null_flights(certificates, early_data, resumes));
                assert_eq!(
                    without, with_tls,
                    "{certificates} certificates, early data {early_data}, resumed {resumes}"
                );
                assert_eq!(with_tls.len(), 5);
            }
        }
    }

    /// A packet that is opened with the key of another level, side or update, or as one of another number, is refused.
    #[test]
    fn wrong_keys_open_nothing() {
        let all = [
            NullKey::new(Level::Initial, Side::Client, 0),
            NullKey::new(Level::Handshake, Side::Client, 0),
            NullKey::new(Level::Data, Side::Client, 0),
            NullKey::new(Level::Data, Side::Server, 0),
            NullKey::new(Level::Data, Side::Client, 1),
        ];
        for (one, key) in all.iter().enumerate() {
            for (other, opener) in all.iter().enumerate() {
                let mut packet = vec![7; 40];
                PacketKey::encrypt(key, 0, &mut packet, 9);
                let mut payload = BytesMut::from(&packet[9..]);
                let mut of_other_number = payload.clone();
                assert_eq!(PacketKey::decrypt(opener, 0, &packet[..9], &mut payload).is_ok(), one == other);
                assert!(PacketKey::decrypt(opener, 256, &packet[..9], &mut of_other_number).is_err());
            }
        }
    }

    #[test]
    fn tokens_that_were_changed_are_refused() {
        let key = NullSigner { key: [3; 16] };
        let mut sealed = b"address".to_vec();
        key.seal(&mut sealed, b"more").unwrap();
        assert_eq!(key.open(&mut sealed.clone(), b"more").unwrap(), b"address");
        assert!(key.open(&mut sealed.clone(), b"less").is_err());
        sealed[0] ^= 1;
        assert!(key.open(&mut sealed, b"more").is_err());
        let mut signature = [0; 32];
        key.sign(b"id", &mut signature);
        assert!(key.verify(b"id", &signature).is_ok() && key.verify(b"di", &signature).is_err());
    }
}
