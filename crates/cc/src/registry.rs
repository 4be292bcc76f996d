//! Every congestion control algorithm and every slow start policy by name: reading, building, listing.
//! To add one, write its file and add its line to the table below.

use crate::algorithms::average_restart::AverageRestartParams;
use crate::algorithms::bbr::BbrParams;
use crate::algorithms::bbr3::Bbr3Params;
use crate::algorithms::bic::BicParams;
use crate::algorithms::compound::CompoundParams;
use crate::algorithms::copa::CopaParams;
use crate::algorithms::cubic::CubicParams;
use crate::algorithms::dctcp::DctcpParams;
use crate::algorithms::dual::DualParams;
use crate::algorithms::external::ExternalParams;
use crate::algorithms::fast::FastParams;
use crate::algorithms::fixed::FixedParams;
use crate::algorithms::highspeed::HighSpeedParams;
use crate::algorithms::htcp::HtcpParams;
use crate::algorithms::hybla::HyblaParams;
use crate::algorithms::illinois::IllinoisParams;
use crate::algorithms::ledbat::{LedbatParams, LedbatPpParams};
use crate::algorithms::nv::NvParams;
use crate::algorithms::prague::PragueParams;
use crate::algorithms::reno::RenoParams;
use crate::algorithms::scalable::ScalableParams;
use crate::algorithms::sttp::{PracticalParams, SttpParams};
use crate::algorithms::tri_s::TriSParams;
use crate::algorithms::vegas::VegasParams;
use crate::algorithms::veno::VenoParams;
use crate::algorithms::westwood::WestwoodParams;
use crate::algorithms::yeah::YeahParams;
use crate::compose::{AlgorithmSpec, Compose};
#[cfg(feature = "serde")]
use crate::params::Parameter;
use crate::params::{Conditions, Formula, Spec};
#[cfg(feature = "serde")]
use crate::schema::{self, name_or_table};
use crate::slow_start::hystart::HystartParams;
use crate::slow_start::packet_pair::PacketPairParams;
use crate::slow_start::search::SearchParams;
use crate::slow_start::{hystart_pp::HystartPpParams, limited::LimitedParams, standard::StandardParams};
use crate::{Avoidance, CongestionControl, Setup};
#[cfg(feature = "serde")]
use serde_json::{Map, Value};
use std::cell::Cell;

/// What a name in the registry stands for.
#[cfg(feature = "serde")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Governs the window as a whole, or above ssthresh.
    Avoidance,
    /// Governs the window below ssthresh.
    SlowStart,
}

/// A fact sheet on one algorithm.
#[cfg(feature = "serde")]
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Name in scenario files.
    pub name: &'static str,
    /// Which of the two keys takes it.
    pub role: Role,
    /// Where it is defined, for instance "RFC 9438".
    pub source: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// What can be set.
    pub parameters: Vec<Parameter>,
}

