//! `sprag release attest`: all that a release rests on in a folder, with a statement about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context as _;

use super::checklist::{exit_of, table};
use super::gather::{self, Gathered};
use super::{again, fill, seed_form, sign, verify};
use crate::cli::{AttestArgs, AttestFormat};
use crate::commands::replay::digest_of;
use crate::commands::{Advice, Exit, text};
use sprag_base::digest::sha256_hex;
use sprag_base::files::write_atomic;
use sprag_evidence::bundle::{self, ARTIFACTS, Listed, VERIFY_MD};
use sprag_evidence::envelope::{self, ENVELOPE};
use sprag_evidence::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use sprag_evidence::statement::{self, STATEMENT};
use sprag_evidence::sums::{self, SUMS};
use sprag_history as history;
use sprag_model::checklist::FilledChecklist;
use sprag_model::run::RECORD_ROOT;
use sprag_model::statement::{PAYLOAD_TYPE, pre_authentication};

pub(super) fn run(folder: &Path, args: &AttestArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    check_options(args)?;
    let place = folder.join(&args.out);
    check_empty(&place)?;
    let gathered = gather::gather(folder, &args.look)?;
    let not_reviewed = gathered.not_reviewed()?;
    if !not_reviewed.is_empty() {
        for fault in &not_reviewed {
            writeln!(out, "{}", fault.line())?;
        }
        let release = text::printable(&gathered.release.name);
        writeln!(out, "\n{release}: no-go, and nothing was written: commit this first, so that others can review it")?;
        return Ok(Exit::Failed);
    }
    let checklist = fill::fill(&gathered)?;
    if let Some(fault) = again::wrong_time(&gathered.project, &checklist)? {
        return Err(Advice {
            message: format!("the clock of this machine is behind: what is attested now {}", fault.what),
            hint: "set the clock, and try again".to_owned(),
        }
        .into());
    }
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot make `{}`", parent.display()))?;
    let aside = tempfile::Builder::new().prefix(".sprag-").tempdir_in(parent);
    let aside = aside.with_context(|| format!("cannot write beside `{}`", place.display()))?;
    let shown = text::printable(&args.out.display().to_string());
    let next = match args.format {
        AttestFormat::ApexX => {
            let (summary, go) = seed_form::write(&gathered, &checklist, args.owner.as_deref(), aside.path())?;
            put(&aside.keep(), &place)?;
            // Readers of this form go by its own status: there is one outcome.
            writeln!(out, "{summary} in {shown}")?;
            return Ok(match exit_of(&checklist) {
                Exit::Done if !go => Exit::Failed,
                exit => exit,
            });
        }
        AttestFormat::InToto => {
            write_evidence(
                &gathered,
                &checklist,
                aside.path(),
                args.key.as_ref().map(|key| folder.join(key)).as_deref(),
            )?;
            // What others would refuse is not handed out.
            verify::check_own(&gathered.project, aside.path())?;
            let signed = if args.key.is_some() { "signed" } else { "not signed" };
            let history = &checklist.history;
            format!(
                "{shown}: {signed}\nhistory: {} runs at {}, Merkle root {}\nverify:  {}\n",
                history.size,
                history.commit,
                history.root,
                bundle::command(&shown) + if args.key.is_some() { " --public-key FILE" } else { "" }
            )
        }
    };
    put(&aside.keep(), &place)?;
    out.write_all(table(&checklist).as_bytes())?;
    write!(out, "\n{next}")?;
    Ok(exit_of(&checklist))
}

/// Checks that no option is given which the form does not have.
fn check_options(args: &AttestArgs) -> Result<(), Advice> {
    let (option, has, form) = match args.format {
        AttestFormat::ApexX if args.key.is_some() => ("--key", "nothing that is signed", "apex-x"),
        AttestFormat::InToto if args.owner.is_some() => ("--owner", "no owner", "in-toto"),
        _ => return Ok(()),
    };
    Err(Advice {
        message: format!("`{option}` says nothing here: the form `{form}` has {has}"),
        hint: format!("leave `{option}` out, or name the other form with `--format`"),
    })
}

