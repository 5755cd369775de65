//! What a bisection would do, in which order, and about how long it takes: before it begins, and at each step.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::bisect::report::{named, of_filters};
use crate::bisect::state::{Answer, LEAST, PAIRS, Stage, State};
use crate::builds::Builds;
use crate::config::{Suite, SuiteKind};
use crate::project::Project;
use crate::{cache, text};
use sprag_analysis::bisect::choice::{BisectChoice, Costs};
use sprag_analysis::bisect::cluster::{Cluster, Ruling};
use sprag_analysis::bisect::question::{BisectQuestion, Ends, FEWEST_SESSIONS, Session, judge};
use sprag_base::stats::describe;

/// What is left to know, in bits, where the asked probability is reached: about that of one suspect with 95 %.
const LEFT_BITS: f64 = 0.3;

/// The seconds that a build and a pair of processes take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seconds {
    pub(super) build: Option<f64>,
    pub(super) pair: Option<f64>,
}

impl Seconds {
    /// By what was built and measured here before.
    pub(super) fn before(project: &Project, builds: &Builds<'_>, (name, suite): (&str, &Suite)) -> Seconds {
        let pair = cache::seconds(project).get(name).map(|process| 2.0 * process);
        let is_built = suite.kind != SuiteKind::Command || !suite.build.is_empty();
        Seconds { build: if is_built { builds.usual_seconds() } else { Some(0.0) }, pair }
    }

    /// By what this bisection took, where it has built and measured.
    pub(super) fn updated(self, state: &State) -> Seconds {
        let mean = |seconds: &[f64], before: Option<f64>| describe::mean(seconds).or(before);
        Seconds { build: mean(&state.build_seconds, self.build), pair: mean(&state.pair_seconds, self.pair) }
    }

    /// What a measurement costs; without an estimate of builds, as if they cost nothing.
    pub(super) fn cost(self, pairs: usize, is_built: bool) -> f64 {
        let build = if is_built { 0.0 } else { self.build.unwrap_or(0.0) };
        pairs as f64 * self.pair.unwrap_or(1.0) + build
    }

    /// How long to wait before the records of other jobs are read again: a part of a measurement.
    pub(super) fn pause(self) -> Duration {
        Duration::from_secs_f64((self.cost(PAIRS[0], true) / 4.0).clamp(0.2, 10.0))
    }
}

/// The seconds until all culprits are certain, if each measurement shows as much as the next one.
pub(super) fn seconds_left(clusters: &[Cluster], choice: &BisectChoice, seconds: Seconds, unbuilt: f64) -> f64 {
    let of = |probability: &f64| if *probability > 0.0 { -probability * probability.log2() } else { 0.0 };
    let open = clusters.iter().filter(|cluster| cluster.finding == Ruling::Open);
    let bits: f64 = open.map(|cluster| cluster.posterior.suspects.iter().map(of).sum::<f64>() - LEFT_BITS).sum();
    let measurements = (bits / choice.bits).ceil().max(1.0);
    measurements * (seconds.cost(choice.pairs, true) + unbuilt * seconds.build.unwrap_or(0.0))
}

