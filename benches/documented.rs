//! What the source of fitted constants says of them, for the tables of both benches.

/// The meaning and the value of a constant, from the text of its file.
pub(crate) fn documented<'s>(source: &'s str, name: &str) -> Option<(&'s str, &'s str)> {
    let (before, _) = source.split_once(&format!("    pub {name}: "))?;
    let meaning = before.trim_end().rsplit("    /// ").next()?;
    let (_, value) = source.split_once(&format!("        {name}: "))?;
    Some((meaning, value.split(",\n").next()?))
}
