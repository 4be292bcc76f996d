//! Datagrams between the two ends of a recording, each with a tag that only the shared secret makes: HMAC (RFC 2104) with SHA-256, cut to
//! 16 bytes.
//!
//! ```text
//! "LHR1"  kind (1 byte)  zero (3)  session (16)  what belongs to the kind  tag (16)  zeros to the length
//! ```
//!
//! Numbers are big endian. An answer is never longer than what it answers: what asks is filled up with zeros.

use sha2::{Digest, Sha256};

const MAGIC: [u8; 4] = *b"LHR1";
const HEAD: usize = 24;
const TAG: usize = 16;
/// The shortest probe: its echo has as many bytes.
pub const LEAST_PROBE: usize = 64;
/// Questions have so many bytes, so that no answer is longer.
pub const QUESTION: usize = 1200;
/// Bytes of a block of what the far end has counted.
pub const BLOCK: usize = 1024;

/// The number of a session, drawn by the client.
pub type Session = [u8; 16];

/// A key for tags.
#[derive(Clone, Copy)]
pub struct Key([u8; 32]);

impl Key {
    /// Of the secret that both ends share.
    pub fn of_secret(secret: &[u8]) -> Key {
        Key(hmac(secret, &[b"longhaul record 1"]))
    }

    /// Of random bytes.
    pub fn of_bytes(bytes: [u8; 32]) -> Key {
        Key(bytes)
    }

    /// A key that only who has this one can make.
    pub fn derived(&self, parts: &[&[u8]]) -> Key {
        Key(hmac(&self.0, parts))
    }

    /// The tag of these bytes, one after the other.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        let whole = hmac(&self.0, parts);
        std::array::from_fn(|place| whole[place])
    }
}

/// HMAC with SHA-256 of all parts, one after the other.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c)).chain_update(inner.finalize());
    outer.finalize().into()
}

/// Whether two tags are equal, in a time that does not depend on where they differ.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Why a session is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There are as many sessions as the server has room for.
    Busy,
    /// The session is longer than the server keeps counts of.
    TooLong,
    /// A flow is faster than the server permits.
    TooFast,
    /// The flows take more data than the server permits.
    TooMuch,
}

impl Refusal {
    const ALL: [Refusal; 4] = [Refusal::Busy, Refusal::TooLong, Refusal::TooFast, Refusal::TooMuch];
}

/// What the far end has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// A bit for each probe: whether it has arrived.
    Probes,
    /// Bytes of the flow in each 10 ms since its first packet, 4 bytes each.
    Bins,
}

