//! The code of the generated project: who changed what, when, and the files after each change.

use chrono::{DateTime, TimeDelta, Utc};

use crate::demo::planted::{COMMITS, FASTER, SLOWER, stream};
use sprag_base::stats::random::SplitMix64;
use sprag_history::Author;

/// The commit that adds the baselines, soon after a release and before the planted regression.
pub(super) const BASELINES: usize = 108;

/// Monday, 18 May 2026.
const START: i64 = 1_779_062_400;

/// The commit that lists the newest release, right after it and before the planted regression.
pub(super) const LISTED: usize = RELEASED + 1;

/// The newest release: one that is measured on every machine, with baselines of the release before it.
pub(super) const RELEASED: usize = 117;

const RELEASES: [(usize, &str, &str); 4] = [
    (35, "v0.1.0", "Release 0.1.0"),
    (72, "v0.2.0", "Release 0.2.0"),
    (106, "v0.3.0", "Release 0.3.0"),
    (RELEASED, "v0.4.0", "Release 0.4.0"),
];

const KERNELS: [&str; 5] = ["tile_pack", "tile_unpack", "fusion_gate", "tile_ssm_scan", "infer"];

const AUTHORS: [(&str, &str); 4] = [
    ("Ada Berg", "ada.berg@example.org"),
    ("Noor Haddad", "noor.haddad@example.org"),
    ("Mei Tanaka", "mei.tanaka@example.org"),
    ("Tomas Ruiz", "tomas.ruiz@example.org"),
];

/// What may be done to a kernel; each is done at most once to each.
const SUBJECTS: [&str; 26] = [
    "Align the buffers of",
    "Check the shapes once in",
    "Describe the layout that is expected by",
    "Do not copy the input of",
    "Drop a dead branch from",
    "Explain the tolerance of",
    "Give names to the strides of",
    "Hoist the bounds check out of",
    "Keep the scratch buffer between calls of",
    "Let the caller choose the block size of",
    "Measure more sizes of",
    "Move the constants of",
    "Prefetch one block ahead in",
    "Reject empty input in",
    "Remove a needless allocation from",
    "Reorder the loops of",
    "Return an error for odd sizes from",
    "Rewrite the tail of",
    "Share the test data of",
    "Shorten the critical path of",
    "Split loads and stores in",
    "Take slices in place of pointers in",
    "Test ties and zeros in",
    "Unroll the inner loop of",
    "Use one accumulator a lane in",
    "Write the reference first in",
];

pub(super) struct Change {
    pub(super) subject: String,
    pub(super) author: Author,
    pub(super) time: DateTime<Utc>,
    pub(super) tag: Option<&'static str>,
    pub(super) files: Vec<(String, String)>,
}

/// The project, from its first commit on.
pub(super) struct Project {
    random: SplitMix64,
    /// What is still to be done: a subject and a kernel.
    open: Vec<(usize, usize)>,
    /// The numbers in the source file: unrolling, blocks ahead, and how often it was changed, for each kernel.
    state: [(u32, u32, u32); KERNELS.len()],
    version: &'static str,
}

impl Project {
    pub(super) fn new(seed: u64) -> Project {
        let mut random = stream(seed, "project");
        let mut open: Vec<(usize, usize)> =
            (0..SUBJECTS.len()).flat_map(|subject| (0..KERNELS.len()).map(move |kernel| (subject, kernel))).collect();
        random.shuffle(&mut open);
        Project { random, open, state: [(1, 0, 0); KERNELS.len()], version: "v0.0.0" }
    }

    /// All its commits, oldest first.
    pub(super) fn changes(mut self) -> Vec<Change> {
        (0..COMMITS).map(|position| self.change(position)).collect()
    }

    fn change(&mut self, position: usize) -> Change {
        let release = RELEASES.iter().find(|(at, _, _)| *at == position);
        let mut files = Vec::new();
        let mut kernel = None;
        let subject = if position == 0 {
            files.push(("sprag.toml".to_owned(), "[project]\nname = \"demo\"\n".to_owned()));
            files.push((".gitignore".to_owned(), "/target\n/_site\n/.sprag\n".to_owned()));
            files.push(("README.md".to_owned(), self.readme()));
            "Begin with tiles, gates and scans".to_owned()
        } else if let Some((_, tag, subject)) = release {
            self.version = tag;
            files.push(("README.md".to_owned(), self.readme()));
            (*subject).to_owned()
        } else if position == BASELINES {
            "Take baselines from the runs of 0.3.0".to_owned()
        } else if position == LISTED {
            "Say what a release rests on".to_owned()
        } else if position == SLOWER.position {
            kernel = Some(0);
            "Handle ragged edges in tile_pack".to_owned()
        } else if position == FASTER.position {
            kernel = Some(2);
            "Fold the activation into fusion_gate".to_owned()
        } else {
            let (subject, number) = self.open.pop().expect("there are more things to do than commits");
            kernel = Some(number);
            format!("{} {}", SUBJECTS[subject], KERNELS[number])
        };
        if let Some(kernel) = kernel {
            let (unrolled, ahead) = (self.random.below(4), self.random.below(3));
            let (.., changed) = self.state[kernel];
            self.state[kernel] = (1 << unrolled, ahead as u32, changed + 1);
        }
        files.push(("src/kernels.rs".to_owned(), self.source(position)));
        let (name, email) = AUTHORS[self.random.below(AUTHORS.len())];
        let author = Author { name: name.to_owned(), email: email.to_owned() };
        let day = (position / 5 * 7 + position % 5) as i64;
        let minute = 8 * 60 + self.random.below(9 * 60) as i64;
        let start = DateTime::from_timestamp(START, 0).expect("the first day is in the calendar");
        let time = start + TimeDelta::days(day) + TimeDelta::minutes(minute);
        Change { subject, author, time, tag: release.map(|(_, tag, _)| *tag), files }
    }

    fn readme(&self) -> String {
        format!(
            "# Demo\n\nKernels that tile, gate and scan. This is version {}.\n\nThis project was generated by `sprag \
             demo`: its authors, its commits and its runs are made up.\n",
            &self.version[1..]
        )
    }

    fn source(&self, position: usize) -> String {
        let mut text = format!(
            "//! How the kernels of the demo are built. Nothing runs them: the numbers in `history/` are generated.\n\n\
             /// How many commits have gone into this file.\npub const REVISION: u32 = {};\n\n/// The shape of a \
             kernel.\npub struct Shape {{\n    /// How often its inner loop is unrolled.\n    pub unrolled: u32,\n    /// \
             How many blocks it fetches ahead.\n    pub ahead: u32,\n    /// How often it was changed.\n    pub changed: \
             u32,\n}}\n",
            position + 1
        );
        for (kernel, (unrolled, ahead, changed)) in KERNELS.iter().zip(self.state) {
            let name = kernel.to_uppercase();
            text.push_str(&format!(
                "\n/// `{kernel}`.\npub const {name}: Shape = Shape {{ unrolled: {unrolled}, ahead: {ahead}, changed: \
                 {changed} }};\n"
            ));
        }
        text
    }
}
