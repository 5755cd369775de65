//! Which part of the suites this job measures, as `--shard` or the build system says.

use crate::Advice;
use sprag_model::shard::{Shard, ShardError};

/// What `--shard` holds where no value was given.
const DETECT: &str = "auto";

/// What a build system says: its shard, nothing, or why it cannot be.
type Detected = Result<Option<Shard>, String>;

/// A variable of the environment by name.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A build system that may give a job its part.
struct System {
    name: &'static str,
    /// What it sets, for people.
    variables: &'static str,
    ask: fn(Variable<'_>) -> Detected,
}

const SYSTEMS: [System; 4] = [
    System { name: "Buildkite", variables: "BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT", ask: buildkite },
    System { name: "Slurm", variables: "SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT", ask: slurm },
    System {
        name: "Kubernetes",
        variables: "JOB_COMPLETION_INDEX with JOB_COMPLETIONS or SPRAG_SHARDS",
        ask: kubernetes,
    },
    System { name: "GitHub", variables: "STRATEGY_JOB_INDEX, STRATEGY_JOB_TOTAL", ask: github },
];

/// The shard that the command line asks for, if any.
pub fn wanted(option: Option<&str>) -> Result<Option<Shard>, Advice> {
    match option {
        None => Ok(None),
        Some(DETECT) => detect(&|name| std::env::var(name).ok()).map(Some),
        Some(text) => Shard::parse(text).map(Some).map_err(|error: ShardError| Advice {
            message: error.to_string(),
            hint: "write `--shard i/n`, the i-th of n jobs, counted from 1".to_owned(),
        }),
    }
}

/// The shard that the environment tells of.
fn detect(environment: Variable<'_>) -> Result<Shard, Advice> {
    let lookup = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let hint = "give it as `--shard i/n` or in SPRAG_SHARD=i/n; on GitHub set STRATEGY_JOB_INDEX to \
                ${{ strategy.job-index }} and STRATEGY_JOB_TOTAL to ${{ strategy.job-total }}";
    let fault = |message: String| Advice { message, hint: hint.to_owned() };
    if let Some(text) = lookup("SPRAG_SHARD") {
        return Shard::parse(&text).map_err(|error| fault(format!("SPRAG_SHARD: {error}")));
    }
    let mut found: Vec<(&str, Shard)> = Vec::new();
    for system in &SYSTEMS {
        let told =
            (system.ask)(&lookup).map_err(|reason| fault(format!("{} tells no shard: {reason}", system.name)))?;
        found.extend(told.map(|shard| (system.name, shard)));
    }
    match &found[..] {
        [] => {
            let list: Vec<String> =
                SYSTEMS.iter().map(|system| format!("{} ({})", system.name, system.variables)).collect();
            Err(fault(format!("no shard was found: looked for SPRAG_SHARD, {}", list.join(", "))))
        }
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => Ok(*first),
        more => {
            let list: Vec<String> = more.iter().map(|(system, shard)| format!("{system} {shard}")).collect();
            Err(fault(format!("the environment tells of different shards: {}", list.join(", "))))
        }
    }
}

fn buildkite(lookup: Variable<'_>) -> Detected {
    counted_from_zero(lookup, "BUILDKITE_PARALLEL_JOB", &["BUILDKITE_PARALLEL_JOB_COUNT"])
}

fn kubernetes(lookup: Variable<'_>) -> Detected {
    counted_from_zero(lookup, "JOB_COMPLETION_INDEX", &["JOB_COMPLETIONS", "SPRAG_SHARDS"])
}

fn github(lookup: Variable<'_>) -> Detected {
    counted_from_zero(lookup, "STRATEGY_JOB_INDEX", &["STRATEGY_JOB_TOTAL"])
}

/// An index from 0 in one variable, the count in the first of others that is set.
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

/// A task of an array `MIN-MAX:STEP`. An array that is a list (`1,3,7`) does not tell a task its place.
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
        (None, None) => return Err("neither SLURM_ARRAY_TASK_COUNT nor SLURM_ARRAY_TASK_MAX tells how many".to_owned()),
    };
    let place = id.checked_sub(low).filter(|span| span % step == 0).map(|span| span / step + 1);
    shard(place, many)
        .map_err(|()| format!("SLURM_ARRAY_TASK_ID {id} is not of the array from {low} by {step}, {many} tasks"))
}

fn number(lookup: Variable<'_>, name: &str) -> Result<Option<u64>, String> {
    lookup(name).map(|text| text.trim().parse().map_err(|_| format!("{name} is `{text}`, no number"))).transpose()
}