/// What is in a datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Client: it has the secret, and asks for a cookie, which proves its address.
    Hello,
    /// Server: the cookie.
    Cookie { cookie: [u8; TAG] },
    /// Client: begin a session of so many probes at most.
    Start { cookie: [u8; TAG], probes: u32 },
    /// Server: it has begun. The fastest flow in bit/s and the bytes of all flows that it permits.
    Accepted { rate: u64, data: u64 },
    /// Server: there is no session.
    Refused(Refusal),
    /// Client: a probe.
    Probe { number: u32 },
    /// Server: its answer. The server's time of day at which it came, and how long it was held, in ns.
    Echo { number: u32, came_at: u64, held: u64 },
    /// Client: a flow from the server (`down`) or from here, of datagrams of `size` bytes.
    Flow { number: u8, down: bool, rate: u64, size: u16, nanos: u64 },
    /// Server: so be it.
    Flowing { number: u8 },
    /// Server: no.
    NoFlow { number: u8, why: Refusal },
    /// Either: a packet of a flow.
    Data { flow: u8, number: u32 },
    /// Client: what was counted?
    Ask { what: Count, block: u32 },
    /// Server: a part of it; less than [`BLOCK`] bytes at the end.
    Block { what: Count, block: u32, bytes: Vec<u8> },
    /// Client: the session is over.
    End,
    /// Server: it is.
    Ended,
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Message::Hello => 1,
            Message::Cookie { .. } => 2,
            Message::Start { .. } => 3,
            Message::Accepted { .. } => 4,
            Message::Refused(_) => 5,
            Message::Probe { .. } => 6,
            Message::Echo { .. } => 7,
            Message::Flow { .. } => 8,
            Message::Flowing { .. } => 9,
            Message::NoFlow { .. } => 10,
            Message::Data { .. } => 11,
            Message::Ask { .. } => 12,
            Message::Block { .. } => 13,
            Message::End => 14,
            Message::Ended => 15,
        }
    }

    /// The datagram, filled up with zeros to `len` bytes if it is shorter.
    pub fn sealed(&self, session: &Session, key: &Key, len: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([self.kind(), 0, 0, 0]);
        bytes.extend(session);
        match self {
            Message::Hello | Message::End | Message::Ended => {}
            Message::Cookie { cookie } => bytes.extend(cookie),
            Message::Start { cookie, probes } => {
                bytes.extend(cookie);
                bytes.extend(probes.to_be_bytes());
            }
            Message::Accepted { rate, data } => {
                bytes.extend(rate.to_be_bytes());
                bytes.extend(data.to_be_bytes());
            }
            Message::Refused(why) => bytes.push(*why as u8),
            Message::Probe { number } => bytes.extend(number.to_be_bytes()),
            Message::Echo { number, came_at, held } => {
                bytes.extend(number.to_be_bytes());
                bytes.extend(came_at.to_be_bytes());
                bytes.extend(held.to_be_bytes());
            }
            Message::Flow { number, down, rate, size, nanos } => {
                bytes.extend([*number, u8::from(*down)]);
                bytes.extend(rate.to_be_bytes());
                bytes.extend(size.to_be_bytes());
                bytes.extend(nanos.to_be_bytes());
            }
            Message::Flowing { number } => bytes.push(*number),
            Message::NoFlow { number, why } => bytes.extend([*number, *why as u8]),
            Message::Data { flow, number } => {
                bytes.push(*flow);
                bytes.extend(number.to_be_bytes());
            }
            Message::Ask { what, block } => {
                bytes.push(*what as u8);
                bytes.extend(block.to_be_bytes());
            }
            Message::Block { what, block, bytes: counted } => {
                bytes.push(*what as u8);
                bytes.extend(block.to_be_bytes());
                bytes.extend((counted.len() as u16).to_be_bytes());
                bytes.extend(counted);
            }
        }
        let tag = key.tag(&[&bytes]);
        bytes.extend(tag);
        bytes.resize(bytes.len().max(len), 0);
        bytes
    }
}

/// A datagram whose tag was not looked at yet.
pub struct Sealed<'a> {
    /// The session that it states.
    pub session: Session,
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Sealed<'a> {
    /// `None` if it is none of a recording.
    pub fn of(bytes: &'a [u8]) -> Option<Sealed<'a>> {
        let head = bytes.first_chunk::<HEAD>().filter(|head| head[..4] == MAGIC)?;
        let session = std::array::from_fn(|place| head[8 + place]);
        Some(Sealed { session, kind: head[4], bytes })
    }

    /// It is of the opening of a session, whose tags are made by the secret itself.
    pub fn is_opening(&self) -> bool {
        (1..=5).contains(&self.kind)
    }

    /// What is in it; `None` if the tag is not by this key, or it is too short.
    pub fn open(&self, key: &Key) -> Option<Message> {
        let mut rest = Rest(&self.bytes[HEAD..]);
        let message = match self.kind {
            1 => Message::Hello,
            2 => Message::Cookie { cookie: rest.take()? },
            3 => Message::Start { cookie: rest.take()?, probes: rest.u32()? },
            4 => Message::Accepted { rate: rest.u64()?, data: rest.u64()? },
            5 => Message::Refused(rest.refusal()?),
            6 => Message::Probe { number: rest.u32()? },
            7 => Message::Echo { number: rest.u32()?, came_at: rest.u64()?, held: rest.u64()? },
            8 => Message::Flow {
                number: rest.u8()?,
                down: rest.u8()? != 0,
                rate: rest.u64()?,
                size: u16::from_be_bytes(rest.take()?),
                nanos: rest.u64()?,
            },
            9 => Message::Flowing { number: rest.u8()? },
            10 => Message::NoFlow { number: rest.u8()?, why: rest.refusal()? },
            11 => Message::Data { flow: rest.u8()?, number: rest.u32()? },
            12 => Message::Ask { what: rest.count()?, block: rest.u32()? },
            13 => {
                let (what, block) = (rest.count()?, rest.u32()?);
                let len = usize::from(u16::from_be_bytes(rest.take()?));
                Message::Block { what, block, bytes: rest.bytes(len)?.to_vec() }
            }
            14 => Message::End,
            15 => Message::Ended,
            _ => return None,
        };
        let tagged = self.bytes.len() - rest.0.len();
        let tag = rest.bytes(TAG)?;
        is_same(tag, &key.tag(&[&self.bytes[..tagged]])).then_some(message)
    }
}

