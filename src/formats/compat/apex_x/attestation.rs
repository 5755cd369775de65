//! Apex-X's release attestation: which files and gates a release depends on, as JSON and as Markdown, byte for byte.
//!
//! A file passes where it exists, whatever its content. So this form proves little and is written for its existing readers;
//! the statuses of the gates are derived from the records.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_base::{json, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    Pass,
    Fail,
    Pending,
    NotApplicable,
}

words!(Grade { Pass: "PASS", Fail: "FAIL", Pending: "PENDING", NotApplicable: "N/A" });

impl Grade {
    /// In capitals or not.
    pub fn parse(word: &str) -> Option<Grade> {
        let all = [Grade::Pass, Grade::Fail, Grade::Pending, Grade::NotApplicable];
        all.into_iter().find(|status| status.word() == word.trim().to_uppercase())
    }
}

pub const TARGETS: [&str; 4] = ["cpu", "torch", "triton", "tensorrt"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttestationKind {
    pub key: &'static str,
    pub label: &'static str,
    pub path: &'static str,
    pub producer: &'static str,
    pub for_tensorrt: bool,
}

pub const ARTIFACTS: [AttestationKind; 8] = [
    kind("export_manifest", "Export manifest", "artifacts/export/apex_x_manifest.json", EXPORT, false),
    kind("onnx_graph", "ONNX graph", "artifacts/export/apex_x.onnx", EXPORT, false),
    kind("trt_engine", "TRT engine (if TRT release)", "artifacts/trt/apex_x.engine", "TensorRT build pipeline", true),
    kind(
        "trt_plugin_versions", "TRT plugin versions (if TRT release)", "artifacts/trt/plugin_versions.json",
        "runtime/tensorrt build metadata export", true,
    ),
    kind("parity_report", "Parity report", "artifacts/parity/parity_report.json", "parity test/harness run", false),
    kind(
        "performance_report",
        "Performance report",
        "artifacts/perf/perf_report.json",
        "scripts/perf_regression.py and/or GPU suite",
        false,
    ),
    kind(
        "runtime_capability_snapshot",
        "Runtime capability snapshot",
        "artifacts/runtime/caps.json",
        "python -c \"from apex_x.runtime import detect_runtime_caps; ...\"",
        false,
    ),
    kind(
        "eval_report", "Eval report with runtime metadata", "artifacts/eval/eval_report.json",
        "apex-x eval ... --report-json ...", false,
    ),
];

const EXPORT: &str = "apex-x export --config <cfg> --output-dir artifacts/export";

const fn kind(
    key: &'static str,
    label: &'static str,
    path: &'static str,
    producer: &'static str,
    for_tensorrt: bool,
) -> AttestationKind {
    AttestationKind { key, label, path, producer, for_tensorrt }
}

/// Each with its key and its label.
pub const GATES: [(&str, &str); 7] = [
    ("lint_type_tests", "Lint + typecheck + tests"),
    ("cpu_perf_regression", "CPU perf regression"),
    ("gpu_perf_regression", "GPU perf regression (if GPU scope)"),
    ("runtime_backend_parity", "Runtime backend parity"),
    ("runtime_capability_transparency", "Runtime capability transparency"),
    ("security_review", "Security review"),
    ("documentation_sync", "Documentation sync"),
];

/// For so many gates, the first ones, the run of CI is the default evidence.
const BY_CI: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub release_tag: String,
    pub commit_sha: String,
    /// Of this file, and by Apex-X also of the build.
    pub time: String,
    pub release_owner: String,
    /// One of [`TARGETS`].
    pub runtime_target: String,
    pub ci_run_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFile {
    pub path: String,
    /// SHA-256 and size, where it is a regular file.
    pub content: Option<(String, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attestation {
    pub metadata: Metadata,
    /// One a kind, in the order of [`ARTIFACTS`].
    pub files: Vec<ReleaseFile>,
    /// By key; the others are pending.
    pub gates: BTreeMap<String, Grade>,
    /// By key, in place of the run of CI.
    pub evidence: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttestationSummary {
    pub required: usize,
    pub missing: usize,
    pub passed: usize,
    pub failed: usize,
    pub pending: usize,
}

impl AttestationSummary {
    pub fn word(&self) -> &'static str {
        match self {
            AttestationSummary { missing: 0, failed: 0, pending: 0, .. } => "pass",
            AttestationSummary { missing: 0, failed: 0, .. } => "pending",
            _ => "fail",
        }
    }
}

impl Attestation {
    fn is_required(&self, kind: &AttestationKind) -> bool {
        !kind.for_tensorrt || self.metadata.runtime_target == "tensorrt"
    }

    fn status_of(&self, kind: &AttestationKind, file: &ReleaseFile) -> Grade {
        match (&file.content, self.is_required(kind)) {
            (Some(_), _) => Grade::Pass,
            (None, true) => Grade::Fail,
            (None, false) => Grade::NotApplicable,
        }
    }

    fn gate(&self, key: &str) -> Grade {
        self.gates.get(key).copied().unwrap_or(Grade::Pending)
    }

    fn evidence_of(&self, place: usize, key: &str) -> &str {
        let by_ci = self.metadata.ci_run_url.as_deref().filter(|_| place < BY_CI);
        self.evidence.get(key).map(String::as_str).or(by_ci).unwrap_or("pending")
    }

    pub fn summary(&self) -> AttestationSummary {
        let needed = || ARTIFACTS.iter().zip(&self.files).filter(|(kind, _)| self.is_required(kind));
        let gates = |status: Grade| GATES.iter().filter(|(key, _)| self.gate(key) == status).count();
        AttestationSummary {
            required: needed().count(),
            missing: needed().filter(|(_, file)| file.content.is_none()).count(),
            passed: gates(Grade::Pass),
            failed: gates(Grade::Fail),
            pending: gates(Grade::Pending),
        }
    }

    pub fn to_json(&self) -> String {
        let artifact = |(kind, file): (&AttestationKind, &ReleaseFile)| {
            json!({
                "key": kind.key,
                "label": kind.label,
                "path": file.path,
                "producer": kind.producer,
                "required": self.is_required(kind),
                "exists": file.content.is_some(),
                "sha256": file.content.as_ref().map(|content| &content.0),
                "size_bytes": file.content.as_ref().map(|content| content.1),
                "status": self.status_of(kind, file).word(),
            })
        };
        let gate = |(place, (key, label)): (usize, &(&str, &str))| {
            let evidence = self.evidence_of(place, key);
            json!({ "key": key, "label": label, "evidence": evidence, "status": self.gate(key).word() })
        };
        let summary = self.summary();
        let Metadata { release_tag, commit_sha, time, release_owner, runtime_target, ci_run_url } = &self.metadata;
        json::to_pretty(&json!({
            "schema_version": 1,
            "generated_at_utc": time,
            "release_metadata": {
                "release_tag": release_tag,
                "commit_sha": commit_sha,
                "build_date_utc": time,
                "release_owner": release_owner,
                "runtime_target": runtime_target,
                "ci_run_url": ci_run_url,
            },
            "artifacts": ARTIFACTS.iter().zip(&self.files).map(artifact).collect::<Vec<Value>>(),
            "gates": GATES.iter().enumerate().map(gate).collect::<Vec<Value>>(),
            "summary": {
                "required_artifacts_total": summary.required,
                "required_artifacts_passed": summary.required - summary.missing,
                "required_artifacts_failed": summary.missing,
                "gates_total": GATES.len(),
                "gates_passed": summary.passed,
                "gates_failed": summary.failed,
                "gates_pending": summary.pending,
                "overall_status": summary.word(),
            },
        }))
    }

    /// As in Apex-X, nothing is escaped.
    pub fn to_markdown(&self) -> String {
        let yes = |is: bool| if is { "Yes" } else { "No" };
        let Metadata { release_tag, commit_sha, time, release_owner, runtime_target, ci_run_url } = &self.metadata;
        let mut lines = vec![
            "# Apex-X Release Evidence".to_owned(),
            String::new(),
            "## Metadata".to_owned(),
            String::new(),
            format!("- Release tag: `{release_tag}`"),
            format!("- Commit SHA: `{commit_sha}`"),
            format!("- Build date (UTC): `{time}`"),
            format!("- Release owner: `{release_owner}`"),
            format!("- Runtime target: `{runtime_target}`"),
        ];
        lines.extend(ci_run_url.iter().map(|url| format!("- CI run: {url}")));
        let table = |title: &str, heads: &[&str]| {
            let rule = vec!["---"; heads.len()].join(" | ");
            [
                String::new(),
                format!("## {title}"),
                String::new(),
                format!("| {} |", heads.join(" | ")),
                format!("| {rule} |"),
            ]
        };
        let heads = ["Artifact", "Path", "Producer", "Required", "Exists", "SHA256", "Status"];
        lines.extend(table("Artifact Evidence", &heads));
        lines.extend(ARTIFACTS.iter().zip(&self.files).map(|(kind, file)| {
            let digest = file.content.as_ref().map_or("-", |content| &content.0);
            format!(
                "| {} | `{}` | `{}` | {} | {} | `{digest}` | `{}` |",
                kind.label,
                file.path,
                kind.producer,
                yes(self.is_required(kind)),
                yes(file.content.is_some()),
                self.status_of(kind, file).word()
            )
        }));
        lines.extend(table("Gate Evidence", &["Gate", "Evidence", "Status"]));
        lines.extend(GATES.iter().enumerate().map(|(place, (key, label))| {
            format!("| {label} | {} | `{}` |", self.evidence_of(place, key), self.gate(key).word())
        }));
        let AttestationSummary { required, missing, passed, failed, pending } = self.summary();
        lines.extend([
            String::new(),
            "## Summary".to_owned(),
            String::new(),
            format!("- Overall status: `{}`", self.summary().word()),
            format!("- Required artifacts: `{}/{required}` passed (`failed={missing}`)", required - missing),
            format!("- Gates: `{passed}/{}` passed (`failed={failed}`, `pending={pending}`)", GATES.len()),
            String::new(),
            "Generated by `python scripts/release_attestation.py` for `docs/release/CHECKLIST.md` evidence.".to_owned(),
            String::new(),
        ]);
        lines.join("\n")
    }
}
