//! The formats that can be imported: how each is recognised, and what reads it.

use super::Format;
use super::compat::{apex_x, trueno, tt_metal};
use super::github_action;
use super::{
    asv, bencher, benchmark_tools, callgrind, catch2, criterion, divan, go, google_benchmark, gungraun, hyperfine, jmh,
    libtest, long_csv, nvbench, pyperf, pytest_benchmark, tango, trtexec,
};
use sprag_model::foreign::Output;

/// The formats, the more particular ones first.
pub const FORMATS: &[Format] = &[
    google_benchmark::FORMAT,
    hyperfine::FORMAT,
    nvbench::FORMAT,
    pyperf::FORMAT,
    pytest_benchmark::FORMAT,
    criterion::folder::FORMAT,
    criterion::text::FORMAT,
    trueno::import::FORMAT,
    apex_x::import::FORMAT,
    divan::FORMAT,
    tango::FORMAT,
    go::FORMAT,
    libtest::FORMAT,
    jmh::FORMAT,
    catch2::FORMAT,
    benchmark_tools::FORMAT,
    gungraun::FORMAT,
    callgrind::FORMAT,
    trtexec::FORMAT,
    tt_metal::import::FORMAT,
    asv::FORMAT,
    github_action::HISTORY,
    bencher::FORMAT,
    github_action::SMALLER_LIST,
    github_action::BIGGER_LIST,
    long_csv::FORMAT,
];

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The formats that recognise the outputs: one in the good case.
pub fn recognise(outputs: &[Output]) -> Vec<&'static Format> {
    FORMATS.iter().filter(|format| format.recognises(outputs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values_csv::COLUMNS;
    use crate::{LONGEST_PREFIX, MOST_BENCHMARKS, MOST_RUNS, golden, outputs};

    #[test]
    fn each_format_has_its_own_name() {
        for (place, format) in FORMATS.iter().enumerate() {
            let first = FORMATS.iter().position(|other| other.name == format.name);
            assert_eq!(first, Some(place), "{}", format.name);
            assert!(named(format.name).is_some_and(|result| result.title == format.title));
        }
        assert!(named("no-such-format").is_none());
    }

    #[test]
    fn cases_read_as_they_say() {
        for format in FORMATS {
            golden::check_cases(format.name, |outputs| {
                let names: Vec<&str> = recognise(outputs).iter().map(|one| one.name).collect();
                let is_own = names == [format.name];
                let head = if is_own { String::new() } else { format!("(recognised as {names:?})\n") };
                Ok(head
                    + &format.read(outputs).map_or_else(|error| format!("error: {error}"), |read| golden::shown(&read)))
            });
            assert!(format.read(&[]).is_err(), "{}", format.name);
        }
    }

    /// Every sample, each file and each folder, is recognised by its format or by none. The format then reads it with pieces
    /// flipped, cut out and put in.
    #[test]
    fn each_sample_is_recognised_by_its_format_alone_and_damage_is_no_panic() {
        let mut summaries = Vec::new();
        let mut check = |outputs: &[Output], place: String| match recognise(outputs)[..] {
            [] => {}
            [format] => {
                let is_own = match format.name {
                    "criterion-text" => place == "criterion/console.txt",
                    "custom-smaller-is-better" => place == "custom-metric/customSmallerIsBetter.json",
                    "custom-bigger-is-better" => place == "custom-metric/customBiggerIsBetter.json",
                    name => place.starts_with(name),
                };
                assert!(is_own, "{place} is recognised as {}", format.name);
                golden::survives(outputs, format);
                let read = format.read(outputs).map_or_else(|error| error.to_string(), |read| golden::shown(&read));
                summaries.push(format!("{place} as {}\n{read}\n", format.name));
            }
            _ => panic!("{place} is recognised by several formats"),
        };
        for tool in golden::tools() {
            let outputs = golden::samples(&tool);
            check(&outputs, tool.clone());
            for output in outputs.iter().filter(|_| outputs.len() > 1) {
                check(std::slice::from_ref(output), format!("{tool}/{}", output.name));
            }
        }
        assert_eq!(summaries.len(), 36);
        insta::assert_snapshot!(summaries.join("\n"));
        let others: &[&[u8]] = &[b"", b" ", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"a,b\n1,2\n", b"\x1f\x8b"];
        assert!(recognise(&[]).is_empty());
        for bytes in others {
            assert!(recognise(&[golden::output("x.json", bytes)]).is_empty(), "{bytes:?}");
        }
        for table in
            [COLUMNS.join(","), "value,machine,commit_time,commit,better,unit,metric,benchmark,suite\r\n".into()]
        {
            let formats = recognise(&[golden::output("x", table)]);
            assert_eq!(formats.iter().map(|format| format.name).collect::<Vec<_>>(), ["csv"]);
        }
    }

    /// Line ends and characters that the files of cases cannot hold.
    #[test]
    fn line_ends_colours_and_marks_are_read_and_never_shown_as_they_are() {
        let check = |format: &Format, text: &str, expected: &[&str]| {
            let read = format.read(&[golden::output("x.csv", text)]);
            let read = read.map_or_else(|error| error.to_string(), |read| golden::shown(&read));
            assert!(expected.iter().all(|words| read.contains(words)), "{text:?}: {read}");
        };
        let time = "\n  a | time 2.0 s";
        check(&criterion::text::FORMAT, "a\ttime:[1s\t2s 3s]\r\n", &[time]);
        let coloured = "\u{1b}[32ma\u{1b}[0m  time:   [\u{1b}[2m1 s\u{1b}[0m \u{1b}[1m2 s\u{1b}[0m 3 s]";
        check(&criterion::text::FORMAT, coloured, &[time]);
        let (header, row) = (COLUMNS.join(","), "cpu,sort,time,ms,lower,6a580d9,2026-11-20T10:00:00Z,box,1.5,n=8\n");
        let table = |row: &str| format!("{header}\n{row}");
        let reordered = "value,machine,commit_time,commit,better,unit,metric,benchmark,suite\r\n2,,,,lower,s,,a,\r\n";
        check(&long_csv::FORMAT, reordered, &[time]);
        let third = |from: &str, to: &str| table(&format!("{row}{}", row.replace(from, to)));
        check(&long_csv::FORMAT, &third("cpu,sort", "\r\n\n\"c\npu\","), &["row 5: `benchmark` is empty"]);
        check(&long_csv::FORMAT, &third("1.5", "fast\u{202e}"), &["row 3: `value` is `fast\\u{202e}`"]);
        golden::survives(&[golden::output("x.csv", table(&row.repeat(2)))], &long_csv::FORMAT);
        let report = "2026-11-21T01:53:55+00:00\nRunning ./gb\nname,iterations,real_time,cpu_time,time_unit,label\n\
                      \"a\"\"b,c\",9,4,3,ns,\"x y\"\r\n\"n\",1,nan,1,ms,\r\n";
        let benchmarks = ["\n  a\"b,c | time 4e-9 s", "label: \"x y\"\n", "\n  n | failed: its `real_time` is NaN"];
        check(&google_benchmark::FORMAT, report, &benchmarks);
        check(&tt_metal::import::FORMAT, "\u{feff}{\"a\": {\"b\": [1.5, 2]}}", &["\n  a/b | cycles 1.75 1"]);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let check = |format: &Format, text: &str, words: &str| golden::refused(format, "x.json", text, words);
        let (long, deep) = ("s".repeat(LONGEST_PREFIX + 1), "[".repeat(10_000));
        let list = |item: &str, count: usize| vec![item; count].join(",");
        check(&divan::FORMAT, &format!("b    {DIVAN}{}├─ f\n", "│  ".repeat(300_000)), "line 2");
        let names = format!("b    {DIVAN}├─ {}\n│  ├─ f  1 ns │ 3 ns │ 2 ns │ 2 ns │ 1 │ 1\n", &long[1..]);
        check(&divan::FORMAT, &names, "names of more than 4096 bytes on the way to line 3");
        let (header, row) = (COLUMNS.join(","), "cpu,sort,time,ms,lower,6a580d9,,box,1.5,n=8\n");
        check(
            &long_csv::FORMAT,
            &format!("{header}\n{row}{}", row.replace("sort", &"x".repeat(1 << 16))),
            "row 3: more than 65536 bytes on one line",
        );
        let rows: String = (0..=MOST_RUNS).map(|number| format!("s{number}{row}")).collect();
        check(&long_csv::FORMAT, &format!("{header}\n{rows}"), "holds more than 100000 runs");
        golden::refused(&long_csv::FORMAT, "x", [header.as_bytes(), b"\n\xff"].concat(), "is not UTF-8 at byte 75");
        let history = |suite: &str, runs: &str| format!(r#"{{"entries":{{"{suite}":[{runs}]}}}}"#);
        check(&github_action::HISTORY, &history(&long, ""), "a suite with a name of more than 4096 bytes");
        check(
            &github_action::HISTORY,
            &history("s", &list(r#"{"benches":[]}"#, MOST_RUNS + 1)),
            "more than 100000 runs",
        );
        let benches = list(r#"{"name":"a","unit":"s","value":1}"#, MOST_BENCHMARKS + 1);
        let many = history("s", &format!(r#"{{"benches":[{benches}]}}"#));
        check(&github_action::HISTORY, &many, "entries.`s`[0] lists 20001 benchmarks");
        check(&github_action::BIGGER_LIST, &format!("[{benches}]"), "20001 benchmarks");
        check(&github_action::BIGGER_LIST, &deep, "recursion limit");
        let asv = |more: &str| format!(r#"{{"commit_hash":"6a580d9","result_columns":["result","params"],{more}}}"#);
        let values: Vec<String> = (0..=MOST_BENCHMARKS).map(|number| number.to_string()).collect();
        let values = values.join(",");
        check(&asv::FORMAT, &asv(&format!(r#""results":{{"a":[[{values}],[[{values}]]]}}"#)), "lists 20001 benchmarks");
        let required = format!(r#""requirements":{{"numpy":"{long}"}},"results":{{"a":[[1]]}}"#);
        check(&asv::FORMAT, &asv(&required), "`python` and `requirements` more than 4096 bytes");
        let columns = asv(r#""results":{}"#).replace("params", &long);
        check(&asv::FORMAT, &columns, "a name of more than 4096 bytes");
        let lines = format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, list("7", 500_001));
        check(&google_benchmark::FORMAT, &lines, "has 500001 lines, at most 500000 are read");
        let named = format!(r#"{{"benchmarks":[{{"name":"{long}"}}]}}"#);
        check(&nvbench::FORMAT, &named, "no name of 4096 bytes or less at `benchmarks[0]`");
        let layers = list(r#"{"name":"l","averageMs":1}"#, outputs::MOST_READ + 1);
        check(&trtexec::FORMAT, &format!(r#"[{{"count":1,"timeMs":1}},{layers}]"#), "lists 60002 benchmarks");
        check(&trtexec::FORMAT, &format!("[{{\"computeMs\":{deep}"), "recursion limit");
        check(&gungraun::FORMAT, &"{\"a\":".repeat(10_000), "recursion limit");
        let block = format!(r#"{{"benchmarks":{{"{long}":{{"p50_ms":1}}}}}}"#);
        check(&apex_x::import::FORMAT, &block, "more than 4096 bytes below `benchmarks`");
        let figures: Vec<String> = (0..=outputs::MOST_READ).map(|number| format!(r#""{number}_ms":1"#)).collect();
        let figures = format!(r#"{{"metrics":{{{}}}}}"#, figures.join(","));
        check(&apex_x::import::FORMAT, &figures, "lists 60001 benchmarks");
        check(&tt_metal::import::FORMAT, &format!(r#"{{"{long}":{{}}}}"#), "a name of more than 4096 bytes");
        let fails = |format: &Format, text: &str, words: &str| {
            let read = format.read(&[golden::output("x.json", text)]).map(|read| golden::shown(&read));
            assert!(read.as_ref().is_ok_and(|read| read.contains(words)), "{words}: {read:?}");
        };
        let bomb = format!(r#""results":{{"a":[null,[{}["a"]]]}}"#, "[1,2,3,4,5,6,7,8,9,10],".repeat(60));
        fails(&asv::FORMAT, &asv(&bomb), "more than 20000 combinations");
        let values = format!(r#""results":{{"a":[[1,2],[["{long}","b"]]]}}"#);
        fails(&asv::FORMAT, &asv(&values), "more than 4096 bytes for each of 2");
        let named = format!(r#"{{"benchmarks":[{{"metadata":{{"name":"{long}"}}}}]}}"#);
        fails(&pyperf::FORMAT, &named, "its name takes more than 4096 bytes");
    }

    const DIVAN: &str = "fastest │ slowest │ median │ mean │ samples │ iters\n";
}
