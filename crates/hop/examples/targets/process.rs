//! A terminal or a hub as a process of its own: the hop over a UDP socket, on this machine's clock.

use crate::common::{End, Job, node_seed};
use crate::rows::{Hop, Row};
use longhaul_hop::Role;
use longhaul_units::{Duration, Instant};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;

/// One end of the hop, a socket and this machine's clock.
struct Process {
    end: End,
    socket: UdpSocket,
    arrivals: mpsc::Receiver<(SocketAddr, Vec<u8>)>,
    start: std::time::Instant,
    /// Jobs that begin later, the next one last.
    waiting: Vec<usize>,
}

impl Process {
    fn new(end: impl FnOnce(Instant) -> End, local: SocketAddr) -> Self {
        let socket = UdpSocket::bind(local).unwrap();
        let receiving = socket.try_clone().unwrap();
        let (arrived, arrivals) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            // An ICMP message about an earlier datagram shows up as an error here, and is no reason to stop.
            loop {
                let Ok((length, from)) = receiving.recv_from(&mut buffer) else { continue };
                if arrived.send((from, buffer[..length].to_vec())).is_err() {
                    return;
                }
            }
        });
        Process {
            end: end(Instant::ZERO),
            socket,
            arrivals,
            start: std::time::Instant::now(),
            waiting: vec![],
        }
    }

    fn clock(&self) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    fn transmit_and_serve(&mut self) {
        loop {
            let now = self.clock();
            self.end.transmit(now, |to, bytes| {
                // A full send buffer loses the datagram, as the network may.
                let _ = self.socket.send_to(bytes, to);
            });
            if !self.end.serve(now) {
                return;
            }
        }
    }

    /// Handles what is due, and waits for the next thing to do. False if nothing is due before `limit`, which has come then.
    fn step(&mut self, limit: Instant) -> bool {
        let job = self.waiting.last().map_or(Instant::FAR_FUTURE, |job| self.end.jobs[*job].at);
        let timer = self.end.node.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        let now = self.clock();
        if now >= limit {
            return false;
        }
        let wait = timer.min(job).min(limit).max(now).since(now);
        let first = self.arrivals.recv_timeout(std::time::Duration::from_nanos(wait.as_nanos())).ok();
        let now = self.clock();
        for (from, bytes) in first.into_iter().chain(self.arrivals.try_iter().take(64)) {
            self.end.handle_datagram(now, from, &bytes);
        }
        self.end.handle_timeout(now);
        while let Some(job) = self.waiting.last().copied().filter(|job| self.end.jobs[*job].at <= now) {
            self.waiting.pop();
            self.end.begin(now, job);
        }
        self.transmit_and_serve();
        true
    }
}

impl Hop for Process {
    fn now(&self) -> Instant {
        self.clock()
    }
    fn connect(&mut self) {
        let limit = self.clock() + Duration::from_secs(60);
        self.transmit_and_serve();
        while self.end.peer.is_none() && self.step(limit) {}
        assert!(self.end.peer.is_some(), "the hop is not connected");
    }
    fn add(&mut self, job: Job) -> usize {
        let number = self.end.add(job);
        self.waiting.push(number);
        self.waiting.sort_by_key(|job| std::cmp::Reverse(self.end.jobs[*job].at));
        number
    }
    fn run(&mut self, limit: Instant) {
        while self.end.pending() && self.step(limit) {}
    }
    fn run_until(&mut self, limit: Instant) {
        while self.step(limit) {}
    }
    fn terminal(&self) -> &End {
        &self.end
    }
}

/// The clients: values of one run of a row.
pub fn terminal(hub: SocketAddr, row: &Row, seed: u64) -> Vec<f64> {
    let [mut config, _] = row.cell.configs();
    config.role = Role::Terminal { hub };
    let any = SocketAddr::new([0, 0, 0, 0].into(), 0);
    row.measure(&mut Process::new(|now| End::new(config, node_seed(1, seed), now), any))
}

/// The servers, until the process is ended.
pub fn hub(listen: SocketAddr, row: &Row) {
    let [_, config] = row.cell.configs();
    let mut process = Process::new(|now| End::new(config, node_seed(2, 0), now), listen);
    process.run_until(Instant::FAR_FUTURE);
}
