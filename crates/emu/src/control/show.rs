//! How links are, in JSON and in lines for people.

use crate::driver::LinkReading;
use longhaul_path::DropCause;
use longhaul_scenario::Network;
use longhaul_units::{Figure, Id, LinkId, readable};
use serde_json::{Value, json};
use std::fmt::Write;

/// The links of the document, in JSON.
pub fn links(network: &Network, readings: &[LinkReading]) -> Vec<Value> {
    let of = |(number, reading): (usize, &LinkReading)| {
        let link = &network.links[LinkId::new(number)];
        let LinkReading { at, scripted, waiting, stats } = reading;
        // As on the wire: the script's, else that of a measurement, else the link's own.
        let measured = || link.config.trace.loss.as_ref().map(|loss| loss.at(*at));
        let own = || link.config.loss.map(|loss| loss.mean_loss(FULL));
        let loss = scripted.loss.map(|loss| loss.get()).or_else(measured).or_else(own);
        link.declared.then(|| {
            json!({
                "name": link.name,
                "at_s": at.as_secs_f64(),
                "rate_bps": scripted.rate.as_bps(),
                "delay_s": scripted.delay.as_secs_f64(),
                "loss": loss.unwrap_or(0.0),
                "up": scripted.up,
                "queue_packets": waiting.packets,
                "queue_bytes": waiting.bytes,
                "sent_packets": stats.transmitted,
                "sent_bytes": stats.transmitted_bytes,
                "dropped_by_queue": stats.dropped_by_queue(),
                "lost": stats.dropped_for(DropCause::Loss),
                "dropped_by_outage": stats.dropped_for(DropCause::Outage),
            })
        })
    };
    readings.iter().enumerate().filter_map(of).collect()
}

/// Bytes of a packet of full length.
const FULL: u32 = 1500;

/// One line for each link: what holds, what it carries since the links `before` (the mean since the start without), what waits, what was
/// dropped.
pub fn lines(links: &[Value], before: &[Value]) -> Vec<String> {
    let widest = links.iter().filter_map(|link| link["name"].as_str()).map(str::len).max().unwrap_or(0);
    let line = |link: &Value| {
        let name = link["name"].as_str().unwrap_or_default();
        let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or(0.0);
        let whole = |key: &str| link[key].as_u64().unwrap_or(0);
        let earlier = before.iter().find(|other| other["name"] == link["name"]).unwrap_or(&Value::Null);
        let (seconds, bytes) = (
            number(link, "at_s") - number(earlier, "at_s"),
            number(link, "sent_bytes") - number(earlier, "sent_bytes"),
        );
        let carried = readable(if seconds > 0.0 { 8.0 * bytes / seconds } else { 0.0 }, Figure::Rate);
        // What wanders has all digits.
        let rate = readable(number(link, "rate_bps"), Figure::Rate);
        let delay = readable(number(link, "delay_s"), Figure::Time);
        let mut text = format!("{name:<widest$}  {carried:>11} of {rate}, {delay}");
        let loss = number(link, "loss");
        if loss > 0.0 {
            let _ = write!(text, ", loss {:.3} %", loss * 100.0);
        }
        if link["up"] == false {
            text.push_str(", down");
        }
        let (packets, kilobytes) = (whole("queue_packets"), number(link, "queue_bytes") / 1e3);
        let _ = write!(text, "; queue {packets} ({kilobytes:.1} kB); dropped {}", whole("dropped_by_queue"));
        for (key, what) in [("lost", "lost"), ("dropped_by_outage", "in outages")] {
            if whole(key) > 0 {
                let _ = write!(text, ", {} {what}", whole(key));
            }
        }
        text
    };
    links.iter().map(line).collect()
}

/// The line above the links of an emulator: which it is, how far it is, what was set last.
pub fn head(status: &Value) -> String {
    let text = |key: &str| status[key].as_str().unwrap_or_default().to_string();
    let number = |key: &str| status[key].as_f64().unwrap_or(0.0);
    let set = status["set"].as_array().and_then(|set| set.last()).and_then(Value::as_str);
    let set = set.map_or_else(String::new, |set| format!("; set last: {set}"));
    format!(
        "{}: {}, process {}, {:.0} s, {} packets moved, {} dropped, latest {:.0} us{set}",
        text("name"),
        text("scenario"),
        status["pid"],
        number("running_s"),
        status["moved_packets"],
        status["dropped_packets"],
        number("lateness_max_s") * 1e6,
    )
}

/// Lines on a terminal that take the place of those shown before.
#[derive(Default)]
pub struct Board {
    shown: usize,
}

impl Board {
    /// Nothing is shown yet.
    pub const fn new() -> Board {
        Board { shown: 0 }
    }

    /// What is to be written: in place on a terminal of `width` columns, else line below line.
    pub fn frame(&mut self, lines: &[String], width: Option<usize>) -> String {
        let Some(width) = width else { return lines.iter().map(|line| format!("{line}\n")).collect() };
        let mut text = match self.shown {
            0 => String::new(),
            up => format!("\x1b[{up}F"),
        };
        for line in lines {
            // A line that is broken would take two.
            let line: String = line.chars().take(width.max(1)).collect();
            let _ = writeln!(text, "{line}\x1b[K");
        }
        text.push_str("\x1b[J");
        self.shown = lines.len();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, at: f64, bytes: u64) -> Value {
        json!({"name": name, "at_s": at, "rate_bps": 50_000_000, "delay_s": 0.25, "loss": 0.01, "up": false, "queue_packets": 3,
               "queue_bytes": 4500, "sent_packets": 9, "sent_bytes": bytes, "dropped_by_queue": 7, "lost": 0, "dropped_by_outage": 2})
    }

    #[test]
    fn a_line_has_what_holds_and_what_happens() {
        let lines = lines(
            &[link("sat.forward", 3.0, 3_000_000), link("s", 3.0, 0)],
            &[link("sat.forward", 2.0, 1_750_000)],
        );
        assert_eq!(
            lines,
            [
                "sat.forward    10 Mbit/s of 50 Mbit/s, 250 ms, loss 1.000 %, down; queue 3 (4.5 kB); dropped 7, 2 in outages",
                "s                0 bit/s of 50 Mbit/s, 250 ms, loss 1.000 %, down; queue 3 (4.5 kB); dropped 7, 2 in outages",
            ]
        );
    }

    #[test]
    fn lines_take_the_place_of_those_before_on_a_terminal_only() {
        let lines = ["abcdef".to_string(), "g".to_string()];
        let mut board = Board::new();
        assert_eq!(board.frame(&lines, None), "abcdef\ng\n");
        assert_eq!(board.frame(&lines, Some(4)), "abcd\x1b[K\ng\x1b[K\n\x1b[J");
        assert_eq!(board.frame(&lines[1..], Some(4)), "\x1b[2Fg\x1b[K\n\x1b[J");
        assert_eq!(board.frame(&lines, Some(9)), "\x1b[1Fabcdef\x1b[K\ng\x1b[K\n\x1b[J");
    }
}
