//! The options of `import`.

use std::path::PathBuf;

use clap::Args;

/// Options of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files or folders of results: what another tool wrote.
    #[arg(required_unless_present = "list", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The format, where it cannot be told from the files; `--list` names all.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// The suite (default: what the source calls it, else the tool). With several in one source, what goes before each.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub suite: Option<String>,
    /// The machine that measured, in place of what the source calls it.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub machine: Option<String>,
    /// The commit that was measured where the source names none (default: that of HEAD), or `none`.
    #[arg(long, value_name = "REVISION")]
    pub commit: Option<String>,
    /// When it was measured where the source does not tell, such as 2026-11-21T12:00:00Z (default: the commit's time).
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Say what would be recorded, and record nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The most bytes that one PATH may hold (default: 268435456).
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// List the formats that can be imported.
    #[arg(long, conflicts_with = "paths")]
    pub list: bool,
}

/// A name that is more than white space: one from a variable that is not set would stay in the history.
fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("a name is needed; is a variable not set?".to_owned())
    } else {
        Ok(text.to_owned())
    }
}
