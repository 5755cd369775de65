//! A project with a release that may go.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use sprag_base::digest::sha256_hex as sha256;

use crate::crafted::Crafted;
use crate::sandbox::{Ended, Sandbox, files};

const CHECKLIST: &str = include_str!("../../fixtures/projects/checklist.toml");

/// A project with the releases `v1` and `v2`; `v2` may go, with a waiver for the rule that needs more history.
pub(crate) struct Project(pub(crate) Crafted);

impl Deref for Project {
    type Target = Crafted;

    fn deref(&self) -> &Crafted {
        &self.0
    }
}

impl Project {
    /// A copy of one that is made once a process.
    pub(crate) fn new() -> Project {
        static MADE: OnceLock<Sandbox> = OnceLock::new();
        Project(Crafted { sandbox: Sandbox::copy_of(&MADE, || Project::make().0.sandbox) })
    }

    fn make() -> Project {
        let crafted = Crafted::with_sessions(8);
        let first = crafted.measured_commit().sha;
        crafted.git(&["tag", "v1", &first]);
        crafted.write(".gitignore", "/_site\n/out\n/evidence*\n");
        crafted.commit_with("code.rs", "// 2", "Change the code");
        crafted.sessions(9..=16);
        let second = crafted.measured_commit().sha;
        crafted.git(&["tag", "v2", &second]);
        crafted.ends(0, &["baseline", "emit"]);
        let caps = "{\"cuda\": false}\n";
        crafted.write("out/notes.md", "# Notes\n");
        crafted.write("out/caps.json", caps);
        crafted.write("out/replay.json", include_str!("../../fixtures/replay/small.json"));
        crafted.write("release/checklist.toml", &CHECKLIST.replace("CAPS", &sha256(caps.as_bytes())));
        let releases = format!(
            "schema_version = 1\n[[release]]\nname = \"v1\"\ncommit = \"{first}\"\n[[release]]\nname = \"v2\"\n\
             commit = \"{second}\"\nprevious = \"v1\"\nsigned = [{{ role = \"Release owner\", owner = \"Ada\", date = \"2026-02-01\" }}]\n"
        );
        crafted.write("release/releases.toml", &releases);
        crafted.commit_with("ledger/v2.toml", &waiver(&second, "9999-12-31"), "Say what the release rests on");
        Project(crafted)
    }

    pub(crate) fn copied(&self) -> Project {
        Project(Crafted { sandbox: self.sandbox.copied() })
    }

    #[track_caller]
    pub(crate) fn checklist(&self, code: i32, more: &[&str]) -> Ended {
        self.ends(code, &[&["release", "checklist", "v2"], more].concat())
    }

    #[track_caller]
    pub(crate) fn attest(&self, more: &[&str]) {
        self.ends(0, &[&["release", "attest", "v2", "--out", "evidence"], more].concat());
    }

    #[track_caller]
    pub(crate) fn verify(&self, code: i32, more: &[&str]) -> Ended {
        self.ends(code, &[&["release", "verify", "evidence"], more].concat())
    }

    pub(crate) fn evidence(&self, path: &str) -> PathBuf {
        self.project.join("evidence").join(path)
    }

    pub(crate) fn evidence_json(&self, path: &str) -> Value {
        self.json(&format!("evidence/{path}"))
    }
}

/// A waiver of the item `coverage`.
pub(crate) fn waiver(commit: &str, expires: &str) -> String {
    format!(
        "[[waive]]\nrelease = \"v2\"\nitem = \"coverage\"\nreason = \"The project is young\"\nauthor = \"Ada\"\n\
         date = \"2026-01-01\"\ncommit = \"{commit}\"\nexpires = \"{expires}\"\n"
    )
}

/// Makes sums and statement match the files, as a forger would.
pub(crate) fn forge(folder: &Path) {
    let sums: String = files(folder)
        .iter()
        .filter(|(path, _)| !["SHA256SUMS", "statement.json", "statement.dsse.json"].contains(&path.as_str()))
        .map(|(path, bytes)| format!("{}  {path}\n", sha256(bytes)))
        .collect();
    let statement = folder.join("statement.json");
    let old = sha256(&fs::read(folder.join("SHA256SUMS")).expect("sums"));
    let text = fs::read_to_string(&statement).expect("a statement").replace(&old, &sha256(sums.as_bytes()));
    fs::write(statement, text).expect("a file");
    fs::write(folder.join("SHA256SUMS"), sums).expect("a file");
}
