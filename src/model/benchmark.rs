//! The identity of a benchmark: `suite/name{params} @variant`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_base::text::is_unsafe_in_name;

/// The longest name, parameter or variant that a record may hold, in characters.
pub const MAX_WORD: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("benchmark {0}")]
pub struct BenchmarkError(String);

/// A named piece of work of a suite, ordered and shown as `suite/name{key=value,…} @variant`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Benchmark {
    pub suite: String,
    pub name: String,
    pub params: BTreeMap<String, String>,
    /// `reference`, `fast`, `cuda` or a word of the user's.
    pub variant: String,
    /// Increases when the work behind the name changes, which starts a new series.
    pub version: u32,
}

impl Benchmark {
    /// A benchmark of version 1.
    pub fn new(suite: &str, name: &str, params: &[(&str, String)], variant: &str) -> Result<Benchmark, BenchmarkError> {
        let benchmark = Benchmark {
            suite: suite.to_owned(),
            name: name.to_owned(),
            params: params.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
            variant: variant.to_owned(),
            version: 1,
        };
        benchmark.check()?;
        Ok(benchmark)
    }

    /// Checks that every part can be read back from the id.
    pub fn check(&self) -> Result<(), BenchmarkError> {
        check_word("suite", &self.suite, &['/', '{', '}', '@'])?;
        check_name("suite", &self.suite)?;
        check_word("name", &self.name, &['{', '}', '@'])?;
        check_name("name", &self.name)?;
        for (key, value) in &self.params {
            check_word("parameter", key, &['{', '}', '=', ','])?;
            check_name("parameter", key)?;
            // A value may be a negative number or a path.
            check_word("parameter", value, &['{', '}', '=', ','])?;
        }
        check_word("variant", &self.variant, &['{', '}', '@', '/'])?;
        check_name("variant", &self.variant)
    }

    /// The written identity, without the version: `suite/name{params} @variant`.
    pub fn id(&self) -> String {
        self.to_string()
    }

    /// The parameters as `{k=v,…}`, or nothing where there are none.
    pub fn params_text(&self) -> String {
        let mut text = String::new();
        self.write_params(&mut text).expect("a text takes all characters");
        text
    }

    fn write_params(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for (place, (key, value)) in self.params.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            write!(out, "{before}{key}={value}")?;
        }
        if self.params.is_empty() { Ok(()) } else { out.write_char('}') }
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.suite, self.name)?;
        self.write_params(f)?;
        write!(f, " @{}", self.variant)
    }
}

/// Facts about how a benchmark ran that are not part of its identity, such as a tuned configuration.
pub type Attributes = BTreeMap<String, String>;

/// The comparison of the result of a benchmark with its reference, before it was timed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parity {
    pub status: ParityStatus,
    /// The largest absolute difference to the reference; absent where nothing was compared.
    pub max_abs_error: Option<f64>,
    /// The largest allowed difference (absolute plus relative, of the same size).
    pub tolerance: Option<f64>,
}

/// The outcome of a parity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParityStatus {
    /// This is the reference itself: it writes all of its output, reproducibly.
    Reference,
    /// Bit-equal to the reference.
    Exact,
    /// Different, within the tolerance.
    Within,
    /// Wrong, so that its times are meaningless.
    Mismatch,
    /// Nothing was compared, as in imported data.
    Unchecked,
}

fn check_word(part: &str, text: &str, reserved: &[char]) -> Result<(), BenchmarkError> {
    if text.trim().is_empty() {
        return Err(BenchmarkError(format!("{part} is empty")));
    }
    let length = text.chars().count();
    if length > MAX_WORD {
        return Err(BenchmarkError(format!("{part} has {length} characters, at most {MAX_WORD} are allowed")));
    }
    match text.chars().find(|c| is_unsafe_in_name(*c) || reserved.contains(c)) {
        Some(odd) => Err(BenchmarkError(format!("{part} `{}` holds `{}`", text.escape_debug(), odd.escape_debug()))),
        None => Ok(()),
    }
}

/// A word that may become part of a command or a path must look like neither an option nor a parent folder.
fn check_name(part: &str, text: &str) -> Result<(), BenchmarkError> {
    if text.starts_with('-') {
        return Err(BenchmarkError(format!("{part} `{}` begins with a dash", text.escape_debug())));
    }
    match text.split('/').find(|step| matches!(*step, "." | "..")) {
        Some(step) => Err(BenchmarkError(format!("{part} `{}` has `{step}` between slashes", text.escape_debug()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_as_suite_name_params_variant() {
        let benchmark = Benchmark::new("cpu", "tile_pack", &[("t", "8".into()), ("c", "128".into())], "fast");
        assert_eq!(benchmark.map(|b| b.id()), Ok("cpu/tile_pack{c=128,t=8} @fast".to_owned()));
        let plain = Benchmark::new("cpu", "infer", &[], "reference");
        assert_eq!(plain.map(|b| b.id()), Ok("cpu/infer @reference".to_owned()));
    }

    #[test]
    fn ambiguous_and_deceptive_words_are_refused() {
        let long = "x".repeat(MAX_WORD + 1);
        let refused = [
            ("", "a", "b"),
            ("cpu", "a\nb", "b"),
            ("cpu", "a{b", "b"),
            ("c/pu", "a", "b"),
            ("cpu", "a", " "),
            ("cpu", &long, "b"),
        ];
        for (suite, name, variant) in refused {
            assert!(Benchmark::new(suite, name, &[], variant).is_err(), "{suite} {name} {variant}");
        }
        let check = |name: &str, fine: bool| {
            assert_eq!(Benchmark::new("cpu", name, &[], "fast").is_ok(), fine, "{}", name.escape_debug());
            assert_eq!(Benchmark::new("cpu", "a", &[], name).is_ok(), fine && !name.contains('/'));
            assert_eq!(Benchmark::new("cpu", "a", &[(name, "1".into())], "fast").is_ok(), fine);
        };
        for invisible in
            "\u{61c}\u{200b}\u{200d}\u{200f}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{feff}".chars()
        {
            check(&format!("tile{invisible}pack"), false);
        }
        for text in ["-rf", "--help", "..", "../a", "a/..", "a/../b", "./a"] {
            check(text, false);
        }
        for text in ["a-b", "a..b", "...", "a/b", "path/like name", "é", "\u{65}\u{301}", "数"] {
            check(text, true);
        }
        // The value of a parameter may hold all but invisible characters.
        let value = |text: &str| Benchmark::new("cpu", "a", &[("n", text.to_owned())], "fast").is_ok();
        assert!(value("-1") && value("../data") && !value("1\u{202e}"));
    }
}
