//! Memory for bytes on their way. A direction of a connection holds a buffer only while there is something in it, so an idle
//! connection holds none.
//!
//! Every direction can always have a small buffer: the configuration is refused if the budget is less than that. Large ones
//! are for what is left over. So slow readers cannot bring the others to a stop.

use crate::pipe::Pipe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a small buffer.
pub const SMALL: usize = 16 << 10;
/// Bytes of a large buffer: few system calls, and still in a processor's second-level cache.
pub const LARGE: usize = 256 << 10;
/// Buffers that are kept for the next use.
const KEPT: usize = 64;
/// Pipes that are kept for the next use: few, for each holds two descriptors.
const KEPT_PIPES: usize = 8;

/// Buffers, and how many bytes of them are in use.
pub struct Pool {
    /// Bytes for large buffers.
    spare: usize,
    large_in_use: AtomicUsize,
    small_in_use: AtomicUsize,
    large: Mutex<Vec<Box<[u8]>>>,
    small: Mutex<Vec<Box<[u8]>>>,
    pipes: Mutex<Vec<Pipe>>,
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
            spare: memory.saturating_sub(flows.saturating_mul(2 * SMALL)),
            large_in_use: AtomicUsize::new(0),
            small_in_use: AtomicUsize::new(0),
            large: Mutex::new(vec![]),
            small: Mutex::new(vec![]),
            pipes: Mutex::new(vec![]),
        }
    }

    /// An empty buffer, a large one if that is requested and there is room.
    pub fn take(&self, large: bool) -> Chunk {
        let bytes = if large && self.reserve_large() {
            take_from(&self.large, LARGE)
        } else {
            self.small_in_use.fetch_add(SMALL, Ordering::Relaxed);
            take_from(&self.small, SMALL)
        };
        Chunk { bytes, start: 0, end: 0 }
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

    /// Counts a large buffer, if there is room for it.
    fn reserve_large(&self) -> bool {
        let room = |used: usize| used.checked_add(LARGE).filter(|more| *more <= self.spare);
        self.large_in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    /// An empty pipe, which counts as a large buffer; `None` if memory or descriptors are short.
    pub(crate) fn take_pipe(&self) -> Option<Pipe> {
        if !self.reserve_large() {
            return None;
        }
        let kept = self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let pipe = kept.or_else(|| Pipe::open().ok());
        if pipe.is_none() {
            self.large_in_use.fetch_sub(LARGE, Ordering::Relaxed);
        }
        pipe
    }

    /// Takes a pipe back; one with bytes in it is closed.
    pub(crate) fn give_pipe(&self, pipe: Pipe) {
        self.large_in_use.fetch_sub(LARGE, Ordering::Relaxed);
        let mut list = self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pipe.held() == 0 && list.len() < KEPT_PIPES {
            list.push(pipe);
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
    fn pipes_count_as_large_buffers() {
        let pool = Pool::new(10 * 2 * SMALL + 2 * LARGE, 10);
        let pipes = [pool.take_pipe().unwrap(), pool.take_pipe().unwrap()];
        assert!(pool.take_pipe().is_none() && !pool.take(true).is_large(), "the memory is in use");
        pipes.into_iter().for_each(|pipe| pool.give_pipe(pipe));
        assert_eq!(pool.in_use(), SMALL);
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
