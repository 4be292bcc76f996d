//! Network namespaces without names (network_namespaces(7)): each is that of a thread which waits for work. When the process ends, in
//! whatever way, the kernel removes them with all that is inside.

use crate::{Error, system};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use std::sync::mpsc::{Sender, channel};

type Work = Box<dyn FnOnce() + Send>;

/// A namespace.
pub(super) struct Place {
    work: Sender<Work>,
    thread: Pid,
}

impl Place {
    /// Makes a namespace in which loopback is up.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn new() -> Result<Place, Error> {
        let (work, tasks) = channel::<Work>();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid());
            if tell.send(made).is_ok() && made.is_ok() {
                tasks.into_iter().for_each(|task| task());
            }
        });
        let thread = told
            .recv()
            .map_err(|why| Error::system("start a thread", why))?
            .map_err(|why| Error::system("make a network namespace", why))?;
        let place = Place { work, thread };
        place.ip("link set lo up")?;
        Ok(place)
    }

    /// Does something inside. Threads and processes that it starts are inside too, and live at most as long as the place.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (tell, told) = channel();
        let gone = || Error::system("work in a network namespace", "its thread has ended");
        self.work.send(Box::new(move || drop(tell.send(work())))).map_err(|_| gone())?;
        told.recv().map_err(|_| gone())?
    }

    /// Runs `ip` inside.
    ///
    /// # Errors
    /// Its message.
    pub fn ip(&self, arguments: &str) -> Result<(), Error> {
        let arguments = arguments.to_string();
        self.run(move || system::ip(&arguments).map(drop))
    }

    /// Connects this place and another by a pair of devices (veth(4)): each has a name and an address with its prefix length.
    ///
    /// # Errors
    /// The message of `ip`.
    pub fn connect(&self, near: (&str, &str), other: &Place, far: (&str, &str)) -> Result<(), Error> {
        self.ip(&format!("link add {} type veth peer name {} netns {}", near.0, far.0, other.thread))?;
        for (place, (device, address)) in [(self, near), (other, far)] {
            place.ip(&format!("address add {address} dev {device}"))?;
            place.ip(&format!("link set {device} up"))?;
        }
        Ok(())
    }

    /// Sets a value below `/proc/sys/net`.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let (file, value) = (format!("/proc/sys/net/{name}"), value.to_string());
        self.run(move || {
            std::fs::write(&file, value).map_err(|why| Error::system(format!("write {file}"), why))
        })
    }
}
