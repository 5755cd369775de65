//! `history sync` killed at any moment, and many at once.

use std::process::Child;

use crate::clones::{Clones, record_in};
use crate::run_files::rounds;

/// How many clones push at the same time; the script has fifty.
const RIVALS: usize = 6;

#[test]
#[cfg(unix)]
fn a_kill_at_any_moment_loses_nothing() {
    let clones = Clones::new();
    clones.record("a", 0);
    let begun = std::time::Instant::now();
    clones.sync("a", &[]).expect(0);
    let span = begun.elapsed();
    // `scripts/sync-figures.py` does it a thousand times.
    let kills = rounds(10, 100);
    for kill in 1..=kills {
        clones.record("a", kill as i64);
        clones.record("b", 100 + kill as i64);
        clones.sync("b", &[]).expect(0);
        let mut child = clones.sandbox.start(&["-C", "a", "history", "sync"]);
        // Spread over the time that a whole one takes; where each falls is up to the machine.
        std::thread::sleep(span.mul_f64(kill as f64 / kills as f64));
        child.kill().expect("our own child can be killed");
        child.wait().expect("a killed child ends");
        assert!(clones.records("a").len() > kill as usize, "a record is gone");
        // A git that a killed sync had called may live on for a moment, and move a ref while git looks.
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
    clones.sync("a", &[]).expect(0);
    clones.sync("b", &[]).expect(0);
    clones.agree(&["a", "b"], 1 + 2 * kills as usize);
    let left: Vec<_> = std::fs::read_dir(clones.path("a/.git/sprag")).expect("it is there").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn many_clones_at_once_all_get_through() {
    let clones = Clones::new();
    let names: Vec<String> = (0..RIVALS).map(|number| format!("rival{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        clones.add(name);
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
