//! What a fit says, in each of its shapes.

use super::example::{change, commit, drift, event, series};
use super::turn::Fit;
use crate::mark::Tone;
use crate::number::NARROW;
use sprag_model::environment::FactChange;
use sprag_model::event::{Event, EventKind};
use sprag_model::metric::Metric;
use sprag_model::trend::{NotJudged, SeriesTrend};

#[track_caller]
fn said(series: &SeriesTrend, expected: &str) {
    said_with(series, &[], expected);
}

#[track_caller]
fn said_with(series: &SeriesTrend, events: &[Event], expected: &str) {
    let parts: Vec<_> = events.iter().map(|event| (event, &event.members[0])).collect();
    let sentence = Fit::new(series, &parts).sentence().replace(NARROW, " ").replace('\u{2212}', "-");
    assert_eq!(sentence, expected);
}

#[test]
fn a_fit_speaks_of_its_levels_and_changes() {
    said(&series(1.2e-3, 40, vec![], vec![]), "Flat at 1.200 ms since 0000000 (40 points).");
    let mut one = series(1.2e-3, 40, vec![change(28, 1.2e-3, 1.2972e-3)], vec![]);
    said(&one, "Flat at 1.200 ms, +8.1 % at 000001c, flat at 1.297 ms since (12 points).");
    one.changes.points[0].first = 27;
    one.changes.points[0].last = 29;
    said(&one, "Flat at 1.200 ms, +8.1 % between 000001b and 000001d, flat at 1.297 ms since (12 points).");
    one.changes.points[0] = change(28, 1.2e-3, 1.2972e-3);
    one.levels[1].first.tags = vec!["v0.4.0".to_owned()];
    said(&one, "Flat at 1.200 ms, +8.1 % at v0.4.0, flat at 1.297 ms since (12 points).");
    let many = vec![change(10, 1.0, 1.1), change(20, 1.1, 1.0), change(30, 1.0, 1.2), change(39, 1.2, 1.1)];
    said(
        &series(1.0, 40, many, vec![]),
        "After 2 earlier changes, flat at 1.000 s, +20.0 % at 000001e, flat at 1.200 s, -8.3 % at 0000027, flat at \
         1.100 s since (1 point).",
    );
}

#[test]
fn a_fit_speaks_of_its_drifts() {
    let begun = series(1.0, 40, vec![], vec![drift(12, 30, 1.0, 1.05)]);
    said(&begun, "Flat at 1.000 s, a drift of +5.0 % from 000000c to 000001d, flat at 1.050 s since (10 points).");
    let on = series(1.0, 40, vec![], vec![drift(12, 40, 1.0, 1.05)]);
    said(&on, "Flat at 1.000 s, drifting since 000000c: +5.0 % so far, to 1.050 s.");
    // Below zero it has the sign of its way.
    let below = series(-1.0, 40, vec![], vec![drift(12, 30, -1.0, -1.05)]);
    said(&below, "Flat at -1.000 s, a drift of -5.0 % from 000000c to 000001d, flat at -1.050 s since (10 points).");
    let always = series(1.0, 40, vec![], vec![drift(0, 40, 1.0, 0.95)]);
    said(&always, "Drifting since 0000000: -5.0 % so far, to 950.0 ms.");
    let back = series(1.0, 40, vec![change(30, 1.05, 1.0)], vec![drift(12, 30, 1.0, 1.05)]);
    said(
        &back,
        "Flat at 1.000 s, a drift of +5.0 % from 000000c to 000001d, -4.8 % at 000001e, flat at 1.000 s since \
         (10 points).",
    );
}

#[test]
fn a_fit_speaks_of_the_environment() {
    let one = series(1.2e-3, 40, vec![change(28, 1.2e-3, 1.176e-3)], vec![]);
    let mut moved = event(EventKind::Environment, 28);
    said_with(
        &one,
        std::slice::from_ref(&moved),
        "Flat at 1.200 ms, -2.0 % at 000001c with the machine, flat at 1.176 ms since (12 points).",
    );
    let fact = |fact: &str| FactChange { fact: fact.to_owned(), was: "1.90".to_owned(), is: "1.91".to_owned() };
    moved.facts = vec![fact("c_compiler")];
    said_with(
        &one,
        std::slice::from_ref(&moved),
        "Flat at 1.200 ms, -2.0 % at 000001c with c compiler 1.90 → 1.91, flat at 1.176 ms since (12 points).",
    );
    moved.facts.push(fact("libc"));
    said_with(
        &one,
        &[moved],
        "Flat at 1.200 ms, -2.0 % at 000001c with 2 facts of the environment, flat at 1.176 ms since (12 points).",
    );
    let mut lately = series(1.2e-3, 40, vec![], vec![]);
    lately.not_judged = vec![NotJudged::EnvironmentChanged { points: 2, needed: 5 }];
    said(
        &lately,
        "Flat at 1.200 ms since 0000000 (40 points). The environment changed since: 2 points in the new one, 5 are \
         needed.",
    );
}

