//! Values of command-line options: files, dates and shards.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::{Advice, refuse, text};
use sprag_base::text::suggestion;
use sprag_model::{Shard, ShardError};

pub struct NamedFile<'a> {
    option: &'static str,
    path: Option<&'a Path>,
    what: &'static str,
    is_written: bool,
}

impl<'a> NamedFile<'a> {
    pub fn read(option: &'static str, path: Option<&'a Path>, what: &'static str) -> NamedFile<'a> {
        NamedFile { option, path, what, is_written: false }
    }

    pub fn written(option: &'static str, path: Option<&'a Path>, what: &'static str) -> NamedFile<'a> {
        NamedFile { option, path, what, is_written: true }
    }
}

/// Fails if an output file is also another file. Relative paths count from `folder`.
pub fn check_distinct(folder: &Path, files: &[NamedFile<'_>]) -> Result<(), Advice> {
    let place = |file: &NamedFile<'_>| file.path.map(|path| real(&folder.join(path)));
    for (at, file) in files.iter().enumerate() {
        let Some(here) = place(file) else { continue };
        let is_same = |earlier: &&NamedFile<'_>| {
            (earlier.is_written || file.is_written) && place(earlier).is_some_and(|there| there == here)
        };
        if let Some(earlier) = files[..at].iter().find(is_same) {
            let verb = if earlier.is_written { "writes" } else { "is" };
            let (first, second) = (earlier.what, file.what);
            let message = format!("`{}` and `{}` name the same file", earlier.option, file.option);
            return refuse(message, format!("the first {verb} {first}, the second {second}: give them two"));
        }
    }
    Ok(())
}

pub fn refuse_existing(path: &Path) -> Result<(), Advice> {
    if !path.exists() {
        return Ok(());
    }
    let message = format!("`{}` exists, and somebody may have chosen its tolerances", path.display());
    refuse(message, "name another file, or move this one away")
}

fn real(path: &Path) -> PathBuf {
    let through_folder = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(through_folder).unwrap_or_else(|| path.to_owned())
}

/// The first second that an option names, and the one after its end: a day in UTC, or a moment in RFC 3339.
pub fn span(option: &str, given: &str) -> Result<(DateTime<Utc>, DateTime<Utc>), Advice> {
    let day = |day: NaiveDate| {
        Some([day, day.checked_add_days(Days::new(1))?].map(|day| day.and_time(NaiveTime::MIN).and_utc()))
    };
    let range = match given.parse::<NaiveDate>() {
        Ok(date) => day(date),
        Err(_) => {
            let moment = DateTime::parse_from_rfc3339(given).ok().map(|moment| moment.to_utc());
            moment.and_then(|moment| Some([moment, moment.checked_add_signed(TimeDelta::seconds(1))?]))
        }
    };
    range.map(|[first, after]| (first, after)).ok_or_else(|| {
        let message = format!("`{option} {}` is not a date or time", text::printable(given));
        Advice::new(message, "give a day in UTC such as 2026-05-31, or RFC 3339 such as 2026-05-31T12:00:00Z")
    })
}

/// The time between `--since` and `--until`, in which a day counts completely.
pub struct Period {
    since: Option<DateTime<Utc>>,
    /// Exclusive.
    end: Option<DateTime<Utc>>,
}

impl Period {
    pub fn new(since: Option<&str>, until: Option<&str>) -> Result<Period, Advice> {
        let since = since.map(|text| span("--since", text)).transpose()?.map(|(first, _)| first);
        let end = until.map(|text| span("--until", text)).transpose()?.map(|(_, after)| after);
        Ok(Period { since, end })
    }

    pub fn contains(&self, time: DateTime<Utc>) -> bool {
        self.since.is_none_or(|since| time >= since) && self.end.is_none_or(|end| time < end)
    }
}

/// Fails with the names that the history has, where it has not the one that was asked for.
pub fn refuse_unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Advice> {
    let names: BTreeSet<String> = names.map(text::printable).collect();
    if names.contains(&text::printable(name)) {
        return Ok(());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("the history has no {what} `{}`", text::printable(name));
    refuse(
        message,
        match (names.is_empty(), what) {
            (false, _) => suggestion(name, &names),
            (true, "event") => "no event was found yet; `sprag trend` shows what is judged".to_owned(),
            (true, _) => "it has no run yet".to_owned(),
        },
    )
}

/// `--shard` without a value.
const DETECT: &str = "auto";

type Detected = Result<Option<Shard>, String>;

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

type Ask = fn(Variable<'_>) -> Detected;

/// Build systems with their variables.
const SYSTEMS: [(&str, &str, Ask); 4] = [
    ("Buildkite", "BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT", |lookup| {
        counted_from_zero(lookup, "BUILDKITE_PARALLEL_JOB", &["BUILDKITE_PARALLEL_JOB_COUNT"])
    }),
    ("Slurm", "SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT", slurm),
    ("Kubernetes", "JOB_COMPLETION_INDEX with JOB_COMPLETIONS or SPRAG_SHARDS", |lookup| {
        counted_from_zero(lookup, "JOB_COMPLETION_INDEX", &["JOB_COMPLETIONS", "SPRAG_SHARDS"])
    }),
    ("GitHub", "STRATEGY_JOB_INDEX, STRATEGY_JOB_TOTAL", |lookup| {
        counted_from_zero(lookup, "STRATEGY_JOB_INDEX", &["STRATEGY_JOB_TOTAL"])
    }),
];

pub fn shard_option(option: Option<&str>) -> Result<Option<Shard>, Advice> {
    match option {
        None => Ok(None),
        Some(DETECT) => detect(&|name| std::env::var(name).ok()).map(Some),
        Some(text) => Shard::parse(text).map(Some).map_err(|error: ShardError| {
            Advice::new(error.to_string(), "write `--shard i/n`, the i-th of n jobs, counted from 1")
        }),
    }
}

fn detect(environment: Variable<'_>) -> Result<Shard, Advice> {
    let lookup = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let hint = "give it as `--shard i/n` or in SPRAG_SHARD=i/n; on GitHub set STRATEGY_JOB_INDEX to \
                ${{ strategy.job-index }} and STRATEGY_JOB_TOTAL to ${{ strategy.job-total }}";
    if let Some(text) = lookup("SPRAG_SHARD") {
        return Shard::parse(&text).map_err(|error| Advice::new(format!("SPRAG_SHARD: {error}"), hint));
    }
    let mut shards: Vec<(&str, Shard)> = Vec::new();
    for (name, _, ask) in SYSTEMS {
        match ask(&lookup) {
            Ok(shard) => shards.extend(shard.map(|shard| (name, shard))),
            Err(reason) => return refuse(format!("{name} gives no shard: {reason}"), hint),
        }
    }
    match &shards[..] {
        [] => {
            let list: Vec<String> =
                SYSTEMS.iter().map(|(name, variables, _)| format!("{name} ({variables})")).collect();
            refuse(format!("no shard was found: looked for SPRAG_SHARD, {}", list.join(", ")), hint)
        }
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => Ok(*first),
        more => {
            let list: Vec<String> = more.iter().map(|(system, shard)| format!("{system} {shard}")).collect();
            refuse(format!("the environment names different shards: {}", list.join(", ")), hint)
        }
    }
}

/// The count is the first of `counts` that is set.
fn counted_from_zero(lookup: Variable<'_>, index: &str, counts: &[&str]) -> Detected {
    let count = counts.iter().find(|name| lookup(name).is_some());
    match (number(lookup, index)?, count) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(format!("{index} is set, {} is not", counts.join(" or "))),
        (None, Some(count)) => Err(format!("{count} is set, {index} is not")),
        (Some(place), Some(count)) => {
            let many = number(lookup, count)?.unwrap_or_default();
            shard(place.checked_add(1), many).map_err(|()| format!("{index} is {place} and {count} is {many}"))
        }
    }
}

/// A task of an array `MIN-MAX:STEP`. A list such as `1,3,7` does not give the place of a task.
fn slurm(lookup: Variable<'_>) -> Detected {
    let of = |name: &str| number(lookup, &format!("SLURM_ARRAY_TASK_{name}"));
    let (id, low, high, step, count) = (of("ID")?, of("MIN")?, of("MAX")?, of("STEP")?, of("COUNT")?);
    let Some(id) = id else {
        return match (low, high, count) {
            (None, None, None) => Ok(None),
            _ => Err("SLURM_ARRAY_TASK_ID is not set, others are".to_owned()),
        };
    };
    let Some(low) = low else { return Err("SLURM_ARRAY_TASK_MIN is not set".to_owned()) };
    let step = step.unwrap_or(1).max(1);
    let spanned = high.and_then(|high| high.checked_sub(low)).map(|span| span / step + 1);
    let many = match (spanned, count) {
        (Some(spanned), Some(count)) if spanned != count => {
            return Err(format!("the array has {count} tasks and its range {spanned}; use a range without gaps"));
        }
        (Some(many), _) | (None, Some(many)) => many,
        (None, None) => {
            return Err("neither SLURM_ARRAY_TASK_COUNT nor SLURM_ARRAY_TASK_MAX gives the number of tasks".to_owned());
        }
    };
    let place = id.checked_sub(low).filter(|span| span % step == 0).map(|span| span / step + 1);
    shard(place, many)
        .map_err(|()| format!("SLURM_ARRAY_TASK_ID {id} is not of the array from {low} by {step}, {many} tasks"))
}

fn number(lookup: Variable<'_>, name: &str) -> Result<Option<u64>, String> {
    lookup(name)
        .map(|text| text.trim().parse().map_err(|_| format!("{name} is `{text}`, which is not a number")))
        .transpose()
}

fn shard(place: Option<u64>, count: u64) -> Result<Option<Shard>, ()> {
    place.and_then(|place| Shard::new(place, count).ok()).map(Some).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_options_never_name_one_output_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("a"), "").expect("a file");
        fs::create_dir(folder.path().join("below")).expect("a folder");
        let check = |read: [&str; 2], written: [&str; 2], expected: Option<&str>| {
            let [one, two, three, four] = [read[0], read[1], written[0], written[1]].map(|path| Some(Path::new(path)));
            let files = [
                NamedFile::read("--one", one, "the report"),
                NamedFile::read("--two", two, "the baseline"),
                NamedFile::written("--three", three, "the summary"),
                NamedFile::written("--four", four, "the trend"),
                NamedFile::written("--five", None, "nothing"),
            ];
            let message = check_distinct(folder.path(), &files).err().map(|advice| advice.message);
            assert_eq!(message.as_deref(), expected);
        };
        check(["a", "b"], ["c", "d"], None);
        check(["a", "a"], ["c", "d"], None);
        check(["a", "b"], ["a", "d"], Some("`--one` and `--three` name the same file"));
        check(["a", "b"], ["c", "./below/../a"], Some("`--one` and `--four` name the same file"));
        check(["a", "b"], ["below/../new", "new"], Some("`--three` and `--four` name the same file"));
        check(["a", "absent/b"], ["absent/./b", "c"], Some("`--two` and `--three` name the same file"));
    }

    #[test]
    fn dates_and_moments_are_read() {
        let check = |text: &str, expected: Option<[&str; 2]>| {
            let range = span("--since", text).ok().map(|(first, after)| [first, after].map(|time| time.to_rfc3339()));
            assert_eq!(range, expected.map(|both| both.map(str::to_owned)), "{text}");
        };
        check("2026-05-31", Some(["2026-05-31T00:00:00+00:00", "2026-06-01T00:00:00+00:00"]));
        check("2026-05-31T12:00:00+02:00", Some(["2026-05-31T10:00:00+00:00", "2026-05-31T10:00:01+00:00"]));
        let wrong = ["", "yesterday", "2026-13-01", "2026-05-31T12:00:00", "2026-02-30", "2026-05", "262142-12-31"];
        wrong.into_iter().for_each(|wrong| check(wrong, None));
    }

    /// `variables` are `NAME=VALUE`, separated by spaces.
    #[track_caller]
    fn check(variables: &str, expected: Result<&str, &str>) {
        let all: Vec<(&str, &str)> = variables.split(' ').filter_map(|one| one.split_once('=')).collect();
        let lookup = |name: &str| all.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        match (detect(&lookup), expected) {
            (Ok(shard), Ok(text)) => assert_eq!(shard.to_string(), text, "{variables}"),
            (Err(advice), Err(words)) => {
                assert!(advice.message.contains(words), "{} has no `{words}`", advice.message);
                assert!(advice.hint.contains("--shard i/n") && advice.hint.contains("SPRAG_SHARD"), "{}", advice.hint);
            }
            (got, _) => panic!("{variables}: {got:?}"),
        }
    }

    #[test]
    fn every_build_system_gives_its_shard() {
        check("SPRAG_SHARD=2/4", Ok("2/4"));
        check("BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=3", Ok("1/3"));
        check("JOB_COMPLETION_INDEX=4 JOB_COMPLETIONS=5", Ok("5/5"));
        check("JOB_COMPLETION_INDEX=4 SPRAG_SHARDS=6", Ok("5/6"));
        check("STRATEGY_JOB_INDEX=1 STRATEGY_JOB_TOTAL=2", Ok("2/2"));
        let slurm = |values: [&str; 5], expected| {
            let names = ["ID", "MIN", "MAX", "STEP", "COUNT"].iter().zip(values);
            let all: Vec<String> = names.map(|(name, value)| format!("SLURM_ARRAY_TASK_{name}={value}")).collect();
            check(&all.join(" "), expected);
        };
        slurm(["0", "0", "63", "1", "64"], Ok("1/64"));
        slurm(["7", "1", "9", "2", "5"], Ok("4/5"));
        slurm(["3", "1", "4", "", ""], Ok("3/4"));
        slurm(["3", "1", "", "", "4"], Ok("3/4"));
        slurm(["3", "1", "7", "1", "3"], Err("the array has 3 tasks and its range 7"));
        slurm(["2", "1", "9", "2", "5"], Err("is not of the array"));
        slurm(["12", "1", "9", "1", "9"], Err("is not of the array"));
        slurm(["0", "1", "9", "1", "9"], Err("is not of the array"));
        slurm(["3", "", "9", "", ""], Err("SLURM_ARRAY_TASK_MIN is not set"));
        slurm(["3", "1", "", "", ""], Err("gives the number of tasks"));
        slurm(["", "1", "9", "1", "9"], Err("SLURM_ARRAY_TASK_ID is not set"));
        slurm(["x", "1", "9", "1", "9"], Err("SLURM_ARRAY_TASK_ID is `x`, which is not a number"));
    }

    #[test]
    fn partial_and_contradictory_shards_are_refused() {
        check("", Err("looked for SPRAG_SHARD, Buildkite (BUILDKITE_PARALLEL_JOB,"));
        check("SPRAG_SHARD= CI=true", Err("no shard was found"));
        check("SPRAG_SHARD=4/2", Err("SPRAG_SHARD: 4/2 is not a shard"));
        check("SPRAG_SHARD=two", Err("SPRAG_SHARD: `two` is not a shard"));
        check("BUILDKITE_PARALLEL_JOB=0", Err("BUILDKITE_PARALLEL_JOB_COUNT is not"));
        check("STRATEGY_JOB_TOTAL=2", Err("STRATEGY_JOB_TOTAL is set, STRATEGY_JOB_INDEX is not"));
        check("JOB_COMPLETION_INDEX=1", Err("JOB_COMPLETIONS or SPRAG_SHARDS is not"));
        check("JOB_COMPLETION_INDEX=5 JOB_COMPLETIONS=5", Err("JOB_COMPLETION_INDEX is 5"));
        check("STRATEGY_JOB_INDEX=-1 STRATEGY_JOB_TOTAL=2", Err("is not a number"));
        check("STRATEGY_JOB_INDEX=0 STRATEGY_JOB_TOTAL=0", Err("STRATEGY_JOB_TOTAL is 0"));
        let github = "STRATEGY_JOB_INDEX=0 STRATEGY_JOB_TOTAL=2 JOB_COMPLETIONS=2 JOB_COMPLETION_INDEX=";
        check(&format!("{github}0"), Ok("1/2"));
        check(&format!("{github}1"), Err("different shards: Kubernetes 2/2, GitHub 1/2"));
        check(&format!("{github}1 SPRAG_SHARD=1/3"), Ok("1/3"));
        let wanted = |option| shard_option(option).map_err(|advice| advice.message);
        assert_eq!(wanted(None), Ok(None));
        assert_eq!(wanted(Some("2/4")).map(|shard| shard.map(|one| one.to_string())), Ok(Some("2/4".to_owned())));
        assert!(wanted(Some("4")).is_err_and(|message| message.contains("`4` is not a shard")));
    }
}
