//! `--report FORMAT=PATH`: what a gate found, written in the forms that others read.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use chrono::Utc;

use super::distinct::{NamedFile, check_distinct};
use super::{Advice, gate_summary, text};
use crate::cli::{CheckArgs, CompareArgs};
use crate::config::{FILE_NAME, nearest};
use sprag_base::files::{check_writable, write_atomic};
use sprag_model::gate::Gate;
use sprag_report::gate;

const OPTION: &str = "--report";

/// Folders of a project that the gate reads.
const READ_BY_GATE: [&str; 3] = ["baselines", "history", "ledger"];

/// The variable with the file to which a job of GitHub adds what its page shows.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportFormat {
    /// Our own, with every fact.
    Json,
    /// For a comment or the summary of a job.
    Markdown,
    /// For viewers of tests.
    Junit,
    Sarif,
    Github,
    Summary,
    Trend,
}

impl ReportFormat {
    /// All of them by the words of the option, with what each is.
    const ALL: [(&'static str, ReportFormat, &'static str); 7] = [
        ("json", ReportFormat::Json, "the JSON report"),
        ("md", ReportFormat::Markdown, "the Markdown report"),
        ("junit", ReportFormat::Junit, "the JUnit report"),
        ("sarif", ReportFormat::Sarif, "the SARIF report"),
        ("github", ReportFormat::Github, "the annotations"),
        ("summary", ReportFormat::Summary, "the summary of Apex-X"),
        ("trend", ReportFormat::Trend, "the trend of Apex-X"),
    ];

    fn what(self) -> &'static str {
        let found = ReportFormat::ALL.iter().find(|(_, format, _)| *format == self);
        found.map(|(_, _, what)| *what).expect("the list has every format")
    }

    fn text(self, gate: &Gate) -> String {
        match self {
            ReportFormat::Json => gate::gate_json(gate),
            ReportFormat::Markdown => gate::gate_markdown(gate),
            ReportFormat::Junit => gate::gate_junit(gate),
            ReportFormat::Sarif => gate::gate_sarif(gate),
            ReportFormat::Github => gate::gate_commands(gate),
            ReportFormat::Summary => gate_summary::summary(gate),
            ReportFormat::Trend => gate_summary::trend(gate, Utc::now()),
        }
    }
}

/// A report that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportRequest {
    pub(super) format: ReportFormat,
    /// Where; `-` is standard output.
    pub(super) path: PathBuf,
}

impl ReportRequest {
    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

/// Reads the texts of the option, `FORMAT=PATH` each.
///
/// # Errors
/// When one is not of that form or names no known format, or two go to standard output.
pub(super) fn parse(texts: &[String]) -> anyhow::Result<Vec<ReportRequest>> {
    let wishes = texts.iter().map(|text| parse_one(text)).collect::<Result<Vec<ReportRequest>, Advice>>()?;
    if wishes.iter().filter(|wish| wish.is_stdout()).count() > 1 {
        let message = format!("two of `{OPTION}` go to standard output");
        return Err(Advice { message, hint: "write all but one to files".to_owned() }.into());
    }
    Ok(wishes)
}

/// The reports that `check` is asked for, and that all of them can be written. Two have options of their own, as with a
/// report of Apex-X.
///
/// # Errors
/// As [`parse`] and [`check`].
pub(super) fn of_check(folder: &Path, args: &CheckArgs) -> anyhow::Result<Vec<ReportRequest>> {
    let named = |format: &str, path: &Option<PathBuf>| path.as_ref().map(|path| format!("{format}={}", path.display()));
    let own = [named("summary", &args.summary), named("trend", &args.trend_output)];
    let texts: Vec<String> = args.reports.iter().cloned().chain(own.into_iter().flatten()).collect();
    let wishes = parse(&texts)?;
    check(folder, &wishes, read_by_check(args))?;
    Ok(wishes)
}

/// The files that `check` reads.
pub(super) fn read_by_check(args: &CheckArgs) -> Vec<NamedFile<'_>> {
    vec![
        NamedFile::read("--run", args.run.as_deref(), "the run that is judged"),
        NamedFile::read("--baseline", args.baseline.as_deref(), "its baseline"),
        NamedFile::read("--against", args.against.as_deref().map(Path::new), "what it is held against"),
        NamedFile::read("--policy", args.policy.as_deref(), "the policy"),
    ]
}