/// `built` are the places of commits that need no build, and `inputs` identifies the builds of all.
pub(super) fn plan(
    project: &Project,
    state: &State,
    seconds: Seconds,
    built: &BTreeSet<usize>,
    inputs: &[String],
) -> crate::Result<String> {
    let stage = state.stage();
    let last = stage.prior.len();
    // What leaves the inputs of the build as they are has the build of its parent.
    let suspects = inputs.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let sum: f64 = stage.prior.iter().sum();
    let bits: f64 = stage.prior.iter().map(|one| -one / sum * (one / sum).log2()).sum();
    // A tenth of a bit is not a measurement, and nothing lies between the ends of one suspect.
    let measurements = ((bits - 0.1).ceil() as usize + 1).min(suspects.saturating_sub(1));
    let [good, bad] = [0, last].map(|place| named(project, &stage.commits[place]));
    let mut text = format!(
        "good end  {}\nbad end   {}\nsuite     {}{}\n",
        good?,
        bad?,
        text::printable(&state.suite),
        of_filters(state)
    );
    if let Some((first, [like_good, like_bad])) = order(stage, seconds, built) {
        text.push_str(&format!("first     {}\n", named(project, &stage.commits[first])?));
        for (next, end) in [(like_good, "good"), (like_bad, "bad")] {
            if let Some(next) = next {
                let commit = named(project, &stage.commits[next])?;
                text.push_str(&format!("then      {commit} if the first is like the {end} end\n"));
            }
        }
    }
    let then = match text::count(measurements, "commit") {
        _ if measurements == 0 => String::new(),
        commits => format!(", then about {commits}"),
    };
    let ready = built.iter().filter(|place| [0, last].contains(place)).count();
    let ready_inputs: BTreeSet<&String> = built.iter().map(|place| &inputs[*place]).collect();
    let unbuilt = inputs.iter().filter(|input| !ready_inputs.contains(input)).collect::<BTreeSet<_>>().len();
    let builds = (measurements + 2 - ready).min(unbuilt);
    let pairs = (measurements + FEWEST_SESSIONS) * PAIRS[0];
    let [least, .., most] = PAIRS;
    let (how, work) = match state.instructions {
        true => (format!("Each end is counted{then}; the good end twice."), String::new()),
        false => (
            format!(
                "The ends are measured {FEWEST_SESSIONS} times or more{then}, each in {least} to {most} process pairs."
            ),
            format!(" and {pairs} pairs; noise adds to it"),
        ),
    };
    let of_builds = seconds.build.or((builds == 0).then_some(0.0)).map(|build| builds as f64 * build);
    let time = match (of_builds, seconds.pair.filter(|_| !state.instructions)) {
        (Some(build), Some(pair)) => {
            let time = text::duration(build + pairs as f64 * pair);
            format!("It takes about {time}, judging by earlier builds and runs here.")
        }
        (Some(build), None) => format!("The builds take about {}; the rest is not known yet.", text::duration(build)),
        _ => "How long it takes is not known before a commit is built and measured here.".to_owned(),
    };
    let same = match last - suspects {
        0 => String::new(),
        1 => {
            " 1 other commit leaves `build_inputs` as they are, so it has the build of its parent and is not to blame."
                .to_owned()
        }
        same => format!(
            " {same} other commits leave `build_inputs` as they are, so they have the build of their parent and are not to blame."
        ),
    };
    let (suspects, builds) = (text::count(suspects, "suspect"), text::count(builds, "build"));
    text.push_str(&format!("{suspects} between them.{same}\n{how}\nThat is about {builds}{work}.\n{time}\n"));
    Ok(text)
}

/// The first commit, and those after it where it is like the good end and the bad one, if the ends differ clearly.
fn order(stage: &Stage, seconds: Seconds, built: &BTreeSet<usize>) -> Option<(usize, [Option<usize>; 2])> {
    let question = clear()?;
    let next = |stage: &Stage| {
        let search = stage.search(&question);
        let costs = Costs {
            pairs: &PAIRS[..1],
            cost: &|commit, pairs| seconds.cost(pairs, built.contains(&commit)),
            is_built: &|commit| built.contains(&commit),
        };
        search.next(&search.clusters(0.95), &costs, &[]).map(|choice| choice.commit)
    };
    let first = next(stage)?;
    let after = |level: f64| {
        let answers = vec![Answer { commit: first, session: clear_session(level) }];
        next(&Stage { answers, ..stage.clone() }).filter(|next| *next != first)
    };
    Some((first, [after(0.0), after(1.0)]))
}

fn clear() -> Option<BisectQuestion> {
    match judge(&vec![clear_session(1.0); FEWEST_SESSIONS], LEAST) {
        Ends::Differ(question) => Some(*question),
        _ => None,
    }
}

/// A change of twenty times the noise.
fn clear_session(level: f64) -> Session {
    [(String::new(), vec![level - 0.05, level + 0.05, level - 0.05, level + 0.05])].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_halves_what_is_likely() {
        let stage = |prior: &[f64]| Stage {
            commits: (0..=prior.len()).map(|place| place.to_string()).collect(),
            prior: prior.to_vec(),
            ..Stage::default()
        };
        for (prior, built, expected) in [
            (&[1.0; 1][..], &[][..], None),
            (&[1.0; 2], &[], Some((1, [None, None]))),
            (&[1.0; 8], &[], Some((4, [Some(6), Some(2)]))),
            (&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 1.0, 1.0], &[], Some((5, [Some(6), Some(4)]))),
            // A build that is there is cheaper than one that is closer to the middle.
            (&[1.0; 6], &[2], Some((2, [Some(4), Some(1)]))),
        ] {
            let seconds = Seconds { build: Some(60.0), pair: Some(1.0) };
            assert_eq!(
                order(&stage(prior), seconds, &built.iter().copied().collect()),
                expected,
                "{prior:?} {built:?}"
            );
        }
    }
}
