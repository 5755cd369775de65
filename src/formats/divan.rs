//! What a bench of divan prints: a tree of benchmarks with the columns fastest, slowest, median, mean, samples and iters.
//!
//! A line of the tree has three characters a level, then `├─ ` or `╰─ ` and a name; a benchmark has its times in the
//! columns. The lines that follow without such a mark are its rates, and its blocks of allocations. divan prints four
//! digits and no samples: the median is the value, the other columns are extras. Each tree is a run, whose suite
//! is the name at its root. Of divan 0.1.
//!
//! A benchmark is called by the names on its way from the root, joined by `::`; a leaf `t=N` is its number of threads.

use serde_json::{Map, Value, json};

use super::frame::{Format, Read, Recognised};
use super::{FormatError, LONGEST_PREFIX, MOST_RUNS, console, outputs};
use sprag_base::digest;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "divan",
    title: "what a bench of divan prints",
    files: &[".txt"],
    recognised: Recognised::Each(is_text),
    read: Read::Together(read),
};

const COLUMNS: [&str; 6] = ["fastest", "slowest", "median", "mean", "samples", "iters"];

const MEDIAN: usize = 2;

/// How deep a tree may be: modules in modules and groups in groups are few.
const DEEPEST: usize = 100;

fn is_text(output: &Output) -> bool {
    outputs::start(output).lines().any(|line| root(&console::plain(line)).is_some())
}

fn read(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let mut notes = Vec::new();
    let mut runs = Vec::new();
    for output in outputs {
        let trees = trees(output, &mut notes)?;
        let alone = trees.len() == 1;
        for tree in trees {
            let digest = if alone { outputs::digest(&[output]) } else { digest::sha256_hex(tree.text.as_bytes()) };
            let entries = outputs::newest_of_each(tree.entries, &mut notes);
            runs.push(ImportedRun { suite: Some(tree.root), entries, digest, ..ImportedRun::default() });
        }
    }
    Ok(outputs::imported("divan", runs, notes))
}

struct Tree {
    root: String,
    text: String,
    /// The names on the way to the last line.
    path: Vec<String>,
    entries: Vec<Entry>,
    /// Whether lines that follow may belong to the last entry.
    has_leaf: bool,
    /// The block of allocations that is being read, and how many of its lines were.
    block: Option<(&'static str, usize)>,
}

/// The trees with a benchmark; what is between them is passed over.
fn trees(output: &Output, notes: &mut Vec<String>) -> Result<Vec<Tree>, FormatError> {
    let mut trees: Vec<Tree> = Vec::new();
    let mut is_inside = false;
    for (number, line) in outputs::lines(output)? {
        let line = console::plain(line);
        let line = line.trim_end();
        if let Some(root) = root(line) {
            let (root, text, block) = (root.to_owned(), format!("{line}\n"), None);
            if trees.len() > MOST_RUNS {
                return Err(FormatError::ManyRuns(output.name.clone()));
            }
            trees.push(Tree { root, text, path: Vec::new(), entries: Vec::new(), has_leaf: false, block });
            is_inside = true;
            continue;
        }
        let Some(tree) = trees.last_mut().filter(|_| is_inside && !line.is_empty()) else {
            is_inside = false;
            continue;
        };
        tree.text.push_str(line);
        tree.text.push('\n');
        match branch(line) {
            Some((depth, rest)) if depth <= tree.path.len() && depth < DEEPEST => {
                let result = tree.branch(depth, rest);
                if tree.path.iter().map(String::len).sum::<usize>() > LONGEST_PREFIX {
                    let reason = format!("has names of more than {LONGEST_PREFIX} bytes on the way to line {number}");
                    return Err(outputs::schema(output, reason));
                }
                if let Some(entry) = result {
                    outputs::push(output, &mut tree.entries, entry)?;
                }
            }
            Some(_) => {
                return Err(outputs::schema(output, format!("has a branch without its parent in line {number}")));
            }
            None if tree.follow(line) => {}
            None => outputs::note(notes, format!("{} line {number}: no part of the tree", output.name)),
        }
    }
    trees.retain(|tree| !tree.entries.is_empty());
    Ok(trees)
}

impl Tree {
    /// Takes a line with a name: a level of the tree, or a benchmark that ran or was left out.
    fn branch(&mut self, depth: usize, rest: &str) -> Option<Entry> {
        let (first, columns) = columns(rest);
        let (name, value) = match first.trim_end().rsplit_once("  ") {
            Some((name, value)) => (name.trim(), value.trim()),
            None => (first.trim(), ""),
        };
        self.path.truncate(depth);
        self.path.push(name.to_owned());
        (self.has_leaf, self.block) = (false, None);
        let status = if value == "(ignored)" { Some(EntryStatus::Skipped("ignored".to_owned())) } else { None };
        if value.is_empty() || (status.is_none() && columns.len() < COLUMNS.len() - 1) {
            return None;
        }
        let cells: Vec<&str> = std::iter::once(value).chain(columns).collect();
        let series = self.path.join("::");
        let mut entry = match status {
            Some(status) => Entry { status, ..outputs::entry(&series, Ok(Vec::new())) },
            None => benchmark(&series, &cells),
        };
        let threads = name.strip_prefix("t=").filter(|count| count.parse::<u32>().is_ok());
        if let (Some(threads), Some((_, parents))) = (threads, self.path.split_last()) {
            entry.name = parents.join("::");
            entry.params.insert("threads".to_owned(), threads.to_owned());
        }
        self.has_leaf = entry.status == EntryStatus::Ok && !entry.observations.is_empty();
        Some(entry)
    }

