//! After a kill or on a full disk, the history is in the state before or after.

use std::process::Child;
use std::time::Duration;

use crate::bad_input::QUARANTINED;
use crate::clones::{Clones, record_in};
use crate::crafted::{rounds, run, text};
#[cfg(target_os = "linux")]
use crate::emulator::Machine;
use crate::sandbox::Sandbox;

/// Git is intact, every record can be read, the tree heals.
fn check(sandbox: &Sandbox, recorded_at_least: usize) -> usize {
    sandbox.git(&["fsck", "--no-progress", "--no-dangling"]);
    sandbox.ends(0, &["site", "--out", "../after"]);
    let page = std::fs::read_to_string(sandbox.project.join("../after/index.html")).expect("the page is there");
    assert!(!page.to_lowercase().contains(QUARANTINED), "a torn record was found");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "the working tree was not caught up with");
    let records = sandbox.records("main").len();
    assert!(records >= recorded_at_least, "a recorded run is gone");
    records
}

#[test]
#[cfg(unix)]
fn a_kill_at_any_moment_loses_nothing_recorded() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["weekly", "--quick"]);
    let mut recorded = 1;
    // A run takes some tenths of a second.
    let kills = rounds(10, 100);
    for millis in (0..kills).map(|kill| 600 * kill / kills) {
        let mut child = sandbox.start(&["weekly", "--quick"]);
        std::thread::sleep(Duration::from_millis(millis));
        child.kill().expect("our own child can be killed");
        child.wait().expect("a killed child ends");
        recorded = check(&sandbox, recorded);
    }
    sandbox.ends(0, &["weekly", "--quick"]);
    let pending = sandbox.project.join(".sprag/pending").read_dir().expect("the folder is there");
    let waiting = pending.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some()));
    assert_eq!(waiting.count(), 0, "a run that was kept was not recorded by the next one");
}

/// Kills `history add` at points spread over its duration.
#[test]
#[cfg(unix)]
fn a_kill_at_any_moment_of_adding_loses_no_record_that_was_acknowledged() {
    let kills = rounds(10, 100) as u32;
    let sandbox = Sandbox::new();
    sandbox.commit_with(".gitignore", "/in\n", "Ignore what comes in");
    let add = |number: i64| {
        let file = format!("in/{number}.json");
        sandbox.write(&file, &text(&run(number)));
        sandbox.start(&["history", "add", &file])
    };
    let begun = std::time::Instant::now();
    let ended = add(0).wait().expect("our own child ends");
    assert!(ended.success());
    let takes = begun.elapsed();
    let mut acknowledged = vec![0];
    for kill in 0..kills {
        let number = i64::from(kill) + 1;
        let mut child = add(number);
        std::thread::sleep(takes * kill / kills);
        child.kill().expect("our own child can be killed");
        if child.wait().expect("a killed child ends").success() {
            acknowledged.push(number);
        }
        if kill % 10 == 0 {
            // The next command heals the tree.
            assert!(add(1_000 + number).wait().expect("our own child ends").success(), "after kill {kill}");
            acknowledged.push(1_000 + number);
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "after kill {kill}");
            sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
        }
    }
    sandbox.ends(0, &["history", "add", "in/0.json"]);
    let records = sandbox.records("main");
    for number in acknowledged {
        let (_, path, bytes) = run(number).to_record();
        assert!(records.contains(&path), "the record {number} was acknowledged and is not there");
        assert_eq!(sandbox.read(&path).as_bytes(), bytes, "the record {number} is torn");
    }
    check(&sandbox, records.len());
}

#[test]
#[cfg(unix)]
fn a_full_disk_leaves_the_state_before() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["weekly", "--quick"]);
    let (head, page) = (sandbox.git(&["rev-parse", "HEAD"]), sandbox.read("_site/index.html"));
    // No file may grow at all, so the run cannot even be kept.
    sandbox.sprag_with_file_limit(0, &["run", "--quick", "--record"]).expect(2).says(&["cannot write"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(check(&sandbox, 1), 1);
    // With 4 KiB the record is written, but a site with another name is not, and the old one stays.
    let settings = sandbox.read("sprag.toml").replace("\"sandbox\"", "\"other\"");
    sandbox.write("sprag.toml", &settings);
    sandbox.sprag_with_file_limit(8, &["site"]).expect(2).says(&["cannot write"]);
    assert_eq!(sandbox.read("_site/index.html"), page);
    let left: Vec<_> = sandbox.project.read_dir().expect("the project is there").flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".sprag-")), "{left:?}");
    sandbox.git(&["checkout", "--quiet", "sprag.toml"]);
    check(&sandbox, 1);
}

