//! Numbers in sentences: with a prefix that reads well, and with the digits that tell them apart.
//!
//! Values of scenarios print exactly ([`crate::Duration`], [`crate::Rate`], [`crate::Size`]); what was measured or computed is rounded.

/// What a number is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Bytes.
    Data,
    /// Bits per second.
    Rate,
    /// Seconds.
    Time,
    /// A share, written in percent.
    Share,
    /// A factor or a count.
    Plain,
}

/// Digits of a number that stands alone.
const DIGITS: usize = 3;
/// With more digits than these two numbers are as good as equal.
const MOST_DIGITS: usize = 9;

const DATA: &[(f64, &str)] = &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const RATES: &[(f64, &str)] =
    &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
const TIMES: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
const SHARES: &[(f64, &str)] = &[(0.01, "%")];
const PLAIN: &[(f64, &str)] = &[(1.0, "")];
/// Up to this many bytes are given to the byte, as sizes of packets are.
const TO_THE_BYTE: f64 = 10_000.0;

/// A value in base units (bytes, bit/s, s, a share of 1), with three digits.
pub fn readable(value: f64, figure: Figure) -> String {
    rounded(value, figure, DIGITS)
}

/// Values that one sentence compares: all with so many digits that those that differ differ in their texts too.
pub fn apart<const N: usize>(values: [f64; N], figure: Figure) -> [String; N] {
    let texts = |digits| values.map(|value| rounded(value, figure, digits));
    let tells = |digits: &usize| {
        let texts = texts(*digits);
        (0..N).all(|one| (0..one).all(|other| values[one] == values[other] || texts[one] != texts[other]))
    };
    texts((DIGITS..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS))
}

fn rounded(value: f64, figure: Figure, digits: usize) -> String {
    let units = match figure {
        Figure::Data => DATA,
        Figure::Rate => RATES,
        Figure::Time => TIMES,
        Figure::Share => SHARES,
        Figure::Plain => PLAIN,
    };
    let smallest = units.last().expect("a figure has units");
    let zero = if figure == Figure::Time { units.first() } else { Some(smallest) };
    let unit = if value == 0.0 { zero } else { units.iter().find(|(scale, _)| value.abs() >= *scale) };
    let (mut scale, mut name) = *unit.unwrap_or(smallest);
    if figure == Figure::Data && (1e3..TO_THE_BYTE).contains(&value.abs()) {
        (scale, name) = (1.0, "B");
    }
    let digits = if scale == 1.0 && name == "B" { digits.max(4) } else { digits };
    format!("{} {name}", significant(value / scale, digits)).trim_end().to_string()
}

/// So many significant digits, without zeros at the end of the decimals.
fn significant(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i64 =
        scientific.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(digits as i64 - 1 - exponent).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_the_prefix_that_reads_well() {
        let cases = [
            (93_412_000.0, Figure::Rate, "93.4 Mbit/s"),
            (6.2, Figure::Rate, "6.2 bit/s"),
            (0.0, Figure::Rate, "0 bit/s"),
            (1460.0, Figure::Data, "1460 B"),
            (65_536.0, Figure::Data, "65.5 kB"),
            (7_300_000.0, Figure::Data, "7.3 MB"),
            (0.298, Figure::Time, "298 ms"),
            (1200.0, Figure::Time, "1200 s"),
            (0.0, Figure::Time, "0 s"),
            (0.0123, Figure::Share, "1.23 %"),
            (0.021, Figure::Plain, "0.021"),
            (2.5, Figure::Plain, "2.5"),
        ];
        for (value, figure, text) in cases {
            assert_eq!(readable(value, figure), text);
        }
    }

    #[test]
    fn numbers_that_are_compared_have_the_digits_that_tell_them_apart() {
        let texts = apart([7_300_000.0, 7_302_190.0], Figure::Data);
        assert_eq!(texts, ["7.3 MB", "7.302 MB"]);
        assert_eq!(apart([1.0, 1.000_4], Figure::Time), ["1 s", "1.0004 s"]);
        assert_eq!(apart([5e6, 5e6], Figure::Rate), ["5 Mbit/s", "5 Mbit/s"]);
        assert_eq!(apart([0.3, 0.298], Figure::Time), ["300 ms", "298 ms"]);
    }
}
