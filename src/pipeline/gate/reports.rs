//! `--report FORMAT=PATH`: the findings of a gate in other formats.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use crate::config::{FILE_NAME, nearest};
use crate::error::{Exit, WithContext as _};
use crate::export::check_parent;
use crate::gate::outcome::{CheckRequest, GateRequest, PrintFormat, for_bisection};
use crate::gate::summary;
use crate::options::{NamedFile, check_distinct};
use crate::{Advice, refuse, text};
use sprag_base::files::{check_writable, write_atomic};
use sprag_measure::clock;
use sprag_model::Gate;
use sprag_report::gate;

const OPTION: &str = "--report";

const READ_BY_GATE: [&str; 3] = ["baselines", "history", "ledger"];

/// The file that GitHub shows on the page of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    Json,
    Markdown,
    Junit,
    Sarif,
    Github,
    Summary,
    Trend,
}

impl ReportFormat {
    /// The word of the option, the format, and a description.
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
        let entry = ReportFormat::ALL.iter().find(|(_, format, _)| *format == self);
        entry.map(|(_, _, what)| *what).expect("the list has every format")
    }

    fn text(self, gate: &Gate) -> String {
        match self {
            ReportFormat::Json => gate::gate_json(gate, false),
            ReportFormat::Markdown => gate::gate_markdown(gate, false),
            ReportFormat::Junit => gate::gate_junit(gate),
            ReportFormat::Sarif => gate::gate_sarif(gate),
            ReportFormat::Github => gate::gate_commands(gate),
            ReportFormat::Summary => summary::summary(gate),
            ReportFormat::Trend => summary::trend(gate, clock::now()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    pub format: ReportFormat,
    /// `-` is standard output.
    pub path: PathBuf,
}

impl ReportRequest {
    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

pub fn parse(texts: &[String]) -> crate::Result<Vec<ReportRequest>> {
    let reports = texts.iter().map(|text| parse_one(text)).collect::<Result<Vec<ReportRequest>, Advice>>()?;
    if reports.iter().filter(|report| report.is_stdout()).count() > 1 {
        return refuse(format!("two of `{OPTION}` go to standard output"), "write all but one to files");
    }
    Ok(reports)
}

/// The reports of `check`; two formats have options of their own.
pub fn of_check(request: &CheckRequest) -> crate::Result<Vec<ReportRequest>> {
    let named = |format: &str, path: &Option<PathBuf>| path.as_ref().map(|path| format!("{format}={}", path.display()));
    let own = [named("summary", &request.summary), named("trend", &request.trend_output)];
    let texts: Vec<String> = request.gate.reports.iter().cloned().chain(own.into_iter().flatten()).collect();
    let reports = parse(&texts)?;
    check(&request.gate.folder, &reports, request.inputs())?;
    Ok(reports)
}

fn parse_one(asked: &str) -> Result<ReportRequest, Advice> {
    let words = ReportFormat::ALL.map(|(word, _, _)| word);
    let list = format!("the formats are {}", words.join(", "));
    let shown = text::printable(asked);
    let Some((word, path)) = asked.split_once('=').filter(|(_, path)| !path.is_empty()) else {
        let message = format!("`{OPTION} {shown}` is not of the form FORMAT=PATH");
        return refuse(message, format!("as in `{OPTION} junit=report.xml`; {list}, `-` is standard output"));
    };
    let entry = ReportFormat::ALL.iter().find(|(other, _, _)| *other == word);
    let Some((_, format, _)) = entry else {
        let message = format!("there is no report format `{}`", text::printable(word));
        let near = nearest(word, &words).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return refuse(message, format!("{near}{list}"));
    };
    Ok(ReportRequest { format: *format, path: PathBuf::from(path) })
}

/// Fails early if a report cannot be written or would overwrite another file. `others` are files of other options.
pub fn check(folder: &Path, reports: &[ReportRequest], others: Vec<NamedFile<'_>>) -> crate::Result<()> {
    let files = reports.iter().filter(|report| !report.is_stdout());
    for report in files.clone() {
        let first =
            report.path.components().find(|part| !matches!(part, Component::CurDir)).map(|part| part.as_os_str());
        let is_read_by_gate = first.is_some_and(|first| READ_BY_GATE.iter().any(|name| first == *name));
        if is_read_by_gate || report.path.file_name().is_some_and(|name| name == FILE_NAME) {
            let message = format!("`{OPTION}` would write over what the gate reads: `{}`", report.path.display());
            return refuse(message, "name a file of its own");
        }
    }
    let named = files.clone().map(|report| NamedFile::written(OPTION, Some(&report.path), report.format.what()));
    check_distinct(folder, &others.into_iter().chain(named).collect::<Vec<NamedFile<'_>>>())?;
    for report in files {
        let path = folder.join(&report.path);
        check_parent(&path, OPTION)?;
        check_writable(&path)?;
    }
    Ok(())
}

/// Annotations are single lines that may be mixed with others; other reports need standard output alone.
pub fn own_stdout(reports: &[ReportRequest]) -> bool {
    reports.iter().any(|report| report.is_stdout() && report.format != ReportFormat::Github)
}

/// Prints the findings, by default as `text`, and writes the reports.
pub fn conclude(
    request: &GateRequest,
    reports: &[ReportRequest],
    (gate, exit): (&Gate, Exit),
    text: &str,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let printed = match (request.print, request.only_changed) {
        _ if own_stdout(reports) => String::new(),
        (PrintFormat::Json, only_changed) => gate::gate_json(gate, only_changed),
        (PrintFormat::Markdown, only_changed) => gate::gate_markdown(gate, only_changed),
        (PrintFormat::Table, _) => text.to_owned(),
    };
    out.write_all(printed.as_bytes())?;
    let step_summary = std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from);
    write_reports(&request.folder, reports, gate, step_summary.as_deref(), out)?;
    Ok(if request.bisect { for_bisection(gate, exit) } else { exit })
}

/// `step_summary` is appended to.
fn write_reports(
    folder: &Path,
    reports: &[ReportRequest],
    gate: &Gate,
    step_summary: Option<&Path>,
    out: &mut dyn Write,
) -> crate::Result<()> {
    for report in reports {
        let text = report.format.text(gate);
        let path = folder.join(&report.path);
        if report.is_stdout() {
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

    fn parsed(texts: &[&str]) -> crate::Result<Vec<ReportRequest>> {
        parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>())
    }

    fn advice(error: crate::Error) -> (String, String) {
        let advice: Advice = error.downcast().expect("it says what to do");
        (advice.message, advice.hint)
    }

    #[test]
    fn formats_and_paths_are_read() {
        let read = parsed(&["json=a.json", "md=x=y.md", "github=-"]).expect("all are known");
        assert_eq!(read[0], ReportRequest { format: ReportFormat::Json, path: "a.json".into() });
        assert!(!own_stdout(&read[..2]) && parsed(&[]).expect("there is none").is_empty());
        assert_eq!(read[1], ReportRequest { format: ReportFormat::Markdown, path: "x=y.md".into() });
        assert!(read[2].is_stdout() && !own_stdout(&read) && own_stdout(&parsed(&["json=-"]).expect("it is known")));
        let check = |texts: &[&str], words: &str, more: &str| {
            let (message, hint) = advice(parsed(texts).expect_err("it is none"));
            assert!(message.contains(words) && hint.contains(more), "{message}; {hint}");
        };
        let list = "the formats are json, md, junit, sarif, github, summary, trend";
        check(&["junit"], "`--report junit` is not of the form FORMAT=PATH", list);
        check(&["=a.xml"], "there is no report format ``", list);
        check(&["junit="], "`--report junit=` is not of the form FORMAT=PATH", list);
        check(&["junti=a.xml"], "there is no report format `junti`", "did you mean `junit`? the formats are json");
        check(&["\u{1b}x=a"], "there is no report format `\\u{1b}x`", list);
        check(&["json=-", "md=-"], "two of `--report` go to standard output", "all but one to files");
    }

    #[test]
    fn reports_never_overwrite_another_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("run.json"), "").expect("a file");
        let check = |texts: &[&str]| {
            let run = NamedFile::read("--run", Some(Path::new("run.json")), "the run");
            check(folder.path(), &parsed(texts).expect("all are known"), vec![run])
        };
        check(&["json=a.json", "junit=below/a.xml"]).expect_err("there is no such folder");
        check(&["json=a.json", "junit=a.xml", "md=-"]).expect("all can be written");
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
    fn reports_are_written_and_step_summaries_appended_to() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let gate = example::gate();
        let page = folder.path().join("step");
        fs::write(&page, "before\n").expect("a file");
        fs::write(folder.path().join("a.md"), "before\n").expect("a file");
        let all = [
            "json=a.json", "md=a.md", "junit=b/a.xml", "sarif=a.sarif", "github=-", "summary=s", "trend=t", "md=./step",
        ];
        let reports = parsed(&all).expect("all are known");
        let mut out = Vec::new();
        write_reports(folder.path(), &reports, &gate, Some(&page), &mut out).expect("all can be written");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it was written");
        let markdown = gate::gate_markdown(&gate, false);
        assert_eq!((read("a.md"), read("b/a.xml")), (markdown.clone(), gate::gate_junit(&gate)));
        assert_eq!((read("a.json"), read("a.sarif")), (gate::gate_json(&gate, false), gate::gate_sarif(&gate)));
        assert_eq!(read("s"), summary::summary(&gate));
        assert_eq!(String::from_utf8(out).expect("it is text"), gate::gate_commands(&gate));
        assert_eq!((read("t"), read("step")), (summary::trend(&gate, clock::now()), format!("before\n{markdown}")));
        write_reports(folder.path(), &reports[7..], &gate, None, &mut Vec::new()).expect("it can be written");
        assert_eq!(read("step"), markdown);
    }
}
