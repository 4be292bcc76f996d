//! A row's link as a scenario for `longhaul-emu`.

use crate::rows::Row;
use longhaul_path::loss::{GilbertElliott, RandomLoss};
use longhaul_path::{LinkConfig, LossSpec};
use longhaul_units::{Duration, Limit};

fn seconds(time: Duration) -> String {
    format!("\"{} us\"", time.as_nanos() / 1000)
}

fn loss(spec: &LossSpec) -> String {
    match spec {
        LossSpec::Random(RandomLoss { probability, .. }) => {
            format!("{{ kind = \"random\", probability = {} }}", probability.get())
        }
        LossSpec::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, .. }) => format!(
            "{{ kind = \"gilbert_elliott\", good_to_bad = {}, bad_to_good = {} }}",
            good_to_bad.get(),
            bad_to_good.get()
        ),
        other => panic!("no row has {other:?}"),
    }
}

/// A direction of the link, in the words of a scenario.
fn direction(link: &LinkConfig) -> String {
    let Limit::Bytes(queue) = link.queue.limit().fixed() else { panic!("a queue in bytes") };
    let mut text = format!("{{ rate = \"{} bit/s\", queue = \"{} B\"", link.rate.as_bps(), queue.as_bytes());
    if let Some(spec) = &link.loss {
        text += &format!(", loss = {}", loss(spec));
    }
    let changes = link.changes.iter().filter_map(|change| {
        Some(format!("{{ at = {}, rate = \"{} bit/s\" }}", seconds(change.at), change.rate?.as_bps()))
    });
    let outages = link.outages.iter().map(|outage| {
        let (start, duration) = (seconds(outage.start), seconds(outage.duration));
        format!("{{ start = {start}, duration = {duration}, mode = \"drop\" }}")
    });
    for (key, items) in [("changes", changes.collect::<Vec<_>>()), ("outages", outages.collect())] {
        if !items.is_empty() {
            text += &format!(", {key} = [{}]", items.join(", "));
        }
    }
    text + " }"
}

pub fn scenario(row: &Row, seed: u64) -> String {
    let [up, down] = row.cell.links(seed);
    format!(
        "name = \"hop-over-udp\"\n\n[run]\nduration = \"10 min\"\nseed = {seed}\n\n[[link]]\nname = \"satellite\"\n\
         ends = [\"hub\", \"terminal\"]\ndelay = {}\nforward = {}\nreverse = {}\n\n\
         [[flow]]\nfrom = \"hub\"\nto = \"terminal\"\n",
        seconds(up.delay),
        direction(&down),
        direction(&up)
    )
}