fn parse_one(asked: &str) -> Result<ReportRequest, Advice> {
    let words = ReportFormat::ALL.map(|(word, _, _)| word);
    let list = format!("the formats are {}", words.join(", "));
    let shown = text::printable(asked);
    let Some((word, path)) = asked.split_once('=').filter(|(_, path)| !path.is_empty()) else {
        let message = format!("`{OPTION} {shown}` is not of the form FORMAT=PATH");
        return Err(Advice {
            message,
            hint: format!("as in `{OPTION} junit=report.xml`; {list}, `-` is standard output"),
        });
    };
    let found = ReportFormat::ALL.iter().find(|(known, _, _)| *known == word);
    let Some((_, format, _)) = found else {
        let message = format!("there is no report format `{}`", text::printable(word));
        let near = nearest(word, &words).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Advice { message, hint: format!("{near}{list}") });
    };
    Ok(ReportRequest { format: *format, path: PathBuf::from(path) })
}

/// Fails before the work where a report could not be written after it, or would be written over another file. `others`
/// are the files that further options name; paths count from `folder`.
///
/// # Errors
/// Says which file, and why.
pub(super) fn check(folder: &Path, wishes: &[ReportRequest], others: Vec<NamedFile<'_>>) -> anyhow::Result<()> {
    let files = wishes.iter().filter(|wish| !wish.is_stdout());
    for wish in files.clone() {
        let first = wish.path.components().find(|part| !matches!(part, Component::CurDir)).map(|part| part.as_os_str());
        let is_read_by_gate = first.is_some_and(|first| READ_BY_GATE.iter().any(|name| first == *name));
        if is_read_by_gate || wish.path.file_name().is_some_and(|name| name == FILE_NAME) {
            let message = format!("`{OPTION}` would write over what the gate reads: `{}`", wish.path.display());
            return Err(Advice { message, hint: "name a file of its own".to_owned() }.into());
        }
    }
    let named = files.clone().map(|wish| NamedFile::written(OPTION, Some(&wish.path), wish.format.what()));
    check_distinct(folder, &others.into_iter().chain(named).collect::<Vec<NamedFile<'_>>>())?;
    for wish in files {
        check_writable(&folder.join(&wish.path))?;
    }
    Ok(())
}

/// Whether standard output belongs to a report, so that nothing else may stand there. Annotations are single lines that
/// stand among others.
pub(super) fn own_stdout(wishes: &[ReportRequest]) -> bool {
    wishes.iter().any(|wish| wish.is_stdout() && wish.format != ReportFormat::Github)
}

/// Prints what was found in the form that was asked for, `text` by default, and writes the reports.
///
/// # Errors
/// When one of them cannot be written.
pub(super) fn print_comparison(
    folder: &Path,
    args: &CompareArgs,
    (found, wishes): (&Gate, &[ReportRequest]),
    text: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let printed = match (args.json, args.markdown, args.only_changed) {
        // A report stands there alone.
        _ if own_stdout(wishes) => String::new(),
        (true, _, true) => gate::changed_json(found),
        (true, _, false) => gate::gate_json(found),
        (false, true, true) => gate::changed_markdown(found),
        (false, true, false) => gate::gate_markdown(found),
        (false, false, _) => text.to_owned(),
    };
    out.write_all(printed.as_bytes())?;
    write(folder, wishes, found, out)
}

/// Writes every report that is asked for; to the file of `$GITHUB_STEP_SUMMARY` it is added, for that is the page of the
/// whole step.
///
/// # Errors
/// When one cannot be written.
pub(super) fn write(folder: &Path, wishes: &[ReportRequest], gate: &Gate, out: &mut dyn Write) -> anyhow::Result<()> {
    let step_summary = std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from);
    write_reports(folder, wishes, gate, step_summary.as_deref(), out)
}

