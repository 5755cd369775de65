//! Numbers rounded, and shares in percent for sentences. Pages have a typography of their own.

/// Such as `8.1 %` with one decimal; zero has no sign.
pub fn percent(share: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$} %", share * 100.0);
    if is_zero(&text) { text.replace('-', "") } else { text }
}

/// With as many decimals as it has and at most four: `2 %`.
pub fn short_percent(share: f64) -> String {
    let text = percent(share, 4);
    format!("{} %", text.trim_end_matches(" %").trim_end_matches('0').trim_end_matches('.'))
}

/// Always with a sign, which for zero is `+`.
pub fn signed_percent(share: f64, decimals: usize) -> String {
    let text = format!("{:+.decimals$} %", share * 100.0);
    if is_zero(&text) { text.replace('-', "+") } else { text }
}

/// `value` rounded to `digits` significant decimal digits.
pub fn round_significant(value: f64, digits: usize) -> f64 {
    let precision = digits.saturating_sub(1);
    format!("{value:.precision$e}").parse().unwrap_or(value)
}

fn is_zero(text: &str) -> bool {
    !text.contains(|character: char| character.is_alphabetic() || matches!(character, '1'..='9'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_in_percent() {
        let all = [0.081, -0.0, -0.0004, -1.5, f64::NAN].map(|share| percent(share, 1));
        assert_eq!(all, ["8.1 %", "0.0 %", "0.0 %", "-150.0 %", "NaN %"]);
        assert_eq!([0.02, 0.005, 0.1, 0.000_123_4].map(short_percent), ["2 %", "0.5 %", "10 %", "0.0123 %"]);
        let all = [-1e-9, -0.0, 0.0, -0.00006, 0.12345].map(|share| signed_percent(share, 2));
        assert_eq!(all, ["+0.00 %", "+0.00 %", "+0.00 %", "-0.01 %", "+12.35 %"]);
    }

    #[test]
    fn values_are_rounded_to_significant_digits() {
        assert_eq!(round_significant(1.234567891e-5, 7), 1.234568e-5);
        assert_eq!(round_significant(0.0, 7), 0.0);
        assert_eq!(round_significant(-98765.4321, 3), -98800.0);
    }
}
