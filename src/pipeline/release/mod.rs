//! Releases: fills their checklists, attests, verifies and reports them.

mod load;
mod findings;
mod apex_x;
mod waive;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use crate::error::WithContext as _;
use crate::project::Project;
use crate::release::load::{history_point, read_declared};
use crate::study::{self, Along, DecodedHistory};
use crate::{Advice, Error, ledger, text};
use sprag_evidence::release::declared::{self, Declared};
use sprag_evidence::release::fill::FilledWithFigures;
use sprag_evidence::release::folder::{self, EvidenceFolder};
use sprag_evidence::release::identity::{self, Identity};
use sprag_evidence::release::inputs::{ReleaseInputs, head};
use sprag_evidence::release::sign::Trusted;
use sprag_evidence::release::{Fault, ReleaseError, artifacts, branch, published, rederive, write};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Entries, HistoryError};
use sprag_measure::clock;
use sprag_model::checklist::{Filled, FilledChecklist, HistoryPoint, RuntimeTarget, Status};
use sprag_model::ledger::day;
use sprag_model::release::{Release, ReleaseReport, Released};

pub use crate::release::apex_x::ReleaseSummary;
pub use crate::release::findings::fill;
pub use crate::release::load::LoadedRelease;
pub use crate::release::waive::{Proposal, WaiveOptions, Waived, propose};

pub enum Style<'a> {
    /// An in-toto statement, `SHA256SUMS` and all files they cover; signed if there is a key.
    InToto {
        key: Option<&'a Path>,
    },
    ApexX {
        owner: Option<&'a str>,
    },
}

pub struct Attested {
    pub checklist: FilledChecklist,
    pub apex_x: Option<ReleaseSummary>,
}

/// Attests into `place`, which must be empty. The files of the release must be committed ([`LoadedRelease::unreviewed`]).
pub fn attest(release: &LoadedRelease, place: &Path, form: &Style<'_>) -> crate::Result<Attested> {
    check_empty(place)?;
    let LoadedRelease { project, inputs } = release;
    let store = project.store()?;
    let checklist = fill(release)?;
    folder::check_time(store, &checklist, clock::now()).map_err(|error| {
        let hint = "set the clock, and try again";
        explained(error, |fault| {
            (format!("the clock of this machine is behind: this attestation {}", fault.what), hint)
        })
    })?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot make `{}`", parent.display()))?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let aside = builder.prefix(".sprag-").tempdir_in(parent);
    let aside = aside.with_context(|| format!("cannot write in `{}`", parent.display()))?;
    let apex_x = match form {
        Style::ApexX { owner } => Some(apex_x::write(release, &checklist, *owner, aside.path())?),
        Style::InToto { key } => {
            write::write(inputs, store, &checklist, aside.path(), *key)?;
            // Others must get the same result.
            verify(aside.path(), &project.root, Trusted::Nobody).map_err(|error| {
                let hint = "a file changed while it was collected; try again";
                explained(error, |fault| (format!("the evidence does not verify: {}", fault.line()), hint))
            })?;
            None
        }
    };
    let replaced = match fs::remove_dir(place) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::rename(aside.path(), place),
    };
    replaced.with_context(|| format!("cannot write `{}`", place.display()))?;
    Ok(Attested { checklist, apex_x })
}

/// Other errors are returned.
pub fn disagreements(error: Error) -> crate::Result<Vec<Fault>> {
    match error.downcast()? {
        ReleaseError::Disagreement(faults) => Ok(faults),
        error => Err(error.into()),
    }
}

/// Advice about the first disagreement; other errors as they are.
fn explained(error: impl Into<Error>, advice: impl FnOnce(&Fault) -> (String, &'static str)) -> Error {
    match disagreements(error.into()) {
        Ok(faults) => {
            let (message, hint) = faults.first().map(advice).unwrap_or_default();
            ReleaseError::refused(message, hint).into()
        }
        Err(error) => error,
    }
}

fn check_empty(place: &Path) -> crate::Result<()> {
    match fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", place.display())),
        Ok(false) => {
            let message = format!("`{}` is not empty, and evidence is never overwritten", place.display());
            Err(ReleaseError::refused(text::printable(&message), "name a new folder with `--out`").into())
        }
    }
}

pub struct Verified {
    pub checklist: FilledChecklist,
    pub files: usize,
    pub signature: String,
    pub notes: Vec<String>,
}