/// Makes an enum of parameter structs that reads from a bare name or from a table with `kind`; `each` is a method whose
/// body is the same expression for every one of them.
macro_rules! kinds {
    ($(#[$doc:meta])* $enum:ident, $what:literal, $role:expr, $default:ident;
     $(#[$each_doc:meta])*
     each $each:ident [$($generics:tt)*] ($($arg:ident: $type:ty),*) $each_params:ident => $body:expr;
     $($variant:ident($params:ty) = $name:literal),+ $(,)?
     $(; unlisted $hidden:ident($hidden_params:ty) = $hidden_name:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, crate::settings::Serialize)]
        #[serde(tag = "kind")]
        pub enum $enum {
            $(
                #[doc = concat!("`\"", $name, "\"`")]
                #[serde(rename = $name)]
                $variant($params),
            )+
            $(
                #[doc = concat!("`\"", $hidden_name, "\"`, which no list has: it has to be registered first")]
                #[serde(rename = $hidden_name)]
                $hidden($hidden_params),
            )?
        }

        impl $enum {
            /// The names that are known.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ $(Self::$hidden(_) => $hidden_name,)? }
            }

            /// An error that names the parameter and its range, if one is out of it.
            #[cfg(feature = "serde")]
            pub fn check(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(params) => schema::check(params),)+
                    $(Self::$hidden(params) => schema::check(params),)?
                }
            }

            /// The response function of these parameters, if one is known; none of a slow start.
            pub fn response_function(&self, met: &Conditions) -> Option<Formula> {
                match self {
                    $(Self::$variant(params) => params.response_function(met),)+
                    $(Self::$hidden(params) => params.response_function(met),)?
                }
            }

            $(#[$each_doc])*
            pub(crate) fn $each $($generics)* (&self, $($arg: $type),*) -> Box<dyn CongestionControl> {
                match self {
                    $(Self::$variant($each_params) => $body,)+
                    $(Self::$hidden($each_params) => $body,)?
                }
            }

            #[cfg(feature = "serde")]
            fn read(kind: &str, table: Map<String, Value>) -> Result<Self, String> {
                match kind {
                    $($name => schema::read(table).map(Self::$variant),)+
                    $($hidden_name => schema::read(table).map(Self::$hidden),)?
                    _ => Err(Self::unknown(kind)),
                }
            }

            fn unknown(kind: &str) -> String {
                format!("unknown {} \"{kind}\"; known are: {}", $what, Self::NAMES.join(", "))
            }

            #[cfg(feature = "serde")]
            fn entries() -> Vec<Entry> {
                vec![$(Entry {
                    name: $name,
                    role: $role,
                    source: <$params as Spec>::SOURCE,
                    summary: <$params as Spec>::SUMMARY,
                    parameters: schema::facts::<$params>(),
                }),+]
            }
        }

        impl Default for $enum {
            fn default() -> Self {
                Self::$default(Default::default())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = String;
            /// From a bare name: the algorithm with its default parameters.
            fn from_str(name: &str) -> Result<Self, String> {
                let named = match name {
                    $($name => Self::$variant(Default::default()),)+
                    $($hidden_name => Self::$hidden(Default::default()),)?
                    _ => return Err(Self::unknown(name)),
                };
                match &named {
                    $(Self::$variant(params) => params.check(),)+
                    $(Self::$hidden(params) => params.check(),)?
                }
                .map_err(|error| format!("{name}: {error}"))?;
                Ok(named)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (kind, table) = name_or_table(deserializer, $what)?;
                Self::read(&kind, table).map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "serde")]
        impl schemars::JsonSchema for $enum {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($enum).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!("A ", $what, ": its name, or a table with its name as `kind` and parameters."),
                    "anyOf": [
                        { "type": "string", "enum": Self::NAMES },
                        $(schema::table_schema::<$params>(generator)),+
                    ],
                })
            }
        }
    };
}

kinds! {
    /// A congestion control algorithm with its parameters.
    Algorithm, "congestion control", Role::Avoidance, Cubic;
    each policy [<S: Compose>] (slow_start: &S, setup: &Setup) params => params.policy(slow_start, setup);
    Reno(RenoParams) = "reno",
    Cubic(CubicParams) = "cubic",
    HighSpeed(HighSpeedParams) = "highspeed",
    Fixed(FixedParams) = "fixed",
    Scalable(ScalableParams) = "scalable",
    Bic(BicParams) = "bic",
    Htcp(HtcpParams) = "htcp",
    Hybla(HyblaParams) = "hybla",
    Illinois(IllinoisParams) = "illinois",
    Veno(VenoParams) = "veno",
    Westwood(WestwoodParams) = "westwood",
    Vegas(VegasParams) = "vegas",
    Compound(CompoundParams) = "compound",
    Yeah(YeahParams) = "yeah",
    Bbr(BbrParams) = "bbr",
    Bbr3(Bbr3Params) = "bbr3",
    Sttp(SttpParams) = "sttp",
    SttpPractical(PracticalParams) = "sttp_practical",
    RenoAverage(AverageRestartParams) = "reno_average",
    Dctcp(DctcpParams) = "dctcp",
    Prague(PragueParams) = "prague",
    Fast(FastParams) = "fast",
    Ledbat(LedbatParams) = "ledbat",
    LedbatPp(LedbatPpParams) = "ledbat++",
    Copa(CopaParams) = "copa",
    Nv(NvParams) = "nv",
    Dual(DualParams) = "dual",
    TriS(TriSParams) = "tri_s";
    unlisted External(ExternalParams) = "python"
}

kinds! {
    /// A slow start policy with its parameters.
    SlowStartKind, "slow start", Role::SlowStart, Standard;
    /// Puts an avoidance rule beside this slow start. Each pair is a type of its own, so that the connection's call
    /// is the only one that is not resolved when compiling.
    each compose [<A: Avoidance>] (avoidance: A, setup: &Setup) params => params.compose(avoidance, setup);
    Standard(StandardParams) = "standard",
    Limited(LimitedParams) = "limited",
    HystartPp(HystartPpParams) = "hystart++",
    Hystart(HystartParams) = "hystart",
    PacketPair(PacketPairParams) = "packet_pair",
    Search(SearchParams) = "search",
}

