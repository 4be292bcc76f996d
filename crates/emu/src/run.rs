//! `longhaul-emu run`: the scenario's flows as connections of real kernels, and a result as the simulator writes it.

use crate::Error;
use crate::capture::{self, Capture, Taps};
use crate::control::{AsItWas, Control, show};
use crate::driver::{self, Driven, Live, Status, ports};
use crate::facts;
use crate::finished::{Finished, Measured};
use crate::flows::{self, Flow, Progress, Run};
use crate::kernel::{self, TcpOf};
use crate::lateness::Bounds;
use crate::losses;
use crate::netstat::Netstat;
use crate::output::Output;
use crate::plan::Plan;
use crate::quic::QuicFlows;
use crate::recorder::Recorder;
use crate::start::Start;
use crate::tcp_info::TcpInfo;
use crate::testbed::{Host, Testbed, hosts_of};
use crate::udp::{self, Pair};
use crate::world::{FIRST_PORT, World};
use ipnet::IpNet;
use longhaul_results::{FlowRow, ResultFiles, Summary, Table};
use longhaul_scenario::{FlowInstance, FlowSpec, Network, Scenario, Transport, resolved_toml, run_id};
use longhaul_segment::pcapng::LinkType;
use longhaul_units::{Duration, FlowId, IdVec, Instant};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{thread, time};

/// Most flows: each takes a thread.
const MOST_FLOWS: usize = 2000;
/// How often those who wait look up.
const TICK: Duration = Duration::from_millis(5);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The result directory.
    pub out: PathBuf,
    /// How packets are moved.
    pub driver: driver::Options,
    /// Replaces another result of Longhaul's.
    pub force: bool,
    /// What is still to be believed.
    pub bounds: Bounds,
    /// Ends when all transfers of given size are done, and not only after the run's duration.
    pub until_done: bool,
    /// Points at which packets are captured, beside the links that the scenario names.
    pub taps: Vec<String>,
    /// Ranges for the hosts' addresses, of each IP version one at most; without, free ones.
    pub addresses: Vec<IpNet>,
    /// Called with lines for the user before the flows start: what was set, and the hosts with their addresses.
    pub started: Option<fn(&str)>,
    /// Called about once a second.
    pub progress: Option<fn(&Status)>,
    /// With `progress`: shows links.
    pub links: bool,
    /// The emulator's name for requests while it runs; without, its process id.
    pub name: Option<String>,
    /// Makes the content of a table's file: Parquet, in a program that has it.
    pub write_table: fn(&Table) -> std::io::Result<Vec<u8>>,
}

/// Runs the scenario's flows and writes the result.
///
/// # Errors
/// What the emulator does not do, what the system refuses, a signal, the file that cannot be written.
pub fn run(scenario: &Scenario, options: &Options, stop: &AtomicBool) -> Result<Summary, Error> {
    let network = Network::new(scenario);
    refuse_what_cannot_run(scenario, &network)?;
    raise_limit(scenario, &network)?;
    let output = Output::new(&options.out, &run_id(scenario), options.force)?;
    let control = Control::open(options.name.as_deref(), scenario, &network)?;
    let testbed =
        Testbed::new(scenario, &network, &hosts_of(&network), TcpOf::Scenario, &options.addresses, stop)?;
    if let Some(started) = options.started {
        started(&testbed.hosts_in_words());
        started(&testbed.tcp);
    }
    let capture = Capture::new(
        scenario,
        &network,
        &options.taps,
        LinkType::Ip,
        &output.directory().join("packets.pcapng"),
    )?;
    let progress: IdVec<FlowId, Progress> = network.flows.iter().map(|_| Progress::default()).collect();
    let flows = flows_of(scenario, &network, &testbed, &progress);
    let began = time::Instant::now();
    let (driven, measured) = play(scenario, &testbed, &flows, capture, &control, options, stop)?;
    let wall_s = began.elapsed().as_secs_f64();
    let mut driven = driven;
    let not_captured = capture::finish(driven.watcher.taps.take());
    let device_drops = testbed.hosts.iter().map(Host::device_drops).sum::<u64>() + driven.refused;
    let mut warnings = testbed.warnings.clone();
    warnings.append(&mut driven.warnings);
    warnings.extend(control.warning());
    let as_it_was = control.as_it_was(driven.ended.since(Instant::ZERO));
    // The predictions of a result are those of the scenario that was planned.
    warnings.extend(as_it_was.as_ref().map(|was| was.in_words(AsItWas::FILE)));
    warnings.extend(losses::in_words(&testbed.losses()));
    warnings.extend(driven.world.unrouted.sentences());
    drop(flows);
    let mut finished = Finished {
        scenario,
        network: &network,
        real_time: options.driver.real_time && !warnings.iter().any(|w| w.contains("SCHED_FIFO")),
        driven,
        progress: &progress,
        measured,
        device_drops,
        bounds: options.bounds,
        not_captured,
        warnings,
    };
    let summary = facts::summary(&mut finished);
    let timing = serde_json::json!({
        "program": format!("longhaul-emu {}", longhaul_scenario::VERSION),
        "wall_s": wall_s,
        "data_packets_per_wall_s": summary.work.data_packets_delivered as f64 / wall_s,
    });
    let logs: Vec<_> =
        progress.iter().flat_map(|progress| std::mem::take(&mut progress.shared().logs)).collect();
    let files = ResultFiles {
        scenario_toml: &resolved_toml(scenario),
        summary: &summary,
        tables: Some(&finished.driven.watcher.tables),
        write_table: &options.write_table,
        packets: None,
        logs: &logs,
        timing_json: &format!("{timing:#}\n"),
    };
    files.write(output.directory())?;
    if let Some(was) = as_it_was {
        was.write(&output.directory().join(AsItWas::FILE))?;
    }
    output.complete()?;
    Ok(summary)
}

