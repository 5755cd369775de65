//! Moves runs of past months into snapshots outside git, a Parquet file a year, and back.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Datelike as _, NaiveDate, SubsecRound as _, TimeDelta, Utc};

use crate::error::{Cause, Exit, WithContext as _};
use crate::export::check_parent;
use crate::project::Project;
use crate::text::{self, count, printable, warn};
use crate::{Advice, refuse, snapshots};
use sprag_analysis::frame::{MOST_BYTES, MOST_RUNS, SnapshotRow, SnapshotWriter};
use sprag_base::digest::Digest;
use sprag_base::files::{AtomicFile, open, sha256_of_file};
use sprag_history::{self as history, Entries, HistoryError, Leaf, PastMonth, PastMonths, Record, Target};
use sprag_measure::clock;
use sprag_model::{Archive, MerkleTree, archive};

/// Records that are in memory at a time when they come back.
const AT_ONCE: usize = 4096;

/// Moves all runs of the months that end before `before`.
pub fn archive(folder: &Path, before: &str, place: Option<&Path>, out: &mut dyn Write) -> crate::Result<Exit> {
    let end = first_day_left(before)?;
    let project = Project::open(folder)?;
    let place = match (place, &project.config.history.archive) {
        (Some(place), _) => folder.join(place),
        (None, Some(place)) => project.root.join(place),
        (None, None) => {
            let hint = "give `--out FOLDER`, or `archive` under `[history]` in sprag.toml";
            return refuse("there is no folder for the snapshots", hint);
        }
    };
    check_place(&project, &place)?;
    let (store, target) = (project.store()?, project.target()?);
    let is_past = |year: &str, month: &str| {
        let next =
            |year: i32, month: u32| NaiveDate::from_ymd_opt(year + i32::try_from(month / 12).ok()?, month % 12 + 1, 1);
        let first = year.parse().ok().zip(month.parse().ok()).and_then(|(year, month)| next(year, month));
        first.is_some_and(|next_month| next_month <= end)
    };
    let past = history::past_months(store, &target, &is_past)?;
    // A snapshot that was changed ends this, too.
    history::list(store, &target)?;
    if past.months.is_empty() {
        let branch = printable(text::branch(&target.reference));
        writeln!(out, "nothing to archive: {branch} has no run of a month that ended before {end}")?;
        return Ok(Exit::Done);
    }
    let mut entries = match history::verified_entries(store, &target)? {
        Ok(entries) => entries,
        Err(damage) => {
            let first = damage.first().map(|one| format!("{} {}", one.path.as_deref().unwrap_or_default(), one.what));
            return Err(HistoryError::Damaged(first.unwrap_or_default().trim().to_owned()).into());
        }
    };
    if entries.tip.as_ref() != Some(&past.commit) {
        // Runs that the remote lacks may come to lie elsewhere in its list.
        let synced = Target { reference: past.commit.clone(), ..target.clone() };
        entries = history::entries(store, &synced)?;
    }
    check_parent(&place, "--out")?;
    fs::create_dir_all(&place).with_context(|| format!("cannot make `{}`", place.display()))?;
    let (runs, notes) = write(&project, &place, &past, &entries, MOST_BYTES as u64)?;
    // Until then, a power cut may take the names back.
    history::sync_folder(&place)?;
    let records: Vec<Record> = notes.iter().map(|(_, note)| record(note)).collect();
    let (_, warnings) = history::archive(store, &target, &runs, &records, clock::now())?;
    warnings.iter().for_each(|warning| warn(warning));
    for (file, note) in &notes {
        writeln!(out, "archived {} in {}", words(note), text::path(file))?;
    }
    if project.config.history.archive.is_none() {
        text::note("to go on using them, name that folder as `archive` under `[history]` in sprag.toml");
    }
    Ok(Exit::Done)
}

fn record(note: &Archive) -> Record {
    let (path, bytes, subject) = note.to_file();
    Record::auxiliary(path, bytes, subject)
}

fn words(note: &Archive) -> String {
    format!("{} of {}", count(usize::try_from(note.runs).unwrap_or(usize::MAX), "run"), Archive::months([note]))
}

/// The day before which months must end. A month that is not over may get more runs.
fn first_day_left(before: &str) -> crate::Result<NaiveDate> {
    let day = before.parse::<NaiveDate>().or_else(|_| format!("{before}-01").parse());
    let Ok(day) = day else {
        let message = format!("`--before {}` is not a month or a date", printable(before));
        return refuse(message, "give one such as 2025-01 or 2025-01-31");
    };
    let today = clock::now().date_naive();
    if day > today || !(1970..=9999).contains(&day.year()) {
        let message = format!("`--before {day}` is later than today");
        return refuse(message, "months that are not over may get more runs");
    }
    Ok(day)
}

