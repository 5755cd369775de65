//! What a trend shows as data: the script of the site draws it from other sides (logarithms, shares of the first level, a part
//! of it at full detail), and walks over every run, also over those that share a dot and those that no table lists. Of the
//! newest it has what each process measured, and draws how these values lie.

use serde_json::{Value, json};

use super::trend::{Flag, Processes, Trend};
use crate::catalog::short_commit;
use crate::compare::packed;
use crate::compare::rounding::{finely_scaled, rounded};
use crate::text;

/// The steps that medians may be told in: with five digits each the largest is one of the fourth digit, which pages show.
const STEPS: [i64; 4] = [1, 2, 5, 10];

/// The data as JSON for a script of the page. `names_commits` where the places of the runs are not those of commits on the
/// line, by which the script would find their names.
///
/// Places come as the first one and the steps from one to the next; what repeats is written once with its count: `12 1x40 3`.
/// Medians come packed, and so do the values of the processes of the newest runs, `counts` of which belong to each.
pub fn data(trend: &Trend, names_commits: bool) -> String {
    let places = trend.dots.iter().map(|dot| dot.place);
    let medians = Packed::of(trend.dots.iter().map(|dot| dot.value));
    let fit = trend.fit.as_ref();
    let lines: Vec<Value> = fit
        .iter()
        .flat_map(|fit| &fit.lines)
        .map(|line| json!([line.places.0, line.places.1, rounded(line.values.0), rounded(line.values.1)]))
        .collect();
    let turns: Vec<Value> = fit
        .iter()
        .flat_map(|fit| &fit.turns)
        .map(|turn| {
            let values = [rounded(turn.values.0), rounded(turn.values.1)];
            json!([turn.number, turn.tone.class(), turn.places.0, turn.places.1, values[0], values[1], turn.words])
        })
        .collect();
    let mut told = json!({
        "factor": trend.scale.factor,
        "symbol": trend.scale.symbol,
        "places": repeated(steps_of(places)),
        "power": medians.power,
        "least": medians.least,
        "step": medians.step,
        "width": medians.width,
        "medians": medians.text,
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
        let short = |sha: &str| short_commit(sha).to_owned();
        told["commits"] = trend.dots.iter().map(|dot| json!(short(&dot.commit))).collect();
    }
    if let Some(Processes { values: lists, groups, newest, apart }) = &trend.processes {
        let values = Packed::of(lists.iter().flat_map(|values| values.iter().copied()));
        told["processes"] = json!({
            "counts": repeated(lists.iter().map(|values| values.len() as f64)),
            "groups": repeated(steps_of(groups.iter().map(|group| *group as f64))),
            "newest": newest,
            "apart": apart,
            "power": values.power,
            "least": values.least,
            "step": values.step,
            "width": values.width,
            "values": values.text,
        });
    }
    text::script(&told.to_string())
}

/// Values in `width` characters each: the least of them and so many `step`s, times a power of ten.
struct Packed {
    power: i32,
    least: i64,
    step: i64,
    width: usize,
    text: String,
}

impl Packed {
    fn of(values: impl Iterator<Item = f64>) -> Packed {
        let (power, numbers) = finely_scaled(&values.map(rounded).collect::<Vec<f64>>());
        let (least, step, width) = steps_for(&numbers);
        let steps = numbers.iter().map(|number| Some((number - least + step / 2) / step));
        let text = if width == 0 { String::new() } else { packed::text(steps, width) };
        Packed { power, least, step, width, text }
    }
}

/// The least of whole numbers, and steps up from there that two characters can tell, if they need not be so large that pages
/// show them; else steps of one, and how many characters those take. No character where all numbers are the same.
fn steps_for(numbers: &[i64]) -> (i64, i64, usize) {
    let (least, most) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    if least == most {
        return (least, 1, 0);
    }
    let width = |step: i64| packed::width(std::iter::once((most - least + step / 2) / step));
    let step = STEPS.into_iter().find(|step| width(*step) <= 2).unwrap_or(1);
    (least, step, width(step))
}

fn flags(flags: &[Flag]) -> Vec<Value> {
    flags.iter().map(|flag| json!([flag.place, text::visible(&flag.label)])).collect()
}

/// The first place and the steps after it.
fn steps_of(places: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let mut before = 0.0;
    places.map(move |place| {
        let step = place - before;
        before = place;
        step
    })
}

/// Numbers with blanks between, equal ones in a row once with their count.
fn repeated(numbers: impl Iterator<Item = f64>) -> String {
    let mut runs: Vec<(f64, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((last, count)) if last.to_bits() == number.to_bits() => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    let word = |(number, count)| if count == 1 { format!("{number}") } else { format!("{number}x{count}") };
    runs.into_iter().map(word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::trend::{Dot, Fitted, Line, Turn};
    use crate::mark::Tone;
    use sprag_model::unit::Unit;

    fn trend(values: &[f64]) -> Trend {
        let dot = |(place, value): (usize, &f64)| Dot {
            place: place as f64 + if place > 2 { 5.5 } else { 0.0 },
            value: *value,
            interval: None,
            commit: format!("{place}a3f19c2b01d4").into(),
        };
        let turn = Turn {
            number: 1,
            tone: Tone::Worse,
            places: (1.5, 1.5),
            values: (1e-3, 1.1e-3),
            words: "+10.0\u{202f}%".into(),
        };
        Trend {
            id: "trend".into(),
            title: String::new(),
            description: String::new(),
            scale: Unit::Second.scale(1e-3),
            dots: values.iter().enumerate().map(dot).collect(),
            fit: Some(Fitted {
                lines: vec![Line { places: (0.0, 1.5), values: (1e-3, 1e-3) }],
                turns: vec![turn],
                suspects: vec![(0.5, 1.5)],
                newest: String::new(),
            }),
            baseline: Some(1.0 / 3.0),
            limit: None,
            releases: vec![Flag { place: 1.0, label: "</script><!--\u{202e}\n".into() }],
            environments: Vec::new(),
            dates: Vec::new(),
            processes: None,
            newest: String::new(),
            tone: Tone::Plain,
        }
    }

    #[test]
    fn every_run_is_told_in_few_bytes() {
        let told = data(&trend(&[1e-3, 1.01e-3, 1.01e-3, 9e-3]), false);
        let value: Value = serde_json::from_str(&told).expect("it is JSON");
        assert_eq!((&value["places"], &value["power"]), (&json!("0 1x2 6.5"), &json!(-7)));
        assert_eq!((&value["least"], &value["step"], &value["width"]), (&json!(10_000), &json!(10), &json!(2)));
        // 0, 10, 10 and 8000 steps, in digits of ninety.
        assert_eq!(value["medians"], "   , ,}u");
        assert_eq!(value["lines"], json!([[0.0, 1.5, 1e-3, 1e-3]]));
        assert_eq!(value["turns"], json!([[1, "worse", 1.5, 1.5, 1e-3, 1.1e-3, "+10.0\u{202f}%"]]));
        assert_eq!((&value["baseline"], &value["limit"]), (&json!(0.33333), &Value::Null));
        assert!(value.get("commits").is_none());
        let long = data(&trend(&vec![1e-3; 10_000]), false);
        assert!(long.len() < 600, "{} bytes", long.len());
    }

    #[test]
    fn commits_are_named_where_the_line_does_not_tell_them() {
        let value: Value = serde_json::from_str(&data(&trend(&[1.0, 2.0]), true)).expect("it is JSON");
        assert_eq!(value["commits"], json!(["0a3f19c", "1a3f19c"]));
    }

    #[test]
    fn what_each_process_measured_is_told_of_the_newest_runs() {
        let mut trend = trend(&[1.0, 2.0, 3.0]);
        assert!(!data(&trend, false).contains("processes"));
        let values = vec![vec![1.0, 1.5].into(), vec![2.0].into()];
        trend.processes = Some(Processes { values, groups: vec![0, 1], newest: 1, apart: vec![0] });
        let value: Value = serde_json::from_str(&data(&trend, false)).expect("it is JSON");
        let told = &value["processes"];
        assert_eq!((&told["counts"], &told["power"], &told["least"]), (&json!("2 1"), &json!(-4), &json!(10_000)));
        assert_eq!((&told["groups"], &told["newest"], &told["apart"]), (&json!("0 1"), &json!(1), &json!([0])));
        assert_eq!((&told["step"], &told["width"]), (&json!(2), &json!(2)));
        // 0, 2500 and 5000 steps.
        let digits = |number: i64| packed::text(std::iter::once(Some(number)), 2);
        assert_eq!(told["values"], json!(digits(0) + &digits(2500) + &digits(5000)));
    }

    #[test]
    fn labels_of_others_do_nothing() {
        let told = data(&trend(&[]), false);
        assert!(told.contains("\\u003c/script\\u003e\\u003c!--\u{fffd}↵"), "{told}");
        assert!(!told.contains(['<', '>', '&', '\u{202e}']));
    }
}
