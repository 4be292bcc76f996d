//! Settings that have a short form: `queue = "1000 packets"` is a DropTail queue, `loss = "1 %"` a random loss,
//! `corruption = "1 %"` damage to each packet with this probability, `congestion = "cubic"` one without settings of its own,
//! `jitter = "30 ms"` a uniform one that keeps the order.

use crate::MeasuredSpec;
use crate::error::nearest;
use longhaul_path::loss::RandomLoss;
use longhaul_path::{CorruptionSpec, JitterSpec, LossPlace, LossSpec, OverheadSpec, QueueSpec};
use longhaul_units::{Duration, Probability, QueueLimit};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use std::fmt;
use toml::{Table, Value};

/// Reads a queue, or the limit of a DropTail queue.
pub(crate) fn queue<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<QueueSpec>, D::Error> {
    struct Queue;
    impl<'de> Visitor<'de> for Queue {
        type Value = QueueSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a limit, as in \"1000 packets\", or a table, as in { kind = \"droptail\", limit = \"1000 packets\" }",
            )
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<QueueSpec, E> {
            text.parse::<QueueLimit>().map(QueueSpec::droptail).map_err(E::custom)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
            QueueSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Queue).map(Some)
}

/// Reads a loss, or the probability of a random one.
pub(crate) fn loss<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LossSpec>, D::Error> {
    struct Loss;
    impl Loss {
        fn random<E: Error>(probability: &str) -> Result<LossSpec, E> {
            let probability: Probability = probability.parse().map_err(E::custom)?;
            Ok(RandomLoss { probability, place: LossPlace::default() }.into())
        }
    }
    impl<'de> Visitor<'de> for Loss {
        type Value = LossSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a probability, as in \"1 %\", or a table, as in { kind = \"random\", probability = \"1 %\" }",
            )
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<LossSpec, E> {
            Loss::random(text)
        }
        fn visit_f64<E: Error>(self, value: f64) -> Result<LossSpec, E> {
            Loss::random(&value.to_string())
        }
        fn visit_i64<E: Error>(self, value: i64) -> Result<LossSpec, E> {
            Loss::random(&value.to_string())
        }
        fn visit_u64<E: Error>(self, value: u64) -> Result<LossSpec, E> {
            Loss::random(&value.to_string())
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LossSpec, A::Error> {
            LossSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Loss).map(Some)
}

/// Reads a corruption, or its probability.
pub(crate) fn corruption<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CorruptionSpec>, D::Error> {
    struct Corruption;
    impl Corruption {
        fn random<E: Error>(probability: &str) -> Result<CorruptionSpec, E> {
            probability.parse().map(CorruptionSpec::random).map_err(E::custom)
        }
    }
    impl<'de> Visitor<'de> for Corruption {
        type Value = CorruptionSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a probability, as in \"0.1 %\", or a table, as in { bit_error_rate = 1e-7 }")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<CorruptionSpec, E> {
            Corruption::random(text)
        }
        fn visit_f64<E: Error>(self, value: f64) -> Result<CorruptionSpec, E> {
            Corruption::random(&value.to_string())
        }
        fn visit_i64<E: Error>(self, value: i64) -> Result<CorruptionSpec, E> {
            Corruption::random(&value.to_string())
        }
        fn visit_u64<E: Error>(self, value: u64) -> Result<CorruptionSpec, E> {
            Corruption::random(&value.to_string())
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CorruptionSpec, A::Error> {
            CorruptionSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Corruption).map(Some)
}

/// Reads a jitter, or the largest extra delay of a uniform one.
pub(crate) fn jitter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JitterSpec>, D::Error> {
    struct Jitter;
    impl<'de> Visitor<'de> for Jitter {
        type Value = JitterSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration, as in \"30 ms\", or a table, as in { distribution = \"30 ms\", overtaking = true }")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<JitterSpec, E> {
            text.parse().map(JitterSpec::uniform).map_err(E::custom)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JitterSpec, A::Error> {
            JitterSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Jitter).map(Some)
}

/// Reads an overhead, or a keyword for one.
pub(crate) fn overhead<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OverheadSpec>, D::Error> {
    struct Overhead;
    impl<'de> Visitor<'de> for Overhead {
        type Value = OverheadSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a keyword, as in \"pppoe-ptm\", or a table, as in { bytes = \"38 B\", mpu = \"84 B\" }",
            )
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<OverheadSpec, E> {
            OverheadSpec::named(text).ok_or_else(|| {
                let nearest =
                    nearest(text, OverheadSpec::names()).map_or_else(String::new, |help| format!(", {help}"));
                let names: Vec<&str> = OverheadSpec::names().collect();
                E::custom(format!(
                    "\"{text}\" is no keyword of an overhead{nearest}; there are {}",
                    names.join(", ")
                ))
            })
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OverheadSpec, A::Error> {
            OverheadSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Overhead).map(Some)
}

/// Schema of an overhead and of its keywords.
pub(crate) fn overhead_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names: Vec<&str> = OverheadSpec::names().collect();
    schemars::json_schema!({
        "anyOf": [generator.subschema_for::<OverheadSpec>(), { "type": "string", "enum": names }, { "type": "null" }],
    })
}

/// Reads a measurement, or the name of its file.
pub(crate) fn measured<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MeasuredSpec>, D::Error> {
    struct Measured;
    impl<'de> Visitor<'de> for Measured {
        type Value = MeasuredSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a file's name, as in \"rate.txt\", or a table, as in { file = \"link.csv\", column = \"rate_mbps\" }")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<MeasuredSpec, E> {
            Ok(MeasuredSpec::of(text))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MeasuredSpec, A::Error> {
            MeasuredSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Measured).map(Some)
}

/// Schema of a measurement and of its short form.
pub(crate) fn measured_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [generator.subschema_for::<MeasuredSpec>(), { "type": "string" }, { "type": "null" }],
    })
}

/// The short form of the setting `key` as the table that it stands for, so that an override may go into it.
pub(crate) fn written_out(key: &str, value: &Value) -> Option<Table> {
    let spec = match key {
        "queue" => Table::try_from(queue(value.clone()).ok()??).ok()?,
        "loss" => Table::try_from(loss(value.clone()).ok()??).ok()?,
        "corruption" => Table::try_from(corruption(value.clone()).ok()??).ok()?,
        "congestion" | "slow_start" | "pacing" => {
            Table::from_iter([("kind".to_string(), value.as_str()?.into())])
        }
        "overhead" => Table::try_from(overhead(value.clone()).ok()??).ok()?,
        "jitter" => Table::try_from(jitter(value.clone()).ok()??).ok()?,
        _ => return None,
    };
    Some(spec)
}

/// Schema of a queue and of its short form.
pub(crate) fn queue_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [generator.subschema_for::<QueueSpec>(), generator.subschema_for::<QueueLimit>(), { "type": "null" }],
    })
}

/// Schema of a loss and of its short form.
pub(crate) fn loss_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [generator.subschema_for::<LossSpec>(), generator.subschema_for::<Probability>(), { "type": "null" }],
    })
}

/// Schema of a corruption and of its short form.
pub(crate) fn corruption_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [
            generator.subschema_for::<CorruptionSpec>(),
            generator.subschema_for::<Probability>(),
            { "type": "null" },
        ],
    })
}

/// Schema of a jitter and of its short form.
pub(crate) fn jitter_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [generator.subschema_for::<JitterSpec>(), generator.subschema_for::<Duration>(), { "type": "null" }],
    })
}
