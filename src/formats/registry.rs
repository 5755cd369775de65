//! The formats that can be imported: how each is recognised, and what reads it.

use super::Format;
use super::compat::{apex_x, trueno, tt_metal};
use super::github_action;
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
    criterion::folder::FORMAT,
    criterion::text::FORMAT,
    trueno::import::FORMAT,
    apex_x::import::FORMAT,
    divan::FORMAT,
    tango::FORMAT,
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

    /// Every sample, each file alone and each folder as a whole: which format recognises it. The format then reads it
    /// with pieces flipped, cut out and put in.
    #[test]
    fn each_sample_is_recognised_by_its_format_alone_and_damage_is_no_panic() {
        let mut found = Vec::new();
        let mut check = |outputs: &[Output], place: String| match recognise(outputs)[..] {
            [] => {}
            [format] => {
                golden::survives(outputs, format);
                found.push((place, format.name));
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
        let found: Vec<(&str, &str)> = found.iter().map(|(place, format)| (place.as_str(), *format)).collect();
        assert_eq!(found, SAMPLES);
        let others: &[&[u8]] = &[b"", b" ", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"a,b\n1,2\n", b"\x1f\x8b"];
        assert!(recognise(&[]).is_empty());
        for bytes in others {
            assert!(recognise(&[Output { name: "x.json".to_owned(), bytes: bytes.to_vec() }]).is_empty(), "{bytes:?}");
        }
        let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\n";
        let found = recognise(&[Output { name: "x".to_owned(), bytes: table.as_bytes().to_vec() }]);
        assert_eq!(found.iter().map(|format| format.name).collect::<Vec<_>>(), ["csv"]);
    }

    const SAMPLES: &[(&str, &str)] = &[
        ("asv", "asv"),
        ("asv/results/ci-2core/6a580d9d-existing-py_opt_venv_bin_python.json", "asv"),
        ("bencher-bmf", "bencher"),
        ("callgrind", "callgrind"),
        ("criterion", "criterion"),
        ("criterion/console.txt", "criterion-text"),
        ("custom-metric/customBiggerIsBetter.json", "custom-bigger-is-better"),
        ("custom-metric/customSmallerIsBetter.json", "custom-smaller-is-better"),
        ("divan", "divan"),
        ("github-action-benchmark", "github-action-benchmark"),
        ("google-benchmark", "google-benchmark"),
        ("google-benchmark/out.csv", "google-benchmark"),
        ("google-benchmark/out.json", "google-benchmark"),
        ("gungraun", "gungraun"),
        ("gungraun/tile_pack.k8.summary.json", "gungraun"),
        ("gungraun/tilessm_scan.summary.json", "gungraun"),
        ("hyperfine", "hyperfine"),
        ("hyperfine/v1.15.json", "hyperfine"),
        ("hyperfine/v1.15.md", "hyperfine"),
        ("hyperfine/v1.20.csv", "hyperfine"),
        ("hyperfine/v1.20.json", "hyperfine"),
        ("nvbench", "nvbench"),
        ("nvbench/nvbench.json", "nvbench"),
        ("pyperf", "pyperf"),
        ("pytest-benchmark", "pytest-benchmark"),
        ("tango", "tango"),
        ("tango/tile_pack-k32.csv", "tango"),
        ("tango/tilessm_scan.csv", "tango"),
        ("trtexec", "trtexec"),
        ("trtexec/profile.json", "trtexec"),
        ("trtexec/times.json", "trtexec"),
    ];
}
