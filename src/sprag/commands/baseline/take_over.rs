//! What accepting a baseline makes of the one in use: all of it anew, or some metrics taken over and the others as they
//! are.

use crate::commands::Advice;
use sprag_analysis::compare::describe_differences;
use sprag_model::baseline::Baseline;

/// How many metrics an error names.
const MOST_NAMED: usize = 5;

/// What the user said about a proposal.
pub(super) struct Terms<'a> {
    /// Only metrics whose key contains one of these texts; all where empty.
    pub(super) metrics: &'a [String],
    /// That it has some benchmarks only.
    pub(super) partial: bool,
    /// That no commit holds what was measured.
    pub(super) dirty: bool,
}

/// A baseline to put in place of the one in use.
#[derive(Debug, PartialEq)]
pub(super) struct TakenOver {
    pub(super) baseline: Baseline,
    /// The keys that were taken over, where the others stay.
    pub(super) keys: Option<Vec<String>>,
}

/// What comes of a proposal, `shown` to the user so; `path` is where the one in use lies, if there is one.
///
/// # Errors
/// Where the proposal is not what the terms say, or does not fit the one in use.
pub(super) fn take_over(
    proposal: &Baseline,
    shown: &str,
    present: Option<&Baseline>,
    path: &str,
    terms: &Terms<'_>,
) -> Result<TakenOver, Advice> {
    if proposal.dirty && !terms.dirty {
        return Err(Advice {
            message: format!("{shown} measured files that no commit holds, so nobody can measure it again"),
            hint: "commit and measure again, or take it as it is with `--dirty`".to_owned(),
        });
    }
    if proposal.partial && terms.metrics.is_empty() && !terms.partial {
        return Err(Advice {
            message: format!("{shown} has some benchmarks only: others were not asked for, or failed"),
            hint: "measure the whole suite, or take over what it has with `--partial`".to_owned(),
        });
    }
    let keys = wanted(proposal, shown, terms)?;
    let Some(present) = present else {
        if !terms.metrics.is_empty() {
            return Err(Advice {
                message: format!("there is no `{path}` whose other metrics could stay as they are"),
                hint: "leave out `--metric`".to_owned(),
            });
        }
        return Ok(TakenOver { baseline: proposal.clone(), keys: None });
    };
    refuse_redefined(proposal, shown, present, path, keys.as_deref())?;
    let Some(keys) = keys else { return Ok(TakenOver { baseline: proposal.clone(), keys: None }) };
    let differences = present.environment.differences(&proposal.environment);
    if !differences.is_empty() {
        return Err(Advice {
            message: format!(
                "`{path}` and {shown} are of two environments ({}), and a baseline is of one",
                describe_differences(&differences)
            ),
            hint: "take all of it: leave out `--metric` and `--partial`".to_owned(),
        });
    }
    let mut metrics = present.metrics.clone();
    metrics.extend(keys.iter().map(|key| (key.clone(), proposal.metrics[key].clone())));
    let baseline = Baseline {
        dirty: proposal.dirty || present.dirty,
        partial: proposal.partial && present.partial,
        metrics,
        ..proposal.clone()
    };
    Ok(TakenOver { baseline, keys: Some(keys) })
}

/// The keys to take over; nothing where it is all of them and no other stays.
fn wanted(proposal: &Baseline, shown: &str, terms: &Terms<'_>) -> Result<Option<Vec<String>>, Advice> {
    if terms.metrics.is_empty() {
        return Ok(terms.partial.then(|| proposal.metrics.keys().cloned().collect()));
    }
    let has = |text: &str| proposal.metrics.keys().any(|key| key.contains(text));
    if let Some(text) = terms.metrics.iter().find(|text| !has(text)) {
        let example = proposal.metrics.keys().next().map_or("", String::as_str);
        return Err(Advice {
            message: format!("no metric of {shown} contains `{}`", text.escape_debug()),
            hint: format!("the key of a metric is like `{example}`"),
        });
    }
    let is_wanted = |key: &&String| terms.metrics.iter().any(|text| key.contains(text.as_str()));
    Ok(Some(proposal.metrics.keys().filter(is_wanted).cloned().collect()))
}

