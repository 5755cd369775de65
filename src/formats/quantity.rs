//! Units as programs spell them, turned into base units.

use sprag_model::metric::{Better, Metric, PEAK_MEMORY};
use sprag_model::unit::Unit;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) unit: Unit,
    pub(super) factor: f64,
}

/// The quantity of a unit in a source's spelling; an unknown one is a plain number.
///
/// Times may be of one of anything (`ns/iter`, `ms/query`) and rates of anything (`frames/s`, `MB/sec`), whose noun is
/// dropped. Bytes have binary and decimal prefixes.
pub(super) fn quantity(text: &str) -> Quantity {
    let text = text.trim();
    let (time, of) = text.split_once('/').unwrap_or((text, ""));
    if let Some(factor) = seconds(time.trim()).filter(|_| seconds(of.trim()).is_none()) {
        return Quantity { unit: Unit::Second, factor };
    }
    if let Some(factor) = bytes(text) {
        return Quantity { unit: Unit::Byte, factor };
    }
    let rate = ["/s", "/sec", "/second", " per second"].iter().find_map(|end| text.strip_suffix(end));
    if let Some(noun) = rate {
        return Quantity { unit: Unit::PerSecond, factor: bytes(noun).unwrap_or_else(|| prefix(noun)) };
    }
    match text {
        "Hz" | "ops" | "op/sec" | "qps" | "rps" | "fps" => Quantity { unit: Unit::PerSecond, factor: 1.0 },
        "%" | "percent" => Quantity { unit: Unit::One, factor: 0.01 },
        _ => Quantity { unit: Unit::One, factor: 1.0 },
    }
}

/// The metric of a source that names a unit alone: `time`, `peak_memory`, a rate such as `tiles_per_s`, else `value`.
pub(super) fn metric_of(unit_text: &str, better: Better) -> Metric {
    let unit = quantity(unit_text).unit;
    let name = match unit {
        Unit::Second if better == Better::Lower => "time".to_owned(),
        Unit::Byte if better == Better::Lower => PEAK_MEMORY.to_owned(),
        Unit::PerSecond => rate_name(unit_text),
        Unit::Second | Unit::Byte | Unit::One => "value".to_owned(),
    };
    Metric { name, unit, better }
}

fn rate_name(text: &str) -> String {
    let noun = text.split(['/', ' ']).next().unwrap_or_default();
    let noun = if bytes(noun).is_some() { "bytes" } else { noun };
    let clean: String = noun.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if clean.is_empty() || text.trim() == "Hz" { "per_s".to_owned() } else { format!("{clean}_per_s") }
}

/// A number of a unit that is `factor` of the base unit, in the base unit. For a power of ten the decimal point moves, which
/// is exact where a multiplication is not.
pub(super) fn to_base(number: f64, factor: f64) -> f64 {
    let places = factor.log10().round() as i32;
    let is_power = places != 0 && format!("1e{places}").parse() == Ok(factor);
    let shifted = || {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e')?;
        format!("{digits}e{}", exponent.parse::<i32>().ok()?.checked_add(places)?).parse().ok()
    };
    is_power.then(shifted).flatten().unwrap_or(number * factor)
}

fn seconds(text: &str) -> Option<f64> {
    Some(match text {
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
        "us" | "µs" | "μs" | "usec" | "microsecond" | "microseconds" => 1e-6,
        "ns" | "nsec" | "nanosecond" | "nanoseconds" => 1e-9,
        "ps" | "picosecond" | "picoseconds" => 1e-12,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

fn bytes(text: &str) -> Option<f64> {
    match text.trim() {
        "byte" | "bytes" | "Byte" | "Bytes" => Some(1.0),
        text => prefix_factor(text.strip_suffix('B')?),
    }
}

/// The factor of a count with a prefix, such as `Melem` or `kops`.
fn prefix(noun: &str) -> f64 {
    let counts = ["elem", "items", "item", "ops", "op", "FLOP", "flop", "FLOPs", "bit"];
    let prefix = counts.iter().find_map(|count| noun.trim().strip_suffix(count));
    prefix.filter(|prefix| !prefix.contains('i')).and_then(prefix_factor).unwrap_or(1.0)
}

/// The factor of a decimal or binary prefix.
pub(super) fn prefix_factor(prefix: &str) -> Option<f64> {
    let (prefix, base) = prefix.strip_suffix('i').map_or((prefix, 1000.0_f64), |prefix| (prefix, 1024.0));
    let power =
        ["", "k", "M", "G", "T", "P"].iter().position(|one| *one == prefix || (prefix == "K" && *one == "k"))?;
    Some(base.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_the_one_that_its_digits_mean() {
        let check = |number: f64, factor: f64, expected: f64| {
            assert_eq!(to_base(number, factor).to_bits(), expected.to_bits(), "{number} * {factor}");
        };
        check(0.1, 1e-9, 1e-10);
        check(5.62, 1e-6, 5.62e-6);
        check(6971.5, 1e-9, 6.9715e-6);
        check(12.0, 0.01, 0.12);
        check(3.0, 1e6, 3e6);
        check(0.7, 1e-12, 0.7e-12);
        check(-0.0, 1e-9, -0.0);
        check(f64::INFINITY, 1e-9, f64::INFINITY);
        check(5e-324, 1e-9, 0.0);
        check(2.0, 60.0, 120.0);
        check(2.0, 0.3, 0.6);
    }

    #[test]
    fn units_are_read_as_base_units() {
        let check =
            |text: &str, unit: Unit, factor: f64| assert_eq!(quantity(text), Quantity { unit, factor }, "{text}");
        check("ns/iter", Unit::Second, 1e-9);
        check(" µs ", Unit::Second, 1e-6);
        check("seconds", Unit::Second, 1.0);
        check("ms/ggas", Unit::Second, 1e-3);
        check("s / epoch", Unit::Second, 1.0);
        check("ms/s", Unit::PerSecond, 1.0);
        check("MiB", Unit::Byte, 1_048_576.0);
        check("MB", Unit::Byte, 1e6);
        check("iter/sec", Unit::PerSecond, 1.0);
        check("MB/s", Unit::PerSecond, 1e6);
        check("Melem/s", Unit::PerSecond, 1e6);
        check("tiles/s", Unit::PerSecond, 1.0);
        check("%", Unit::One, 0.01);
        check("cycles", Unit::One, 1.0);
        check("", Unit::One, 1.0);
    }

    #[test]
    fn a_metric_is_named_after_its_unit() {
        let check = |text: &str, better: Better, name: &str| assert_eq!(metric_of(text, better).name, name, "{text}");
        check("us", Better::Lower, "time");
        check("us", Better::Higher, "value");
        check("MiB", Better::Lower, "peak_memory");
        check("tiles/s", Better::Higher, "tiles_per_s");
        check("MB/s", Better::Higher, "bytes_per_s");
        check("Hz", Better::Higher, "per_s");
        check("cycles", Better::Lower, "value");
    }
}
