//! A middlebox that repairs losses must not make flows much slower than they are alone, whatever the path behind it loses.

use longhaul_sim::{RunOptions, load, simulate};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The run ends then, in seconds: a flow that has not finished has stalled.
const END: f64 = 4000.0;

/// Senders, a proxy, a long link that loses packets, receivers.
#[derive(Clone, Debug)]
struct Path {
    flows: u32,
    kilobytes: u32,
    delay_ms: u32,
    queue: u32,
    mbps: u32,
    variant: &'static str,
    timestamps: bool,
    loss: String,
    acks_lost: u32,
    /// N of a proxy that acknowledges prematurely, and whether it finds W itself; else W is N.
    buffer: u32,
    automatic: bool,
}

impl Path {
    /// The last completion time.
    fn takes(&self, seed: u32, loss: bool, middlebox: &str) -> f64 {
        let lost = |loss: &str| format!("loss = {loss}");
        let (forward, reverse) = match loss {
            true => (
                lost(&self.loss),
                lost(&format!("{{ kind = \"random\", probability = \"{} %\" }}", self.acks_lost)),
            ),
            false => Default::default(),
        };
        let text = format!(
            "[run]\nduration = \"{END} s\"\nsample = \"1000 s\"\nseed = {}\n\
             [[link]]\nname = \"near\"\nends = [\"server\", \"hub\"]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
             [[link]]\nname = \"far\"\nends = [\"hub\", \"client\"]\nrate = \"{} Mbit/s\"\ndelay = \"{} ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"{} packets\" }}\nforward = {{ {forward} }}\nreverse = {{ {reverse} }}\n\
             [[flow]]\ncount = {}\nfrom = \"server\"\nto = \"client\"\napp = {{ kind = \"bulk\", size = \"{} kB\" }}\n\
             tcp = {{ variant = \"{}\", timestamps = {} }}\n{middlebox}",
            seed,
            self.mbps,
            self.delay_ms,
            self.queue,
            self.flows,
            self.kilobytes,
            self.variant,
            self.timestamps,
        );
        let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let outcome = simulate(&scenario, RunOptions { tables: false, ..RunOptions::default() }).unwrap();
        let times =
            outcome.summary.flows.iter().map(|flow| flow.metrics.get("completion_time_s").unwrap_or(END));
        times.fold(0.0, f64::max)
    }
}

/// The median of three seeds.
fn median(mut times: [f64; 3]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[1]
}

impl Path {
    fn premature_ack(&self) -> String {
        let buffer = self.buffer;
        let watermark = if self.automatic { "\"auto\"".to_string() } else { buffer.to_string() };
        format!(
            "[[middlebox]]\nkind = \"premature_ack\"\nat = \"hub\"\nbuffer = \"{buffer} packets\"\n\
             watermark = {watermark}\n"
        )
    }
}

const SNOOP: &str = "[[middlebox]]\nkind = \"snoop\"\nat = \"hub\"\n";

fn loss() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..100).prop_map(|tenths| format!("{{ kind = \"random\", probability = \"{}.{} %\" }}", tenths / 10, tenths % 10)),
        // In bad times of 2 to 20 packets half of them.
        (1u32..50, 2u32..20).prop_map(|(tenths, length)| {
            let (bad, ends) = (f64::from(tenths) / 500.0, 1.0 / f64::from(length));
            let begins = ends * bad / (1.0 - bad);
            format!(
                "{{ kind = \"gilbert_elliott\", good_to_bad = {begins:.6}, bad_to_good = {ends:.6}, loss_in_bad = 0.5 }}"
            )
        }),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    let tcp = (prop_oneof![Just("newreno"), Just("sack"), Just("rack")], any::<bool>());
    (
        (1u32..12, 20u32..400),
        (5u32..250, 5u32..200, 1u32..20),
        tcp,
        (loss(), 0u32..10),
        (5u32..200, any::<bool>()),
    )
        .prop_map(
            |(
                (flows, kilobytes),
                (delay_ms, queue, mbps),
                (variant, timestamps),
                (loss, acks_lost),
                (buffer, automatic),
            )| Path {
                flows,
                kilobytes,
                delay_ms,
                queue,
                mbps,
                variant,
                timestamps: timestamps || variant == "rack",
                loss,
                acks_lost,
                buffer,
                automatic,
            },
        )
}

/// With up to 10 % of the data packets lost, one by one or in bad times, and up to 10 % of the ACKs, the last of some flows is done
/// within 6 times what it takes without the middlebox (3 times for snoop, which acknowledges nothing itself), and within 15
/// times what it takes without a loss. A timeout that grows and is never forgotten makes this hundreds of times.
#[test]
fn flows_behind_a_pep_finish_soon_whatever_is_lost() {
    let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&path(), |path| {
        let with = |middlebox: &str| median([1, 2, 3].map(|seed| path.takes(seed, true, middlebox)));
        let (clean, plain) = (path.takes(1, false, ""), with(""));
        for (middlebox, most) in [(path.premature_ack().as_str(), 6.0), (SNOOP, 3.0)] {
            let took = with(middlebox);
            prop_assert!(
                took <= most * plain && took <= 15.0 * clean,
                "{took} s, {plain} s without it, {clean} s without loss: {middlebox}"
            );
        }
        Ok(())
    });
    result.unwrap_or_else(|why| panic!("{why}"));
}
