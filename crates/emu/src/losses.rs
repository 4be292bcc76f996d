//! What a host loses by itself, behind the path: packets that have arrived and found no room in a buffer of its kernel. The kernel counts
//! them (`nstat`; Documentation/networking/snmp_counter.rst).

use std::fs;

/// A counter of the kernel's and what it has counted.
pub type Loss = (&'static str, u64);

/// Counters of packets that had no room: in receive buffers of UDP, in those of TCP, for a new connection, for an IP packet.
const COUNTERS: [&str; 14] = [
    "UdpRcvbufErrors",
    "UdpMemErrors",
    "UdpLiteRcvbufErrors",
    "Udp6RcvbufErrors",
    "Udp6MemErrors",
    "UdpLite6RcvbufErrors",
    "TcpExtTCPRcvQDrop",
    "TcpExtRcvPruned",
    "TcpExtOfoPruned",
    "TcpExtTCPBacklogDrop",
    "TcpExtListenDrops",
    "TcpExtTCPReqQFullDrop",
    "IpInDiscards",
    "Ip6InDiscards",
];

/// Losses of the network stack of the thread.
pub fn of_stack() -> Vec<Loss> {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    among(&read("snmp"), &read("netstat"), &read("snmp6"))
}

/// Counters that are not 0, of tables in the kernel's formats: a line of names and one of values; a name and a value in each line.
fn among(snmp: &str, netstat: &str, snmp6: &str) -> Vec<Loss> {
    let mut found = vec![];
    let mut take = |name: &str, value: &str| {
        let counter = COUNTERS.iter().find(|counter| **counter == name);
        let value = value.parse().ok().filter(|value| *value > 0);
        found.extend(counter.copied().zip(value));
    };
    for table in [snmp, netstat] {
        let lines: Vec<&str> = table.lines().collect();
        for pair in lines.chunks_exact(2) {
            let [Some((group, names)), Some((_, values))] =
                [pair[0].split_once(':'), pair[1].split_once(':')]
            else {
                continue;
            };
            for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                take(&format!("{group}{name}"), value);
            }
        }
    }
    for line in snmp6.lines() {
        if let Some((name, value)) = line.split_once(char::is_whitespace) {
            take(name, value.trim());
        }
    }
    found
}

/// A sentence for each host.
pub fn in_words(losses: &[(String, Vec<Loss>)]) -> Vec<String> {
    let sentence = |(host, lost): &(String, Vec<Loss>)| {
        let list: Vec<String> = lost.iter().map(|(counter, count)| format!("{counter} {count}")).collect();
        format!(
            "host {host} has lost packets behind the path, without room in its own receive buffers ({}): its programs read too slowly, \
             or ask for small buffers (SO_RCVBUF, net.core.rmem_max)",
            list.join(", ")
        )
    };
    losses.iter().map(sentence).collect()
}

/// For each host an object of counters.
pub fn to_json(losses: &[(String, Vec<Loss>)]) -> serde_json::Value {
    let of_host =
        |lost: &Vec<Loss>| lost.iter().map(|(name, count)| (name.to_string(), (*count).into())).collect();
    losses.iter().map(|(host, lost)| (host.clone(), serde_json::Value::Object(of_host(lost)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_in_both_formats() {
        let snmp =
            "Ip: Forwarding InDiscards\nIp: 1 0\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 100 3 42\n";
        let netstat = "TcpExt: SyncookiesSent ListenDrops\nTcpExt: 0 7\nIpExt: InNoRoutes\nIpExt: 9\n";
        let snmp6 = "Udp6InDatagrams                 \t5\nUdp6RcvbufErrors                \t2\n";
        let lost = among(snmp, netstat, snmp6);
        assert_eq!(lost, [("UdpRcvbufErrors", 42), ("TcpExtListenDrops", 7), ("Udp6RcvbufErrors", 2)]);
        let words = in_words(&[("server".to_string(), lost.clone())]);
        assert!(words[0].contains("host server") && words[0].contains("UdpRcvbufErrors 42"), "{words:?}");
        assert_eq!(to_json(&[("server".to_string(), lost)])["server"]["UdpRcvbufErrors"], 42);
        assert_eq!(among("", "odd", "x"), []);
    }

    #[test]
    fn this_kernel_has_these_counters() {
        let snmp = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        assert!(snmp.contains("RcvbufErrors"));
    }
}