impl Compose for SlowStartKind {
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl> {
        SlowStartKind::compose(self, avoidance, setup)
    }
    fn packet_pair(&self) -> Option<&PacketPairParams> {
        match self {
            SlowStartKind::PacketPair(params) => Some(params),
            _ => None,
        }
    }
}

/// All that is known, avoidance first, in the order of the tables above.
#[cfg(feature = "serde")]
pub fn registry() -> Vec<Entry> {
    let mut entries = Algorithm::entries();
    entries.extend(SlowStartKind::entries());
    entries
}

/// A policy for one connection.
///
/// # Errors
/// A text that names the parameter which is out of its range, or what is wrong with `setup`.
#[cfg(feature = "serde")]
pub fn build(
    algorithm: &Algorithm,
    slow_start: &SlowStartKind,
    setup: &Setup,
) -> Result<Box<dyn CongestionControl>, String> {
    setup.check()?;
    algorithm.check()?;
    slow_start.check()?;
    Ok(build_checked(algorithm, slow_start, setup))
}

/// The same for parameters that `build` has accepted before. It does not look at them again, which takes 50 times as
/// long as building the policy: for owners of thousands of connections.
pub fn build_checked(
    algorithm: &Algorithm,
    slow_start: &SlowStartKind,
    setup: &Setup,
) -> Box<dyn CongestionControl> {
    algorithm.policy(slow_start, setup)
}

/// Whether the algorithm begins with this slow start. BBR, STTP and classes in Python have starts of their own, of which
/// STTP's takes the parameters of packet pairs.
pub fn begins_with(algorithm: &Algorithm, slow_start: &SlowStartKind) -> bool {
    if matches!(algorithm, Algorithm::External(_)) {
        return false;
    }
    let asked = Asked { slow_start, used: Cell::new(false) };
    algorithm.policy(&asked, &Setup::default());
    asked.used.get()
}

/// A slow start that notes whether it is taken.
struct Asked<'a> {
    slow_start: &'a SlowStartKind,
    used: Cell<bool>,
}

