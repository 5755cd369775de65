//! What a trend shows as data for the script of the site, which draws it in other ways, walks over every run, and draws the
//! distribution of what the processes of the newest runs measured.

use serde_json::{Value, json};

use super::trend::{Flag, Line, PlotTurn, Processes, TrendPlot};
use crate::compare::rounding::{packed_line, packed_values, rounded};
use crate::text::{self, short_commit};

/// The data as JSON. `names_commits` where places of runs are not those of the line, by which the script finds names.
pub fn data(trend: &TrendPlot, names_commits: bool) -> String {
    text::script(&value(trend, names_commits).to_string())
}

pub(crate) fn value(trend: &TrendPlot, names_commits: bool) -> Value {
    let medians: Vec<Option<f64>> = trend.dots.iter().map(|dot| Some(dot.value)).collect();
    let fit = trend.fit.as_ref();
    let line = |Line { places, values, modes }: &Line| {
        let modes = modes.iter().flat_map(|(low, high)| [*low, *high]);
        let values = [values.0, values.1].into_iter().chain(modes).map(rounded);
        [places.0, places.1].into_iter().chain(values).map(|number| json!(number)).collect()
    };
    let turn = |PlotTurn { number, tone, places, values, words }: &PlotTurn| {
        json!([number, tone.class(), places.0, places.1, rounded(values.0), rounded(values.1), words])
    };
    let lines: Vec<Value> = fit.iter().flat_map(|fit| &fit.lines).map(line).collect();
    let turns: Vec<Value> = fit.iter().flat_map(|fit| &fit.turns).map(turn).collect();
    let mut result = json!({
        "factor": trend.scale.factor,
        "symbol": trend.scale.symbol,
        "places": places(trend),
        "medians": packed_line(&medians),
        "lines": lines,
        "turns": turns,
        "suspects": fit.map_or(&[][..], |fit| &fit.suspects),
        "releases": flags(&trend.releases),
        "environments": flags(&trend.environments),
        "dates": flags(&trend.dates),
        "baseline": trend.baseline.map(rounded),
        "limit": trend.limit.map(rounded),
    });
    if names_commits {
        result["commits"] = trend.dots.iter().map(|dot| json!(short_commit(&dot.commit))).collect();
    }
    if let Some(Processes { values: lists, groups, newest, apart }) = &trend.processes {
        // Those of a run end with none.
        let values = lists.iter().flat_map(|values| values.iter().copied().map(Some).chain([None]));
        let values = packed_values(&values.collect::<Vec<Option<f64>>>());
        result["processes"] = json!({ "values": values, "groups": groups, "newest": newest, "apart": apart });
    }
    result
}

/// Places that follow each other by one as first and last; three or more at another distance with it; others alone.
fn places(trend: &TrendPlot) -> Vec<Value> {
    let places: Vec<f64> = trend.dots.iter().map(|dot| dot.place).collect();
    let mut rest = &places[..];
    let mut result = Vec::new();
    while let [first, others @ ..] = rest {
        let step = others.first().map_or(0.0, |second| second - first);
        let is_next = |pair: &&[f64]| pair[1] == pair[0] + step;
        let is_integer = first.fract() == 0.0 && step.fract() == 0.0 && step > 0.0;
        let more = if is_integer { rest.windows(2).take_while(is_next).count() } else { 0 };
        let (last, count) = if more > 1 || step == 1.0 { (rest[more], more + 1) } else { (*first, 1) };
        result.push(match count {
            1 => json!(first),
            _ if step == 1.0 => json!([first, last]),
            _ => json!([first, last, step]),
        });
        rest = &rest[count..];
    }
    result
}

fn flags(flags: &[Flag]) -> Vec<Value> {
    flags.iter().map(|flag| json!([flag.place, text::visible(&flag.label)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::trend::{Fitted, example};
    use crate::mark::Tone;

    fn trend(values: &[f64]) -> TrendPlot {
        let (places, values_of_turn, words) = ((1.5, 1.5), (1e-3, 1.1e-3), "+10.0\u{202f}%".to_owned());
        let turn = PlotTurn { number: 1, tone: Tone::Worse, places, values: values_of_turn, words };
        let fit = Fitted {
            lines: vec![Line { places: (0.0, 1.5), values: (1e-3, 1e-3), modes: None }],
            turns: vec![turn],
            suspects: vec![(0.5, 1.5)],
            newest: String::new(),
        };
        TrendPlot {
            fit: Some(fit),
            baseline: Some(1.0 / 3.0),
            releases: vec![Flag { place: 1.0, label: "</script><!--\u{202e}\n".into() }],
            ..example(values)
        }
    }

    #[test]
    fn every_run_is_in_the_data() {
        let result = data(&trend(&[1e-3, 1.01e-3, 1.01e-3, 9e-3]), false);
        let value: Value = serde_json::from_str(&result).expect("it is JSON");
        assert_eq!(value["places"], json!([[0.0, 3.0]]));
        assert_eq!(value["medians"], json!([-6, "k/BVAAszP"]));
        assert_eq!(value["lines"], json!([[0.0, 1.5, 1e-3, 1e-3]]));
        assert_eq!(value["turns"], json!([[1, "worse", 1.5, 1.5, 1e-3, 1.1e-3, "+10.0\u{202f}%"]]));
        assert_eq!((&value["baseline"], &value["limit"]), (&json!(0.33333), &Value::Null));
        assert!(value.get("commits").is_none());
    }

    #[test]
    fn places_in_turn_are_a_range() {
        let mut trend = trend(&[1e-3; 7]);
        for (dot, place) in trend.dots.iter_mut().zip([0.0, 1.0, 1.0, 2.0, 4.0, 4.5, 5.5]) {
            dot.place = place;
        }
        assert_eq!(places(&trend), [json!([0.0, 1.0]), json!([1.0, 2.0]), json!(4.0), json!(4.5), json!(5.5)]);
        for (dot, place) in trend.dots.iter_mut().zip([0.0, 5.0, 10.0, 15.0, 16.0, 17.0, 19.0]) {
            dot.place = place;
        }
        assert_eq!(places(&trend), [json!([0.0, 15.0, 5.0]), json!([16.0, 17.0]), json!(19.0)]);
    }

    #[test]
    fn commits_and_processes_are_there_where_they_are_asked_for() {
        let mut trend = trend(&[1.0, 2.0, 3.0]);
        assert!(!data(&trend, false).contains("processes"));
        let values = vec![vec![1.0, 1.5].into(), vec![2.0].into()];
        trend.processes = Some(Processes { values, groups: vec![0, 1], newest: 1, apart: vec![0] });
        let value: Value = serde_json::from_str(&data(&trend, true)).expect("it is JSON");
        assert_eq!(value["commits"], json!(["a3f19c2", "a3f19c2", "a3f19c2"]));
        let expected = json!({ "values": [-4, "wpdx4JA-w4J-"], "groups": [0, 1], "newest": 1, "apart": [0] });
        assert_eq!(value["processes"], expected);
        let result = data(&self::trend(&[]), false);
        assert!(result.contains("\\u003c/script\\u003e\\u003c!--\u{fffd}↵"), "{result}");
        assert!(!result.contains(['<', '>', '&', '\u{202e}']));
    }
}