/// Verifies a folder against a clone of its repository; fails with all disagreements.
pub fn verify(folder: &Path, repository: &Path, trusted: Trusted<'_>) -> crate::Result<Verified> {
    let store = history::open(repository).map_err(|error| match error {
        HistoryError::NoRepository(_) => Error::from(Advice::new(
            error.to_string(),
            "name a clone of the repository that the release is of with `--repository`",
        )),
        error => error.into(),
    })?;
    let evidence = EvidenceFolder::open(folder, &store)?;
    let project = Project::at(folder, repository, &evidence.checklist.history.commit)?;
    // The clone decides which branch has the history; a bare one has no settings.
    let clone = Project::open(repository)?;
    let recorded = project.config.history.reference.as_deref();
    let configured = if clone.is_bare { recorded } else { clone.config.history.reference.as_deref() };
    evidence.check_branch(configured, recorded)?;
    let target = branch::source(&store, configured)?;
    let entries = evidence.check_history(&store, &project.source()?, &target)?;
    let mut faults = evidence.unreviewed(&store, &target)?;
    match rederived_differences(project, &entries, &evidence).or_else(disagreements) {
        Ok(more) => faults.extend(more),
        // Unreviewed files may be senseless.
        Err(_) if !faults.is_empty() => {}
        Err(error) => return Err(error),
    }
    let signature = evidence.check_signature(trusted).or_else(|error| {
        faults.extend(disagreements(error.into())?);
        Ok::<_, Error>(String::new())
    })?;
    if !faults.is_empty() {
        return Err(ReleaseError::Disagreement(faults).into());
    }
    let notes = evidence.notes(day(clock::now()));
    Ok(Verified { files: evidence.sums.len(), checklist: evidence.checklist, signature, notes })
}

/// Derives the checklist again from the history `entries`, and compares.
fn rederived_differences(project: Project, entries: &Entries, evidence: &EvidenceFolder) -> crate::Result<Vec<Fault>> {
    let recorded = &evidence.checklist;
    let declared = read_declared(&project)?;
    let release = declared.find(&recorded.release)?.clone();
    let store = project.store()?;
    identity::check_tags(store, &declared.releases)?;
    identity::check_history(store, &declared.releases, entries)?;
    let identity = Identity::recorded(store, &release, &recorded.commit, recorded.tagged)?;
    folder::check_time(store, recorded, clock::now())?;
    let inputs = ReleaseInputs {
        root: project.root.clone(),
        declared,
        release,
        identity,
        as_of: recorded.as_of,
        history: recorded.history.clone(),
        branch: recorded.branch.clone(),
        reviewed: recorded.reviewed.clone(),
        artifacts: evidence.artifacts()?,
    };
    let mut faults = rederive::unknown_files(evidence, &inputs, store)?;
    let filled = fill(&LoadedRelease { project, inputs })?;
    faults.extend(rederive::differences(evidence, filled)?);
    Ok(faults)
}

pub fn table(checklist: &FilledChecklist) -> String {
    let FilledChecklist { release, commit, tagged, .. } = checklist;
    let tag = if *tagged { "tagged at" } else { "not yet tagged," };
    let short = text::short(commit, 12);
    let mut text = format!("{release} ({tag} {short}), for {}\n\n", RuntimeTarget::list(&checklist.targets));
    let row = |item: &Filled| {
        vec![glyph(item.status).to_owned(), item.status.word().to_owned(), item.id.clone(), item.why.clone()]
    };
    let rows: Vec<Vec<String>> = checklist.items.iter().map(row).collect();
    text.push_str(&text::columns(&rows, &[]));
    let mut section = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}\n", lines.join("\n")));
        }
    };
    let today = day(checklist.as_of);
    section("ledger", checklist.items.iter().filter_map(|item| waiver(item, today)).collect());
    let next = |item: &Filled| {
        let is_early =
            (item.rule.as_str(), item.status) == ("coverage", Status::Pending) && checklist.previous.is_none();
        let waive = format!("sprag release waive --release {release} --item {} --reason TEXT", item.id);
        let why = if is_early { format!("; a first release may lack runs: `{waive}`") } else { String::new() };
        format!("  {}: {}{why}", item.id, item.mend.as_deref().unwrap_or("check its evidence"))
    };
    section("next", checklist.blocking().map(next).collect());
    let counts: Vec<String> = checklist.counts().iter().map(|(word, count)| format!("{count} {word}")).collect();
    text.push_str(&format!("\n{release}: {} ({})\n", checklist.word(), counts.join(", ")));
    text.lines().map(|line| text::printable(line) + "\n").collect()
}

fn glyph(status: Status) -> &'static str {
    match status {
        Status::Pass => "✓",
        Status::Fail => "✕",
        Status::Pending => "○",
        Status::Waived => "~",
        Status::NotApplicable => "–",
    }
}

fn waiver(item: &Filled, today: NaiveDate) -> Option<String> {
    let waiver = item.waiver.as_ref()?;
    let state = match waiver.in_force {
        true => "waives it",
        false if today < waiver.date => "does not waive it yet:",
        false if today > waiver.expires => "no longer waives it:",
        false => "waives it for only some of its targets:",
    };
    Some(format!(
        "  {}: {} {state} from {} until {} ({}): {}",
        item.id, waiver.author, waiver.date, waiver.expires, waiver.entry, waiver.reason
    ))
}