/// Fails where a metric that is taken over is in the one in use of another unit or direction.
fn refuse_redefined(
    proposal: &Baseline,
    shown: &str,
    present: &Baseline,
    path: &str,
    keys: Option<&[String]>,
) -> Result<(), Advice> {
    let is_taken = |key: &String| keys.is_none_or(|keys| keys.contains(key));
    let is_other = |key: &&String| {
        let (Some(before), Some(after)) = (present.metrics.get(*key), proposal.metrics.get(*key)) else { return false };
        is_taken(key) && (before.unit, before.better) != (after.unit, after.better)
    };
    let redefined: Vec<&str> = proposal.metrics.keys().filter(is_other).map(String::as_str).collect();
    if redefined.is_empty() {
        return Ok(());
    }
    let more = redefined.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = redefined[..redefined.len().min(MOST_NAMED)].join("`, `");
    Err(Advice {
        message: format!("`{path}` has `{named}`{more} in another unit or direction than {shown}"),
        hint: "that is another metric: give it another name, or move the file away and take a new baseline".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::environment::Environment;
    use sprag_model::metric::Better;

    const FROZEN: &str = include_str!("../../../../fixtures/records/baseline-2.json");

    /// The frozen baseline with every value times `factor`.
    fn baseline(factor: f64) -> Baseline {
        let mut baseline = Baseline::from_json(FROZEN.as_bytes()).expect("it is frozen");
        baseline.metrics.values_mut().for_each(|metric| metric.value *= factor);
        baseline
    }

    fn terms(metrics: &[String]) -> Terms<'_> {
        Terms { metrics, partial: false, dirty: false }
    }

    fn refused(proposal: &Baseline, present: Option<&Baseline>, terms: &Terms<'_>, words: &str) {
        let error = take_over(proposal, "the run", present, "baselines/x.json", terms).expect_err("it is refused");
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.hint.is_empty());
    }

    #[test]
    fn all_is_taken_over_or_what_is_named() {
        let (old, new) = (baseline(1.0), baseline(2.0));
        let all = take_over(&new, "the run", Some(&old), "x", &terms(&[])).expect("it fits");
        assert_eq!((all.baseline, all.keys), (new.clone(), None));
        let text = ["@reference".to_owned()];
        let some = take_over(&new, "the run", Some(&old), "x", &terms(&text)).expect("it fits");
        let keys = some.keys.expect("some are taken over");
        assert!(!keys.is_empty() && keys.len() < old.metrics.len(), "{keys:?}");
        for (key, metric) in &some.baseline.metrics {
            let expected = if keys.contains(key) { &new } else { &old };
            assert_eq!(metric, &expected.metrics[key]);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (old, new) = (baseline(1.0), baseline(2.0));
        let none: [String; 0] = [];
        let dirty = Baseline { dirty: true, ..new.clone() };
        refused(&dirty, Some(&old), &terms(&none), "no commit holds");
        let partial = Baseline { partial: true, ..new.clone() };
        refused(&partial, Some(&old), &terms(&none), "some benchmarks only");
        let texts = ["@reference".to_owned(), "absent".to_owned()];
        refused(&new, Some(&old), &terms(&texts), "no metric of the run contains `absent`");
        refused(&new, None, &terms(&texts[..1]), "there is no `baselines/x.json`");
        let mut turned = new.clone();
        turned.metrics.values_mut().for_each(|metric| metric.better = Better::Higher);
        refused(&turned, Some(&old), &terms(&none), "in another unit or direction than the run");
        let mut moved = new.clone();
        moved.environment = Environment::from_facts([("compiler".to_owned(), "rustc 9".to_owned())].into());
        refused(&moved, Some(&old), &terms(&texts[..1]), "two environments (");
        assert!(take_over(&moved, "the run", Some(&old), "x", &terms(&none)).is_ok());
        assert!(take_over(&dirty, "the run", Some(&old), "x", &Terms { dirty: true, ..terms(&none) }).is_ok());
    }

    #[test]
    fn a_partial_one_leaves_what_it_lacks() {
        let old = baseline(1.0);
        let mut new = Baseline { partial: true, ..baseline(2.0) };
        let lost = new.metrics.pop_first().expect("there is one").0;
        let terms = Terms { metrics: &[], partial: true, dirty: false };
        let found = take_over(&new, "the run", Some(&old), "x", &terms).expect("it fits");
        assert_eq!(found.baseline.metrics[&lost], old.metrics[&lost]);
        assert_eq!((found.baseline.metrics.len(), found.baseline.partial), (old.metrics.len(), false));
    }
}
