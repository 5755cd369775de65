//! Proposes one entry of the ledger: an accepted regression, or a waived item of a release.

use chrono::{DateTime, Days, NaiveDate, Utc};

use super::load::read_declared;
use crate::project::Project;
use crate::{ledger, study, text, trend};
use sprag_analysis::ledger::answer_events;
use sprag_base::files::write_new;
use sprag_base::text::suggestion;
use sprag_evidence::release::ReleaseError;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history as history;
use sprag_model::ledger::{Acceptance, FOLDER, LedgerEntry, Terms, day, text as entries};
use sprag_model::series::slug;
use sprag_model::{Answer, Event, Ledger, Scope, Waiver};

/// Default validity in days.
const DAYS: u64 = 90;

/// Longest user word in a file name, in characters.
const LONGEST: usize = 40;

pub struct WaiveOptions {
    pub subject: Waived,
    pub reason: String,
    pub author: Option<String>,
    pub date: Option<NaiveDate>,
    pub expires: Option<NaiveDate>,
}

pub enum Waived {
    Event { id: String, scope: Option<String>, at_most: Option<f64> },
    Item { release: String, item: String, target: Option<String> },
}

pub struct Proposal {
    pub path: String,
    pub text: String,
    pub effect: String,
}

pub fn propose(project: &Project, options: &WaiveOptions, now: DateTime<Utc>) -> crate::Result<Proposal> {
    // Faults of the ledger are reported before those of the new entry.
    ledger::read(project)?;
    let terms = terms(project, options, now)?;
    let (lines, stem, event) = match &options.subject {
        Waived::Event { id, scope, at_most } => {
            let (acceptance, event) = accepted(project, id, scope.as_deref(), *at_most, terms, now)?;
            (entries::acceptance(&acceptance), slug(id, LONGEST), Some(event))
        }
        Waived::Item { release, item, target } => {
            let (release, item, target) = (release.clone(), item.clone(), target.clone());
            let waiver = Waiver { release, item, target, terms };
            check_waiver(project, &waiver)?;
            let words = [Some(&waiver.release), Some(&waiver.item), waiver.target.as_ref()];
            let stem: Vec<String> = words.into_iter().flatten().map(|word| slug(word, LONGEST)).collect();
            (entries::waiver(&waiver), stem.join("-"), None)
        }
    };
    let text = lines.join("\n") + "\n";
    let path = free_path(project, &stem);
    // The entry must read back together with all others.
    let ledger = ledger::read_with(project, &path, &text)?;
    let effect = match event {
        Some(event) => effect_on_event(event, &ledger, &path, now),
        None => effect_on_item(&ledger, &path, now),
    };
    Ok(Proposal { path, text, effect })
}

impl Proposal {
    /// Fails if the file exists by now.
    pub fn write(&self, project: &Project) -> crate::Result<()> {
        if write_new(&project.root.join(&self.path), self.text.as_bytes())? {
            return Ok(());
        }
        let message = format!("`{}` was written by another program in the meantime", self.path);
        Err(ReleaseError::refused(message, "read it, and try again").into())
    }
}

fn free_path(project: &Project, stem: &str) -> String {
    let path = |number: usize| {
        let counter = if number == 1 { String::new() } else { format!("-{number}") };
        format!("{FOLDER}/{stem}{counter}.toml")
    };
    let is_free = |path: &String| std::fs::symlink_metadata(project.root.join(path)).is_err();
    (1..).map(path).find(is_free).expect("a folder has finitely many files")
}

fn effect_on_event(mut event: Event, ledger: &Ledger, path: &str, now: DateTime<Utc>) -> String {
    answer_events(std::slice::from_mut(&mut event), ledger, day(now));
    let answer = event.answer.as_ref().filter(|answer| answer.entry.rsplit_once(':').is_some_and(|(of, _)| of == path));
    let effect = answer.map_or_else(|| "another entry is about it today".to_owned(), Answer::words);
    if !answer.is_some_and(Answer::is_accepted) {
        text::warn(&format!("as of today the entry accepts nothing: {effect}"));
    }
    format!("{}: {effect}", event.id)
}