fn shard(place: Option<u64>, count: u64) -> Result<Option<Shard>, ()> {
    place.and_then(|place| Shard::new(place, count).ok()).map(Some).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Result<&str, &str>) {
        let lookup =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match (detect(&lookup), expected) {
            (Ok(shard), Ok(text)) => assert_eq!(shard.to_string(), text, "{variables:?}"),
            (Err(advice), Err(words)) => {
                assert!(advice.message.contains(words), "{} has no `{words}`", advice.message);
                assert!(advice.hint.contains("--shard i/n") && advice.hint.contains("SPRAG_SHARD"), "{}", advice.hint);
            }
            (got, _) => panic!("{variables:?}: {got:?}"),
        }
    }

    #[test]
    fn every_build_system_tells_its_shard() {
        check(&[("SPRAG_SHARD", "2/4")], Ok("2/4"));
        check(&[("BUILDKITE_PARALLEL_JOB", "0"), ("BUILDKITE_PARALLEL_JOB_COUNT", "3")], Ok("1/3"));
        check(&[("JOB_COMPLETION_INDEX", "4"), ("JOB_COMPLETIONS", "5")], Ok("5/5"));
        check(&[("JOB_COMPLETION_INDEX", "4"), ("SPRAG_SHARDS", "6")], Ok("5/6"));
        check(&[("STRATEGY_JOB_INDEX", "1"), ("STRATEGY_JOB_TOTAL", "2")], Ok("2/2"));
        let slurm = |id, low, high, step, count, expected| {
            let all = [("ID", id), ("MIN", low), ("MAX", high), ("STEP", step), ("COUNT", count)];
            let names: Vec<String> = all.iter().map(|(name, _)| format!("SLURM_ARRAY_TASK_{name}")).collect();
            let variables: Vec<(&str, &str)> =
                names.iter().zip(all).map(|(name, (_, value))| (name.as_str(), value)).collect();
            check(&variables, expected);
        };
        slurm("0", "0", "63", "1", "64", Ok("1/64"));
        slurm("7", "1", "9", "2", "5", Ok("4/5"));
        slurm("3", "1", "4", "", "", Ok("3/4"));
        slurm("3", "1", "", "", "4", Ok("3/4"));
        slurm("3", "1", "7", "1", "3", Err("the array has 3 tasks and its range 7"));
        slurm("2", "1", "9", "2", "5", Err("is not of the array"));
        slurm("12", "1", "9", "1", "9", Err("is not of the array"));
        slurm("0", "1", "9", "1", "9", Err("is not of the array"));
        slurm("3", "", "9", "", "", Err("SLURM_ARRAY_TASK_MIN is not set"));
        slurm("3", "1", "", "", "", Err("tells how many"));
        slurm("", "1", "9", "1", "9", Err("SLURM_ARRAY_TASK_ID is not set"));
        slurm("x", "1", "9", "1", "9", Err("SLURM_ARRAY_TASK_ID is `x`, no number"));
    }

    #[test]
    fn nothing_half_and_contradictory_are_refused() {
        check(&[], Err("looked for SPRAG_SHARD, Buildkite (BUILDKITE_PARALLEL_JOB,"));
        check(&[("SPRAG_SHARD", " "), ("CI", "true")], Err("no shard was found"));
        check(&[("SPRAG_SHARD", "4/2")], Err("SPRAG_SHARD: 4/2 is no shard"));
        check(&[("SPRAG_SHARD", "two")], Err("SPRAG_SHARD: `two` is no shard"));
        check(&[("BUILDKITE_PARALLEL_JOB", "0")], Err("BUILDKITE_PARALLEL_JOB_COUNT is not"));
        check(&[("STRATEGY_JOB_TOTAL", "2")], Err("STRATEGY_JOB_TOTAL is set, STRATEGY_JOB_INDEX is not"));
        check(&[("JOB_COMPLETION_INDEX", "1")], Err("JOB_COMPLETIONS or SPRAG_SHARDS is not"));
        check(&[("JOB_COMPLETION_INDEX", "5"), ("JOB_COMPLETIONS", "5")], Err("JOB_COMPLETION_INDEX is 5"));
        check(&[("STRATEGY_JOB_INDEX", "-1"), ("STRATEGY_JOB_TOTAL", "2")], Err("no number"));
        check(&[("STRATEGY_JOB_INDEX", "0"), ("STRATEGY_JOB_TOTAL", "0")], Err("STRATEGY_JOB_TOTAL is 0"));
        let both = [
            ("STRATEGY_JOB_INDEX", "0"),
            ("STRATEGY_JOB_TOTAL", "2"),
            ("JOB_COMPLETION_INDEX", "0"),
            ("JOB_COMPLETIONS", "2"),
        ];
        check(&both, Ok("1/2"));
        let mut differ = both;
        differ[2].1 = "1";
        check(&differ, Err("different shards: Kubernetes 2/2, GitHub 1/2"));
        check(&[&differ[..], &[("SPRAG_SHARD", "1/3")]].concat(), Ok("1/3"));
    }

    #[test]
    fn the_command_line_goes_first() {
        let wanted = |option| wanted(option).map_err(|advice| advice.message);
        assert_eq!(wanted(None), Ok(None));
        assert_eq!(wanted(Some("2/4")).map(|shard| shard.map(|one| one.to_string())), Ok(Some("2/4".to_owned())));
        assert!(wanted(Some("4")).is_err_and(|message| message.contains("`4` is no shard")));
    }
}
