//! `sprag release`: checklists, attestation, verification, and entries of the ledger.

use std::io::Write;
use std::path::Path;

use crate::cli::{AttestArgs, AttestFormat, ChecklistArgs, ReleaseCommand, VerifyReleaseArgs, WaiveArgs};
use sprag_base::files::write_atomic;
use sprag_evidence::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use sprag_evidence::release::sign::Trusted;
use sprag_evidence::release::{ReleaseError, folder as evidence_folder};
use sprag_evidence::{bundle, file};
use sprag_measure::clock;
use sprag_model::checklist::FilledChecklist;
use sprag_pipeline::Result;
use sprag_pipeline::error::Exit;
use sprag_pipeline::project::Project;
use sprag_pipeline::release::{
    Attested, LoadedRelease, Style, Verified, WaiveOptions, Waived, attest, disagreements, fill, propose, table, verify,
};
use sprag_pipeline::text::{self, warn};

pub(super) fn run(folder: &Path, command: &ReleaseCommand, out: &mut dyn Write) -> Result<Exit> {
    match command {
        ReleaseCommand::Checklist(args) => run_checklist(folder, args, out),
        ReleaseCommand::Attest(args) => run_attest(folder, args, out),
        ReleaseCommand::Verify(args) => run_verify(folder, args, out),
        ReleaseCommand::Waive(args) => run_waive(folder, args, out),
    }
}

fn run_checklist(folder: &Path, args: &ChecklistArgs, out: &mut dyn Write) -> Result<Exit> {
    let release = LoadedRelease::open(folder, &args.release.tag, &args.release.artifacts)?;
    for fault in release.unreviewed()? {
        warn(&format!("`{}` {}: commit it, or others will get another result", fault.path, fault.what));
    }
    let checklist = fill(&release)?;
    if let Some(place) = &args.out {
        let place = folder.join(place);
        write_atomic(&place.join(CHECKLIST_JSON), &file::to_bytes(&checklist))?;
        write_atomic(&place.join(CHECKLIST_MD), filled::to_markdown(&checklist).as_bytes())?;
    }
    out.write_all(table(&checklist).as_bytes())?;
    Ok(exit_of(&checklist))
}

fn exit_of(checklist: &FilledChecklist) -> Exit {
    match (checklist.is_damaged(), checklist.go) {
        (true, _) => Exit::Integrity,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    }
}

fn run_attest(folder: &Path, args: &AttestArgs, out: &mut dyn Write) -> Result<Exit> {
    let key = args.key.as_ref().map(|key| folder.join(key));
    let unused = |option: &str, form: &str| {
        let message = format!("`{option}` does not apply to the format `{form}`");
        ReleaseError::refused(message, "leave it out, or name the other format with `--format`")
    };
    let form = match (args.format, &args.owner, &key) {
        (AttestFormat::ApexX, _, Some(_)) => return Err(unused("--key", "apex-x").into()),
        (AttestFormat::InToto, Some(_), _) => return Err(unused("--owner", "in-toto").into()),
        (AttestFormat::ApexX, owner, None) => Style::ApexX { owner: owner.as_deref() },
        (AttestFormat::InToto, None, key) => Style::InToto { key: key.as_deref() },
    };
    let release = LoadedRelease::open(folder, &args.release.tag, &args.release.artifacts)?;
    let unreviewed = release.unreviewed()?;
    if !unreviewed.is_empty() {
        for fault in unreviewed {
            writeln!(out, "{}", fault.line())?;
        }
        let name = text::printable(&release.inputs.release.name);
        writeln!(out, "\n{name}: no-go, and nothing was written: commit these files first, for others to review")?;
        return Ok(Exit::Failed);
    }
    let Attested { checklist, apex_x } = attest(&release, &folder.join(&args.out), &form)?;
    let place = text::path(&args.out);
    let exit = exit_of(&checklist);
    if let Some(summary) = apex_x {
        // Readers of this format see its own status, so there must be one outcome.
        writeln!(out, "{} in {place}", summary.line)?;
        return Ok(if exit == Exit::Done && !summary.passes { Exit::Failed } else { exit });
    }
    let (signed, option) = if key.is_some() { ("signed", " --public-key FILE") } else { ("not signed", "") };
    out.write_all(table(&checklist).as_bytes())?;
    writeln!(out, "\n{place}: {signed}\nhistory: {}", history(&checklist))?;
    writeln!(out, "verify:  {}{option}", bundle::command(&place))?;
    Ok(exit)
}

fn history(checklist: &FilledChecklist) -> String {
    let history = &checklist.history;
    format!("{} runs at {}, Merkle root {}", history.size, history.commit, history.root)
}

fn run_verify(folder: &Path, args: &VerifyReleaseArgs, out: &mut dyn Write) -> Result<Exit> {
    let place = folder.join(&args.folder);
    let shown = text::path(&args.folder);
    let repository = args.repository.as_ref().map_or_else(|| folder.to_owned(), |one| folder.join(one));
    let [signers, key] =
        [&args.allowed_signers, &args.public_key].map(|path| path.as_ref().map(|path| folder.join(path)));
    let trusted = match (&signers, &key) {
        (Some(signers), _) => Trusted::Signers(signers),
        (None, Some(key)) => Trusted::Key(key),
        (None, None) => Trusted::Nobody,
    };
    if !place.is_dir() {
        let hint = "name the folder that `sprag release attest --out FOLDER` wrote";
        return Err(ReleaseError::refused(format!("there is no folder `{shown}`"), hint).into());
    }
    let Verified { checklist, files, signature, notes } = match verify(&place, &repository, trusted) {
        Err(error) => {
            let faults = disagreements(error)?;
            if let Some(version) = evidence_folder::other_version(&place) {
                writeln!(out, "{version}\n")?;
            }
            for fault in &faults {
                writeln!(out, "{}", fault.line())?;
            }
            writeln!(out, "\n{shown}: no-go, {}", text::count(faults.len(), "disagreement"))?;
            return Ok(Exit::Integrity);
        }
        Ok(verified) => verified,
    };
    out.write_all(table(&checklist).as_bytes())?;
    writeln!(out, "\nverified as of {}:", checklist.as_of.format("%Y-%m-%d %H:%M UTC"))?;
    writeln!(out, "  {} as listed, every status derived again from the records", text::count(files, "file"))?;
    writeln!(out, "  history: {}", history(&checklist))?;
    writeln!(out, "  signature: {}", text::printable(&signature))?;
    for note in notes {
        writeln!(out, "  note: {}", text::printable(&note))?;
    }
    Ok(exit_of(&checklist))
}

fn run_waive(folder: &Path, args: &WaiveArgs, out: &mut dyn Write) -> Result<Exit> {
    let project = Project::open(folder)?;
    let WaiveArgs { event, release, item, target, reason, at_most, scope, author, date, expires } = args.clone();
    let subject = match event {
        Some(id) => Waived::Event { id, scope, at_most },
        None => Waived::Item { release: release.unwrap_or_default(), item: item.unwrap_or_default(), target },
    };
    let options = WaiveOptions { subject, reason, author, date, expires };
    let proposal = propose(&project, &options, clock::now())?;
    proposal.write(&project)?;
    let (path, effect) = (&proposal.path, text::printable(&proposal.effect));
    writeln!(out, "wrote {path} for review:\n\n{}\n{effect}", proposal.text)?;
    writeln!(out, "commit it to put it into effect for others: git add {path}")?;
    Ok(Exit::Done)
}
