//! `sprag release waive`: one entry of the ledger, written for review.

use std::io::Write;
use std::path::Path;

use chrono::{DateTime, Days, Utc};

use super::stated::Stated;
use super::waivers::check_known;
use crate::cli::WaiveArgs;
use crate::commands::project::Project;
use crate::commands::{Advice, Exit, ledger, study, text, warn};
use crate::config;
use sprag_analysis::ledger::tell_events;
use sprag_base::files::write_new;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history as history;
use sprag_measure::clock;
use sprag_model::event::Event;
use sprag_model::ledger::answer::Answer;
use sprag_model::ledger::scope::Scope;
use sprag_model::ledger::text as entries;
use sprag_model::ledger::{Acceptance, Entry, FOLDER, Ledger, Terms, Waiver, day};
use sprag_model::series::slug;
use sprag_pipeline::trend;

/// How many days an entry holds where nobody says.
const DAYS: u64 = 90;

/// The longest part of a name of a file that a word of the user makes up, in characters.
const LONGEST: usize = 40;

/// An entry that is to be written.
struct Proposal {
    lines: Vec<String>,
    /// The name of its file, without a number and an ending.
    stem: String,
    /// The event that it accepts; absent where it waives an item.
    event: Option<Event>,
}

pub(super) fn run(folder: &Path, args: &WaiveArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    // A fault in what is there is told before that of an entry which may have none.
    ledger::read(&project)?;
    let now = clock::now();
    let terms = terms(&project, args, now)?;
    let Proposal { lines, stem, event } = match &args.event {
        Some(id) => accepted(&project, args, id, terms, now)?,
        None => waived(&project, args, terms)?,
    };
    let text = lines.join("\n") + "\n";
    let path = free(&project, &stem);
    // What is written is what the reader takes, beside all that is there.
    let ledger = ledger::read_with(&project, &path, &text)?;
    let told = match event {
        Some(event) => told_of_event(event, &ledger, &path, now),
        None => told_of_item(&ledger, &path, now),
    };
    if !write_new(&project.root.join(&path), text.as_bytes())? {
        let message = format!("`{path}` was written by another in the meantime, and stays as it is");
        return Err(Advice { message, hint: "look at it, and try again".to_owned() }.into());
    }
    writeln!(out, "wrote {path}, for review:\n\n{text}\n{}", text::printable(&told))?;
    writeln!(out, "commit it, so that it counts for others, too: git add {path}")?;
    Ok(Exit::Done)
}

/// The path of a file of the ledger that is not there yet.
fn free(project: &Project, stem: &str) -> String {
    let path = |number: usize| {
        let counter = if number == 1 { String::new() } else { format!("-{number}") };
        format!("{FOLDER}/{stem}{counter}.toml")
    };
    let is_free = |path: &String| std::fs::symlink_metadata(project.root.join(path)).is_err();
    (1..).map(path).find(is_free).expect("there are endlessly many")
}

/// What becomes of an event by its new entry; warns where that accepts nothing.
fn told_of_event(mut event: Event, ledger: &Ledger, path: &str, now: DateTime<Utc>) -> String {
    tell_events(std::slice::from_mut(&mut event), ledger, day(now));
    let answer = event.answer.as_ref().filter(|answer| answer.entry.rsplit_once(':').is_some_and(|(of, _)| of == path));
    let told = answer.map_or_else(|| "another entry speaks of it today".to_owned(), Answer::words);
    if !answer.is_some_and(Answer::is_accepted) {
        warn(&format!("as of today the entry accepts nothing: {told}"));
    }
    format!("{}: {told}", event.id)
}

/// What becomes of an item by its new entry.
fn told_of_item(ledger: &Ledger, path: &str, now: DateTime<Utc>) -> String {
    let own = ledger.waivers.iter().filter(|one| one.terms.entry.path == path);
    let told = own.map(|one| {
        let target = one.target.as_ref().map_or_else(String::new, |target| format!(" for {target}"));
        let (Waiver { release, item, .. }, Terms { author, date, expires, .. }) = (one, &one.terms);
        let state = one.terms.state(day(now)).word();
        format!("{item} of {release}{target}: waived by {author} from {date} until {expires}, {state}")
    });
    told.collect()
}

