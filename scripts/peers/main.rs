//! Times our CPU kernels beside ndarray and torch: `peers PROCESSES ROUNDS REASON [PYTHON SCRIPT]`.
//!
//! For each of so many processes a worker of this program and one of the script are started; round by round each in turn
//! times all its cases while the other waits. A case is a kernel beside the copy or triad of its class in the same
//! process: blocks of samples of at least 30 us after the cache has settled, alternating which comes first, the median of
//! each block, and of those the ratio. What is shown is the median over rounds, then over processes.

mod cases;
mod timing;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use timing::median;

/// Cases of the table, in its order: kernel, the copy it is held against, the target of the project.
const KERNELS: [(&str, &str, &str); 6] = [
    ("pack", "copy of 1 MiB", "1.9"),
    ("unpack in place", "copy of 1 MiB", "1.8"),
    ("unpack with copy", "copy of 8 MiB", "1.5"),
    ("fused pack-op-unpack", "copy of 8 MiB", "–"),
    ("fusion", "triad of 3 x 8 MiB", "1.45"),
    ("scan", "copy of 128 KiB", "1.7"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "worker") {
        return cases::work(arguments[1].parse().expect("a seed"));
    }
    let (processes, rounds): (u64, usize) =
        (arguments[0].parse().expect("processes"), arguments[1].parse().expect("rounds"));
    let mut ratios: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for seed in 1..=processes {
        let this = std::env::current_exe().expect("this program has a path");
        let mut workers = vec![("", Worker::start(Command::new(this).args(["worker", &seed.to_string()])))];
        if let [_, _, _, python, script] = arguments.as_slice() {
            workers.push(("torch: ", Worker::start(Command::new(python).args([script, &seed.to_string()]))));
        }
        let mut of_process: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for _ in 0..rounds {
            for (prefix, worker) in &mut workers {
                for (kernel, form, ratio) in worker.round() {
                    of_process.entry((kernel, format!("{prefix}{form}"))).or_default().push(ratio);
                }
            }
        }
        for (case, mut values) in of_process {
            ratios.entry(case).or_default().push(median(&mut values));
        }
    }
    println!("| Kernel | Form | Ratio | Over processes | Held against | Target |");
    println!("|---|---|---:|---|---|---:|");
    for (kernel, reference, target) in KERNELS {
        let mut rows: Vec<(String, Vec<f64>)> = ratios
            .iter()
            .filter(|(case, _)| case.0 == kernel)
            .map(|(case, all)| (case.1.clone(), all.clone()))
            .collect();
        // Ours first, then the others, the quickest first.
        rows.sort_by(|a, b| {
            (rank(&a.0), median(&mut a.1.clone()))
                .partial_cmp(&(rank(&b.0), median(&mut b.1.clone())))
                .expect("ratios are numbers")
        });
        for (form, mut all) in rows {
            let middle = median(&mut all);
            let (low, high) = (all[0], all[all.len() - 1]);
            let target = if form == "ours, 1 thread" { target } else { "" };
            println!(
                "| {kernel} | {form} | {} | {} to {} | {reference} | {target} |",
                show(middle),
                show(low),
                show(high)
            );
        }
        if arguments.len() < 5 {
            println!("| {kernel} | torch | skipped: {} | | | |", arguments[2]);
        }
    }
}

fn rank(form: &str) -> u8 {
    match form {
        "ours, 1 thread" => 0,
        _ if form.starts_with("ours") => 1,
        _ => 2,
    }
}

fn show(ratio: f64) -> String {
    if ratio < 9.995 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

/// A process that times one round a line.
struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(command: &mut Command) -> Worker {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the worker starts");
        let orders = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Worker { child, orders, answers }
    }

    /// Kernel, form and ratio of each case.
    fn round(&mut self) -> Vec<(String, String, f64)> {
        self.orders.write_all(b"round\n").and_then(|()| self.orders.flush()).expect("the worker listens");
        let mut cases = Vec::new();
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).expect("the worker answers") == 0 {
                panic!("the worker stopped: {:?}", self.child.wait());
            }
            let line = line.trim_end();
            if line == "end" {
                return cases;
            }
            let (case, ratio) = line.split_once('\t').expect("a case and a ratio");
            let (kernel, form) = case.split_once('/').expect("a kernel and a form");
            cases.push((kernel.to_owned(), form.to_owned(), ratio.parse().expect("a number")));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its standard input closes with this value, and it ends by itself; nothing is lost if it was dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
