//! The files that `sprag init` plans, and writing those that are lacking.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::WithContext as _;
use crate::{refuse, text};
use sprag_base::files::{read_bounded, write_atomic, write_new};

pub(super) const MOST_BYTES: usize = 1 << 20;

const IGNORED: [&str; 1] = ["/_site"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Planned {
    pub path: &'static str,
    pub text: String,
    /// In a few words.
    pub purpose: &'static str,
    /// Whether `--force` may replace it.
    pub is_replaceable: bool,
    pub keeps: Vec<String>,
    /// New suites, each with the list that gets it.
    pub adds: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Written,
    Replaced,
    Same,
    Existing,
}

/// What happens to a file, with what of it stays and is added.
pub(super) fn line(one: &Planned, fate: Fate, is_dry: bool) -> String {
    let mut text = format!("{:<12} {}\n", word(fate, is_dry), one.path);
    if matches!(fate, Fate::Written | Fate::Replaced) && !one.purpose.is_empty() {
        text = format!("{:<12} {:<42} {}\n", word(fate, is_dry), one.path, one.purpose);
    }
    if fate == Fate::Replaced && !one.keeps.is_empty() {
        text.push_str(&format!("{:<12} {} of it, as set there\n", "keeps", one.keeps.join(", ")));
    }
    if fate == Fate::Replaced && !one.adds.is_empty() {
        let adds = one.adds.join(", ");
        text.push_str(&format!(
            "{:<12} {adds}, which no workflow named: remove it again if you left it out on purpose\n",
            "adds"
        ));
    }
    text
}

fn word(fate: Fate, is_dry: bool) -> &'static str {
    match (fate, is_dry) {
        (Fate::Written, false) => "wrote",
        (Fate::Written, true) => "would write",
        (Fate::Replaced, false) => "replaced",
        (Fate::Replaced, true) => "would replace",
        (Fate::Same, _) => "is there",
        (Fate::Existing, _) => "kept",
    }
}

pub(super) fn refuse_others(planned: &[Planned], fates: &[Fate]) -> crate::Result<()> {
    let others = planned.iter().zip(fates).filter(|(one, fate)| **fate == Fate::Existing && one.is_replaceable);
    let names: Vec<String> = others.map(|(one, _)| format!("`{}`", one.path)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let is_one = names.len() == 1;
    let message = format!(
        "nothing was written: {} {} there and {} something else",
        names.join(", "),
        if is_one { "is" } else { "are" },
        if is_one { "holds" } else { "hold" }
    );
    let hint =
        "`--keep` leaves such files as they are and writes the others, `--force` replaces them; `sprag.toml` and \
                those of `release/` are never replaced"
            .to_owned();
    refuse(message, hint)
}

/// Fails if a path leads through a link, which could lead out of the project, or through a file.
pub(super) fn refuse_odd_places(root: &Path, path: &str) -> crate::Result<()> {
    let mut place = root.to_owned();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(metadata) = place.symlink_metadata() else { return Ok(()) };
        let is_last = parts.peek().is_none();
        let (what, wanted) = match metadata.file_type() {
            kind if kind.is_symlink() => ("is a link", if is_last { "file" } else { "folder" }),
            kind if is_last && !kind.is_file() => ("is not a file", "file"),
            kind if !is_last && !kind.is_dir() => ("is not a folder", "folder"),
            _ => continue,
        };
        let message = format!("`{}` {what}", text::path(&place));
        return refuse(message, format!("make it a plain {wanted}, or remove it"));
    }
    Ok(())
}

pub(super) fn fate(root: &Path, one: &Planned, has_force: bool) -> Fate {
    let path = root.join(one.path);
    if path.symlink_metadata().is_err() {
        return Fate::Written;
    }
    // A checkout may have other line ends.
    let there = read_bounded(&path, MOST_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match there.is_some_and(|text| text.replace("\r\n", "\n") == one.text) {
        true => Fate::Same,
        false if has_force && one.is_replaceable => Fate::Replaced,
        false => Fate::Existing,
    }
}

pub(super) fn put(root: &Path, one: &Planned, fate: Fate) -> crate::Result<()> {
    let path = root.join(one.path);
    match fate {
        Fate::Same | Fate::Existing => {}
        Fate::Replaced => write_atomic(&path, one.text.as_bytes())?,
        Fate::Written => {
            if !write_new(&path, one.text.as_bytes())? {
                let message = format!("`{}` was created in the meantime, and was left unchanged", one.path);
                return refuse(message, "run `sprag init` again");
            }
        }
    }
    Ok(())
}

/// Adds the lines that `.gitignore` lacks.
pub(super) fn ignore(root: &Path, ignored: &[String], is_dry: bool) -> crate::Result<&'static str> {
    let path = root.join(".gitignore");
    let (there, is_new) = match read_bounded(&path, MOST_BYTES) {
        Ok(bytes) => (bytes, false),
        Err(error) if error.kind() == ErrorKind::NotFound => (Vec::new(), true),
        Err(error) => return Err(error).context("cannot read `.gitignore`"),
    };
    let has = |wanted: &str| {
        // A line without a slash is about all folders.
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        let lines = there.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.map(|line| line.strip_suffix(b"/").unwrap_or(line)).any(|line| {
            line == wanted.as_bytes() || [wanted.trim_start_matches('/'), name].iter().any(|one| line == one.as_bytes())
        })
    };
    let wanted = IGNORED.into_iter().chain(ignored.iter().map(String::as_str));
    let mut lacking: Vec<&str> = wanted.filter(|line| !has(line)).collect();
    lacking.sort_unstable();
    lacking.dedup();
    if lacking.is_empty() {
        return Ok("is there");
    }
    let mut text = there.clone();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for line in lacking {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    if !is_dry {
        write_atomic(&path, &text)?;
    }
    Ok(match (is_new, is_dry) {
        (true, false) => "wrote",
        (true, true) => "would write",
        (false, false) => "added to",
        (false, true) => "would add to",
    })
}
