//! The statement of a release: a function of its filled checklist and of the digests of its files.

use std::collections::BTreeMap;

use super::checklist::CHECKLIST_PATH;
use super::filled::CHECKLIST_JSON;
use super::sums::SUMS;
use sprag_model::checklist::{FilledChecklist, Status};
use sprag_model::statement::{GIT_COMMIT, PREDICATE_TYPE, SHA256, STATEMENT_TYPE};
use sprag_model::{Resource, Statement, TestOutcome, TestResult};

pub const STATEMENT: &str = "statement.json";

/// The statement. `sums` are those of all files, `sums_digest` is that of their text.
pub fn statement(filled: &FilledChecklist, sums: &BTreeMap<String, String>, sums_digest: &str) -> Statement {
    let of = |status: &[Status]| -> Vec<String> {
        let items = filled.items.iter().filter(|item| status.contains(&item.status));
        items.map(|item| item.id.clone()).collect()
    };
    let waived = of(&[Status::Waived]);
    let digest = |algorithm: &str, digest: &str| BTreeMap::from([(algorithm.to_owned(), digest.to_owned())]);
    let history = &filled.history;
    let listed = |path: &str| {
        let listed = sums.get(path).map(|sum| digest(SHA256, sum));
        Resource { name: path.to_owned(), digest: listed.unwrap_or_default(), annotations: BTreeMap::new() }
    };
    Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: vec![Resource {
            name: filled.release.clone(),
            digest: digest(GIT_COMMIT, &filled.commit),
            annotations: BTreeMap::new(),
        }],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: TestResult {
            result: match (filled.go, waived.is_empty()) {
                (false, _) => TestOutcome::Failed,
                (true, false) => TestOutcome::Warned,
                (true, true) => TestOutcome::Passed,
            },
            configuration: vec![
                Resource {
                    name: SUMS.to_owned(),
                    digest: digest(SHA256, sums_digest),
                    annotations: BTreeMap::from([("files".to_owned(), sums.len().to_string())]),
                },
                listed(CHECKLIST_PATH),
                listed(CHECKLIST_JSON),
                Resource {
                    name: "history".to_owned(),
                    digest: digest(GIT_COMMIT, &history.commit),
                    annotations: BTreeMap::from([
                        ("merkleRoot".to_owned(), history.root.clone()),
                        ("runs".to_owned(), history.size.to_string()),
                    ]),
                },
            ],
            passed_tests: of(&[Status::Pass]),
            warned_tests: waived,
            failed_tests: of(&[Status::Fail, Status::Pending]),
        },
    }
}