fn write_reports(
    folder: &Path,
    wishes: &[ReportRequest],
    gate: &Gate,
    step_summary: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for wish in wishes {
        let text = wish.format.text(gate);
        let path = folder.join(&wish.path);
        if wish.is_stdout() {
            out.write_all(text.as_bytes())?;
        } else if step_summary.is_some_and(|summary| is_same(&folder.join(summary), &path)) {
            append(&path, &text).with_context(|| format!("cannot write `{}`", path.display()))?;
        } else {
            write_atomic(&path, text.as_bytes())?;
        }
    }
    Ok(())
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    fn wishes(texts: &[&str]) -> anyhow::Result<Vec<ReportRequest>> {
        parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>())
    }

    fn advice(error: anyhow::Error) -> (String, String) {
        let advice = error.downcast::<Advice>().expect("it says what to do");
        (advice.message, advice.hint)
    }

    #[test]
    fn formats_and_paths_are_read() {
        let read = wishes(&["json=a.json", "md=x=y.md", "github=-"]).expect("all are known");
        assert_eq!(read[0], ReportRequest { format: ReportFormat::Json, path: "a.json".into() });
        assert_eq!(read[1], ReportRequest { format: ReportFormat::Markdown, path: "x=y.md".into() });
        assert!(read[2].is_stdout() && !own_stdout(&read));
        assert!(own_stdout(&wishes(&["json=-"]).expect("it is known")) && !own_stdout(&read[..2]));
        assert_eq!(wishes(&[]).expect("there is none"), []);
    }

    #[test]
    fn what_is_no_wish_is_named() {
        let check = |texts: &[&str], words: &str, more: &str| {
            let (message, hint) = advice(wishes(texts).expect_err("it is none"));
            assert!(message.contains(words) && hint.contains(more), "{message}; {hint}");
        };
        let list = "the formats are json, md, junit, sarif, github, summary, trend";
        check(&["junit"], "`--report junit` is not of the form FORMAT=PATH", list);
        check(&["junit="], "is not of the form FORMAT=PATH", list);
        check(&["=a.xml"], "there is no report format ``", list);
        check(&["junti=a.xml"], "there is no report format `junti`", "did you mean `junit`? the formats are json");
        check(&["\u{1b}x=a"], "there is no report format `\\u{1b}x`", list);
        check(&["json=-", "md=-"], "two of `--report` go to standard output", "all but one to files");
    }

    #[test]
    fn a_report_goes_over_no_other_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("run.json"), "").expect("a file");
        let check = |texts: &[&str]| {
            let run = NamedFile::read("--run", Some(Path::new("run.json")), "the run");
            check(folder.path(), &wishes(texts).expect("all are known"), vec![run])
        };
        check(&["json=a.json", "junit=below/a.xml", "md=-"]).expect("all can be written");
        let (message, hint) = advice(check(&["json=a", "junit=./a"]).expect_err("they are one"));
        assert_eq!(message, "`--report` and `--report` name the same file");
        assert!(hint.contains("the first writes the JSON report, the second the JUnit report"), "{hint}");
        let (message, _) = advice(check(&["json=run.json"]).expect_err("they are one"));
        assert_eq!(message, "`--run` and `--report` name the same file");
        fs::create_dir(folder.path().join("folder")).expect("a folder");
        assert!(check(&["json=folder"]).expect_err("no file").to_string().contains("it is a folder"));
        assert!(check(&["json=run.json/a"]).expect_err("no folder").to_string().contains("cannot write"));
    }

    #[test]
    fn each_is_written_and_the_page_of_a_step_is_added_to() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let gate = example::gate();
        let page = folder.path().join("step");
        fs::write(&page, "before\n").expect("a file");
        fs::write(folder.path().join("a.md"), "before\n").expect("a file");
        let all = [
            "json=a.json",
            "md=a.md",
            "junit=b/a.xml",
            "sarif=a.sarif",
            "github=-",
            "summary=s",
            "trend=t",
            "md=./step",
        ];
        let wishes = wishes(&all).expect("all are known");
        let mut out = Vec::new();
        write_reports(folder.path(), &wishes, &gate, Some(&page), &mut out).expect("all can be written");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it was written");
        assert_eq!(read("a.json"), gate::gate_json(&gate));
        assert_eq!(read("a.md"), gate::gate_markdown(&gate));
        assert_eq!(read("b/a.xml"), gate::gate_junit(&gate));
        assert_eq!(read("a.sarif"), gate::gate_sarif(&gate));
        assert_eq!(String::from_utf8(out).expect("it is text"), gate::gate_commands(&gate));
        assert_eq!((read("s"), read("t")), (gate_summary::summary(&gate), gate_summary::trend(&gate, Utc::now())));
        assert_eq!(read("step"), format!("before\n{}", gate::gate_markdown(&gate)));
        write_reports(folder.path(), &wishes[7..], &gate, None, &mut Vec::new()).expect("it can be written");
        assert_eq!(read("step"), gate::gate_markdown(&gate));
    }
}
