//! The output of `trtexec`: a line that starts with `&&&& RUNNING` and names the version, one with `&&&& PASSED` or
//! `&&&& FAILED` at the end, and messages between them, of which those marked `[E]` or `[F]` are errors. Errors of CUDA have
//! no mark, and no last line follows them.

use crate::tensorrt::{Reason, ReasonCode, Version};
use sprag_base::text::one_line;

const MARK: &str = "&&&& ";

const ERROR_MARKS: [&str; 2] = ["[E]", "[F]"];

/// The start of errors without a mark.
const UNMARKED: [&str; 2] = ["Cuda failure", "Cannot find any available devices"];

const MOST_QUOTED: usize = 300;

/// Signs of known failures, in lower case, in the order of search: a missing plugin also prevents an engine from being read.
const SIGNS: [(ReasonCode, &[&str]); 6] = [
    (
        ReasonCode::CudaUnavailable,
        &[
            "no cuda-capable device", "cannot find any available devices", "cuda initialization failure",
            "cuda driver version is insufficient", "cuda driver is a stub library", "unsupported display driver",
            "libcuda.so",
        ],
    ),
    // A part of TensorRT itself.
    (ReasonCode::TrtexecNotFound, &["library libnvinfer", "library: libnvinfer", "libraries: libnvinfer"]),
    (ReasonCode::EngineMissing, &["error opening engine file", "could not open engine file"]),
    (
        ReasonCode::PluginMissing,
        &[
            "could not find plugin", "cannot find plugin", "plugin not found", "plugincreator not found",
            "unable to open library", "could not load library", "cannot open shared object file",
        ],
    ),
    (
        ReasonCode::ShapeOutsideProfile,
        &[
            "min ~ max range", "optimization profile", "optimizationprofile", "static dimension mismatch",
            "does not take explicit shapes", "does not satisfy any", "profile dimension",
        ],
    ),
    (
        ReasonCode::EngineIncompatible,
        &[
            "deserialize", "deserialization", "serialization assertion", "version tag does not match",
            "incompatible device", "not compatible", "expecting compute", "magic tag does not match",
        ],
    ),
];

const SET_TO_ONE: &str = "`trtexec` set dimensions without a shape to 1";

/// Signs, in lower case, of problems with the times of a run that passed.
const REMARKS: [(&str, &str); 6] = [
    ("automatically setting shape to", SET_TO_ONE),
    ("automatically setting values to", SET_TO_ONE),
    // Of versions before 8.6.
    ("automatically overriding shape to", SET_TO_ONE),
    (
        "--usecudagraph flag has been ignored",
        "TensorRT cannot capture the engine as a CUDA graph, so times include gaps between launches",
    ),
    ("gpu compute time is unstable", "`trtexec` finds the times on the device unstable"),
    ("may be bound by enqueue time", "`trtexec` finds that the host may not keep up with the device"),
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) version: Option<Version>,
    /// Whether it reports success, if it reports anything.
    pub(super) passed: Option<bool>,
    /// Its errors, else its last line of standard error.
    pub(super) errors: Vec<String>,
    /// The images of a call: the first size of the first input that it reports.
    pub(super) batch: Option<u64>,
    pub(super) remarks: Vec<&'static str>,
}

impl Transcript {
    pub(super) fn read(output: &[u8], error: &[u8]) -> Transcript {
        let texts = [String::from_utf8_lossy(output), String::from_utf8_lossy(error)];
        let lines = || texts.iter().flat_map(|text| text.lines()).map(str::trim);
        let mut read = Transcript::default();
        for line in lines() {
            match line.strip_prefix(MARK) {
                Some(word) if word.starts_with("RUNNING") => read.version = read.version.or_else(|| version(word)),
                Some(word) if word.starts_with("PASSED") => read.passed = Some(true),
                Some(word) if word.starts_with("FAILED") => read.passed = Some(false),
                Some(_) => {}
                None => {
                    read.errors.extend(error_of(line));
                    read.batch = read.batch.or_else(|| first_size(line));
                    read.remarks.extend(remark(line).filter(|remark| !read.remarks.contains(remark)));
                }
            }
        }
        read.errors.retain(|message| !message.is_empty());
        if read.errors.is_empty() {
            let last = texts[1].lines().map(quoted).rfind(|line| !line.is_empty());
            read.errors.extend(last);
        }
        read
    }

