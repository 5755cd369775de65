//! Text for a terminal: names, subjects and reasons come from elsewhere and may hold control sequences.

use std::sync::OnceLock;

pub use sprag_base::text::printable;
use sprag_report::number;
use sprag_report::sheet::terminal;

static WIDTH: OnceLock<usize> = OnceLock::new();

/// What stands where there is no number.
pub const NONE: &str = "–";

/// The columns of the terminal that standard output is, where it is one.
pub fn width() -> Option<usize> {
    WIDTH.get().copied()
}

/// Fits tables to the terminal from now on. Only the binary calls this, so that no test depends on a terminal.
pub fn fit_terminal() {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    if let Some((terminal_size::Width(columns), _)) = size {
        WIDTH.get_or_init(|| usize::from(columns));
    }
}

/// Rows as columns, those listed in `right` aligned to the right; on a terminal no wider than that.
pub fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    terminal::columns(rows, right, width())
}

/// A number and its noun, in the plural where there is not one.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A change with its sign, such as `+8.1 %`; from a thousand percent on a factor, such as `x13.3`.
pub fn percent(change: f64) -> String {
    terminal::typed(&number::percent(change))
}

/// The interval of a change, such as `+7.6 to +8.6`; none where it is open.
pub fn percent_interval((low, high): (f64, f64)) -> String {
    let is_closed = low.is_finite() && high.is_finite();
    if is_closed { terminal::typed(&number::percent_interval((low, high))) } else { NONE.to_owned() }
}

/// A share or a size without a sign, such as `8.1 %`.
pub fn percent_size(share: f64) -> String {
    terminal::typed(&number::percent_size(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_sign() {
        let check = |change: f64, expected: &str| assert_eq!(percent(change), expected);
        check(0.081, "+8.1 %");
        check(-0.124, "-12.4 %");
        check(0.0, "0.0 %");
        check(-0.0, "0.0 %");
        check(-0.0004, "0.0 %");
        check(0.0004, "0.0 %");
        check(0.0006, "+0.1 %");
        check(9.0, "+900.0 %");
        check(9.99, "+999.0 %");
        check(12.3456, "x13.3");
        check(1e300, "x1.0e300");
        check(f64::NAN, "–");
        assert_eq!(percent_interval((-0.5, 2.9e17)), "-50.0 to x2.9e17");
        assert_eq!(percent_size(2.9e17), "x2.9e17");
        assert_eq!(percent_interval((-0.0004, 0.086)), "0.0 to +8.6");
        assert_eq!(percent_interval((f64::NEG_INFINITY, 0.0)), "–");
        assert_eq!((percent_size(-0.0), percent_size(0.014)), ("0.0 %".to_owned(), "1.4 %".to_owned()));
    }
}
