//! Congestion controls written in Python: one object for each connection, whose attributes are read after every event.
//!
//! An exception does not unwind through the simulator: it is kept for [`take_error`], the window stands still, and the run ends at
//! its next report of progress.

use std::cell::RefCell;
use std::sync::Arc;

use longhaul_cc::{Ack, Bytes, Congestion, CongestionControl, CongestionKind, Setup};
use longhaul_units::{Duration, Instant, Rate};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

thread_local! {
    /// What went wrong first in the run of this thread.
    static ERROR: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The first error since the last call, as one line with the place in the user's source.
pub fn take_error() -> Option<String> {
    ERROR.with(|error| error.borrow_mut().take())
}

/// Whether a control of this thread's run has failed.
pub fn has_failed() -> bool {
    ERROR.with(|error| error.borrow().is_some())
}

/// Makes a class known to scenarios as `{ kind = "python", name = ..., source = ... }`.
#[pyfunction]
pub fn register_control(name: String, source: String, class: Py<PyType>) {
    let maker = {
        let name = name.clone();
        move |setup: &Setup| -> Box<dyn CongestionControl> { Box::new(PyControl::new(&name, &class, setup)) }
    };
    longhaul_cc::register(&name, &source, Arc::new(maker));
}

/// An acknowledgment of new data, as `on_ack` gets it. Times in s, sizes in bytes, rates in bit/s.
#[pyclass(name = "Ack", frozen, module = "longhaul._core")]
pub struct PyAck {
    ack: Ack,
}

#[pymethods]
impl PyAck {
    /// Time of arrival, in s.
    #[getter]
    fn now(&self) -> f64 {
        seconds(self.ack.now)
    }
    /// Bytes newly acknowledged, cumulatively or by SACK.
    #[getter]
    fn acked(&self) -> Bytes {
        self.ack.acked
    }
    /// Round trip measured from this ACK in s; `None` if none could be (Karn's rule).
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.ack.rtt.map(Duration::as_secs_f64)
    }
    /// Smoothed round trip in s (RFC 6298); 0 before the first sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.ack.srtt.as_secs_f64()
    }
    /// Smallest round trip so far, in s.
    #[getter]
    fn min_rtt(&self) -> f64 {
        self.ack.min_rtt.as_secs_f64()
    }
    /// Bytes in flight after this ACK.
    #[getter]
    fn in_flight(&self) -> Bytes {
        self.ack.in_flight
    }
    /// True for the first ACK of a round trip.
    #[getter]
    fn round_start(&self) -> bool {
        self.ack.round_start
    }
    /// All bytes delivered so far.
    #[getter]
    fn delivered(&self) -> Bytes {
        self.ack.delivered
    }
    /// All bytes so far that were marked, as far as the peer's ECN feedback shows: exact with `ecn = "accurate"`.
    #[getter]
    fn marked(&self) -> Bytes {
        self.ack.marked
    }
    /// Something else than the window was the limit when the acknowledged data left: it should not grow.
    #[getter]
    fn app_limited(&self) -> bool {
        self.ack.app_limited
    }
    /// Loss recovery is under way: most controls hold their window then.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.ack.in_recovery
    }
    /// Rate at which the network delivers, in bit/s, where the class has `delivery_rate = True`; else `None`.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.ack.delivery.and_then(|delivery| delivery.rate).map(|rate| rate.as_bps() as f64)
    }
}

/// Congestion, as `on_loss` gets it.
#[pyclass(name = "Loss", frozen, module = "longhaul._core")]
pub struct PyLoss {
    event: Congestion,
}

#[pymethods]
impl PyLoss {
    /// Time of detection, in s.
    #[getter]
    fn now(&self) -> f64 {
        seconds(self.event.now)
    }
    /// "loss" (duplicate ACKs or SACK), "ecn", "timeout", or "spurious": the last reduction was unnecessary.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.event.kind {
            CongestionKind::Loss => "loss",
            CongestionKind::EcnEcho => "ecn",
            CongestionKind::Timeout => "timeout",
            CongestionKind::Spurious => "spurious",
        }
    }
    /// Bytes sent and not cumulatively acknowledged (RFC 5681 section 2).
    #[getter]
    fn flight_size(&self) -> Bytes {
        self.event.flight_size
    }
}