    /// Why it failed: a known failure, else `how` it ended with the last error.
    pub(super) fn reason(&self, how: &str) -> Reason {
        for (code, signs) in SIGNS {
            let tells = |message: &&String| {
                let message = message.to_lowercase();
                signs.iter().any(|sign| message.contains(sign))
            };
            if let Some(message) = self.errors.iter().find(tells) {
                return Reason::new(code, message.as_str());
            }
        }
        match self.errors.last() {
            Some(last) => Reason::new(ReasonCode::Failed, format!("{how} ({last})")),
            None => Reason::new(ReasonCode::Failed, how),
        }
    }
}

fn error_of(line: &str) -> Option<String> {
    let marked = ERROR_MARKS.iter().find_map(|mark| line.split_once(mark)).map(|(_, message)| message);
    let unmarked = || UNMARKED.iter().find_map(|start| line.find(start)).map(|at| &line[at..]);
    marked.or_else(unmarked).map(quoted)
}

fn remark(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    REMARKS.iter().find(|(sign, _)| line.contains(sign)).map(|(_, remark)| *remark)
}

/// The first size in `Input binding for image with dimensions 8x3x64x64 is created.`, or in the older `Created input …`.
fn first_size(line: &str) -> Option<u64> {
    let (start, sizes) = line.rsplit_once(" with dimensions ")?;
    let is_input = start.to_lowercase().contains("input binding for ");
    let first = sizes.split(|c: char| !c.is_ascii_digit()).next().filter(|_| is_input)?;
    first.parse().ok().filter(|size| *size > 0)
}

/// The version in `RUNNING TensorRT.trtexec [TensorRT v8601] # …`.
fn version(word: &str) -> Option<Version> {
    let (_, rest) = word.split_once("[TensorRT v")?;
    let (number, _) = rest.split_once(']')?;
    number.parse().ok().filter(|number| (1_000..10_000_000).contains(number)).map(Version::from_number)
}

