//! Every congestion control algorithm and every slow start policy by name: reading, building, listing.
//! To add one, write its file and add its line to the table below.

use crate::algorithms::{cubic::CubicParams, fixed::FixedParams, reno::RenoParams};
use crate::params::{self, Spec};
use crate::slow_start::{hystart_pp::HystartPpParams, limited::LimitedParams, standard::StandardParams};
use crate::{Avoidance, CongestionControl, Setup, SlowStart, WindowBased};
use serde_json::{Map, Value};

/// What a name in the registry stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Governs the window as a whole, or above ssthresh.
    Avoidance,
    /// Governs the window below ssthresh.
    SlowStart,
}

/// A fact sheet on one algorithm.
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

/// A fact sheet on one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Key in scenario files.
    pub name: String,
    /// Value if it is not given, as one would write it.
    pub default: String,
    /// Unit of a bare number, or the words to choose from; empty if the value carries its unit.
    pub unit: String,
    /// Range of a number, in words; empty if there is none.
    pub range: String,
    /// What it does.
    pub description: String,
}

/// Makes an enum of parameter structs that reads from a bare name or from a table with `kind`; `each` is a method whose
/// body is the same expression for every one of them.
macro_rules! kinds {
    ($(#[$doc:meta])* $enum:ident, $what:literal, $role:expr, $default:ident;
     $(#[$each_doc:meta])*
     each $each:ident [$($generics:tt)*] ($($arg:ident: $type:ty),*) $each_params:ident => $body:expr;
     $($variant:ident($params:ty) = $name:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, serde::Serialize)]
        #[serde(tag = "kind")]
        pub enum $enum {
            $(
                #[doc = concat!("`\"", $name, "\"`")]
                #[serde(rename = $name)]
                $variant($params),
            )+
        }

        impl $enum {
            /// The names that are known.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),+ }
            }

            /// An error that names the parameter and its range, if one is out of it.
            pub fn check(&self) -> Result<(), String> {
                match self { $(Self::$variant(params) => params::check(params)),+ }
            }

            $(#[$each_doc])*
            pub(crate) fn $each $($generics)* (&self, $($arg: $type),*) -> Box<dyn CongestionControl> {
                match self { $(Self::$variant($each_params) => $body),+ }
            }

            fn read(kind: &str, table: Map<String, Value>) -> Result<Self, String> {
                match kind {
                    $($name => params::read(table).map(Self::$variant),)+
                    _ => Err(format!("unknown {} \"{kind}\"; known are: {}", $what, Self::NAMES.join(", "))),
                }
            }

            fn entries() -> Vec<Entry> {
                vec![$(Entry {
                    name: $name,
                    role: $role,
                    source: <$params as Spec>::SOURCE,
                    summary: <$params as Spec>::SUMMARY,
                    parameters: params::facts::<$params>(),
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
                Self::read(name, Map::new())
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (kind, table) = name_or_table(deserializer, $what)?;
                Self::read(&kind, table).map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $enum {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($enum).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!("A ", $what, ": its name, or a table with its name as `kind` and parameters."),
                    "anyOf": [
                        { "type": "string", "enum": Self::NAMES },
                        $(params::table_schema::<$params>(generator)),+
                    ],
                })
            }
        }
    };
}

kinds! {
    /// A congestion control algorithm with its parameters.
    Algorithm, "congestion control", Role::Avoidance, Cubic;
    each policy [] (slow_start: &SlowStartKind, setup: &Setup) params => params.policy(slow_start, setup);
    Reno(RenoParams) = "reno",
    Cubic(CubicParams) = "cubic",
    Fixed(FixedParams) = "fixed",
}

kinds! {
    /// A slow start policy with its parameters.
    SlowStartKind, "slow start", Role::SlowStart, Standard;
    /// Puts an avoidance rule beside this slow start. Each pair is a type of its own, so that the connection's call
    /// is the only one that is not resolved when compiling.
    each compose [<A: Avoidance>] (avoidance: A, setup: &Setup) params =>
        Box::new(WindowBased::new(avoidance, params.start(setup), setup));
    Standard(StandardParams) = "standard",
    Limited(LimitedParams) = "limited",
    HystartPp(HystartPpParams) = "hystart++",
}

/// All that is known, avoidance first, in the order of the tables above.
pub fn registry() -> Vec<Entry> {
    let mut entries = Algorithm::entries();
    entries.extend(SlowStartKind::entries());
    entries
}

/// A policy for one connection.
///
/// # Errors
/// A text that names the parameter which is out of its range, or what is wrong with `setup`.
pub fn build(
    algorithm: &Algorithm,
    slow_start: &SlowStartKind,
    setup: &Setup,
) -> Result<Box<dyn CongestionControl>, String> {
    setup.check()?;
    algorithm.check()?;
    slow_start.check()?;
    Ok(algorithm.policy(slow_start, setup))
}

/// Parameters of a congestion control algorithm.
pub(crate) trait AlgorithmSpec: Spec {
    /// The algorithm at the start of a connection: `slow_start.compose(rule, setup)` for an [`Avoidance`] rule.
    fn policy(&self, slow_start: &SlowStartKind, setup: &Setup) -> Box<dyn CongestionControl>;
}

/// Parameters of a slow start policy.
pub(crate) trait SlowStartSpec: Spec {
    /// What they are the parameters of.
    type Policy: SlowStart;
    /// The policy at the start of a connection.
    fn start(&self, setup: &Setup) -> Self::Policy;
}

/// Reads `"name"` or `{ kind = "name", .. }`; the table is returned without its `kind`.
fn name_or_table<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
    what: &'static str,
) -> Result<(String, Map<String, Value>), D::Error> {
    struct Visitor(&'static str);
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = (String, Map<String, Value>);
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "the name of a {}, or a table with its name as `kind` and parameters", self.0)
        }
        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
            Ok((name.to_string(), Map::new()))
        }
        fn visit_map<M: serde::de::MapAccess<'de>>(self, mut entries: M) -> Result<Self::Value, M::Error> {
            use serde::de::Error;
            let mut table = Map::new();
            while let Some((key, value)) = entries.next_entry::<String, Value>()? {
                if table.insert(key.clone(), value).is_some() {
                    return Err(M::Error::custom(format!("{key} is given twice")));
                }
            }
            match table.remove("kind") {
                Some(Value::String(kind)) => Ok((kind, table)),
                Some(_) => Err(M::Error::custom(format!("`kind` must be the name of a {}", self.0))),
                None => {
                    Err(M::Error::custom(format!("a {} given as a table needs its name as `kind`", self.0)))
                }
            }
        }
    }
    deserializer.deserialize_any(Visitor(what))
}
