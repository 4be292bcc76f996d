//! STTP made practical: the same policy and the same parameters with other defaults, those of the thesis's future work
//! (section 6.3) and of a deployment: probes that are repeated, a first train of data, growth and draining by the level of the round trip, a
//! rival's window beside flows that fill queues, a burst that queues can take, and limits in case ACKs stop.

use super::params::SttpParams;
use super::{Rival, Sttp, TokenUnit};
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::settings::Serialize;
#[cfg(feature = "serde")]
use crate::settings::{Deserialize, JsonSchema};
use crate::slow_start::packet_pair::PacketPairParams;
use crate::{CongestionControl, Setup};
use longhaul_units::Duration;
#[cfg(feature = "serde")]
use serde_json::{Map, Value};

/// Parameters of [`Sttp`] with defaults for use.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub struct PracticalParams(pub SttpParams);

impl Default for PracticalParams {
    fn default() -> Self {
        PracticalParams(SttpParams {
            step_min: 0.5,
            step_max: 1.5,
            token: TokenUnit::Bytes,
            timeout_factor: 0.5,
            rho_min_per_rtt: 1.0,
            rho_max: 1.25,
            peer_window: 0,
            sigma_horizon: Duration::from_millis(10),
            rho_fail: 0.0,
            window_gain: 2.0,
            compressed_acks: 0.5,
            train: 10,
            grow: 0.02,
            drain: 0.1,
            rival: Rival::Cubic,
            ..SttpParams::default()
        })
    }
}

#[cfg(feature = "serde")]
impl PracticalParams {
    /// What is not in `given` is as here by default.
    fn over_defaults(given: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let mut values = serde_json::to_value(PracticalParams::default())?;
        if let Value::Object(defaults) = &mut values {
            defaults.extend(given);
        }
        serde_json::from_value(values).map(PracticalParams)
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for PracticalParams {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Map::deserialize(deserializer)?;
        PracticalParams::over_defaults(given).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "serde")]
impl JsonSchema for PracticalParams {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PracticalParams".into()
    }
    /// That of [`SttpParams`] with other defaults.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = SttpParams::json_schema(generator);
        let defaults = serde_json::to_value(PracticalParams::default()).unwrap_or_default();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, property) in properties {
                if let (Value::Object(property), Some(default)) = (property, defaults.get(name)) {
                    property.insert("default".to_string(), default.clone());
                }
            }
        }
        schema
    }
}

impl Spec for PracticalParams {
    const NAME: &'static str = "sttp_practical";
    const SOURCE: &'static str = "Wade 2000, section 6.3; Longhaul";
    const SUMMARY: &'static str = "sttp with retries, trains, growth, draining, and a CUBIC window in competition with loss-based flows";
}

impl AlgorithmSpec for PracticalParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let usual = || PacketPairParams { probes: 4, retries: 5, ..PacketPairParams::default() };
        let probe = slow_start.packet_pair().cloned().unwrap_or_else(usual);
        Box::new(Sttp::new(self.0.clone(), probe, setup))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::registry;
    use crate::testing::{MSS, policy, setup};
    use crate::{Algorithm, SlowStartKind};

    #[test]
    fn what_is_not_given_is_the_practical_default() {
        let read = |json: &str| serde_json::from_str::<Algorithm>(json).unwrap();
        let Algorithm::SttpPractical(params) = read(r#"{"kind": "sttp_practical", "grow": 0.05}"#) else {
            panic!("another algorithm");
        };
        assert_eq!((params.0.grow, params.0.drain, params.0.train), (0.05, 0.1, 10));
        assert_eq!(read(r#""sttp_practical""#), Algorithm::SttpPractical(PracticalParams::default()));
        let error =
            serde_json::from_str::<Algorithm>(r#"{"kind": "sttp_practical", "gorw": 1}"#).unwrap_err();
        assert!(error.to_string().starts_with("sttp_practical: unknown field `gorw`"), "{error}");
    }

    #[test]
    fn the_list_shows_its_own_defaults() {
        let entry = registry().into_iter().find(|entry| entry.name == "sttp_practical").unwrap();
        let default = |name: &str| {
            entry.parameters.iter().find(|parameter| parameter.name == name).unwrap().default.clone()
        };
        assert_eq!((default("rival").as_str(), default("sigma_horizon").as_str()), ("cubic", "10 ms"));
    }

    #[test]
    fn probes_are_repeated_unless_told_otherwise() {
        let probe =
            |slow_start: &str| policy(r#""sttp_practical""#, slow_start, &setup(MSS, None)).probe().unwrap();
        assert_eq!((probe(r#""standard""#).count, probe(r#""standard""#).retries), (4, 5));
        assert_eq!(probe(r#""packet_pair""#).retries, 0);
        let kind: SlowStartKind = serde_json::from_str(r#""packet_pair""#).unwrap();
        assert!(matches!(kind, SlowStartKind::PacketPair(_)));
    }
}
