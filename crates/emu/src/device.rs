//! Where packets come from and go to: the TUN device of a host, or an interface of a bridge.
//!
//! Of an interface, frames are taken as they are on the wire: a VLAN tag (IEEE 802.1Q) that the kernel has taken out of a frame is put
//! back, and a checksum that the sender has left to its device, which there is none of here, is completed (packet(7),
//! PACKET_AUXDATA).

use crate::sys::{self, PacketSocket};
use crate::{Error, frame};
use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of Ethernet's header without tags: destination, source, type (IEEE 802.3).
const ETHERNET: usize = 14;
/// Both addresses; tags come behind them.
const ADDRESSES: usize = 12;
/// Bytes of a tag, and the types that announce one (IEEE 802.1Q, 802.1ad, and the latter before it was one).
const TAG: usize = 4;
const TAG_TYPES: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// A device takes frames of this length at least; a buffer has to be so much longer than them.
pub(crate) const MARGIN: usize = TAG;

/// A device that packets come from and go to.
pub enum Device {
    /// IP packets, without anything before them.
    Tun(File),
    /// Ethernet's frames.
    Interface(Interface),
}

/// An interface of a bridge.
pub struct Interface {
    /// Its name, as it was given.
    pub name: String,
    socket: PacketSocket,
    /// It is down.
    down: bool,
    /// How often it was found down.
    pub downs: u32,
    /// Checksums that were completed.
    pub completed: u64,
}

/// What was received.
pub struct Received {
    /// Where it is in the buffer.
    pub place: Range<usize>,
    /// Bytes that precede the IP packet in it.
    pub network: u16,
}

/// Why nothing was received or sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is nothing, or no room.
    Nothing,
    /// The interface has just gone down.
    Down,
    /// The device is no more.
    Gone,
}

impl Device {
    /// To wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Device::Tun(file) => file.as_fd(),
            Device::Interface(interface) => interface.socket.as_fd(),
        }
    }

    /// A packet that has come in.
    ///
    /// # Errors
    /// Why there is none.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Received, Fault> {
        match self {
            Device::Tun(file) => match file.read(buffer) {
                Ok(len) => Ok(Received { place: 0..len, network: 0 }),
                // The device was removed, with its namespace.
                Err(why) if why.raw_os_error() == Some(Errno::EBADFD as i32) => Err(Fault::Gone),
                Err(_) => Err(Fault::Nothing),
            },
            Device::Interface(interface) => interface.receive(buffer),
        }
    }

    /// Sends a packet; false if the device does not take it.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        // Devices take a packet or refuse it.
        let result = match self {
            Device::Tun(file) => file.write(bytes),
            Device::Interface(interface) => interface.socket.send(bytes),
        };
        result.is_ok_and(|len| len == bytes.len())
    }

    /// Packets that it has lost since they were not read in time.
    pub fn lost(&self) -> u64 {
        match self {
            Device::Tun(_) => 0,
            Device::Interface(interface) => interface.socket.lost(),
        }
    }
}

impl Interface {
    /// Opens an interface of the thread's network namespace.
    ///
    /// # Errors
    /// If it does not exist, may not be opened, or is down.
    pub fn open(name: &str) -> Result<Self, Error> {
        let failed = |why: io::Error| {
            let lacks =
                if why.kind() == io::ErrorKind::PermissionDenied { "; CAP_NET_RAW is needed" } else { "" };
            Error::system(format!("open the interface {name}"), format!("{why}{lacks}"))
        };
        let socket = PacketSocket::open(name).map_err(failed)?;
        if !socket.is_up().map_err(failed)? {
            return Err(Error::system(
                format!("bridge {name}"),
                format!("the interface is down; set it up: ip link set {name} up"),
            ));
        }
        Ok(Interface { name: name.to_string(), socket, down: false, downs: 0, completed: 0 })
    }

    /// The interface's number.
    pub fn number(&self) -> i32 {
        self.socket.interface
    }

    /// There is no such interface any more.
    pub fn is_gone(&self) -> bool {
        sys::interface_name(self.socket.interface).is_err()
    }

    /// It was found down, and has not come up since.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// True, once, if it has come up again.
    pub fn has_come_up(&mut self) -> bool {
        let up = self.down && self.socket.is_up().unwrap_or(false);
        self.down &= !up;
        up
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Received, Fault> {
        // A tag that is put back moves the addresses to the front.
        let taken = match self.socket.receive(&mut buffer[MARGIN..]) {
            Ok(taken) => taken,
            Err(why) if why.raw_os_error() == Some(Errno::ENETDOWN as i32) => return Err(self.fault()),
            Err(_) => return Err(Fault::Nothing),
        };
        let end = MARGIN + taken.len;
        let begin = match taken.tag {
            Some(tag) if taken.len >= ADDRESSES => {
                buffer.copy_within(MARGIN..MARGIN + ADDRESSES, 0);
                buffer[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
                0
            }
            _ => MARGIN,
        };
        let network = network_of(&buffer[begin..end]);
        if taken.checksum_is_open {
            let packet = buffer[begin..end].get_mut(network..).unwrap_or_default();
            self.completed += u64::from(frame::complete_checksum(packet));
        }
        Ok(Received { place: begin..end, network: network as u16 })
    }

    /// Why the kernel reports that the network is down.
    fn fault(&mut self) -> Fault {
        if self.is_gone() {
            return Fault::Gone;
        }
        if self.down {
            return Fault::Nothing;
        }
        self.down = true;
        self.downs += 1;
        Fault::Down
    }
}

/// Where the packet begins in a frame: behind the header and all of its tags.
fn network_of(frame: &[u8]) -> usize {
    let kind = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = ADDRESSES;
    while kind(at).is_some_and(|kind| TAG_TYPES.contains(&kind)) {
        at += TAG;
    }
    (at + ETHERNET - ADDRESSES).min(frame.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_begins_behind_all_tags() {
        let plain = [&[0; 12][..], &[8, 0, 0x45]].concat();
        assert_eq!(network_of(&plain), 14);
        let tagged = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0, 0x45]].concat();
        assert_eq!(network_of(&tagged), 18);
        let twice = [&[0; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0, 0x45]].concat();
        assert_eq!(network_of(&twice), 22);
        for len in 0..twice.len() {
            assert!(network_of(&twice[..len]) <= len);
        }
    }
}