fn quoted(message: &str) -> String {
    one_line(message).chars().take(MOST_QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_first_line() {
        let check = |line: &str, expected: Option<&str>| {
            let read = Transcript::read(format!("noise\n{line}\n").as_bytes(), b"");
            assert_eq!(read.version.map(|version| version.to_string()).as_deref(), expected, "{line}");
        };
        check("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --help", Some("8.6.1"));
        check("&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec", Some("10.3.0"));
        check("&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec", Some("10.13.3"));
        check("&&&& RUNNING TensorRT.trtexec [TensorRT v7]", None);
        check("&&&& RUNNING TensorRT.trtexec [TensorRT v99999999999]", None);
        check("&&&& RUNNING something else", None);
        check("RUNNING TensorRT.trtexec [TensorRT v8601]", None);
        let mode = |number| Version::from_number(number).mode();
        let modes = [8_401, 8_503, 100_000].map(mode);
        assert_eq!(modes, ["legacy_bindings", "modern_io_tensors", "modern_io_tensors"]);
    }

    #[test]
    fn the_verdict_is_the_last_one() {
        let passed = |text: &str| Transcript::read(text.as_bytes(), b"").passed;
        assert_eq!(passed("&&&& RUNNING x\n&&&& PASSED x\n"), Some(true));
        assert_eq!(passed("&&&& PASSED x\r\n&&&& FAILED x\r\n"), Some(false));
        assert_eq!(passed("&&&& WAIVED x\nPASSED"), None);
        assert_eq!(passed(""), None);
    }

    #[test]
    fn remarks_on_the_times_are_reported_once() {
        let text = "[W] * GPU compute time is unstable, with coefficient of variance = 9%.\n[I] fine\n\
                    [W] The specified --useCudaGraph flag has been ignored. The inference will\n\
                    [W] * GPU compute time is unstable, with coefficient of variance = 8%.\n&&&& PASSED x\n";
        let remarks = Transcript::read(b"", text.as_bytes()).remarks;
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[0].contains("unstable") && remarks[1].contains("CUDA graph"), "{remarks:?}");
        let set = [
            "Shape missing for input with dynamic shape: imageAutomatically setting shape to: 1x3x1x1",
            "Values missing for input shape tensor: sizesAutomatically setting values to: 1",
            "Dynamic dimensions required for input: image, but no shapes were provided. Automatically overriding shape to: 1x3",
        ];
        for line in set {
            let remarks = Transcript::read(b"", format!("[11/21/2026-09:33:00] [W] {line}\n").as_bytes()).remarks;
            assert_eq!(remarks, [SET_TO_ONE], "{line}");
        }
        assert_eq!(Transcript::read(set.join("\n").as_bytes(), b"").remarks, [SET_TO_ONE]);
    }

    #[test]
    fn the_images_of_a_call_are_the_first_size_of_its_first_input() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(Transcript::read(text.as_bytes(), b"").batch, expected, "{text}");
        };
        check("[I] Input binding for image with dimensions 8x3x64x64 is created.", Some(8));
        check("[I] Created input binding for image with dimensions 4x3", Some(4));
        check("[I] Output binding for y with dimensions 8x3 is created.", None);
        let two = "[I] Output binding for y with dimensions 7 is created.\n\
                   [I] Input binding for a with dimensions 2 is created.\n\
                   [I] Input binding for b with dimensions 3x9 is created.\n";
        check(two, Some(2));
        check("[I] Input binding for image with dimensions -1x3 is created.", None);
        check("[I] Input binding for image with dimensions 0x3 is created.", None);
        check("[I] Input binding for image with dimensions 99999999999999999999x3 is created.", None);
        check("[I] Input binding for image", None);
    }

    #[test]
    fn messages_explain_failures() {
        let check = |output: &str, error: &[u8], code: ReasonCode, words: &str| {
            let reason = Transcript::read(output.as_bytes(), error).reason("it ended with exit code 1");
            assert_eq!(reason.code, code, "{reason}");
            assert!(reason.text.contains(words), "{reason}");
        };
        check(
            "",
            b"[11/21/2026-09:33:00] [E] Error opening engine file: m.plan\n",
            ReasonCode::EngineMissing,
            "m.plan",
        );
        let shape = "[E] Error[3]: Supplied binding dimension [9,3] for bindings[0] exceed min ~ max range at index 0";
        check("", shape.as_bytes(), ReasonCode::ShapeOutsideProfile, "[9,3]");
        check("", b"Cuda failure: out of memory\nAborted", ReasonCode::Failed, "(Cuda failure: out of memory)");
        let none = "[11/21/2026-09:33:00] [I] Cannot find any available devices (GPUs)!";
        check(none, b"", ReasonCode::CudaUnavailable, "Cannot find any available devices (GPUs)!");
        let own = "[E] Could not load library libnvinfer.so.10: Unable to open library: libnvinfer.so.10";
        check("", own.as_bytes(), ReasonCode::TrtexecNotFound, "libnvinfer.so.10");
        let plugin = "[F] Unable to open library: p.so due to p.so: undefined symbol: x";
        check("", plugin.as_bytes(), ReasonCode::PluginMissing, "undefined symbol");
        check("[I] fine", b"Segmentation fault\n\n", ReasonCode::Failed, "(Segmentation fault)");
        check("", b"", ReasonCode::Failed, "it ended with exit code 1");
        check("", b"\xff\xfe\x00 [E] \x1b[31mbad\xff", ReasonCode::Failed, "([31mbad\u{fffd})");
    }
}