/// Open files of the emulator itself, of each flow (a listening socket), and of each connection: both ends, and a copy of the
/// sender's.
const FILES: u64 = 64;
const FILES_OF_A_FLOW: u64 = 1;
const FILES_OF_A_CONNECTION: u64 = 3;

/// Has the system permit as many open files as the flows need.
fn raise_limit(scenario: &Scenario, network: &Network) -> Result<(), Error> {
    let failed = |why| Error::system("read the limit of open files", why);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    let flows = network.flows.len();
    let connections = |flow: &FlowInstance| scenario.group(flow.group).app.connections() as u64;
    let needed = FILES
        + FILES_OF_A_FLOW * flows as u64
        + FILES_OF_A_CONNECTION * network.flows.iter().map(connections).sum::<u64>();
    if needed <= soft {
        return Ok(());
    }
    let refused = |why: &str| {
        let text = format!(
            "{flows} flows need {needed} open files; the limit is {hard}{why}: raise it (ulimit -n {needed})"
        );
        Error::Unsupported(text)
    };
    if needed > hard {
        return Err(refused(""));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|why| refused(&format!(" ({why})")))
}

/// Refuses what cannot be run.
fn refuse_what_cannot_run(scenario: &Scenario, network: &Network) -> Result<(), Error> {
    if network.flows.is_empty() {
        return Err(Error::Unsupported(
            "the scenario has no flow; `shell` runs commands behind its path".into(),
        ));
    }
    if network.flows.len() > MOST_FLOWS.min(usize::from(u16::MAX - FIRST_PORT)) {
        let count = network.flows.len();
        return Err(Error::Unsupported(format!(
            "{count} flows are too many: the emulator runs {MOST_FLOWS}"
        )));
    }
    if let Some(flow) = scenario.flow.iter().find(|flow| flow.tcp.established) {
        return Err(Error::Unsupported(format!(
            "flow \"{}\": kernels cannot skip the handshake; leave out `established`",
            flow.name
        )));
    }
    udp::check(&scenario.flow, |flow| kernel::mtu(&flow.tcp))?;
    // Its datagrams have the whole byte set with each of them, for ECN.
    if let Some(flow) = scenario.flow.iter().find(|flow| flow.quic().is_some() && !flow.dscp.is_default()) {
        return Err(Error::Unsupported(format!(
            "flow \"{}\": with real packets QUIC has no DSCP; leave out `dscp`",
            flow.name
        )));
    }
    if !scenario.run.monitor.is_empty() {
        return Err(Error::Unsupported("the emulator has no flow monitors; leave out `run.monitor`".into()));
    }
    flows::check_congestion(&scenario.flow)
}

fn flows_of<'a>(
    scenario: &'a Scenario,
    network: &'a Network,
    testbed: &'a Testbed,
    progress: &'a IdVec<FlowId, Progress>,
) -> IdVec<FlowId, Flow<'a>> {
    let host = |node| testbed.host_at(node).expect("every end of a flow is a host");
    network
        .flows
        .enumerated()
        .map(|(id, instance)| Flow {
            id,
            spec: spec_of(scenario, instance),
            instance,
            seed: scenario.run.seed,
            namespaces: [&host(instance.from).namespace, &host(instance.to).namespace],
            server: host(instance.to).v4,
            progress: &progress[id],
        })
        .collect()
}

fn spec_of<'a>(scenario: &'a Scenario, instance: &FlowInstance) -> &'a FlowSpec {
    scenario.group(instance.group)
}

