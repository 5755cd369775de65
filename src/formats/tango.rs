//! The files that tango leaves of a comparison of two builds: `<bench>.csv`, without a head, one line a sample.
//!
//! A line holds the nanoseconds that the baseline and the candidate took together for so many calls each, and the number
//! of calls; `/` in the name of a bench is `-` in that of its file. A bench becomes two benchmarks, `<bench>@baseline`
//! and `<bench>@candidate`; the latter keeps the median of the ratios of simultaneous samples, which says more than the
//! two medians do, since both sides of a sample were disturbed alike. Of tango 0.4 to 0.9.

use serde_json::json;

use super::{FormatError, outputs};
use crate::Format;
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "tango",
    title: "the samples that tango leaves of a comparison",
    recognises,
    read,
    files: &[".csv"],
};

/// Whether there is a file of tango: three numbers a line and nothing else at its start.
fn recognises(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| {
        let start = outputs::start(output);
        let mut lines = start.lines().take(4).peekable();
        is_read(output) && lines.peek().is_some() && lines.next().is_some_and(|line| three_numbers(line).is_some())
    })
}

fn is_read(output: &Output) -> bool {
    output.name.to_ascii_lowercase().ends_with(".csv")
}

/// Reads a file; of several those that are called `.csv`.
fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let used: Vec<&Output> = outputs.iter().filter(|output| outputs.len() == 1 || is_read(output)).collect();
    let mut entries = Vec::with_capacity(2 * used.len());
    for output in &used {
        entries.extend(bench(output)?);
    }
    let entries = outputs::counted("the folder of tango", entries)?;
    outputs::imported("tango", vec![outputs::run(entries, &used)], Vec::new())
}

fn bench(output: &Output) -> Result<[Entry; 2], FormatError> {
    let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
    for (number, line) in outputs::lines(output)?.filter(|(_, line)| !line.trim().is_empty()) {
        let Some([one, other, calls]) = three_numbers(line) else {
            let reason = format!("has no three numbers in line {number}: two times in nanoseconds, and calls");
            return Err(outputs::schema(output, reason));
        };
        baseline.push(one / calls / 1e9);
        candidate.push(other / calls / 1e9);
    }
    let ratios: Vec<f64> = baseline.iter().zip(&candidate).map(|(one, other)| other / one).collect();
    let length = output.name.len().saturating_sub(if is_read(output) { ".csv".len() } else { 0 });
    let name = output.name.get(..length).unwrap_or(&output.name);
    let mut sides = [("baseline", baseline), ("candidate", candidate)].map(|(side, samples)| {
        let found = outputs::sampled(Metric::time(), "ns", side, samples).map(|time| vec![time]);
        let entry = outputs::entry(&format!("{name}@{side}"), found);
        Entry { name: name.to_owned(), variant: Some(side.to_owned()), ..entry }
    });
    if let (Some(ratio), [baseline, candidate]) = (describe::median(&ratios), &mut sides)
        && !baseline.observations.is_empty()
        && !candidate.observations.is_empty()
    {
        candidate.extras.insert("median_paired_ratio".to_owned(), json!(ratio));
    }
    Ok(sides)
}

fn three_numbers(line: &str) -> Option<[f64; 3]> {
    let numbers: Option<Vec<f64>> = line.split(',').map(|cell| cell.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    fn output(name: &str, text: &str) -> Output {
        Output { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_golden_folder_gives_the_expected_rows() {
        let run = read(&golden::samples("tango")).expect("it is fine").runs.remove(0);
        let told: Vec<_> = run.entries.iter().map(|one| (one.name.as_str(), one.variant.as_deref())).collect();
        assert_eq!(told[..2], [("tile_pack-k32", Some("baseline")), ("tile_pack-k32", Some("candidate"))]);
        assert_eq!(told.len(), 4, "what tango prints is passed over");
    }

    #[test]
    fn an_impossible_sample_fails_its_side_alone() {
        let check = |line: &str, side: usize, words: &str| {
            let run = read(&[output("a.csv", &format!("10,20,2\n{line}\n"))]).expect("it is read").runs.remove(0);
            let EntryStatus::Failed(reason) = &run.entries[side].status else { panic!("it has failed") };
            assert!(reason.contains(words), "{reason}");
            assert!(run.entries[1].extras.is_empty());
        };
        check("0,20,2", 0, "sample 2 of its `baseline` is 0 s");
        check("10,-1,2", 1, "sample 2 of its `candidate` is -");
        check("10,20,0", 0, "sample 2 of its `baseline` is inf");
        check("10,NaN,2", 1, "sample 2 of its `candidate` is NaN");
        check("1e-40,1,2", 0, "too little");
    }

    #[test]
    fn what_is_no_file_of_tango_is_refused() {
        let check = |text: &str, words: &str| golden::refused(read(&[output("a.csv", text)]), "a.csv", words);
        check("", "is empty");
        check("1,2,3\n\n1,2\n", "no three numbers in line 3");
        check("1,2,3,4", "in line 1");
        check("base,cand,n\n1,2,3", "in line 1");
        assert!(matches!(read(&[]), Err(FormatError::Nothing(_))));
    }
}
