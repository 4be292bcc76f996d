//! Memory for bytes on their way. A direction of a connection holds a buffer only while there is something in it, so an idle
//! connection holds none.
//!
//! Every direction can always have a small buffer: the configuration is refused if the budget is less than that. Large ones
//! are for what is left over. So slow readers cannot bring the others to a stop.

use crate::pipe::{PIPE, Pipe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a small buffer.
pub const SMALL: usize = 16 << 10;
/// Bytes of a large buffer: few system calls, and still in a processor's second-level cache.
pub const LARGE: usize = 256 << 10;
/// Buffers that are kept for the next use.
const KEPT: usize = 64;
/// Pipes that are kept for the next use, and that exist besides them. A direction has one only while there is something in it.
/// The kernel gives a user 64 of this size (fs.pipe-user-pages-soft).
const KEPT_PIPES: usize = 8;
const MOST_PIPES: usize = 32;
/// Descriptors of pipes.
pub const PIPE_DESCRIPTORS: usize = 2 * (KEPT_PIPES + MOST_PIPES);

/// Buffers, and how many bytes of them are in use.
pub struct Pool {
    /// Bytes for large buffers.
    spare: usize,
    large_in_use: AtomicUsize,
    small_in_use: AtomicUsize,
    large: Mutex<Vec<Box<[u8]>>>,
    small: Mutex<Vec<Box<[u8]>>>,
    pipes: Mutex<Vec<Pipe>>,
    pipes_in_use: AtomicUsize,
}

/// A piece of a stream: bytes from `start` to `end` are to be sent on.
pub struct Chunk {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Pool {
    /// A pool of at most `memory` bytes for `flows` connections.
    pub fn new(memory: usize, flows: usize) -> Pool {
        Pool {
            spare: memory.saturating_sub(flows * 2 * SMALL),
            large_in_use: AtomicUsize::new(0),
            small_in_use: AtomicUsize::new(0),
            large: Mutex::new(vec![]),
            small: Mutex::new(vec![]),
            pipes: Mutex::default(),
            pipes_in_use: AtomicUsize::new(0),
        }
    }

    /// An empty buffer, a large one if that is requested and there is room.
    pub fn take(&self, large: bool) -> Chunk {
        let bytes = if large && self.reserve(LARGE) {
            take_from(&self.large, LARGE)
        } else {
            self.small_in_use.fetch_add(SMALL, Ordering::Relaxed);
            take_from(&self.small, SMALL)
        };
        Chunk { bytes, start: 0, end: 0 }
    }

    /// An empty pipe, if there is room for one.
    pub(crate) fn take_pipe(&self) -> Option<Pipe> {
        if self.pipes_in_use.load(Ordering::Relaxed) >= MOST_PIPES || !self.reserve(PIPE) {
            return None;
        }
        let kept = self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let pipe = kept.or_else(Pipe::new);
        match pipe {
            Some(_) => self.pipes_in_use.fetch_add(1, Ordering::Relaxed),
            None => self.large_in_use.fetch_sub(PIPE, Ordering::Relaxed),
        };
        pipe
    }

    /// Takes a pipe back; one with bytes in it is closed.
    pub(crate) fn give_pipe(&self, pipe: Pipe) {
        self.large_in_use.fetch_sub(PIPE, Ordering::Relaxed);
        self.pipes_in_use.fetch_sub(1, Ordering::Relaxed);
        let mut pipes = self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pipe.held() == 0 && pipes.len() < KEPT_PIPES {
            pipes.push(pipe);
        }
    }

    /// Pipes that wait for their next use.
    #[cfg(test)]
    pub(crate) fn kept_pipes(&self) -> usize {
        self.pipes.lock().unwrap().len()
    }

    /// Counts memory beyond the small buffers, if there is so much left.
    fn reserve(&self, bytes: usize) -> bool {
        let room = |used: usize| (used + bytes <= self.spare).then_some(used + bytes);
        self.large_in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    /// Takes a buffer back.
    pub fn give(&self, chunk: Chunk) {
        let (list, used) = match chunk.bytes.len() {
            LARGE => (&self.large, &self.large_in_use),
            _ => (&self.small, &self.small_in_use),
        };
        used.fetch_sub(chunk.bytes.len(), Ordering::Relaxed);
        let mut list = list.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if list.len() < KEPT {
            list.push(chunk.bytes);
        }
    }

    /// Bytes of buffers in use.
    pub fn in_use(&self) -> usize {
        self.large_in_use.load(Ordering::Relaxed) + self.small_in_use.load(Ordering::Relaxed)
    }
}

fn take_from(list: &Mutex<Vec<Box<[u8]>>>, len: usize) -> Box<[u8]> {
    let kept = list.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
    kept.unwrap_or_else(|| vec![0; len].into_boxed_slice())
}

impl Chunk {
    /// Bytes to be sent on.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Room for more.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..]
    }

    /// `n` bytes have come in.
    pub fn add(&mut self, n: usize) {
        self.end += n;
        assert!(self.end <= self.bytes.len(), "more bytes than there was room for");
    }

    /// `n` bytes have gone out.
    pub fn remove(&mut self, n: usize) {
        self.start += n;
        assert!(self.start <= self.end, "more bytes sent than there were");
    }

    /// True for a large buffer.
    pub fn is_large(&self) -> bool {
        self.bytes.len() == LARGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_bounded_and_small_ones_are_always_there() {
        let pool = Pool::new(10 * 2 * SMALL + 2 * LARGE, 10);
        let taken: Vec<Chunk> = (0..4).map(|_| pool.take(true)).collect();
        assert_eq!(taken.iter().map(Chunk::is_large).collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!(pool.in_use(), 2 * LARGE + 2 * SMALL);
        taken.into_iter().for_each(|chunk| pool.give(chunk));
        assert_eq!(pool.in_use(), 0);
        assert!(pool.take(true).is_large());
    }

    #[test]
    fn what_comes_in_goes_out() {
        let pool = Pool::new(1 << 20, 1);
        let mut chunk = pool.take(false);
        chunk.room()[..5].copy_from_slice(b"hello");
        chunk.add(5);
        chunk.remove(2);
        assert_eq!(chunk.filled(), b"llo");
    }
}
