//! The files of this project, as another project needs them: ours are the templates, so the two cannot drift apart.
//!
//! What only this project needs stands between two marks. A line that another project has otherwise is named here; a
//! test holds that each such line is there.

use crate::config::{Config, SuiteKind};

/// Our own workflows, which are the templates of all others.
pub(super) const WORKFLOWS: [(&str, &str); 5] = [
    (".github/workflows/ci.yml", include_str!("../../../.github/workflows/ci.yml")),
    (".github/workflows/perf.yml", include_str!("../../../.github/workflows/perf.yml")),
    (".github/workflows/perf_gpu.yml", include_str!("../../../.github/workflows/perf_gpu.yml")),
    (".github/workflows/perf_trend_weekly.yml", include_str!("../../../.github/workflows/perf_trend_weekly.yml")),
    (".github/workflows/release.yml", include_str!("../../../.github/workflows/release.yml")),
];

/// Where the action that puts Sprag on the path lies.
pub(super) const ACTION_PATH: &str = ".github/actions/sprag/action.yml";

/// The action at our root, which the workflows of others have as a file of their own.
pub(super) const ACTION: &str = include_str!("../../../action.yml");

/// Where a part begins that only this project needs; it ends with the same and a closing brace.
const BEGIN: &str = "# of sprag alone {";
const END: &str = "# of sprag alone }";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub gated: Vec<String>,
    /// Suites for a runner without a device.
    pub hosted: Vec<String>,
    pub device: Vec<String>,
    /// The repository whose releases are downloaded; the user fills it in where absent.
    pub download_from: String,
    /// The digest of its `SHA256SUMS`.
    pub sha256: String,
    /// The tag of that release, where it is another one than ours.
    pub version: String,
}

impl Facts {
    /// Those of a configuration, without suites whose names could act in a shell; these are told of.
    pub(super) fn from_config(config: &Config) -> (Facts, Vec<String>) {
        let is_plain = |name: &str| {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            plain && !name.starts_with(['-', '.'])
        };
        let (plain, odd): (Vec<_>, Vec<_>) = config.suites.iter().partition(|(name, _)| is_plain(name));
        let of = |kinds: &[SuiteKind]| -> Vec<String> {
            let found = plain.iter().filter(|(_, suite)| kinds.contains(&suite.kind));
            found.map(|(name, _)| (*name).clone()).collect()
        };
        let facts = Facts {
            gated: of(&[SuiteKind::Command]),
            hosted: of(&[SuiteKind::Cpu, SuiteKind::Command]),
            device: of(&[SuiteKind::Gpu, SuiteKind::Trt]),
            download_from: String::new(),
            sha256: String::new(),
            version: String::new(),
        };
        (facts, odd.into_iter().map(|(name, _)| name.clone()).collect())
    }
}

/// A line of ours, and what another project has in its place; nothing takes the line out.
struct Line {
    ours: &'static str,
    theirs: Option<String>,
}