/// What the user says of an entry, whatever it is about, and where nothing is said the usual.
fn terms(project: &Project, args: &WaiveArgs, now: DateTime<Utc>) -> anyhow::Result<Terms> {
    let date = args.date.unwrap_or(day(now));
    let expires = args.expires.or_else(|| date.checked_add_days(Days::new(DAYS))).unwrap_or(date);
    if expires < date {
        let message = format!("`--expires {expires}` is before {date}, its first day: it would never hold");
        return Err(Advice { message, hint: "name a later day".to_owned() }.into());
    }
    let commit = history::measured_commit(project.store()?)?.ok_or_else(|| Advice {
        message: "there is no commit yet whose figures could be looked at".to_owned(),
        hint: "commit something, and measure it with `sprag run --record`".to_owned(),
    })?;
    let author = match &args.author {
        Some(author) => author.clone(),
        None => {
            let (author, is_known) = history::author(project.find_store());
            if !is_known {
                return Err(Advice {
                    message: "nobody answers for it: git's configuration names no one".to_owned(),
                    hint: "set `user.name` and `user.email`, or say who does with `--author`".to_owned(),
                }
                .into());
            }
            format!("{} <{}>", author.name, author.email)
        }
    };
    let reason = args.reason.clone();
    Ok(Terms { reason, author, date, commit: commit.sha, expires, entry: Entry::default() })
}

/// The entry that accepts an event.
fn accepted(
    project: &Project,
    args: &WaiveArgs,
    id: &str,
    terms: Terms,
    now: DateTime<Utc>,
) -> anyhow::Result<Proposal> {
    let mut one = Acceptance {
        event: id.to_owned(),
        scope: args.scope.clone().unwrap_or_else(|| Scope::EVENT.to_owned()),
        at_most: args.at_most.unwrap_or(entries::MOST_CHANGE),
        terms,
    };
    // What is wrong with the words is told before the history is looked at.
    refuse(entries::acceptance_fault(&one))?;
    let study = study::study(project)?;
    let mut events = trend::analyse(project, &study, &trend::TrendOptions::events(now), &|_| true)?.trend.events;
    let event = events.swap_remove(find(&events, id)?);
    if args.at_most.is_none() {
        let worst = event.worst_ongoing().ok_or_else(|| Advice {
            message: format!("it cannot be told by how much `{id}` made things worse: a level of it was zero before"),
            hint: "no relative change of it can be accepted; mend it, or take new baselines".to_owned(),
        })?;
        one.at_most = entries::rounded_up(worst);
        refuse(entries::acceptance_fault(&one))?;
    }
    Ok(Proposal { lines: entries::acceptance(&one), stem: slug(id, LONGEST), event: Some(event) })
}

/// The place of an event, where there is something of it to accept.
fn find(events: &[Event], id: &str) -> Result<usize, Advice> {
    let Some(place) = events.iter().position(|event| event.id == id) else {
        let open: Vec<&str> = events.iter().filter(|one| one.is_ongoing_regression()).map(|one| &*one.id).collect();
        let near = config::nearest(id, &open).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let list = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
        let message = format!("the history tells of no event `{}`", text::printable(id));
        return Err(Advice { message, hint: format!("{near}regressions that stand: {list}") });
    };
    if !events[place].is_ongoing_regression() {
        return Err(Advice {
            message: format!("`{id}` is no regression that stands for sure, so there is nothing to accept"),
            hint: "`sprag trend --all` tells what it is".to_owned(),
        });
    }
    Ok(place)
}

/// The entry that waives an item of a release.
fn waived(project: &Project, args: &WaiveArgs, terms: Terms) -> anyhow::Result<Proposal> {
    let one = Waiver {
        release: args.release.clone().unwrap_or_default(),
        item: args.item.clone().unwrap_or_default(),
        target: args.target.clone(),
        terms,
    };
    refuse(entries::waiver_fault(&one))?;
    let stated = Stated::read(project)?;
    check_known(&stated, &one)?;
    if stated.releases.find(&one.release).is_some_and(|release| release.commit.is_none()) {
        let release = text::printable(&one.release);
        warn(&format!(
            "`{release}` has no commit yet, so HEAD is looked at, and once this is committed that is a commit which nobody measured: \
             name the commit of `{release}` in `{RELEASES_PATH}`, and tag it, first"
        ));
    }
    let words = [Some(&one.release), Some(&one.item), one.target.as_ref()];
    let stem: Vec<String> = words.into_iter().flatten().map(|word| slug(word, LONGEST)).collect();
    Ok(Proposal { lines: entries::waiver(&one), stem: stem.join("-"), event: None })
}

/// Fails where a field of an entry is not what it must be.
fn refuse(fault: Option<(&'static str, String)>) -> Result<(), Advice> {
    let Some((key, fault)) = fault else { return Ok(()) };
    let option = key.replace('_', "-");
    Err(Advice {
        message: format!("`--{option}` {fault}"),
        hint: "`sprag release waive --help` says what each option is; docs/LEDGER.md what an entry is".to_owned(),
    })
}
