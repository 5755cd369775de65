//! Text for a terminal, and notices on standard error. Control sequences in names, subjects and reasons are escaped.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use crate::Error;
use sprag_report::number;
use sprag_report::sheet::terminal;

pub use sprag_base::text::{count, printable};

static WIDTH: OnceLock<usize> = OnceLock::new();

pub const NONE: &str = "–";

/// Columns of the terminal, if standard output is one.
pub fn width() -> Option<usize> {
    WIDTH.get().copied()
}

/// Fits tables to the terminal from now on. Only the binary calls this.
pub fn fit_terminal() {
    let columns = match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((terminal_size::Width(columns), _)) if columns > 0 => Some(usize::from(columns)),
        // Such as a terminal whose size nobody has set.
        _ if std::io::stdout().is_terminal() => std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
        _ => None,
    };
    if let Some(columns) = columns.filter(|columns| *columns > 0) {
        WIDTH.get_or_init(|| columns);
    }
}

/// `right` lists columns that are aligned to the right.
pub fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    columns_by_row(rows, right).concat()
}

/// The lines of each row, and at last what is below them.
pub fn columns_by_row(rows: &[Vec<String>], right: &[usize]) -> Vec<String> {
    terminal::columns(rows, right, width())
}

/// A sentence, which may hold text of others, in lines that fit the terminal once they are indented.
pub fn line(sentence: &str, indent: usize) -> String {
    terminal::paragraph(&printable(sentence), width().map(|width| width.saturating_sub(indent)))
}

/// With heads; empty without rows.
pub fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = Vec<String>>, right: &[usize]) -> String {
    let mut all = vec![heads.map(str::to_owned).to_vec()];
    all.extend(rows);
    if all.len() > 1 { columns(&all, right) } else { String::new() }
}

pub fn path(path: &Path) -> String {
    printable(&path.display().to_string())
}

pub fn short(id: &str, digits: usize) -> &str {
    id.get(..digits).unwrap_or(id)
}

pub fn branch(reference: &str) -> &str {
    reference.trim_start_matches("refs/heads/")
}

/// In one unit: `45 s`, `12 min`, `5 h`, `3 days`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        ..129_600.0 => format!("{:.0} h", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// `+8.1 %`; from a thousand percent on a factor, such as `x13.3`.
pub fn percent(change: f64) -> String {
    terminal::typed(&number::percent(change))
}

/// `+7.6 to +8.6`; `–` if it is open.
pub fn percent_interval((low, high): (f64, f64)) -> String {
    let is_closed = low.is_finite() && high.is_finite();
    if is_closed { terminal::typed(&number::percent_interval((low, high))) } else { NONE.to_owned() }
}

pub fn percent_size(share: f64) -> String {
    terminal::typed(&number::percent_size(share))
}

pub fn probability(probability: f64) -> String {
    terminal::typed(&sprag_report::trend::probability(probability))
}

/// Ignores a closed standard error: the exit code still shows the outcome. Escapes again what may hold text of others.
pub fn say(line: &str) {
    let line = &line.split('\n').map(printable).collect::<Vec<String>>().join("\n");
    let mut error = std::io::stderr();
    let _ = match width().filter(|_| error.is_terminal() && !line.contains('\n')) {
        Some(width) => write!(error, "{}", terminal::paragraph(line, Some(width))),
        None => writeln!(error, "{line}"),
    };
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
    fn durations_have_one_unit() {
        let all = [0.2, 89.0, 90.0, 3600.0, 7200.0, 200_000.0].map(duration);
        assert_eq!(all, ["0 s", "89 s", "2 min", "60 min", "2 h", "2 days"]);
    }

    #[test]
    fn zero_has_no_sign() {
        let all = [0.081, -0.0, -0.0004, 0.0006, 9.99, 12.3456, 1e300, f64::NAN].map(percent);
        assert_eq!(all, ["+8.1 %", "0.0 %", "0.0 %", "+0.1 %", "+999.0 %", "x13.3", "x1.0e300", "–"]);
        assert_eq!([-0.124, 0.0, 0.0004, 9.0].map(percent), ["-12.4 %", "0.0 %", "0.0 %", "+900.0 %"]);
        let all = [(-0.5, 2.9e17), (-0.0004, 0.086), (f64::NEG_INFINITY, 0.0)].map(percent_interval);
        assert_eq!(all, ["-50.0 to x2.9e17", "0.0 to +8.6", "–"]);
        assert_eq!([2.9e17, -0.0, 0.014].map(percent_size), ["x2.9e17", "0.0 %", "1.4 %"]);
    }
}
