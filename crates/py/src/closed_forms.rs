//! The closed forms of `longhaul_cc` for Python. Windows are in segments, `p` is a loss rate per segment.

use longhaul_sim::closed_form as formulas;
use pyo3::prelude::*;

/// W = C / p^d.
#[pyfunction]
pub fn power_law_window(c: f64, d: f64, p: f64) -> f64 {
    formulas::power_law_window(c, d, p)
}

/// sqrt(a (2 - b) / (2 b p)).
#[pyfunction]
pub fn aimd_window(a: f64, b: f64, p: f64) -> f64 {
    formulas::aimd_window(a, b, p)
}

/// Response function of HighSpeed TCP.
#[pyclass(frozen)]
pub struct HighSpeedResponse(formulas::HighSpeedResponse);

#[pymethods]
impl HighSpeedResponse {
    #[new]
    fn new(low_window: f64, low_p: f64, high_window: f64, high_p: f64, high_decrease: f64) -> Self {
        HighSpeedResponse(formulas::HighSpeedResponse {
            low_window,
            low_p,
            high_window,
            high_p,
            high_decrease,
        })
    }
    fn slope(&self) -> f64 {
        self.0.slope()
    }
    fn window(&self, p: f64) -> f64 {
        self.0.window(p)
    }
    fn loss_rate(&self, w: f64) -> f64 {
        self.0.loss_rate(w)
    }
    fn a(&self, w: f64) -> f64 {
        self.0.a(w)
    }
    fn b(&self, w: f64) -> f64 {
        self.0.b(w)
    }
}