/// Releases with a page.
const NEWEST: usize = 20;

/// In the order of their list. Each is judged by the history that it names, else by all of it, as of its newest run, so
/// that equal histories give equal pages. A fault of one release becomes its state.
pub fn reports(project: &Project) -> crate::Result<Released> {
    if project.is_bare || !project.root.join(RELEASES_PATH).is_file() {
        return Ok(Released::default());
    }
    let all = declared::releases(&project.root)?.0;
    // An unreadable ledger concerns all of them.
    ledger::read(project)?;
    let newest = &all[all.len().saturating_sub(NEWEST)..];
    let mut released = Released { older: all.len() - newest.len(), ..Released::default() };
    let shared = match Shared::load(project) {
        Ok(None) => return Ok(Released::default()),
        Ok(Some(shared)) => {
            let unused = shared.declared.unused_waivers();
            released.unused_waivers = unused.map(|(one, what)| (one.terms.entry.clone(), what)).collect();
            Ok(shared)
        }
        Err(error) => Err(error.chain()),
    };
    let report = |release: &Release| {
        let filled = shared.as_ref().map_err(Clone::clone);
        let filled = filled.and_then(|shared| fill_release(project, shared, release).map_err(|error| error.chain()));
        let (checklist, figures) = match filled {
            Ok((filled, figures)) => (Ok(filled), figures),
            Err(fault) => {
                let fault = text::printable(&fault);
                text::warn(&format!("the release `{}` is no-go: {fault}", release.name));
                (Err(fault), BTreeMap::new())
            }
        };
        let statement = checklist.as_ref().ok().and_then(|filled| published::read(&project.root, filled));
        ReleaseReport { name: release.name.clone(), checklist, figures, statement }
    };
    released.newest = newest.iter().map(report).collect();
    Ok(released)
}

struct Shared {
    declared: Declared,
    entries: Entries,
    now: HistoryPoint,
    loaded: DecodedHistory,
}

impl Shared {
    fn load(project: &Project) -> crate::Result<Option<Shared>> {
        let store = project.store()?;
        let entries = branch::entries(store, &project.source()?)?;
        let Some(now) = history_point(&entries) else { return Ok(None) };
        Ok(Some(Shared { declared: read_declared(project)?, entries, now, loaded: study::load(project, store)? }))
    }
}

fn fill_release(project: &Project, shared: &Shared, release: &Release) -> crate::Result<FilledWithFigures> {
    let Shared { declared, entries, now, loaded } = shared;
    let mut own = Project::open(&project.root)?;
    own.has_cache = project.has_cache;
    declared.check_roles(release)?;
    identity::check_tag(own.store()?, release)?;
    let identity = Identity::find(own.store()?, release)?;
    if let Some(point) = &release.history {
        identity::check_point(own.store()?, &release.name, point, entries)?;
    }
    let point = release.history.as_ref().unwrap_or(now);
    own.pinned = Some(point.commit.clone());
    let store = own.store()?;
    let along = Along { revision: Some(&identity.measured), all_parents: false };
    let study = study::study_loaded(&own, loaded.as_of(&own, store)?, along)?;
    let inputs = ReleaseInputs {
        root: own.root.clone(),
        declared: declared.clone(),
        release: release.clone(),
        identity,
        as_of: present(release, declared, point, study.present(), &own)?,
        history: point.clone(),
        branch: branch::short_name(&entries.reference).map(str::to_owned),
        reviewed: head(store)?,
        artifacts: artifacts::locate(&own.root, &own.root, &declared.checklist, &[])?,
    };
    findings::fill_studied(&LoadedRelease { project: own, inputs }, Some(study))
}

/// The newest run, or the checked-out commit if later. A release that names its history takes instead the commit of
/// that, the first days of its waivers and its signatures, so that later entries change nothing.
fn present(
    release: &Release,
    declared: &Declared,
    point: &HistoryPoint,
    newest: DateTime<Utc>,
    project: &Project,
) -> crate::Result<DateTime<Utc>> {
    let now = ledger::time(project, newest)?;
    if release.history.is_none() {
        return Ok(now);
    }
    let attested = history::find_commit(project.store()?, &point.commit)?.map(|commit| commit.commit_time);
    let waivers = declared.ledger.waivers.iter().filter(|one| one.release == release.name).map(|one| one.terms.date);
    let signed = release.signed.iter().filter_map(|(.., day)| day.parse().ok());
    let days = waivers.chain(signed).map(|day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc());
    Ok(days.chain(attested).filter(|time| *time <= now).fold(newest, DateTime::max))
}
