//! The tables of fitted constants of both benches: what their source says of each, and the figures without it.

use std::io::{self, Write};

/// Each constant, what it is without effect, and how it is set so.
pub(crate) type Ablation<T> = (&'static str, &'static str, fn(&mut T));

/// Writes a row of Markdown for all constants of a source, and one without each.
pub(crate) fn rows<T: Copy>(
    out: &mut dyn Write,
    source: &str,
    (fitted, ablations): (&T, &[Ablation<T>]),
    cells: impl Fn(&T) -> String,
) -> io::Result<()> {
    writeln!(out, "| all | | | | {} |", cells(fitted))?;
    for (name, without, neutralise) in ablations {
        let mut tuning = *fitted;
        neutralise(&mut tuning);
        let (meaning, value) =
            documented(source, name).ok_or_else(|| io::Error::other(format!("no constant {name}")))?;
        writeln!(out, "| `{name}` | {value} | {meaning} | {without} | {} |", cells(&tuning))?;
        out.flush()?;
    }
    Ok(())
}

/// The meaning and the value of a constant, from the text of its file.
fn documented<'s>(source: &'s str, name: &str) -> Option<(&'s str, &'s str)> {
    let (before, _) = source.split_once(&format!("    pub {name}: "))?;
    let meaning = before.trim_end().rsplit("    /// ").next()?;
    let (_, value) = source.split_once(&format!("        {name}: "))?;
    Some((meaning, value.split(",\n").next()?))
}