pub(super) fn file(ours: &str, facts: &Facts) -> String {
    let lines = lines(facts);
    let mut text = String::with_capacity(ours.len());
    let mut is_ours_alone = false;
    for line in ours.lines() {
        match line.trim() {
            BEGIN => is_ours_alone = true,
            END => is_ours_alone = false,
            _ if is_ours_alone => {}
            _ => match lines.iter().find(|known| known.ours == line) {
                Some(Line { theirs: Some(theirs), .. }) => push(&mut text, theirs),
                Some(Line { theirs: None, .. }) => {}
                None => push(&mut text, line),
            },
        }
    }
    text
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn lines(facts: &Facts) -> Vec<Line> {
    // In quotes, as YAML would read a name such as `null` or `010` as something else.
    let list = |names: &[String]| format!("\"{}\"", names.join(" "));
    let line = |ours, theirs: String| Line { ours, theirs: Some(theirs) };
    let gone = |ours| Line { ours, theirs: None };
    vec![
        line("  PERF_SUITES: cpu", format!("  PERF_SUITES: {}", list(&facts.gated))),
        line("  CPU_SUITES: cpu", format!("  CPU_SUITES: {}", list(&facts.hosted))),
        line("  GPU_SUITES: gpu", format!("  GPU_SUITES: {}", list(&facts.device))),
        gone("    src/measure"),
        gone("    src/kernels"),
        line(NEEDS_OF_PUBLISH, "    needs: evidence".to_owned()),
        line("    needs: [cpu-trend, gpu-trend, book]", "    needs: [cpu-trend, gpu-trend]".to_owned()),
        line(
            "    needs: [cpu-trend, gpu-trend, book, record, deploy]",
            "    needs: [cpu-trend, gpu-trend, record, deploy]".to_owned(),
        ),
        line(
            "  # Suites of the kinds `cpu` (of Sprag itself) and `command`, parted by blanks. Without any the gate is out of scope.",
            "  # Suites of the kind `command`, parted by blanks. Without any the gate is out of scope.".to_owned(),
        ),
    ]
}

/// Of `release.yml`: another project builds no archives of Sprag.
const NEEDS_OF_PUBLISH: &str = "    needs: [evidence, build]";

pub(super) fn action(ours: &str, facts: &Facts) -> String {
    let mut text = String::with_capacity(ours.len());
    let mut input = "";
    for line in ours.lines() {
        if line.starts_with("  ") && !line.starts_with("   ") {
            input = line.trim();
        }
        let value = match input {
            "repository:" => &facts.download_from,
            "sha256:" => &facts.sha256,
            "version:" => &facts.version,
            _ => "",
        };
        match line.starts_with("    default:") && !value.is_empty() {
            true => push(&mut text, &format!("    default: \"{value}\"")),
            false => push(&mut text, line),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            gated: vec!["a".to_owned(), "b".to_owned()],
            hosted: vec!["cpu".to_owned(), "a".to_owned()],
            device: Vec::new(),
            download_from: "o/n".to_owned(),
            sha256: "0f".repeat(32),
            version: String::new(),
        }
    }

    #[test]
    fn every_line_that_differs_is_there() {
        let all: Vec<&str> = WORKFLOWS.iter().flat_map(|(_, text)| text.lines()).collect();
        for line in lines(&facts()) {
            assert!(all.contains(&line.ours), "no workflow has the line `{}`", line.ours);
        }
    }

    #[test]
    fn parts_of_ours_alone_are_closed_and_go() {
        let mut parts = 0;
        for (path, text) in WORKFLOWS {
            let marks: Vec<&str> = text.lines().map(str::trim).filter(|line| [BEGIN, END].contains(line)).collect();
            assert!(marks.chunks(2).all(|pair| pair == [BEGIN, END]), "{path}: {marks:?}");
            parts += marks.len() / 2;
            let theirs = file(text, &facts());
            assert!(!theirs.contains("of sprag alone") && !theirs.contains("scripts/"), "{path}");
        }
        assert!(parts > 0);
    }

    #[test]
    fn what_both_have_is_the_same() {
        for (path, text) in WORKFLOWS {
            let theirs = file(text, &facts());
            let changed: Vec<String> = lines(&facts()).into_iter().filter_map(|line| line.theirs).collect();
            let foreign = theirs.lines().find(|line| {
                let is_ours = text.lines().any(|ours| ours == *line);
                !is_ours && !changed.iter().any(|one| one == line)
            });
            assert_eq!(foreign, None, "{path}");
        }
    }

    #[test]
    fn suites_and_the_release_are_filled_in() {
        let text = |wanted: &str| WORKFLOWS.iter().find(|(path, _)| path.ends_with(wanted)).expect("is there").1;
        assert!(file(text("/perf.yml"), &facts()).contains("\n  PERF_SUITES: \"a b\"\n"));
        assert!(file(text("/perf_gpu.yml"), &facts()).contains("\n  GPU_SUITES: \"\"\n"));
        assert!(file(text("/release.yml"), &facts()).contains("\n    needs: evidence\n"));
        let action = action(ACTION, &facts());
        assert!(
            action.contains("    default: \"o/n\"\n")
                && action.contains(&format!("    default: \"{}\"\n", "0f".repeat(32)))
        );
        let open = Facts { download_from: String::new(), sha256: String::new(), ..facts() };
        assert_eq!(super::action(ACTION, &open), ACTION);
        let older = super::action(ACTION, &Facts { version: "v0.0.9".to_owned(), ..open });
        assert!(older.contains("    default: \"v0.0.9\"\n"), "{older}");
    }

    #[test]
    fn a_suite_whose_name_could_act_is_left_out() {
        let mut config = Config::default();
        for name in ["fine-1.x", "$(id)", "a b", "-x", "ä"] {
            let suite: crate::config::Suite = serde_json::from_str(r#"{"kind": "cpu"}"#).unwrap();
            config.suites.insert(name.to_owned(), suite);
        }
        let (facts, odd) = Facts::from_config(&config);
        assert_eq!(facts.hosted, ["fine-1.x"]);
        assert_eq!(odd.len(), 4);
    }
}
