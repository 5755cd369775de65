//! Shares as a gate tells them: in percent, and from ten times as much on as a factor, for nobody reads
//! `+29035686727537049600.0 %`.

use crate::number::{self, NONE};

/// What is told as a factor from here on; below, it rounds to less than 1000 %.
const AS_FACTOR: f64 = 9.995;

/// From here on a factor is written with an exponent.
const PLAIN_BELOW: f64 = 1e6;

/// A change of a thousand percent and more as a factor, such as `x13.3`; `None` of a smaller one.
pub fn factor(change: f64) -> Option<String> {
    if !change.is_finite() || change < AS_FACTOR {
        return None;
    }
    let factor = 1.0 + change;
    Some(match factor {
        _ if factor >= PLAIN_BELOW => format!("x{factor:.1e}"),
        _ if factor >= 99.95 => format!("x{factor:.0}"),
        _ => format!("x{factor:.1}"),
    })
}

/// A change with its sign, such as `+8.1 %`.
pub(crate) fn percent(change: f64) -> String {
    factor(change).unwrap_or_else(|| number::percent(change))
}

/// A share or a size without a sign, such as `8.1 %`.
pub(crate) fn percent_size(share: f64) -> String {
    factor(share.abs()).unwrap_or_else(|| number::percent_size(share))
}

/// An interval of changes, such as `+7.6 to +8.6`.
pub(crate) fn percent_interval((low, high): (f64, f64)) -> String {
    let bound = |bound: f64| {
        let plain = || number::percent(bound).trim_end_matches('%').trim_end_matches(number::NARROW).to_owned();
        if bound.is_finite() { factor(bound).unwrap_or_else(plain) } else { NONE.to_owned() }
    };
    format!("{} to {}", bound(low), bound(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_change_is_a_factor() {
        let check = |change: f64, expected: &str| assert_eq!(percent(change), expected);
        check(0.081, "+8.1\u{202f}%");
        check(9.99, "+999\u{202f}%");
        check(9.996, "x11.0");
        check(12.3456, "x13.3");
        check(98.96, "x100");
        check(4567.0, "x4568");
        check(2.9e17, "x2.9e17");
        check(1e300, "x1.0e300");
        check(-0.999, "\u{2212}99.9\u{202f}%");
        check(f64::INFINITY, "–");
        assert_eq!((percent_size(0.028), percent_size(20.0)), ("2.8\u{202f}%".to_owned(), "x21.0".to_owned()));
        assert_eq!(percent_interval((-0.005, 0.086)), "\u{2212}0.5 to +8.6");
        assert_eq!(percent_interval((0.5, 1e20)), "+50.0 to x1.0e20");
    }
}
