//! The command `demo`.

use crate::{interrupted, line, lines};
use longhaul_pep::config::Carrier;
use longhaul_pep::rig::Link;
use longhaul_pep::{Error, demo};
use longhaul_program::print;
use longhaul_units::{Duration, Rate, Size};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rate from hub to terminal
    #[arg(long, default_value = "50 Mbit/s")]
    down: Rate,
    /// Rate from terminal to hub
    #[arg(long, default_value = "10 Mbit/s")]
    up: Rate,
    /// Round trip time
    #[arg(long, default_value = "650 ms")]
    rtt: Duration,
    /// Packets lost in each direction, in percent
    #[arg(long, value_delimiter = ',', default_value = "0,1")]
    loss: Vec<f64>,
    /// Sizes of downloads
    #[arg(long, value_delimiter = ',', default_value = "10 MB")]
    size: Vec<Size>,
    /// Repeats of each
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// The longest that a transfer is waited for
    #[arg(long, default_value = "25 s")]
    patience: Duration,
    /// Only downloads
    #[arg(long)]
    no_page: bool,
    /// Only with the accelerator
    #[arg(long)]
    no_control: bool,
    /// A shell command of your own at the client, in the place of downloads and page; the server is $LONGHAUL_SERVER
    #[arg(long)]
    run: Option<String>,
    /// A shell command of your own at the server
    #[arg(long, requires = "run")]
    serve: Option<String>,
    /// What carries the tunnel: auto, quic, or tcp (then with buffers and a route made for the link)
    #[arg(long, default_value_t = Carrier::Auto)]
    carrier: Carrier,
    /// Results as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn act(options: &Options) -> Result<(), Error> {
    if options.loss.iter().any(|loss| !(0.0..=50.0).contains(loss)) || options.repeat == 0 {
        return Err(Error::Config("--loss is from 0 to 50 (percent), --repeat at least 1".into()));
    }
    let plan = demo::Plan {
        link: Link { down: options.down, up: options.up, rtt: options.rtt, loss: 0.0 },
        losses: options.loss.iter().map(|loss| loss / 100.0).collect(),
        sizes: options.size.clone(),
        repeat: options.repeat,
        patience: options.patience,
        page: !options.no_page,
        control: !options.no_control,
        own: options.run.clone().map(|run| demo::Own { serve: options.serve.clone(), run }),
        carrier: options.carrier,
    };
    let stop = interrupted()?;
    let program = std::env::current_exe().map_err(|why| Error::system("find this program", why))?;
    let (samples, doubts) =
        demo::measure(&plan, program, &stop, &|step| print::note(format_args!("{step} ...")))?;
    if options.json {
        return line(serde_json::json!({ "samples": samples, "doubts": doubts }));
    }
    lines(format_args!("\n{}", demo::table(&plan, &samples)))?;
    for doubt in doubts {
        print::note(format_args!("warning: the emulator was late, {doubt}"));
    }
    Ok(())
}