/// What is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
    fn refusal(&mut self) -> Option<Refusal> {
        Refusal::ALL.get(usize::from(self.u8()?)).copied()
    }
    fn count(&mut self) -> Option<Count> {
        [Count::Probes, Count::Bins].get(usize::from(self.u8()?)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231 section 4, cases 1, 2 and 6.
    #[test]
    fn tags_are_those_of_the_rfc() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, tag) in cases {
            assert_eq!(hex(&hmac(key, &[&text[..3], &text[3..]])), tag);
        }
    }

    fn all() -> Vec<Message> {
        let cookie = [7; TAG];
        let (number, rate, data) = (70_000, 1 << 33, 1 << 40);
        vec![
            Message::Hello,
            Message::Cookie { cookie },
            Message::Start { cookie, probes: number },
            Message::Accepted { rate, data },
            Message::Refused(Refusal::TooMuch),
            Message::Probe { number },
            Message::Echo { number, came_at: u64::MAX, held: 3 },
            Message::Flow { number: 2, down: true, rate, size: 1200, nanos: 1 << 40 },
            Message::Flowing { number: 2 },
            Message::NoFlow { number: 2, why: Refusal::TooFast },
            Message::Data { flow: 1, number },
            Message::Ask { what: Count::Bins, block: 9 },
            Message::Block { what: Count::Probes, block: 9, bytes: vec![5; BLOCK] },
            Message::End,
            Message::Ended,
        ]
    }

    #[test]
    fn what_was_sealed_is_opened_by_the_same_key_alone() {
        let (key, session) = (Key::of_secret(b"a secret of the two"), [9; 16]);
        for message in all() {
            let bytes = message.sealed(&session, &key, 200);
            let sealed = Sealed::of(&bytes).unwrap();
            assert_eq!((sealed.session, sealed.open(&key)), (session, Some(message.clone())));
            assert_eq!(sealed.open(&Key::of_secret(b"another secret")), None);
            for place in 4..bytes.len().min(HEAD + 5) {
                let mut changed = bytes.clone();
                changed[place] ^= 1;
                // The three zeros are in the tag too.
                assert_eq!(Sealed::of(&changed).unwrap().open(&key), None, "{message:?} at {place}");
            }
            for len in 0..bytes.len().min(80) {
                let _ = Sealed::of(&bytes[..len]).and_then(|sealed| sealed.open(&key));
            }
        }
    }

    #[test]
    fn no_answer_is_longer_than_the_question() {
        let (key, session) = (Key::of_secret(b"a secret of the two"), [9; 16]);
        let longest = all().iter().map(|message| message.sealed(&session, &key, 0).len()).max().unwrap();
        assert!(longest <= QUESTION);
        let echo = Message::Echo { number: 1, came_at: 1, held: 1 }.sealed(&session, &key, 0);
        assert!(echo.len() <= LEAST_PROBE);
    }
}
