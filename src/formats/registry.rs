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
    fn each_format_has_its_own_name() {
        for (place, format) in FORMATS.iter().enumerate() {
            let first = FORMATS.iter().position(|other| other.name == format.name);
            assert_eq!(first, Some(place), "{}", format.name);
            assert!(named(format.name).is_some_and(|result| result.title == format.title));
        }
        assert!(named("no-such-format").is_none());
    }

    /// Every sample, each file alone and each folder as a whole, is recognised by its format or by none. The format then
    /// reads it with pieces flipped, cut out and put in.
    #[test]
    fn each_sample_is_recognised_by_its_format_alone_and_damage_is_no_panic() {
        let mut recognised = 0;
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
                recognised += 1;
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
        assert_eq!(recognised, 31);
        let others: &[&[u8]] = &[b"", b" ", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"a,b\n1,2\n", b"\x1f\x8b"];
        assert!(recognise(&[]).is_empty());
        for bytes in others {
            assert!(recognise(&[golden::output("x.json", bytes)]).is_empty(), "{bytes:?}");
        }
        let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\n";
        let formats = recognise(&[golden::output("x", table)]);
        assert_eq!(formats.iter().map(|format| format.name).collect::<Vec<_>>(), ["csv"]);
    }
}