fn seconds(time: Instant) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// The object of one connection, and what its attributes were after the last event.
struct PyControl {
    name: String,
    class: Py<PyType>,
    object: Option<Py<PyAny>>,
    setup: Setup,
    begun: bool,
    window: Bytes,
    ssthresh: Bytes,
    rate: Option<Rate>,
    /// Optional attributes that the class has.
    has_ssthresh: bool,
    has_rate: bool,
    delivery_rate: bool,
}

impl PyControl {
    fn new(name: &str, class: &Py<PyType>, setup: &Setup) -> Self {
        let class = Python::attach(|py| class.clone_ref(py));
        let mut control = PyControl {
            name: name.to_string(),
            class,
            object: None,
            setup: *setup,
            begun: false,
            window: setup.initial_window.bytes(setup.mss),
            ssthresh: Bytes::MAX,
            rate: None,
            has_ssthresh: false,
            has_rate: false,
            delivery_rate: false,
        };
        control.make();
        control
    }

    /// The object, anew: before the first event its MSS and initial window may still change.
    fn make(&mut self) {
        let mss = self.setup.mss.max(1);
        let window = self.setup.initial_window.bytes(mss);
        self.window = window;
        Python::attach(|py| {
            let made = self.class.bind(py).call1((mss, window)).and_then(|object| {
                self.has_ssthresh = object.hasattr(intern!(py, "ssthresh"))?;
                self.has_rate = object.hasattr(intern!(py, "pacing_rate"))?;
                let wanted = intern!(py, "delivery_rate");
                self.delivery_rate = object.hasattr(wanted)? && object.getattr(wanted)?.is_truthy()?;
                Ok(object)
            });
            match made {
                Ok(object) => {
                    let result = self.look(&object);
                    self.object = Some(object.unbind());
                    self.keep(py, "__init__", result);
                }
                Err(error) => self.keep(py, "__init__", Err(Wrong::Raised(error))),
            }
        });
    }

    /// Reads what the object allows now.
    fn look(&mut self, object: &Bound<'_, PyAny>) -> Result<(), Wrong> {
        let py = object.py();
        let window = number(&object.getattr(intern!(py, "window"))?, "window", "in bytes, 1 or more")?;
        if !(window.is_finite() && window >= 1.0) {
            return Err(Wrong::Value(format!("its window is {window}; it is in bytes, 1 or more")));
        }
        self.window = (window as Bytes).max(self.setup.mss);
        if self.has_ssthresh {
            let form = "in bytes, or float(\"inf\")";
            let ssthresh = number(&object.getattr(intern!(py, "ssthresh"))?, "ssthresh", form)?;
            if ssthresh.is_nan() {
                return Err(Wrong::Value(format!("its ssthresh is nan; it is {form}")));
            }
            self.ssthresh =
                if ssthresh >= Bytes::MAX as f64 { Bytes::MAX } else { ssthresh.max(0.0) as Bytes };
        }
        if self.has_rate {
            let rate = object.getattr(intern!(py, "pacing_rate"))?;
            let rate = match rate.is_none() {
                true => None,
                false => Some(number(&rate, "pacing_rate", "in bit/s, 1 or more, or None")?),
            };
            if rate.is_some_and(|rate| !(rate.is_finite() && rate >= 1.0)) {
                let text = "its pacing_rate is in bit/s, 1 or more, or None".to_string();
                return Err(Wrong::Value(format!("{text}, not {}", rate.unwrap_or_default())));
            }
            self.rate = rate.map(Rate::from_bps_f64);
        }
        Ok(())
    }