impl Compose for Asked<'_> {
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl> {
        self.used.set(true);
        Compose::compose(self.slow_start, avoidance, setup)
    }
    fn packet_pair(&self) -> Option<&PacketPairParams> {
        let pair = self.slow_start.packet_pair();
        self.used.set(pair.is_some());
        pair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Algorithm, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn algorithms_with_a_start_of_their_own_are_recognised() {
        let begins = |algorithm: &str, slow_start: &str| {
            begins_with(&algorithm.parse().unwrap(), &slow_start.parse().unwrap())
        };
        assert!(begins("cubic", "hystart++") && begins("hybla", "packet_pair"));
        assert!(!begins("bbr", "hystart++") && !begins("bbr3", "packet_pair"));
        assert!(begins("sttp", "packet_pair") && !begins("sttp_practical", "limited"));
    }

    #[test]
    fn reads_a_bare_name_or_a_table() {
        assert_eq!(read(r#""cubic""#), Ok(Algorithm::Cubic(CubicParams::default())));
        let params = CubicParams { fast_convergence: false, ..CubicParams::default() };
        let table = r#"{"kind": "cubic", "fast_convergence": false}"#;
        assert_eq!(read(table), Ok(Algorithm::Cubic(params)));
        assert_eq!("reno".parse(), Ok(Algorithm::Reno(RenoParams::default())));
        assert_eq!("limited".parse(), Ok(SlowStartKind::Limited(LimitedParams::default())));
    }

    #[test]
    fn reads_from_toml() {
        #[derive(serde::Deserialize)]
        struct Tcp {
            congestion: Algorithm,
            slow_start: SlowStartKind,
        }
        let text = r#"
            congestion = { kind = "reno", a = 32, b = 0.125 }
            slow_start = "hystart++"
        "#;
        let tcp: Tcp = toml::from_str(text).unwrap();
        let reno = RenoParams { a: 32.0, b: 0.125, ..RenoParams::default() };
        assert_eq!(tcp.congestion, Algorithm::Reno(reno));
        assert_eq!(tcp.slow_start, SlowStartKind::HystartPp(HystartPpParams::default()));
        for a in ["nan", "inf", "-1", "0", "\"1\""] {
            let text = format!("congestion = {{ kind = \"reno\", a = {a} }}\nslow_start = \"standard\"");
            let error = toml::from_str::<Tcp>(&text).err().unwrap().to_string();
            assert!(error.contains("line 1") && error.contains("reno: "), "{error}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            (r#""cubc""#, r#"unknown congestion control "cubc"; known are: reno, cubic, "#),
            (r#"{"kind": "bbr9", "x": 1}"#, r#"unknown congestion control "bbr9"; known are: reno, cubic, "#),
            (
                r#"{"kind": "reno", "fast_convergence": true}"#,
                "reno: unknown field `fast_convergence`, expected one of `a`, `b`, `counting`, `abe`",
            ),
            (r#"{"kind": "reno", "b": 1}"#, "reno: b must be above 0 and below 1, not 1.0"),
            (r#"{"kind": "cubic", "c": -0.4}"#, "cubic: c must be above 0 and at most 1000, not -0.4"),
            (r#"{"kind": "fixed", "window": 64}"#, "fixed: invalid type: integer `64`, expected a "),
            (r#"{"beta": 0.7}"#, "a congestion control given as a table needs its name as `kind`"),
            (r#"{"kind": 3}"#, "`kind` must be the name of a congestion control"),
            (r#"{"kind": "reno", "a": 1, "a": 2}"#, "a is given twice"),
            ("3", "invalid type: integer `3`, expected the name of a congestion control, or a table with"),
        ];
        for (json, message) in cases {
            let error = read(json).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        for name in Algorithm::NAMES {
            let algorithm: Algorithm = name.parse().unwrap();
            let json = serde_json::to_string(&algorithm).unwrap();
            assert_eq!(read(&json), Ok(algorithm), "{json}");
        }
        for name in SlowStartKind::NAMES {
            let slow_start: SlowStartKind = name.parse().unwrap();
            let json = serde_json::to_string(&slow_start).unwrap();
            assert_eq!(serde_json::from_str::<SlowStartKind>(&json).unwrap(), slow_start);
        }
        // `kind` comes first and every parameter is written: a resolved scenario depends on no default.
        let json = serde_json::to_string(&Algorithm::Cubic(CubicParams::default())).unwrap();
        let expected = r#"{"kind":"cubic","c":0.4,"beta":0.7,"fast_convergence":true,"reno_friendly":true,"counting":"acks","target_rtt":"smoothed","reno_alpha_rises":true,"growth_before_loss":0.0,"growth":"acks","growth_restored":true,"abe":false}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn building_checks_parameters_made_in_code() {
        let algorithm = Algorithm::Reno(RenoParams { a: f64::NAN, ..RenoParams::default() });
        let error = build(&algorithm, &SlowStartKind::default(), &Setup::default()).err();
        let message = "reno: a must be above 0 and at most 1000, not NaN or infinite";
        assert_eq!(error.as_deref(), Some(message));
    }

    #[test]
    fn every_pair_can_be_built() {
        for algorithm in Algorithm::NAMES {
            for slow_start in SlowStartKind::NAMES {
                let (algorithm, slow_start) = (algorithm.parse().unwrap(), slow_start.parse().unwrap());
                assert!(build(&algorithm, &slow_start, &Setup::default()).is_ok());
            }
        }
    }

    #[test]
    fn every_entry_is_complete() {
        let entries = registry();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        for name in ["reno", "cubic", "fixed", "standard", "limited", "hystart++"] {
            assert_eq!(names.iter().filter(|entry| **entry == name).count(), 1, "{name}");
        }
        for entry in &entries {
            assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
            for parameter in &entry.parameters {
                assert!(!parameter.description.is_empty(), "{} {}", entry.name, parameter.name);
                let carries_its_unit = parameter.default.contains(' ');
                assert!(carries_its_unit || !parameter.unit.is_empty(), "{} {}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn parameters_are_described_by_their_schema() {
        let cubic = registry().into_iter().find(|entry| entry.name == "cubic").unwrap();
        assert_eq!((cubic.role, cubic.source), (Role::Avoidance, "RFC 9438"));
        let beta = cubic.parameters.iter().find(|parameter| parameter.name == "beta").unwrap();
        assert_eq!(
            *beta,
            Parameter {
                name: "beta".to_string(),
                default: "0.7".to_string(),
                unit: "share of the window".to_string(),
                range: "above 0 and below 1".to_string(),
                description: "Multiplicative decrease: what is left of the window upon loss (section 4.6)."
                    .to_string(),
            }
        );
    }

    #[test]
    fn the_schema_allows_a_name_or_a_table() {
        let schema = schemars::schema_for!(Algorithm).to_value();
        assert_eq!(schema["anyOf"][0]["enum"], serde_json::json!(Algorithm::NAMES));
        assert_eq!(schema["anyOf"][2]["properties"]["kind"]["const"], "cubic");
        assert_eq!(schema["anyOf"][2]["properties"]["c"]["maximum"], 1000);
        assert_eq!(schema["anyOf"][2]["additionalProperties"], false);
    }
}
