//! Text for a terminal, and notices on standard error. Names, subjects and reasons may hold control sequences, which are escaped.

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::Error;
use sprag_report::number;
use sprag_report::sheet::terminal;

pub use sprag_base::text::printable;

static WIDTH: OnceLock<usize> = OnceLock::new();

/// A cell without a number.
pub const NONE: &str = "–";

/// The columns of the terminal, where standard output is one.
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

/// Likewise, below heads; empty where there is no row.
pub fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = Vec<String>>, right: &[usize]) -> String {
    let mut all = vec![heads.map(str::to_owned).to_vec()];
    all.extend(rows);
    if all.len() > 1 { columns(&all, right) } else { String::new() }
}

pub fn path(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// The first digits of a commit or a run.
pub fn short(id: &str, digits: usize) -> &str {
    id.get(..digits).unwrap_or(id)
}

/// The name of a branch without `refs/heads/`.
pub fn branch(reference: &str) -> &str {
    reference.trim_start_matches("refs/heads/")
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

/// Writes a line to standard error. Where nobody reads that any more, the exit code still says how the command ended.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

pub fn error(error: &Error) {
    say(&format!("error: {}", error.chain()));
    if let Some(hint) = error.hint() {
        say(&format!("hint: {hint}"));
    }
}

pub fn note(message: &str) {
    say(&format!("note: {}", printable(message)));
}

pub fn warn(message: &str) {
    say(&format!("warning: {}", printable(message)));
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
