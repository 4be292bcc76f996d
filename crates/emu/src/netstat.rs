//! What the kernel of a host counts of all its TCP connections together (`/proc/net/netstat`, see `ip netns exec NAME nstat -az`), as
//! far as it does not count it of each socket.

use crate::{Error, namespace};

/// Counters of a host's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Netstat {
    /// Times that loss recovery was entered on SACK or duplicate ACKs (`TCPSackRecovery`, `TCPRenoRecovery`).
    pub recoveries: u64,
    /// SYNs and SYN-ACKs sent again (`TCPSynRetrans`): what is counted of a socket has them among its retransmissions and timeouts.
    pub syns: u64,
    /// Reductions of the window that were taken back (`TCPFullUndo`, `TCPPartialUndo`, `TCPDSACKUndo`, `TCPLossUndo`).
    pub undone: u64,
}

const RECOVERIES: [&str; 2] = ["TCPSackRecovery", "TCPRenoRecovery"];
const SYNS: [&str; 1] = ["TCPSynRetrans"];
const UNDONE: [&str; 4] = ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"];

impl Netstat {
    /// Those of a namespace's kernel; `None` where it does not show them.
    pub fn of(namespace: &str) -> Option<Netstat> {
        let read = || {
            std::fs::read_to_string("/proc/thread-self/net/netstat")
                .map_err(|why| Error::system("read the counters of a kernel", why))
        };
        Netstat::read(&namespace::within(namespace, read).ok()?)
    }

    /// Pairs of lines: names, and then their values.
    fn read(text: &str) -> Option<Netstat> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
        let counters: Vec<(&str, u64)> =
            names.zip(values).filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
        let sum = |wanted: &[&str]| -> Option<u64> {
            let value =
                |name: &&str| counters.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
            wanted.iter().map(value).sum()
        };
        Some(Netstat { recoveries: sum(&RECOVERIES)?, syns: sum(&SYNS)?, undone: sum(&UNDONE)? })
    }

    /// What has been counted since `before`.
    pub fn since(&self, before: &Netstat) -> Netstat {
        Netstat {
            recoveries: self.recoveries.saturating_sub(before.recoveries),
            syns: self.syns.saturating_sub(before.syns),
            undone: self.undone.saturating_sub(before.undone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "TcpExt: TCPSynRetrans TCPRenoRecovery TCPSackRecovery TCPFullUndo TCPPartialUndo TCPDSACKUndo TCPLossUndo\n\
                    TcpExt: 7 1 20 3 4 5 6\nIpExt: InNoRoutes\nIpExt: 9\n";
        assert_eq!(Netstat::read(text), Some(Netstat { recoveries: 21, syns: 7, undone: 18 }));
        // A kernel without one of them does not count as one that had none.
        assert_eq!(Netstat::read("TcpExt: TCPRenoRecovery\nTcpExt: 1\n"), None);
    }

    #[test]
    fn this_machine_has_them() {
        let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
        assert!(Netstat::read(&text).is_some(), "{text}");
    }
}