    /// Keeps the first error of the run.
    fn keep(&self, py: Python<'_>, place: &str, result: Result<(), Wrong>) {
        let Err(wrong) = result else { return };
        let text = match wrong {
            Wrong::Value(text) => format!("{text} (after {place}{})", self.place_of(py, place)),
            Wrong::Raised(error) if error.traceback(py).is_none() => {
                format!("{error} (after {place}{})", self.place_of(py, place))
            }
            Wrong::Raised(error) => described(py, &error),
        };
        ERROR.with(|kept| {
            kept.borrow_mut().get_or_insert_with(|| format!("congestion control {}: {text}", self.name));
        });
    }

    /// Where a method of the class begins: ", mine.py, line 12"; nothing if it has no source.
    fn place_of(&self, py: Python<'_>, method: &str) -> String {
        let place = || -> PyResult<String> {
            let code = self.class.bind(py).getattr(method)?.getattr("__code__")?;
            let file: String = code.getattr("co_filename")?.extract()?;
            let line: u32 = code.getattr("co_firstlineno")?.extract()?;
            Ok(format!(", {file}, line {line}"))
        };
        place().unwrap_or_default()
    }

    /// Calls a method of the object and reads what it allows then.
    fn tell<A>(&mut self, method: &'static str, argument: A)
    where
        A: for<'py> FnOnce(Python<'py>) -> PyResult<Py<PyAny>>,
    {
        if has_failed() {
            return;
        }
        self.begun = true;
        Python::attach(|py| {
            let Some(object) = self.object.as_ref().map(|object| object.clone_ref(py)) else { return };
            let object = object.into_bound(py);
            let result = argument(py)
                .and_then(|argument| object.call_method1(method, (argument,)))
                .map_err(Wrong::Raised)
                .and_then(|_| self.look(&object));
            self.keep(py, method, result);
        });
    }
}

/// What can be wrong with an object.
enum Wrong {
    Raised(PyErr),
    Value(String),
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Self {
        Wrong::Raised(error)
    }
}

/// An attribute that must be a number.
fn number(value: &Bound<'_, PyAny>, name: &str, form: &str) -> Result<f64, Wrong> {
    value.extract().map_err(|_| {
        let given = value.repr().map_or_else(|_| "no number".to_string(), |text| text.to_string());
        Wrong::Value(format!("its {name} is {given}; it is {form}"))
    })
}

/// "ZeroDivisionError: division by zero (mine.py, line 12, in on_ack)".
fn described(py: Python<'_>, error: &PyErr) -> String {
    let place = || -> PyResult<String> {
        let mut at = match error.traceback(py) {
            Some(traceback) => traceback.into_any(),
            None => return Ok(String::new()),
        };
        while let Ok(next) = at.getattr("tb_next") {
            if next.is_none() {
                break;
            }
            at = next;
        }
        let code = at.getattr("tb_frame")?.getattr("f_code")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        let function: String = code.getattr("co_name")?.extract()?;
        let line: u32 = at.getattr("tb_lineno")?.extract()?;
        Ok(format!(" ({file}, line {line}, in {function})"))
    };
    format!("{error}{}", place().unwrap_or_default())
}

impl CongestionControl for PyControl {
    fn on_mss(&mut self, mss: Bytes) {
        if mss == self.setup.mss {
            return;
        }
        self.setup.mss = mss.max(1);
        if self.begun {
            self.window = self.window.max(self.setup.mss);
        } else {
            self.make();
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let ack = *ack;
        self.tell("on_ack", |py| Ok(Py::new(py, PyAck { ack })?.into_any()));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let event = *event;
        self.tell("on_loss", |py| Ok(Py::new(py, PyLoss { event })?.into_any()));
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        // RFC 5681 section 4.1: RW = min(IW, cwnd), written into the object, whose window it is.
        let window = self.window.min(restart_window).max(self.setup.mss);
        Python::attach(|py| {
            let Some(object) = &self.object else { return };
            let result = object.setattr(py, intern!(py, "window"), window).map_err(Wrong::Raised);
            self.keep(py, "a pause", result);
        });
        self.window = window;
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.has_ssthresh && self.window < self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn sets_rate(&self) -> bool {
        self.has_rate
    }

    fn needs_delivery_rate(&self) -> bool {
        self.delivery_rate
    }
}