/// Refuses places that git or the history own.
fn check_place(project: &Project, place: &Path) -> crate::Result<()> {
    // The folder may not exist yet.
    let real = |path: &Path| path.ancestors().find_map(|part| Some((fs::canonicalize(part).ok()?, part.to_owned())));
    let Some((existing, part)) = real(place) else { return Ok(()) };
    let rest = place.strip_prefix(&part).unwrap_or(Path::new(""));
    // A slash at the end would make a folder of a file.
    let full = if rest.as_os_str().is_empty() { existing } else { existing.join(rest) };
    let root = fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    let inside = full.strip_prefix(&root).ok().and_then(|inside| inside.iter().next());
    if inside.is_some_and(|name| name == "history" || name == ".git") {
        let message = format!("`{}` is inside the history or the git folder", text::path(place));
        return refuse(message, "choose a folder outside git with `--out`: snapshots are what leaves it");
    }
    if full.exists() && !full.is_dir() {
        return refuse(format!("`{}` is not a folder", text::path(place)), "choose another place with `--out`");
    }
    Ok(())
}

/// Each with the place of its snapshot.
type Notes = Vec<(PathBuf, Archive)>;

/// Writes a snapshot of each year, or several where one would have more than `most` bytes. Returns the runs, and a note a snapshot.
/// A month of a suite that is too large by itself stays on the branch.
fn write(
    project: &Project,
    place: &Path,
    past: &PastMonths,
    entries: &Entries,
    most: u64,
) -> crate::Result<(Vec<Leaf>, Notes)> {
    let mut made = Vec::new();
    let written = write_years(project, place, past, entries, most, &mut made);
    if written.is_err() {
        // Nothing refers to them.
        made.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    written
}

fn write_years(
    project: &Project,
    place: &Path,
    past: &PastMonths,
    entries: &Entries,
    most: u64,
    made: &mut Vec<PathBuf>,
) -> crate::Result<(Vec<Leaf>, Notes)> {
    let places: HashMap<&str, usize> = entries.runs.iter().enumerate().map(|(n, run)| (run.path.as_str(), n)).collect();
    let of_run = |run: &Leaf| places.get(run.path.as_str()).copied();
    let mut years: BTreeMap<&str, Vec<&PastMonth>> = BTreeMap::new();
    for month in &past.months {
        years.entry(month.folder.split('/').nth(1).unwrap_or_default()).or_default().push(month);
    }
    let mut parts: VecDeque<(&str, Vec<&PastMonth>)> = years.into_iter().collect();
    let earlier_notes = history::archives(project.store()?, &project.target()?)?;
    let (mut all, mut notes, mut left) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((year, mut months)) = parts.pop_front() {
        let mut runs: Vec<Leaf> = months.iter().flat_map(|month| month.entries.iter().cloned()).collect();
        runs.sort_by(|a, b| a.path.cmp(&b.path));
        let digests: Option<Vec<(usize, Digest)>> =
            runs.iter().map(|run| of_run(run).map(|place| (place, entries.runs[place].digest))).collect();
        let digests = digests.context("a run of the branch is not in its list")?;
        let root = MerkleTree::from_leaves(digests.iter().map(|(_, digest)| *digest)).root();
        let path = place.join(Archive::file_name(year, &root));
        let mut note = Archive {
            schema_version: archive::SCHEMA_VERSION,
            file: Archive::file_name(year, &root),
            bytes: 0,
            sha256: root,
            runs: runs.len() as u64,
            root,
            history_root: entries.tree.root(),
            history_size: entries.tree.len() as u64,
            commit: past.commit.clone(),
            folders: months.iter().map(|month| (month.folder.clone(), month.tree.clone())).collect(),
            time: clock::now().trunc_subsecs(0),
            restored: false,
        };
        if note.runs <= MOST_RUNS {
            // As a command that was killed leaves it.
            let was_there = fs::symlink_metadata(&path).is_ok();
            if !was_there {
                write_part(project, &path, &runs, &digests)?;
                made.push(path.clone());
            }
            let measure = || Ok::<_, std::io::Error>((fs::metadata(&path)?.len(), sha256_of_file(&path)?));
            let (bytes, sha256) = measure().with_context(|| format!("cannot read `{}`", path.display()))?;
            note.bytes = bytes;
            note.sha256 = sha256.parse().context("a SHA-256 has 64 digits")?;
            if bytes > most && !was_there {
                fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
            }
        }
        // No command could read it.
        if note.runs > MOST_RUNS || note.bytes > most {
            if let [month] = &months[..] {
                // Of too many runs nothing was written, so that the bytes are unknown.
                let bytes = if note.bytes > 0 { format!(" and {} bytes", note.bytes) } else { String::new() };
                let (folder, runs) = (&month.folder, note.runs);
                left.push(format!(
                    "the snapshot of `{folder}` would have {runs} runs{bytes}, so it stays on the branch"
                ));
                continue;
            }
            let later = months.split_off(months.len() / 2);
            parts.push_front((year, later));
            parts.push_front((year, months));
            continue;
        }
        // Nothing leaves the branch that cannot be read back.
        let opened = snapshots::open(place, &note)?;
        let snapshot = opened.with_context(|| format!("`{}` is gone", path.display()))?;
        let mut entries = digests.iter().map(|(entry, _)| i64::try_from(*entry).unwrap_or(i64::MAX));
        snapshots::each_run(place, &note, &snapshot, &mut |row| match entries.next() {
            Some(entry) if entry == row.entry => Ok(()),
            _ => Err(HistoryError::Snapshot {
                path: path.clone(),
                reason: format!("has another place in the list than the history for `{}`", row.path),
            }),
        })?;
        if let Some(earlier) = newest_about(&earlier_notes, &note) {
            note.time = time_after(earlier, note.time);
            if note.time == earlier {
                let message = format!("the months of `{}` have a note of the last second that one can have", note.file);
                return refuse(message, "leave these months on the branch, by an earlier `--before`");
            }
        }
        all.extend(runs);
        notes.push((path, note));
    }
    let limits = format!("a month of a suite is in one snapshot, of at most {MOST_RUNS} runs and {most} bytes");
    if notes.is_empty() {
        return refuse(left.join("; "), limits);
    }
    left.iter().for_each(|words| warn(&format!("{words}: {limits}")));
    Ok((all, notes))
}

/// The time of the newest of these notes that is about a month of another one.
fn newest_about(notes: &[Archive], other: &Archive) -> Option<DateTime<Utc>> {
    let is_about = |note: &&Archive| note.folders.keys().any(|folder| other.folders.contains_key(folder));
    notes.iter().filter(is_about).map(|note| note.time).max()
}

/// A time at which a note decides over an earlier one. Of two of the last second that a note can have, that which restores does.
fn time_after(earlier: DateTime<Utc>, time: DateTime<Utc>) -> DateTime<Utc> {
    let after = earlier.checked_add_signed(TimeDelta::seconds(1)).filter(|after| after.year() <= 9999);
    after.map_or(earlier, |after| time.max(after))
}

fn write_part(project: &Project, path: &Path, runs: &[Leaf], digests: &[(usize, Digest)]) -> crate::Result<()> {
    let mut writer = SnapshotWriter::new(AtomicFile::create(path)?)?;
    let mut digests = digests.iter();
    history::each_record::<crate::Error>(project.store()?, runs, &mut |run, bytes, recorded| {
        let record = std::str::from_utf8(bytes).context("a record is not UTF-8")?;
        let (entry, digest) = digests.next().context("a run has no digest")?;
        let sha256 = digest.to_string();
        let row = SnapshotRow { run: &recorded, blob: &run.blob, sha256: &sha256, entry: *entry, record };
        Ok(writer.push(&row)?)
    })?;
    Ok(writer.finish()?.commit()?)
}

/// Brings the runs of snapshots back to the branch, in one commit.
pub fn restore(folder: &Path, files: &[PathBuf], out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let (store, target) = (project.store()?, project.target()?);
    let archives = history::archives(store, &target)?;
    let mut records: Vec<Record> = Vec::new();
    let mut restored = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let archive = archives.iter().find(|archive| archive.file == name);
        let mut full = folder.join(file);
        if let Some(place) = project.config.history.archive.as_ref().filter(|_| file.components().count() == 1)
            && !full.exists()
        {
            full = project.root.join(place).join(file);
        }
        match open(&full) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) && archive.is_some() => {}
            opened => drop(opened.with_context(|| format!("cannot read `{}`", file.display()))?),
        }
        let Some(archive) = archive else {
            let message = format!("`{}` is not a snapshot of this history", text::path(file));
            let hint = "restore files that `sprag history archive` wrote, under their names";
            return Err(Advice::new(message, hint).because(Cause::Damaged).into());
        };
        if archive.restored {
            writeln!(out, "`{}` was restored already", text::path(file))?;
            continue;
        }
        if restored.iter().any(|(note, _): &(Archive, String)| note.file == archive.file) {
            continue;
        }
        history::check_note(store, &target, archive)?;
        let root = full.parent().unwrap_or(folder);
        let mut part = Vec::new();
        let source = match snapshots::open(root, archive)? {
            Some(snapshot) => {
                snapshots::each_run(root, archive, &snapshot, &mut |row| {
                    let subject = format!("sprag: restore {}", row.path);
                    part.push(Record::auxiliary(row.path.to_owned(), row.record.as_bytes().to_vec(), subject));
                    if part.len() == AT_ONCE {
                        history::store_blobs(store, &mut part)?;
                        records.append(&mut part);
                    }
                    Ok(())
                })?;
                history::store_blobs(store, &mut part)?;
                archive.file.clone()
            }
            None => {
                part = history::archived_runs(store, archive)?;
                format!("earlier commits, as `{}` is not there", archive.file)
            }
        };
        records.append(&mut part);
        let newest = newest_about(&archives, archive).unwrap_or(archive.time);
        let time = time_after(newest, clock::now().trunc_subsecs(0));
        let note = Archive { time, restored: true, ..archive.clone() };
        records.push(record(&note));
        restored.push((note, source));
    }
    let appended = history::append(store, &target, &records, clock::now())?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    for (note, source) in &restored {
        writeln!(out, "restored {} from {}", words(note), printable(source))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_history::Author;
    use sprag_model::{Machine, Run};

    #[test]
    fn a_year_that_is_too_large_is_written_in_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        let author = Author { name: "Ada".to_owned(), email: "ada@example.com".to_owned() };
        let store = history::create(folder.path(), &author).expect("a repository");
        let target = history::target(&store, Some("records")).expect("a branch");
        let run = |month: u32, day: u32| {
            let time = format!("2024-{month:02}-{day:02}T03:04:05Z").parse().expect("a time");
            Record::from_run(&Run::new("cpu", time, Machine::named("bench-1", "Example CPU")))
        };
        let records: Vec<Record> = (1..=4).flat_map(|month| (1..=2 * month).map(move |day| run(month, day))).collect();
        history::append(&store, &target, &records, clock::now()).expect("they can be recorded");
        let past = history::past_months(&store, &target, &|_, _| true).expect("months");
        let entries = history::entries(&store, &target).expect("a list");
        std::fs::write(folder.path().join("sprag.toml"), "[history]\nref = \"records\"\n").expect("a file");
        let project = Project::open(folder.path()).expect("a project");
        let written = |name: &str, most: u64| {
            let place = folder.path().join(name);
            fs::create_dir(&place).expect("a folder");
            let written = write(&project, &place, &past, &entries, most);
            let files = fs::read_dir(place).expect("a folder").count();
            written
                .map(|(runs, notes)| (runs.len(), files, notes.into_iter().map(|(_, note)| note).collect::<Vec<_>>()))
        };
        let (_, _, one) = written("one", u64::MAX).expect("one snapshot");
        let (runs, files, parts) = written("parts", one[0].bytes - 1).expect("several");
        assert_eq!((one.len(), runs, files), (1, 20, parts.len()));
        assert_eq!(parts.iter().map(|note| note.runs).collect::<Vec<_>>(), [6, 14]);
        assert_eq!(Archive::months(&parts[1..]), "2024-03 to 2024-04");
        // A month that is too large does not hold up the others.
        let (runs, files, _) = written("some", parts[0].bytes + 100).expect("all but one");
        assert_eq!((runs, files), (12, 2));
        let error = written("small", 1).expect_err("no month is so small");
        assert!(error.to_string().contains("the snapshot of `cpu/2024/01` would have 2 runs and"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("a month of a suite is in one snapshot")));
        let last = "9999-12-31T23:59:59Z".parse().expect("a time");
        let note = Archive { time: last, ..parts[1].clone() };
        history::append(&store, &target, &[record(&note)], clock::now()).expect("a note");
        let error = written("late", one[0].bytes - 1).expect_err("no later note can decide");
        assert!(error.to_string().contains("a note of the last second"), "{error}");
        // What was written before is removed.
        for name in ["small", "late"] {
            assert_eq!(fs::read_dir(folder.path().join(name)).expect("a folder").count(), 0, "{name}");
        }
    }

    #[test]
    fn a_note_outlasts_an_earlier_one_of_any_time() {
        let time = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
        for (earlier, expected) in [
            ("2026-05-04T03:02:01Z", "2026-05-04T03:02:03Z"),
            ("2102-05-04T03:02:01Z", "2102-05-04T03:02:02Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(time_after(time(earlier), time("2026-05-04T03:02:03Z")), time(expected));
        }
    }
}
