//! What is made of the command line for others: completions of shells, and manual pages.

use std::io::{self, Write};

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::command::Cli;

/// Writes the script by which a shell completes `sprag`.
pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sprag", &mut script);
    out.write_all(&script)
}

/// The manual pages by file name, such as `sprag-history-add.1`: that of `sprag`, and one for each command that is shown.
pub fn man_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    add(&root, "sprag", &mut pages)?;
    Ok(pages)
}

fn add(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        add(part, &format!("{name}-{}", part.get_name()), pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_has_completions_of_every_command() {
        use clap::ValueEnum as _;
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            completions(*shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            for word in ["weekly", "download-from", "skip-bad"] {
                assert!(script.contains(word), "{shell} has no `{word}`");
            }
        }
    }

    #[test]
    fn each_command_that_is_shown_has_a_page() {
        let pages = man_pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["sprag.1", "sprag-weekly.1", "sprag-history-add.1", "sprag-kernels-check.1"] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("worker") || name.contains("guard") || name.contains("help")));
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        }
    }
}