/// Starts all threads, watches, and stops them.
fn play(
    scenario: &Scenario,
    testbed: &Testbed,
    flows: &IdVec<FlowId, Flow<'_>>,
    taps: Taps,
    control: &Control<'_>,
    options: &Options,
    stop: &AtomicBool,
) -> Result<(Driven<Recorder>, IdVec<FlowId, Measured>), Error> {
    let network = control.network();
    let over_tcp: Vec<&Flow<'_>> =
        flows.iter().filter(|flow| flow.spec.transport == Transport::Tcp).collect();
    let listeners = over_tcp.iter().map(|flow| flow.listen()).collect::<Result<Vec<_>, Error>>()?;
    let over_quic = QuicFlows::of(flows, &network.quic_connections(scenario), scenario.run.qlog);
    let wires = over_quic.iter().map(QuicFlows::open).collect::<Result<Vec<_>, Error>>()?;
    let over_udp = flows.iter().filter_map(|flow| Some((flow, flow.spec.udp()?)));
    let over_udp = over_udp
        .map(|(flow, spec)| Ok((flow, spec, Pair::open(flow, spec)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let world = World::new(Plan::new(scenario, network, &testbed.addresses(), &testbed.ranges)?);
    let recorder = Recorder::new(scenario, network, taps);
    let mut ports = ports(testbed)?;
    let (over, driven_enough) = (AtomicBool::new(false), AtomicBool::new(false));
    let live = Live::default();
    // Whoever moves packets, a thread for each flow over TCP or UDP and each QUIC connection, and this one.
    let start = Start::of(2 + over_tcp.len() + over_quic.len() + over_udp.len());
    std::thread::scope(|scope| {
        // Whatever happens here, the others end.
        let flags = [&over, &driven_enough];
        let _end = AtEnd(&flags, &start);
        let driver = scope.spawn(|| {
            driver::drive(&start, world, recorder, &mut ports, options.driver, &live, &driven_enough)
        });
        let (start, over) = (&start, &over);
        let mut workers = vec![];
        for (connection, wires) in over_quic.iter().zip(wires) {
            let play = move || {
                // Its sockets are where they belong; this thread makes none.
                let Some(clock) = start.ready() else { return };
                connection.play(wires, Run { clock, stop: over });
            };
            workers.push(thread::Builder::new().spawn_scoped(scope, play).map_err(no_thread)?);
        }
        for (flow, spec, sockets) in &over_udp {
            let play = move || {
                let Some(clock) = start.ready() else { return };
                flow.play_datagrams(spec, sockets, Run { clock, stop: over });
            };
            workers.push(thread::Builder::new().spawn_scoped(scope, play).map_err(no_thread)?);
        }
        for (flow, listener) in over_tcp.iter().zip(&listeners) {
            // A socket belongs to the namespace in which it was made; the thread makes those of the client.
            let play = move || {
                let entered = namespace_of(flow);
                let Some(clock) = start.ready() else { return };
                match entered {
                    Ok(()) => flow.play(listener, Run { clock, stop: over }),
                    Err(why) => flow.progress.shared().error = Some(why.to_string()),
                }
            };
            workers.push(thread::Builder::new().spawn_scoped(scope, play).map_err(no_thread)?);
        }
        let clock = start.ready().ok_or(Error::Interrupted)?;
        let served = &live;
        scope.spawn(move || control.serve(clock, served, || over.load(Ordering::Relaxed)));
        let mut watch = Watch::new(scenario, network, flows);
        let watched = watch.until_the_end(clock, &live, options, stop);
        // Links stand still when the time is over: what the connections' ends do to them does not count.
        driven_enough.store(true, Ordering::Relaxed);
        over.store(true, Ordering::Relaxed);
        let driven = driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        workers.into_iter().for_each(|worker| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        watched?;
        let mut driven = driven.ok_or(Error::Interrupted)?;
        driven.watcher.tables.flows = watch.rows;
        Ok((driven, watch.measured))
    })
}

/// Sets flags at the end of a block, and cancels a start that has not been.
struct AtEnd<'a>(&'a [&'a AtomicBool], &'a Start);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
        self.1.cancel();
    }
}

fn no_thread(why: std::io::Error) -> Error {
    Error::system("start the threads of the flows", why)
}

fn namespace_of(flow: &Flow<'_>) -> Result<(), Error> {
    crate::namespace::enter(flow.namespaces[0])
}

/// Samples of the senders while the run goes on.
struct Watch<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    flows: &'a IdVec<FlowId, Flow<'a>>,
    rows: Vec<FlowRow>,
    measured: IdVec<FlowId, Measured>,
    before: IdVec<FlowId, (TcpInfo, u64, Instant)>,
    measuring: bool,
}

impl<'a> Watch<'a> {
    fn new(scenario: &'a Scenario, network: &'a Network, flows: &'a IdVec<FlowId, Flow<'a>>) -> Self {
        let measured = |_: &Flow<'_>| Measured {
            info_before: TcpInfo::default(),
            netstat: None,
            delivered_before: 0,
            quic_before: None,
            cwnd: (0.0, 0),
            rtt_samples: 0,
            rtt_sum: Duration::ZERO,
            rtt_max: Duration::ZERO,
        };
        Watch {
            scenario,
            network,
            flows,
            rows: vec![],
            measured: flows.iter().map(measured).collect(),
            before: IdVec::filled((TcpInfo::default(), 0, Instant::ZERO), flows.len()),
            measuring: false,
        }
    }

    fn until_the_end(
        &mut self,
        clock: crate::clock::Clock,
        live: &Live,
        options: &Options,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        let run = &self.scenario.run;
        let (end, warmup) = (Instant::ZERO + run.duration, Instant::ZERO + run.warmup);
        let (mut next_sample, mut next_told) = (Instant::ZERO + run.sample, Instant::ZERO);
        loop {
            let now = clock.now();
            if !self.measuring && now >= warmup {
                self.begin_measuring();
            }
            if now >= next_sample {
                self.sample(now);
                while next_sample <= now {
                    next_sample += run.sample;
                }
            }
            if let Some(tell) = options.progress.filter(|_| now >= next_told) {
                let links = if options.links { show::links(self.network, &live.readings()) } else { vec![] };
                tell(&Status { delivered: self.delivered(), links, ..live.status(now) });
                next_told += Duration::from_secs(1);
            }
            if now >= end || options.until_done && self.is_done() {
                self.sample(now);
                self.end_measuring();
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let until = next_sample.min(end).since(now).min(TICK);
            thread::sleep(time::Duration::from_nanos(until.as_nanos()));
        }
    }

    /// The namespace of a flow's sender, if no other flow has an end there: then its kernel counts for this flow alone.
    fn own_kernel<'b>(&self, flow: &'b Flow<'a>) -> Option<&'b str> {
        let namespace = flow.sender_namespace();
        let ends = self.flows.iter().filter(|other| other.namespaces.contains(&namespace)).count();
        (ends == 1).then_some(namespace)
    }

    fn delivered(&self) -> u64 {
        self.flows.iter().map(|flow| flow.progress.delivered.load(Ordering::Relaxed)).sum()
    }

    /// All that ends by itself has ended.
    fn is_done(&self) -> bool {
        let mut ending = self.flows.iter().filter(|flow| flow.spec.app.has_end()).peekable();
        ending.peek().is_some() && ending.all(|flow| flow.progress.over.load(Ordering::Relaxed))
    }

    fn begin_measuring(&mut self) {
        self.measuring = true;
        for (flow, measured) in self.flows.iter().zip(&mut self.measured) {
            measured.quic_before = flow.progress.shared().quic.map(|quic| quic.done);
            measured.info_before = flow.progress.sample().unwrap_or_default();
            flow.progress.begin_measuring.store(true, Ordering::Relaxed);
            measured.delivered_before = flow.progress.delivered.load(Ordering::Relaxed);
        }
        for (id, flow) in self.flows.enumerated() {
            self.measured[id].netstat = self.own_kernel(flow).and_then(Netstat::of);
        }
    }

    fn end_measuring(&mut self) {
        for (id, flow) in self.flows.enumerated() {
            let Some(before) = self.measured[id].netstat.take() else { continue };
            let now = self.own_kernel(flow).and_then(Netstat::of);
            self.measured[id].netstat = now.map(|now| now.since(&before));
        }
    }

    fn sample(&mut self, now: Instant) {
        for (id, flow) in self.flows.enumerated() {
            let Some(info) = flow.progress.sample() else { continue };
            let delivered = flow.progress.delivered.load(Ordering::Relaxed);
            let (before, delivered_before, then) =
                std::mem::replace(&mut self.before[id], (info, delivered, now));
            let span = now.since(then).as_secs_f64();
            if span <= 0.0 {
                continue;
            }
            let over = flow.progress.over.load(Ordering::Relaxed);
            let rate = |bytes: u64| bytes as f64 * 8.0 / span;
            self.rows.push(FlowRow {
                time_s: now.as_secs_f64(),
                flow: id.0,
                cwnd_bytes: info.cwnd as f64,
                ssthresh_bytes: info.ssthresh.map(|bytes| bytes as f64),
                flight_bytes: if over { 0.0 } else { info.flight as f64 },
                srtt_s: (!info.srtt.is_zero()).then(|| info.srtt.as_secs_f64()),
                rto_s: info.rto.as_secs_f64(),
                peer_window_bytes: info.peer_window as f64,
                throughput_bps: rate(info.bytes_sent.saturating_sub(before.bytes_sent)),
                goodput_bps: rate(delivered - delivered_before),
                retransmits: info.retransmitted.saturating_sub(before.retransmitted) as u32,
            });
            if self.measuring && !over {
                self.measured[id].sample(&info);
            }
        }
    }
}