fn check_empty(place: &Path) -> anyhow::Result<()> {
    match fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look into `{}`", place.display())),
        Ok(false) => Err(Advice {
            message: format!("`{}` holds something already, and evidence is never overwritten", place.display()),
            hint: "name a new folder with `--out`".to_owned(),
        }
        .into()),
    }
}

fn put(aside: &Path, place: &Path) -> anyhow::Result<()> {
    let put = || -> std::io::Result<()> {
        open_to_others(aside)?;
        match fs::remove_dir(place) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(aside, place)
    };
    put()
        .inspect_err(|_| drop(fs::remove_dir_all(aside)))
        .with_context(|| format!("cannot write `{}`", place.display()))
}

/// A temporary folder is its owner's only; what we leave behind is an ordinary one.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn open_to_others(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Writes the evidence, the checklist, the sums and the statement, signed where there is a key.
fn write_evidence(of: &Gathered, checklist: &FilledChecklist, into: &Path, key: Option<&Path>) -> anyhow::Result<()> {
    let mut files = Files { into, sums: BTreeMap::new() };
    for path in of.project_files()? {
        files.write(&path, &of.bytes(&path)?)?;
    }
    for (path, bytes) in history::files_of(of.project.store()?, &of.history.commit, RECORD_ROOT)? {
        files.write(&path, &bytes)?;
    }
    let mut listed = Vec::new();
    for (key, artifact) in &of.artifacts {
        let file = artifact.file.is_file().then(|| bundle::place(key, &artifact.path));
        if let Some(path) = &file {
            files.copy(path, &artifact.file)?;
        }
        listed.push(Listed { key: key.clone(), path: artifact.path.clone(), file });
    }
    files.write(ARTIFACTS, &bundle::to_file(&listed))?;
    files.write(CHECKLIST_JSON, &filled::to_json(checklist))?;
    files.write(CHECKLIST_MD, filled::to_markdown(checklist).as_bytes())?;
    files.write(VERIFY_MD, bundle::to_markdown(checklist).as_bytes())?;
    let sums = sums::text(&files.sums);
    write_atomic(&into.join(SUMS), sums.as_bytes())?;
    let statement = statement::statement(checklist, &files.sums, &sha256_hex(sums.as_bytes()));
    let statement = statement::to_file(&statement);
    write_atomic(&into.join(STATEMENT), &statement)?;
    if let Some(key) = key {
        let (keyid, signature) = sign::sign(key, &pre_authentication(PAYLOAD_TYPE, &statement))?;
        let sealed = envelope::sealed(&statement, keyid, &signature);
        write_atomic(&into.join(ENVELOPE), &envelope::to_file(&sealed))?;
    }
    Ok(())
}

/// The files that are listed, as they are written.
struct Files<'a> {
    into: &'a Path,
    sums: BTreeMap<String, String>,
}

impl Files<'_> {
    fn write(&mut self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.list(path, sha256_hex(bytes))?;
        let place = self.into.join(path);
        let written = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&place, bytes));
        written.with_context(|| format!("cannot write `{}`", place.display()))
    }

    fn copy(&mut self, path: &str, from: &Path) -> anyhow::Result<()> {
        let to = self.into.join(path);
        let copied = || -> std::io::Result<String> {
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(from, &to)?;
            digest_of(&to)
        };
        let digest = copied().with_context(|| format!("cannot copy `{}`", from.display()))?;
        self.list(path, digest)
    }

    fn list(&mut self, path: &str, digest: String) -> anyhow::Result<()> {
        if !sums::is_plain(path) {
            return Err(Advice {
                message: format!("`{}` cannot be listed in {SUMS}: its name is no plain one", text::printable(path)),
                hint: "rename it: letters, digits, `.`, `_` and `-`, and no `.` or `-` at its beginning".to_owned(),
            }
            .into());
        }
        self.sums.insert(path.to_owned(), digest);
        Ok(())
    }
}