fn effect_on_item(ledger: &Ledger, path: &str, now: DateTime<Utc>) -> String {
    let own = ledger.waivers.iter().filter(|one| one.terms.entry.path == path);
    let effect = own.map(|one| {
        let target = one.target.as_ref().map_or_else(String::new, |target| format!(" for {target}"));
        let (Waiver { release, item, .. }, Terms { author, date, expires, .. }) = (one, &one.terms);
        let state = one.terms.state(day(now)).word();
        format!("{item} of {release}{target}: waived by {author} from {date} until {expires}, {state}")
    });
    effect.collect()
}

fn terms(project: &Project, options: &WaiveOptions, now: DateTime<Utc>) -> crate::Result<Terms> {
    let date = options.date.unwrap_or(day(now));
    let expires = options.expires.or_else(|| date.checked_add_days(Days::new(DAYS))).unwrap_or(date);
    if expires < date {
        let message = format!("`--expires {expires}` is before {date}, its first day: it would never apply");
        return Err(ReleaseError::refused(message, "name a later day").into());
    }
    let commit = history::measured_commit(project.store()?)?.ok_or_else(|| {
        ReleaseError::refused("there is no commit yet", "commit something, and measure it with `sprag run --record`")
    })?;
    let author = match &options.author {
        Some(author) => author.clone(),
        None => {
            let (author, is_configured) = history::author(project.find_store());
            if !is_configured {
                let message = "the author is unknown: git's configuration names nobody";
                return Err(
                    ReleaseError::refused(message, "set `user.name` and `user.email`, or use `--author`").into()
                );
            }
            format!("{} <{}>", author.name, author.email)
        }
    };
    let reason = options.reason.clone();
    Ok(Terms { reason, author, date, commit: commit.sha, expires, entry: LedgerEntry::default() })
}

fn accepted(
    project: &Project,
    id: &str,
    scope: Option<&str>,
    at_most: Option<f64>,
    terms: Terms,
    now: DateTime<Utc>,
) -> crate::Result<(Acceptance, Event)> {
    let mut one = Acceptance {
        event: id.to_owned(),
        scope: scope.unwrap_or(Scope::EVENT).to_owned(),
        at_most: at_most.unwrap_or(entries::MOST_CHANGE),
        terms,
    };
    // Invalid options are refused before the history is analysed.
    check_option(entries::acceptance_fault(&one))?;
    let study = study::study(project)?;
    let mut events = trend::analyse(project, &study, &trend::TrendOptions::events(now), &|_| true)?.trend.events;
    let event = events.swap_remove(find(&events, id)?);
    if at_most.is_none() {
        let worst = event.worst_ongoing().ok_or_else(|| {
            let message = format!("`{id}` has no relative size: one of its series was zero before");
            ReleaseError::refused(message, "fix it, or take new baselines; only a relative change can be accepted")
        })?;
        one.at_most = entries::rounded_up(worst);
        check_option(entries::acceptance_fault(&one))?;
    }
    Ok((one, event))
}

fn find(events: &[Event], id: &str) -> Result<usize, ReleaseError> {
    let Some(place) = events.iter().position(|event| event.id == id) else {
        let open: Vec<&str> = events.iter().filter(|one| one.is_ongoing_regression()).map(|one| &*one.id).collect();
        let message = format!("the history has no event `{id}`");
        return Err(ReleaseError::refused(message, suggestion(id, &open)));
    };
    if !events[place].is_ongoing_regression() {
        return Err(ReleaseError::refused(
            format!("`{id}` is not a confirmed open regression, so there is nothing to accept"),
            "see `sprag trend --all`",
        ));
    }
    Ok(place)
}

fn check_waiver(project: &Project, waiver: &Waiver) -> crate::Result<()> {
    check_option(entries::waiver_fault(waiver))?;
    let declared = read_declared(project)?;
    declared.check_waiver(waiver)?;
    if declared.releases.find(&waiver.release).is_some_and(|release| release.commit.is_none()) {
        let release = text::printable(&waiver.release);
        text::warn(&format!(
            "`{release}` has no commit yet, so HEAD is judged, and committing this entry makes a new HEAD that nobody measured: \
             first tag `{release}`, and name its commit in `{RELEASES_PATH}`"
        ));
    }
    Ok(())
}

fn check_option(fault: Option<(&'static str, String)>) -> Result<(), ReleaseError> {
    let Some((key, fault)) = fault else { return Ok(()) };
    let option = key.replace('_', "-");
    Err(ReleaseError::refused(format!("`--{option}` {fault}"), "see `sprag release waive --help`"))
}