    /// Takes a line of the last benchmark: a rate, or of a block of allocations. `false` where it is none.
    fn follow(&mut self, line: &str) -> bool {
        let (first, columns) = columns(line);
        let first = first.trim_matches(|c: char| c == '│' || c.is_whitespace());
        let is_row = !columns.is_empty();
        let cells: Vec<&str> = std::iter::once(first).chain(columns).collect();
        let Some(entry) = self.entries.last_mut().filter(|_| self.has_leaf) else { return is_row };
        let blocks = [
            ("max alloc:", "max_alloc"),
            ("alloc:", "alloc"),
            ("dealloc:", "dealloc"),
            ("grow:", "grow"),
            ("shrink:", "shrink"),
        ];
        if let Some((_, name)) = blocks.iter().find(|(title, _)| *title == first) {
            self.block = Some((name, 0));
            return true;
        }
        let Some(median) = cells.get(MEDIAN).map(|cell| cell.trim()) else { return false };
        if let Some((name, place)) = self.block.take_if(|(_, place)| *place < 2) {
            self.block = Some((name, place + 1));
            return allocated(entry, name, place, median);
        }
        let Some((name, value)) = console::rate(median) else { return false };
        let n = entry.observations.first().map_or(0, |time| time.n);
        if let Ok(rate) = outputs::summary(Metric::throughput(name), unit(Some(&median)), name, value) {
            entry.observations.push(Observation { n, ..rate });
        }
        true
    }
}

/// Takes a line of a block of allocations: first how many there were, then how many bytes. The most bytes that were
/// allocated at one time are the peak memory.
fn allocated(entry: &mut Entry, block: &str, place: usize, median: &str) -> bool {
    let (key, value) = match place {
        0 => ("count", median.parse().ok()),
        _ => ("bytes", console::bytes(median)),
    };
    let Some(value) = value.filter(|value: &f64| value.is_finite()) else { return false };
    let tally = entry.extras.entry(block.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    tally[key] = json!(value);
    if (block, key) == ("max_alloc", "bytes")
        && let Ok(memory) = outputs::summary(Metric::peak_memory(), "B", "max alloc", value)
    {
        let n = entry.observations.first().map_or(0, |time| time.n);
        entry.observations.push(Observation { n, ..memory });
    }
    true
}

fn unit<'a>(cell: Option<&&'a str>) -> &'a str {
    console::number_and_unit(cell.copied().unwrap_or_default()).1
}

fn benchmark(series: &str, cells: &[&str]) -> Entry {
    let time = |place: usize| {
        let (cell, column) = (cells.get(place).unwrap_or(&"").trim(), COLUMNS.get(place).unwrap_or(&""));
        let seconds = console::seconds(cell).ok_or_else(|| format!("its `{column}` is not a time"))?;
        outputs::possible(&Metric::time(), column, seconds)
    };
    let count = |place: usize| cells.get(place).and_then(|cell| cell.trim().parse::<u64>().ok());
    let result = time(MEDIAN).and_then(|median| {
        let times = [(0, time(0)?), (1, time(1)?), (3, time(3)?)];
        let n = count(4).ok_or("its `samples` is not a count")?;
        Ok((times, Observation { n, ..Observation::summary(Metric::time(), unit(cells.get(MEDIAN)), median) }))
    });
    let (times, result) = match result {
        Ok((times, time)) => (times.to_vec(), Ok(vec![time])),
        Err(reason) => (Vec::new(), Err(reason)),
    };
    let mut entry = outputs::entry(series, result);
    for (place, seconds) in times {
        entry.extras.extend(COLUMNS.get(place).map(|column| ((*column).to_owned(), json!(seconds))));
    }
    for place in [4, 5] {
        let column = COLUMNS.get(place).zip(count(place));
        entry.extras.extend(column.map(|(column, count)| ((*column).to_owned(), json!(count))));
    }
    entry
}

/// The name at the root of a tree, where the line is its head.
fn root(line: &str) -> Option<&str> {
    let (first, columns) = columns(line);
    let fine =
        columns.len() == COLUMNS.len() - 1 && columns.iter().map(|cell| cell.trim()).eq(COLUMNS[1..].iter().copied());
    first.trim_end().strip_suffix(COLUMNS[0]).filter(|_| fine).map(str::trim)
}

/// The first column with the text before it, and the other five.
fn columns(line: &str) -> (&str, Vec<&str>) {
    let mut cells: Vec<&str> = line.rsplitn(COLUMNS.len(), '│').collect();
    cells.reverse();
    let is_row = cells.len() == COLUMNS.len();
    match cells.split_first() {
        Some((first, rest)) if is_row => (first, rest.to_vec()),
        _ => (line, Vec::new()),
    }
}

/// The level of a line with a name, and what follows the mark.
fn branch(line: &str) -> Option<(usize, &str)> {
    let (mut depth, mut rest) = (0, line);
    loop {
        if let Some(result) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
            return Some((depth, result));
        }
        rest = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   "))?;
        depth += 1;
    }
}
