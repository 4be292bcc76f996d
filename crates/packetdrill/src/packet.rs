//! Packets as a script writes them, beside those of a connection.

use longhaul_segment::{Ecn, EcnCounters, EcnOrder, Flags, Segment};

/// What a script states of a TCP packet. Numbers are the script's: counted from the initial sequence numbers, but in a SYN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// `None`: any.
    pub ecn: Option<Ecn>,
    pub flags: Flags,
    pub seq: u32,
    pub len: u32,
    pub ack: Option<u32>,
    pub window: Option<u16>,
    /// `None`: any.
    pub options: Option<PacketOptions>,
    /// The ACE field is a number among the flags.
    pub ace: bool,
}

/// The options, in no order. Padding is not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Value and echo.
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
    pub ecn: Option<EcnCounters>,
}

impl PacketOptions {
    /// Those of a segment whose SACK blocks are counted from `origin`.
    pub fn of_segment(segment: &Segment, origin: u32) -> Self {
        let options = &segment.options;
        let place = |number: u32| number.wrapping_sub(origin);
        PacketOptions {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.map(|stamps| (stamps.value, stamps.echo)),
            sack: options.sack.as_slice().iter().map(|block| (place(block.0.0), place(block.1.0))).collect(),
            ecn: options.ecn_counters,
        }
    }
}

impl std::fmt::Display for PacketOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_permitted.then(|| "sackOK".to_string()));
        parts.extend(self.timestamps.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
        parts.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        if !self.sack.is_empty() {
            let blocks: Vec<String> = self.sack.iter().map(|(a, b)| format!("{a}:{b}")).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        if let Some(counters) = &self.ecn {
            let names = ecn_names(counters.order());
            let values =
                names.iter().zip(counters.counters()).map(|(name, value)| format!(" {name} {value}"));
            parts.push(format!("ECN{}", values.collect::<String>()));
        }
        write!(f, "<{}>", parts.join(","))
    }
}

/// The names of AccECN's counters, in order.
pub const fn ecn_names(order: EcnOrder) -> [&'static str; 3] {
    match order {
        EcnOrder::Ect0First => ["e0b", "ceb", "e1b"],
        EcnOrder::Ect1First => ["e1b", "ceb", "e0b"],
    }
}

/// The letters of packetdrill's flags.
pub const LETTERS: [(char, Flags); 9] = [
    ('F', Flags::FIN),
    ('S', Flags::SYN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
];

impl std::fmt::Display for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(ecn) = self.ecn {
            let name = match ecn {
                Ecn::NotEct => "noecn",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            };
            write!(f, "[{name}] ")?;
        }
        let mut flags: String =
            LETTERS.iter().filter(|(_, bit)| self.flags.contains(*bit)).map(|(letter, _)| *letter).collect();
        if flags.is_empty() {
            flags.push('-');
        }
        write!(f, "{flags} {}:{}({})", self.seq, self.seq.wrapping_add(self.len), self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => write!(f, " <...>"),
            Some(options) if *options != PacketOptions::default() => write!(f, " {options}"),
            Some(_) => Ok(()),
        }
    }
}
