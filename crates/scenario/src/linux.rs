//! `variant = "linux"`: what Linux 6.18 does by default, as far as RFCs describe it or the options here do it. It only sets the
//! defaults of other keys; docs/differences.md lists what is left.

use crate::{
    AutotuningSpec, BufferSpec, DelayedAck, RateReduction, RtoSpec, Scenario, SpuriousDetectionSpec, TcpSpec,
    Variant,
};
use longhaul_cc::algorithms::bbr::BbrParams;
use longhaul_cc::algorithms::cubic::CubicParams;
use longhaul_cc::{Algorithm, Reduces, SlowStartKind};
use longhaul_units::{Duration, Limit, Size};
use serde::Deserialize;
use toml::{Table, Value};

/// tcp_wmem: the send buffer grows with cwnd up to this.
const LARGEST_SEND_BUFFER: u64 = 4_194_304;
/// TCP_MAX_QUICKACKS.
const QUICK_ACKS: u32 = 16;
/// tcp_update_skb_after_send: what is sent before pacing begins.
const UNPACED_SEGMENTS: u32 = 10;
/// tcp_syn_linear_timeouts, since 6.5.
const SYN_LINEAR_TIMEOUTS: u32 = 4;
/// tcp_init_transfer: one segment only after more than one retransmission.
const TOLERATED_SYN_LOSSES: u32 = 1;

/// Linux's retransmission timeout, with this largest value (`TCP_RTO_MAX_MS`).
pub(crate) fn rto(max: Duration) -> RtoSpec {
    RtoSpec {
        // TCP_RTO_MIN bounds four times the deviation, as a clock's granularity does.
        min: Duration::from_millis(200),
        granularity: Duration::from_millis(200),
        max,
        variation_by_round: true,
        ..RtoSpec::default()
    }
}

/// The settings `base`, changed to what Linux does.
pub(crate) fn like_linux(base: &TcpSpec) -> TcpSpec {
    // HyStart is a part of Linux's CUBIC; otherwise slow start counts what is acked, without a limit.
    let slow_start = match base.congestion {
        Algorithm::Cubic(_) => "\"hystart\"",
        _ => r#"{"kind": "standard", "limit": 65535, "limit_after_timeout": 65535}"#,
    };
    let slow_start: SlowStartKind =
        serde_json::from_str(slow_start).expect("a slow start that is registered");
    // A CUBIC or a BBR without settings is Linux's.
    let congestion = match &base.congestion {
        Algorithm::Cubic(params) if *params == CubicParams::default() => {
            Algorithm::Cubic(CubicParams::linux())
        }
        Algorithm::Bbr(params) if *params == BbrParams::default() => Algorithm::Bbr(BbrParams::linux()),
        given => given.clone(),
    };
    TcpSpec {
        variant: Variant::Linux,
        congestion,
        slow_start_to_twice_flight: true,
        reduction_from: Reduces::Cwnd,
        timestamps: true,
        receive_autotuning: Some(AutotuningSpec::default()),
        send_buffer: BufferSpec::Limited(Limit::Bytes(Size::from_bytes(LARGEST_SEND_BUFFER))),
        // tcp_sndbuf_expand, bbr_sndbuf_expand
        send_buffer_windows: match &base.congestion {
            Algorithm::Bbr(_) | Algorithm::Bbr3(_) => 3,
            _ => 2,
        },
        // TCP_ATO_MIN
        delayed_ack: DelayedAck::After(Duration::from_millis(40)),
        quick_acks: QUICK_ACKS,
        // tcp_update_skb_after_send
        pacing_burst: 1.5,
        unpaced_segments: UNPACED_SEGMENTS,
        syn_linear_timeouts: SYN_LINEAR_TIMEOUTS,
        tolerated_syn_losses: TOLERATED_SYN_LOSSES,
        rate_reduction: RateReduction::SafeAck,
        rate_reduction_on_ecn: true,
        sack_of_old_acks: true,
        // tcp_xmit_retransmit_queue, tcp_clean_rtx_queue
        head_restarts_timer: true,
        // tcp_try_undo_recovery
        undone_recoveries_count: false,
        credit_sacked: false,
        sack_whole_segments: true,
        timestamps_required: false,
        answer_unsent_acks: false,
        empty_probes: true,
        tail_loss_probe: true,
        // tcp_minshall_check
        minshall: true,
        // tcp_cwnd_restart
        halve_after_idle: true,
        // tcp_schedule_loss_probe: tcp_rto_min
        peer_ack_delay: Some(Duration::from_millis(200)),
        spurious_detection: SpuriousDetectionSpec { eifel: true, f_rto: true, dsack: true },
        slow_start,
        rto: rto(Duration::from_secs(120)),
        ..base.clone()
    }
}

/// True if a flow has the variant.
pub(crate) fn is_wanted(scenario: &Scenario) -> bool {
    scenario.flow.iter().any(|flow| flow.tcp.variant == Variant::Linux)
}

/// Writes the settings that follow from `variant = "linux"` into the flows of a document that has been read before. What is given
/// stays.
pub(crate) fn fill_in(document: &mut Table) {
    let Some(Value::Array(flows)) = document.get_mut("flow") else { return };
    for tcp in flows.iter_mut().filter_map(|flow| flow.get_mut("tcp")?.as_table_mut()) {
        if tcp.get("variant").and_then(Value::as_str) == Some(Variant::Linux.name()) {
            let Ok(given) = TcpSpec::deserialize(tcp.clone()) else { continue };
            fill_in_congestion(tcp);
            let base = TcpSpec { congestion: given.congestion, ..TcpSpec::default() };
            if let (Ok(plain), Ok(linux)) = (Table::try_from(&base), Table::try_from(like_linux(&base))) {
                add(tcp, &linux, &plain);
            }
        }
    }
}

/// A CUBIC or a BBR that is given becomes a table with Linux's settings where it has none.
fn fill_in_congestion(tcp: &mut Table) {
    let Some(given) = tcp.get_mut("congestion") else { return };
    let kind = given.as_str().or_else(|| given.get("kind")?.as_str());
    let both = match kind {
        Some("cubic") => (Table::try_from(CubicParams::linux()), Table::try_from(CubicParams::default())),
        Some("bbr") => (Table::try_from(BbrParams::linux()), Table::try_from(BbrParams::default())),
        _ => return,
    };
    if let Some(kind) = given.as_str() {
        *given = Value::Table(Table::from_iter([("kind".to_string(), Value::from(kind))]));
    }
    if let (Some(given), (Ok(linux), Ok(plain))) = (given.as_table_mut(), both) {
        add(given, &linux, &plain);
    }
}

/// Adds to `table` what is in `wanted`, not in `usual`, and not there yet.
fn add(table: &mut Table, wanted: &Table, usual: &Table) {
    for (key, value) in wanted.iter().filter(|(key, value)| usual.get(*key) != Some(value)) {
        match (table.get_mut(key), value) {
            (None, _) => drop(table.insert(key.clone(), value.clone())),
            // A receive buffer's sizes, the timer's settings: each for itself. A slow start is one thing.
            (Some(Value::Table(given)), Value::Table(inner)) if !inner.contains_key("kind") => {
                let usual = usual.get(key).and_then(Value::as_table).cloned().unwrap_or_default();
                add(given, inner, &usual);
            }
            _ => {}
        }
    }
}
