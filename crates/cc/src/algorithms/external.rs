//! A policy that the program around the simulator brings along, for instance a class in Python. A scenario names it; the program
//! registers a maker for that name before it reads the scenario.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{CongestionControl, Setup};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes the policy of one connection.
pub type Maker = Arc<dyn Fn(&Setup) -> Box<dyn CongestionControl> + Send + Sync>;

/// Makers by name and digest of the source.
static MAKERS: Mutex<BTreeMap<(String, String), Maker>> = Mutex::new(BTreeMap::new());

/// Makes a policy known to scenarios of this process; the same name and source again takes its place.
pub fn register(name: &str, source: &str, maker: Maker) {
    let mut makers = MAKERS.lock().unwrap_or_else(PoisonError::into_inner);
    makers.insert((name.to_string(), source.to_string()), maker);
}

/// Which policy: two with the same name and another source are others, so that results of both have identities of their own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExternalParams {
    /// What it is called.
    #[schemars(extend("x-unit" = "text"))]
    pub name: String,
    /// A digest of its source.
    #[schemars(extend("x-unit" = "text"))]
    pub source: String,
}

impl ExternalParams {
    fn maker(&self) -> Option<Maker> {
        let makers = MAKERS.lock().unwrap_or_else(PoisonError::into_inner);
        makers.get(&(self.name.clone(), self.source.clone())).cloned()
    }
}

impl Spec for ExternalParams {
    const NAME: &'static str = "python";
    const SOURCE: &'static str = "the user's";
    const SUMMARY: &'static str = "a class in Python";

    fn check(&self) -> Result<(), String> {
        match self.maker() {
            Some(_) => Ok(()),
            None => Err(format!(
                "there is no congestion control \"{}\" in this process; a class in Python is known only where it is given to a \
                 scenario, as in tcp={{\"congestion\": MyControl}}",
                self.name
            )),
        }
    }
}

impl AlgorithmSpec for ExternalParams {
    /// Parameters without a maker have been refused by [`Spec::check`]; if they come this far all the same, they are Reno.
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        match self.maker() {
            Some(maker) => maker(setup),
            None => super::reno::RenoParams::default().policy(slow_start, setup),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, SlowStartKind, build};

    #[test]
    fn is_known_once_it_is_registered() {
        let text = r#"{"kind": "python", "name": "Mine", "source": "1"}"#;
        let error = serde_json::from_str::<Algorithm>(text).unwrap_err().to_string();
        assert!(error.contains("there is no congestion control \"Mine\" in this process"), "{error}");
        let maker = |setup: &Setup| {
            crate::registry::build_checked(&"fixed".parse().unwrap(), &SlowStartKind::default(), setup)
        };
        register("Mine", "1", Arc::new(maker));
        let algorithm: Algorithm = serde_json::from_str(text).unwrap();
        let policy = build(&algorithm, &SlowStartKind::default(), &Setup::default()).unwrap();
        assert_eq!(policy.window(), 65_535);
        // Another source is another policy.
        assert!(serde_json::from_str::<Algorithm>(&text.replace("\"1\"", "\"2\"")).is_err());
        assert!(!Algorithm::NAMES.contains(&"python"));
    }
}