/// The script has fifty.
const RIVALS: usize = 6;

#[test]
#[cfg(unix)]
fn a_kill_at_any_moment_of_a_sync_loses_nothing() {
    let clones = Clones::new();
    clones.record("a", 0);
    let begun = std::time::Instant::now();
    clones.sync("a", &[]).expect(0);
    let span = begun.elapsed();
    let kills = rounds(10, 100);
    for kill in 1..=kills {
        clones.record("a", kill as i64);
        clones.record("b", 100 + kill as i64);
        clones.sync("b", &[]).expect(0);
        let mut child = clones.sandbox.start(&["-C", "a", "history", "sync"]);
        // Spread over the duration of a sync.
        std::thread::sleep(span.mul_f64(kill as f64 / kills as f64));
        child.kill().expect("our own child can be killed");
        child.wait().expect("a killed child ends");
        assert!(clones.records("a").len() > kill as usize, "a record is gone");
        // A git that the killed sync had started may still move a ref.
        let fsck = || clones.sandbox.try_git(&["-C", "a", "fsck", "--no-progress", "--no-dangling"]);
        let mut outcome = fsck();
        for _ in 0..50 {
            if outcome.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            outcome = fsck();
        }
        assert_eq!(outcome, Ok(()), "after kill {kill}");
    }
    clones.sync_each(&["a", "b"]);
    clones.agree(&["a", "b"], 1 + 2 * kills as usize);
    let left: Vec<_> = std::fs::read_dir(clones.path("a/.git/sprag")).expect("it is there").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn many_clones_at_once_all_get_through() {
    let clones = Clones::new();
    let names: Vec<String> = (0..RIVALS).map(|number| format!("rival{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        clones.add(name, &[]);
        record_in(&clones.path(name), None, number as i64);
    }
    let children: Vec<Child> =
        names.iter().map(|name| clones.sandbox.start(&["-C", name, "history", "sync"])).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    for name in &names {
        clones.sync(name, &[]).expect(0);
    }
    clones.agree(&names.iter().map(String::as_str).collect::<Vec<_>>(), RIVALS);
    assert_eq!(clones.git("remote.git", &["rev-list", "--merges", "main"]), "");
}

/// Processes with the clock ticks that each has computed.
#[cfg(target_os = "linux")]
type Ticks = Vec<(u32, u64)>;

/// The processes of Sprag's workers whose arguments name this folder.
#[cfg(target_os = "linux")]
fn workers(folder: &str) -> Ticks {
    let processes = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let worker = |entry: std::fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let arguments = std::fs::read(entry.path().join("cmdline")).ok()?;
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        let status = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name of the program, in parentheses, may hold spaces.
        let ticks = status.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()?;
        (arguments.contains("worker") && arguments.contains(folder)).then_some((id, ticks))
    };
    processes.filter_map(worker).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_in_an_endless_kernel_ends_with_a_killed_run() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = Sandbox::new();
    // With a lock of the device of its own, so that it waits for no other test.
    let machine = machine.and("TMPDIR", sandbox.temporary().to_str().expect("its path is text"));
    let kernel = "name = \"endless\"\nfile = \"endless.cu\"\ngrid = 1\nblock = 1\nshapes = [{ n = 8 }]\nreference = \"none\"\n\
        arguments = [{ name = \"y\", type = \"f32\", shape = \"n\", role = \"output\" }]\n";
    sandbox.write("sprag.toml", &format!("[suites.mine]\nkind = \"cuda\"\n[[suites.mine.kernel]]\n{kernel}"));
    let source = "extern \"C\" __global__ void endless(float* y) { for (volatile int i = 0;;) i = i; }\n";
    sandbox.commit_with("endless.cu", source, "Add a kernel");
    let folder = std::fs::canonicalize(&sandbox.project).expect("it is there");
    let folder = folder.to_str().expect("its path is text");
    let mut child = sandbox.start_with(&machine.variables(), &["run", "--quick"]);
    let until = |condition: &dyn Fn(&Ticks) -> bool| {
        let mut rounds = 0..600;
        rounds.any(|_| {
            condition(&workers(folder)) || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        })
    };
    // More than a worker computes before its kernel runs.
    let is_in_kernel = until(&|workers| workers.iter().any(|(_, ticks)| *ticks > 100));
    child.kill().expect("our own child can be killed");
    child.wait().expect("a killed child ends");
    assert!(is_in_kernel, "no worker came to its kernel");
    assert!(until(&|workers| workers.is_empty()), "a worker lives on");
}
