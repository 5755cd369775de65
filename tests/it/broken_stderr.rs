//! Standard error that nobody reads: what was done stays done, and the exit code tells of that alone.

use std::process::Stdio;

use crate::run_files::{run, text};
use crate::sandbox::Sandbox;

#[test]
#[cfg(unix)]
fn the_exit_code_is_that_of_the_work() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/_site\n/in\n");
    sandbox.commit("Ignore what comes in");
    sandbox.write("in/bad.json", "{}");
    let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\ns,b,time,s,lower,,,,1\n";
    sandbox.write("in/r.csv", table);
    // A pipe whose reader has gone, a full disk, and nothing at all.
    let broken: [fn() -> Stdio; 3] = [
        || std::io::pipe().expect("a pipe").1.into(),
        || std::fs::File::options().write(true).open("/dev/full").map_or(Stdio::null(), Stdio::from),
        Stdio::null,
    ];
    for (number, errors) in broken.into_iter().enumerate() {
        let check = |arguments: &[&str], code: i32| {
            assert_eq!(sandbox.sprag_with_errors_to(errors(), arguments), code, "{arguments:?}, {number}");
        };
        let file = format!("in/{number}.json");
        sandbox.write(&file, &text(&run(number as i64)));
        check(&["history", "add", &file], 0);
        assert_eq!(sandbox.records("main").len(), number + 1);
        check(&["history", "add", &file], 0);
        check(&["history", "add", "in/bad.json"], 2);
        check(&["history", "log", "--limit", "1"], 0);
        check(&["import", "in/r.csv", "--time", "2026-01-02", "--dry-run"], 0);
        check(&["import", "in/absent.csv"], 2);
    }
}
