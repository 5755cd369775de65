//! The formats that can be imported: how each is recognised, and what reads it.

use super::Format;
use super::compat::{apex_x, trueno, tt_metal};
use super::github_action::{custom, data_js};
use super::{
    asv, bencher, callgrind, criterion, divan, google_benchmark, gungraun, hyperfine, long_csv, nvbench, pyperf,
    pytest_benchmark, tango, trtexec,
};
use sprag_model::foreign::Output;

/// The formats, the more particular ones first.
pub const FORMATS: &[Format] = &[
    google_benchmark::FORMAT,
    hyperfine::FORMAT,
    nvbench::FORMAT,
    pyperf::FORMAT,
    pytest_benchmark::FORMAT,
    Format {
        name: "criterion",
        title: "the folder that a bench of Criterion leaves",
        recognises: criterion::import::recognises,
        read: criterion::import::read,
        files: criterion::import::FILES,
    },
    Format {
        name: "criterion-text",
        title: "what a bench of Criterion prints",
        recognises: criterion::text::recognises,
        read: criterion::text::read,
        files: &[".txt"],
    },
    Format {
        name: "trueno",
        title: "a baseline of Trueno: a head, and what a bench of Criterion prints",
        recognises: trueno::import::recognises,
        read: trueno::import::read,
        files: trueno::import::FILES,
    },
    Format {
        name: "apex-x",
        title: "a report, a baseline or a trend file of Apex-X",
        recognises: apex_x::import::recognises,
        read: apex_x::import::read,
        files: apex_x::import::FILES,
    },
    Format {
        name: "divan",
        title: "what a bench of divan prints",
        recognises: divan::recognises,
        read: divan::read,
        files: &[".txt"],
    },
    Format {
        name: "tango",
        title: "the samples that tango leaves of a comparison",
        recognises: tango::recognises,
        read: tango::read,
        files: tango::FILES,
    },
    Format {
        name: "gungraun",
        title: "summaries of gungraun or iai-callgrind",
        recognises: gungraun::recognises,
        read: gungraun::read,
        files: gungraun::FILES,
    },
    Format {
        name: "callgrind",
        title: "a profile that Callgrind writes",
        recognises: callgrind::recognises,
        read: callgrind::read,
        files: callgrind::FILES,
    },
    Format {
        name: "trtexec",
        title: "times or the profile of layers that `trtexec` exports",
        recognises: trtexec::recognises,
        read: trtexec::read,
        files: trtexec::FILES,
    },
    Format {
        name: "tt-metal",
        title: "ground truth of tt-metal: cycles by rank and configuration",
        recognises: tt_metal::import::recognises,
        read: tt_metal::import::read,
        files: tt_metal::import::FILES,
    },
    Format {
        name: "asv",
        title: "results folder of airspeed velocity, or one file of it",
        recognises: asv::recognises,
        read: asv::read,
        files: &[".json"],
    },
    Format {
        name: "github-action-benchmark",
        title: "history of github-action-benchmark (data.js)",
        recognises: data_js::recognises,
        read: data_js::read,
        files: &["data.js"],
    },
    Format {
        name: "bencher",
        title: "Bencher metric format",
        recognises: bencher::recognises,
        read: bencher::read,
        files: &[".json"],
    },
    Format {
        name: "custom-smaller-is-better",
        title: "list of numbers of which smaller is better",
        recognises: custom::recognises_smaller,
        read: custom::read_smaller,
        files: &[".json"],
    },
    Format {
        name: "custom-bigger-is-better",
        title: "list of numbers of which bigger is better",
        recognises: custom::recognises_bigger,
        read: custom::read_bigger,
        files: &[".json"],
    },
    Format {
        name: "csv",
        title: "table of suite, benchmark, metric, unit, better, commit, commit_time, machine, value and params",
        recognises: long_csv::recognises,
        read: long_csv::read,
        files: &[".csv"],
    },
];

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The formats that recognise the outputs: one in the good case.
pub fn recognise(outputs: &[Output]) -> Vec<&'static Format> {
    FORMATS.iter().filter(|format| (format.recognises)(outputs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn a_format_has_a_name_of_its_own_and_is_found_by_it() {
        for (place, format) in FORMATS.iter().enumerate() {
            let first = FORMATS.iter().position(|other| other.name == format.name);
            assert_eq!(first, Some(place), "{}", format.name);
            assert!(named(format.name).is_some_and(|found| found.title == format.title));
        }
        assert!(named("no-such-format").is_none());
    }

    #[test]
    fn no_sample_is_recognised_by_two_formats() {
        let check = |outputs: &[Output], place: &str| {
            let names: Vec<&str> = recognise(outputs).iter().map(|format| format.name).collect();
            assert!(names.len() <= 1, "{place} is recognised as {names:?}");
        };
        for tool in golden::tools() {
            let outputs = golden::samples(&tool);
            check(&outputs, &tool);
            for output in &outputs {
                check(std::slice::from_ref(output), &format!("{tool}/{}", output.name));
            }
        }
        check(&[], "nothing");
    }

    #[test]
    fn a_format_is_found_by_its_name() {
        assert!(FORMATS.iter().all(|format| named(format.name).is_some_and(|found| found.title == format.title)));
        assert!(named("abacus").is_none());
        let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\n";
        let found = recognise(&[Output { name: "x".to_owned(), bytes: table.as_bytes().to_vec() }]);
        assert_eq!(found.iter().map(|format| format.name).collect::<Vec<_>>(), ["csv"]);
    }
}