#[test]
fn a_series_without_a_fit_says_what_it_has() {
    let mut short = series(0.0, 3, vec![], vec![]);
    said(&short, "3 points between 1.200 and 1.202 ms, the newest 1.202 ms: too few to fit a level.");
    short.not_judged = vec![NotJudged::TooShort { points: 3, needed: 8 }];
    said(&short, "3 points between 1.200 and 1.202 ms, the newest 1.202 ms: 8 are needed to fit a level.");
    let mut one = series(0.0, 1, vec![], vec![]);
    one.not_judged = vec![NotJudged::TooShort { points: 1, needed: 8 }];
    said(&one, "1.200 ms at 0000000, its only point: 8 are needed to fit a level.");
    let mut none = series(0.0, 0, vec![], vec![]);
    said(&none, "Nothing is fitted: no run is of a commit that is known.");
    (none.dirty, none.elsewhere) = (1, 2);
    said(
        &none,
        "Nothing is fitted, for these are left out: 1 run of a tree with changes of its own and 2 runs of commits that are \
         not on the line.",
    );
}

#[test]
fn a_series_without_noise_is_exact() {
    let mut exact = series(640.0, 40, vec![change(28, 640.0, 656.0)], vec![]);
    exact.exact = true;
    exact.metric = Metric::peak_memory();
    said(&exact, "Exactly 640.0 B, +2.5 % at 000001c, exactly 656.0 B since (12 points).");
    exact.changes.points.clear();
    exact.changes.levels.truncate(1);
    said(&exact, "Exactly 640.0 B since 0000000 (40 points).");
    let mut grown = series(0.0, 40, vec![change(28, 0.0, 12.0)], vec![]);
    grown.exact = true;
    grown.metric = Metric::peak_memory();
    said(&grown, "Exactly 0 B, a change from 0 to 12.00 B at 000001c, exactly 12.00 B since (12 points).");
}

#[test]
fn a_turn_has_the_event_of_its_kind_and_commit() {
    let one = series(1.0, 40, vec![change(20, 1.05, 1.2)], vec![drift(5, 20, 1.0, 1.05)]);
    let (step, ramp) = (event(EventKind::Change, 20), event(EventKind::Drift, 20));
    let parts = [(&step, &step.members[0]), (&ramp, &ramp.members[0])];
    let fit = Fit::new(&one, &parts);
    let kinds: Vec<_> = fit.turns.iter().map(|turn| turn.part.map(|(event, _)| event.kind)).collect();
    assert_eq!(kinds, [Some(EventKind::Drift), Some(EventKind::Change)]);
    let tones: Vec<(Tone, &str)> = fit.turns.iter().map(|turn| (turn.tone(&one.metric), turn.glyph())).collect();
    assert_eq!(tones, [(Tone::Doubt, "↗"), (Tone::Worse, "▲")]);
    let elsewhere = event(EventKind::Change, 21);
    assert!(Fit::new(&one, &[(&elsewhere, &elsewhere.members[0])]).turns[1].part.is_none());
    assert_eq!(fit.commit(20), &commit(20).sha[..7]);
}

#[test]
fn the_line_is_made_of_levels_and_ramps() {
    let one = series(1.0, 40, vec![change(20, 1.05, 1.2)], vec![drift(5, 15, 1.0, 1.05)]);
    let fit = Fit::new(&one, &[]);
    let pieces: Vec<_> = fit.pieces().into_iter().map(|p| (p.points, p.from, p.to, p.is_step)).collect();
    assert_eq!(
        pieces,
        [(0..5, 1.0, 1.0, false), (5..15, 1.0, 1.05, false), (15..20, 1.05, 1.05, false), (20..40, 1.2, 1.2, true)]
    );
    assert_eq!(fit.flats(), [0..5, 15..20, 20..40]);
    assert!(Fit::new(&series(1.0, 5, vec![], vec![]), &[]).pieces().is_empty());
}
