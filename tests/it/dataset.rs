//! `sprag export series`, `sprag detect --parquet` and `sprag trend --from`: the whole is what its parts join to.

use crate::demo::shop;
use crate::partial_clones;
use crate::sandbox::{Ended, Sandbox, files};
use crate::schemas::follows;

const SOON: &str = "2026-11-21T00:00:00Z";

fn sprag(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Ended {
    sandbox.ends(code, &[&["-C", "shop"][..], arguments].concat())
}

fn export(sandbox: &Sandbox, folder: &str, more: &[&str]) -> String {
    sprag(sandbox, &[&["export", "series", "--out", folder, "--buckets", "3"][..], more].concat(), 0).out
}

/// Detects in each bucket for itself.
fn detect(sandbox: &Sandbox, folder: &str, partials: &str) {
    for bucket in 0..3 {
        let (part, output) = (format!("{folder}/points/bucket={bucket}"), format!("{partials}/{bucket}.parquet"));
        sprag(sandbox, &["detect", "--parquet", &part, "--output", &output], 0);
    }
}

fn joins(sandbox: &Sandbox, folder: &str, partials: &str) {
    for form in [&["--format", "json"][..], &["--details", "--all"], &["--suite", "cpu", "--format", "md"]] {
        let trend = [&["trend", "--as-of", SOON][..], form].concat();
        let joined = [&trend[..], &["--from", partials, "--dataset", folder]].concat();
        assert!(sprag(sandbox, &trend, 0).out == sprag(sandbox, &joined, 0).out, "{form:?}");
    }
}

/// The site with detection from partial results has the bytes of each file that it has without.
fn renders(sandbox: &Sandbox) {
    let from = ["--from", "../found", "--dataset", "../data"];
    sprag(sandbox, &["site", "--out", "../whole"], 0);
    sprag(sandbox, &[&["site", "--out", "../joined"], &from[..]].concat(), 0);
    let [direct, joined] = ["whole", "joined"].map(|folder| files(&sandbox.project.join(folder)));
    assert!(direct.len() > 100 && direct.keys().eq(joined.keys()), "{} and {} files", direct.len(), joined.len());
    assert!(direct == joined, "{:?}", direct.iter().find(|(name, bytes)| joined[*name] != **bytes).map(|one| one.0));
    sprag(sandbox, &[&["site", "--check"], &from[..]].concat(), 2).says(&["cannot be used with"]);
}

fn parts(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let names = files(&sandbox.project.join(folder)).into_keys();
    names.filter(|name| name.starts_with("points/") && name.ends_with(".parquet")).collect()
}

/// One test, since the demo takes its time.
#[test]
fn what_is_detected_in_parts_joins_to_what_one_machine_detects() {
    let sandbox = shop();
    assert!(export(&sandbox, "../data", &[]).contains(" series in "));
    follows("series-manifest-2", &sandbox.read("data/manifest.json"));
    detect(&sandbox, "../data", "../found");
    joins(&sandbox, "../data", "../found");

    sandbox.append("shop/sprag.toml", "[trend]\nmost = 1\n");
    renders(&sandbox);

    of_other_options(&sandbox);
    recorded_events_leave_a_dataset_as_it_is(&sandbox);

    faulty_partials_are_named(&sandbox);
    faulty_parts_are_named(&sandbox);

    faulty_exports_are_refused(&sandbox);
    partial_clones::are_not_analysed(&sandbox);

    // What is new is added; the rest stays as it is.
    let before = parts(&sandbox, "data");
    let rows = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params\n";
    let commit = sandbox.git(&["-C", "shop", "rev-parse", "HEAD~3"]);
    let row = format!("later,new,time,s,lower,{},2026-11-01T00:00:00Z,bench,0.5,\n", commit.trim());
    sandbox.write("later.csv", &format!("{rows}{row}"));
    sprag(&sandbox, &["import", "../later.csv"], 0);
    let printed = export(&sandbox, "../data", &["--since-last"]);
    assert!(printed.ends_with(", 1 of them new\n"), "{printed}");
    let after = parts(&sandbox, "data");
    assert!(before.iter().all(|part| after.contains(part)) && after.len() == before.len() + 1, "{after:?}");
    let join = ["trend", "--from", "../found", "--dataset", "../data"];
    sprag(&sandbox, &join, 4).says(&["was detected in the dataset", "hint: partial results join with"]);
    let site = ["site", "--out", "../joined", "--from", "../found", "--dataset"];
    sprag(&sandbox, &[&site[..], &["../other"]].concat(), 4)
        .says(&["is not of this history as it is now", "hint: export"]);
    // What is recorded stays: a dataset of an earlier history records nothing.
    let tip = sandbox.git(&["-C", "shop", "rev-parse", "HEAD"]);
    let record = ["trend", "--record", "--days", "30", "--from", "../past", "--dataset", "../other"];
    detect(&sandbox, "../other", "../past");
    sprag(&sandbox, &record, 4).says(&["is not of this history as it is now"]);
    assert_eq!(sandbox.git(&["-C", "shop", "rev-parse", "HEAD"]), tip);
    sandbox.write("data/points/notes.txt", "of a user");
    sandbox.write("data/points/bucket=0/notes.txt", "of a user");
    detect(&sandbox, "../data", "../found");
    joins(&sandbox, "../data", "../found");

    // A dataset with a folder for each month is read, but not continued.
    older_layout(&sandbox);

    // A run that is withdrawn makes the old parts useless.
    let record = sandbox.git(&["-C", "shop", "log", "-1", "--format=", "--name-only"]);
    let run = record.trim().trim_end_matches(".json").rsplit('-').next().expect("it ends with its id");
    sprag(&sandbox, &["history", "retract", run, "--reason", "wrong"], 0);
    let increment = ["export", "series", "--out", "../data", "--since-last", "--buckets", "3"];
    sprag(&sandbox, &increment, 0).says(&["all is written again"]);
    assert_eq!(parts(&sandbox, "data"), before);
    assert_eq!(sandbox.read("data/points/bucket=0/notes.txt"), "of a user");
    detect(&sandbox, "../data", "../found");
    joins(&sandbox, "../data", "../found");
    let record = ["trend", "--record", "--from", "../found", "--dataset", "../data"];
    sprag(&sandbox, &record, 0);
}

/// An export takes what `trend` takes of all that decides what is detected.
fn of_other_options(sandbox: &Sandbox) {
    let other = ["--sensitivity", "loose", "--least", "0.02", "--branch", "v0.4.0", "--all-parents"];
    export(sandbox, "../loose", &other);
    follows("series-manifest-2", &sandbox.read("loose/manifest.json"));
    detect(sandbox, "../loose", "../found-loose");
    let trend = ["trend", "--as-of", SOON, "--format", "json"];
    let from = ["--from", "../found-loose", "--dataset", "../loose"];
    let direct = sprag(sandbox, &[&trend[..], &other].concat(), 0).out;
    assert!(direct == sprag(sandbox, &[&trend[..], &from].concat(), 0).out);
    assert!(direct != sprag(sandbox, &trend, 0).out);
    for option in [&other[..2], &other[2..4], &other[4..6], &other[6..]] {
        sprag(sandbox, &[&trend[..], option, &from].concat(), 2)
            .says(&[option[0], "hint: give `--", "to `sprag export series`"]);
    }
    // No partial result of one export joins with another.
    let other = ["--from", "../found", "--dataset", "../loose"];
    sprag(sandbox, &[&trend[..], &other].concat(), 4).says(&["was detected in the dataset", "hint: partial results"]);
    for command in [&["site", "--out", "../joined"][..], &["trend", "--record"]] {
        sprag(sandbox, &[command, &from].concat(), 2).says(&["was exported with `--sensitivity`", "hint:"]);
    }
    sprag(sandbox, &["export", "parquet", "--out", "../loose"], 2)
        .says(&["holds the dataset of `sprag export series`, which `sprag export parquet` does not replace"]);
    sprag(sandbox, &["export", "parquet", "--out", "../tables"], 0);
    sprag(sandbox, &["export", "series", "--out", "../tables"], 2)
        .says(&["holds the export of `sprag export parquet`, which `sprag export series` does not replace"]);
}

/// Events may be recorded at any time: what remains of a change because of them is found again.
fn recorded_events_leave_a_dataset_as_it_is(sandbox: &Sandbox) {
    let from = ["--from", "../found", "--dataset", "../data"];
    let record = [&["trend", "--record"][..], &from].concat();
    let tip = || sandbox.git(&["-C", "shop", "rev-parse", "refs/heads/main"]);
    let before = tip();
    sprag(sandbox, &record, 0).says(&["changes of events on"]);
    assert!(before != tip());
    sprag(sandbox, &[&["trend"][..], &from].concat(), 0).says(&["/../data` lacks ", " records of events; export"]);
    sprag(sandbox, &record, 0).says(&["no event is new"]);
    renders(sandbox);
}

fn older_layout(sandbox: &Sandbox) {
    let part = parts(sandbox, "data").remove(0);
    let (bucket, file) = part.rsplit_once('/').expect("a part is in a folder");
    let older = format!("{bucket}/month={}/part-{}", &file[..7], &file[8..]);
    let [from, to] = [&part, &older].map(|name| sandbox.project.join("data").join(name));
    std::fs::create_dir(to.parent().expect("it has one")).expect("a folder");
    std::fs::rename(from, to).expect("it was written");
    sandbox.edit("data/manifest.json", &part, &older);
    sandbox.edit("data/manifest.json", "\"schema_version\": 2", "\"schema_version\": 1");
    detect(sandbox, "../data", "../found");
    joins(sandbox, "../data", "../found");
    let printed = sprag(sandbox, &["export", "series", "--out", "../data", "--since-last", "--buckets", "3"], 0);
    printed.says(&["the layout of the last export", "all is written again"]);
    assert!(!sandbox.project.join("data").join(&older).parent().expect("it has one").exists());
    assert!(parts(sandbox, "data").contains(&part));
    detect(sandbox, "../data", "../found");
}

/// Nothing of what is there changes, and nothing else is left.
fn faulty_exports_are_refused(sandbox: &Sandbox) {
    let data = sandbox.project.join("data");
    let refused = |project: &str, folder: &str, more: &[&str], code: i32| {
        let before = files(&data);
        let ended = sandbox.ends(code, &[&["-C", project, "export", "series", "--out", folder][..], more].concat());
        assert!(before == files(&data));
        ended
    };
    let increment = ["--since-last"];
    refused("shop", "../data", &["--since-last", "--buckets", "8"], 2)
        .says(&["has 3 buckets, not 8", "hint: leave `--buckets` out"]);
    let part = parts(sandbox, "data").remove(0);
    let complete = std::fs::read(data.join(&part)).expect("it was written");
    std::fs::write(data.join(&part), &complete[..complete.len() - 1]).expect("it is writable");
    refused("shop", "../data", &increment, 4)
        .says(&[&part, "bytes, or others", "hint: a part is missing, was cut short"]);
    sandbox.remove(&format!("data/{part}"));
    refused("shop", "../data", &increment, 4).says(&["cannot read `", &part, "export it without `--since-last`"]);
    std::fs::write(data.join(&part), &complete).expect("it is writable");
    sandbox.git(&["init", "-q", "elsewhere"]);
    for more in [&[][..], &increment] {
        refused("elsewhere", "../data", more, 4).says(&["the dataset of another history", "hint: name another folder"]);
    }
    sandbox.write("elsewhere/ledger/a.toml", "[");
    refused("elsewhere", "../none", &[], 2);
    assert!(!sandbox.project.join("none").exists());
}

fn faulty_partials_are_named(sandbox: &Sandbox) {
    let join = |from: &[&str]| {
        let command = [&["trend", "--dataset", "../data", "--from"][..], from].concat();
        sprag(sandbox, &command, 4)
    };
    let all = ["../found/0.parquet", "../found/1.parquet", "../found/2.parquet"];
    join(&all[..2]).says(&["series are missing, such as `", "hint: give what was detected in all buckets, each once"]);
    let copy = std::fs::copy(sandbox.project.join("found/0.parquet"), sandbox.project.join("copy.parquet"));
    assert!(copy.is_ok_and(|bytes| bytes > 0));
    join(&[&all[..], &["../copy.parquet"]].concat())
        .says(&["comes twice: in `", "copy.parquet` and in `", "found/0.parquet`", "hint: leave one of the two out"]);
    // What an engine has not finished is not read, and folders are.
    for folder in ["found/_temporary", "found/.hidden"] {
        std::fs::create_dir(sandbox.project.join(folder)).expect("a folder");
        std::fs::rename(sandbox.project.join("copy.parquet"), sandbox.project.join(folder).join("a.parquet"))
            .and_then(|()| std::fs::copy(sandbox.project.join("found/0.parquet"), sandbox.project.join("copy.parquet")))
            .expect("files of ours");
    }
    std::fs::create_dir(sandbox.project.join("found/part")).expect("a folder");
    let nested = ["found/1.parquet", "found/part/1.parquet"].map(|name| sandbox.project.join(name));
    std::fs::rename(&nested[0], &nested[1]).expect("it was written");
    sprag(sandbox, &["trend", "--dataset", "../data", "--from", "../found"], 0);
    std::fs::rename(&nested[1], &nested[0]).expect("it was moved");
    sandbox.append("shop/sprag.toml", "sensitivity = \"loose\"\n");
    join(&all).says(&["was detected with another sensitivity", "hint: export the history again"]);
    sandbox.edit("shop/sprag.toml", "sensitivity = \"loose\"\n", "");
    let early = ["trend", "--from", "../found", "--dataset", "../data", "--as-of", "2026-01-01T00:00:00Z"];
    sprag(sandbox, &early, 0).says(&["lies before the newest run"]);
    let path = sandbox.project.join("found/2.parquet");
    let complete = std::fs::read(&path).expect("it was written");
    for length in [0, 100, complete.len() - 1] {
        std::fs::write(&path, &complete[..length]).expect("it is writable");
        join(&all).says(&["found/2.parquet` does not hold the rows that are expected", "hint: it was cut short"]);
    }
    std::fs::write(&path, complete).expect("it is writable");
    export(sandbox, "../other", &["--days", "30"]);
    let other = ["trend", "--dataset", "../other", "--days", "30", "--from", "../found"];
    sprag(sandbox, &other, 4).says(&["was detected in the dataset"]);
    sprag(sandbox, &["trend", "--dataset", "../other", "--from", "../found"], 2).says(&["of 30 days, not of 28"]);
    sprag(sandbox, &["trend", "--dataset", "../absent", "--from", "../found"], 2).says(&["there is no dataset at"]);
    sprag(sandbox, &["trend", "--from", "../found"], 2).says(&["--dataset"]);
}

fn faulty_parts_are_named(sandbox: &Sandbox) {
    let detect = |parts: &[&str]| {
        let command = [&["detect", "--output", "../none.parquet", "--parquet"][..], parts].concat();
        let ended = sprag(sandbox, &command, 4);
        assert!(!sandbox.project.join("none.parquet").exists());
        ended
    };
    let part = parts(sandbox, "data").into_iter().find(|part| part.contains("bucket=1/")).expect("there are some");
    let part = format!("../data/{part}");
    detect(&[&part]).says(&["so partition by `bucket`", "hint: give all parts of `points/bucket=1` to one call"]);
    detect(&["../data/points/bucket=1", &part]).says(&["is given twice", "hint:"]);
    sandbox.write("data/points/bucket=1/2026-01-x.parquet", "PAR1");
    detect(&["../data/points/bucket=1/2026-01-x.parquet"]).says(&["is not a part of the dataset", "hint:"]);
    sandbox.remove("data/points/bucket=1/2026-01-x.parquet");
    let path = sandbox.project.join(part.trim_start_matches("../"));
    let lost = std::fs::read(&path).expect("it was written");
    std::fs::remove_file(&path).expect("it is there");
    for given in ["../data/points/bucket=1", &part] {
        detect(&[given]).says(&["cannot read", "there is no such file", "hint: a part is missing"]);
    }
    std::fs::write(&path, lost).expect("it is writable");
    sprag(sandbox, &["export", "series", "--out", "../sparse", "--buckets", "5000"], 0);
    let empty = (0..5000).map(|bucket| format!("../sparse/points/bucket={bucket}"));
    let empty = empty.into_iter().find(|folder| !sandbox.project.join(&folder[3..]).exists()).expect("one is empty");
    sprag(sandbox, &["detect", "--parquet", &empty, "--output", "../empty.parquet"], 0);
    sprag(sandbox, &["detect", "--parquet", "../sparse/points/bucket=5000"], 4).says(&["is not a part"]);
    let complete = std::fs::read(&path).expect("it was written");
    std::fs::write(&path, &complete[..complete.len() - 1]).expect("it is writable");
    detect(&["../data/points"]).says(&["bytes, or others", "hint: a part is missing, was cut short or changed"]);
    std::fs::write(&path, complete).expect("it is writable");
    let manifest = sandbox.read("data/manifest.json");
    sandbox.edit("data/manifest.json", "\"sprag\": \"", "\"sprag\": \"9.");
    detect(&["../data/points"]).says(&["was written by sprag 9", "hint: export the history again"]);
    sandbox.write("data/manifest.json", &manifest.replacen("\"schema_version\": 2", "\"schema_version\": 3", 1));
    detect(&["../data/points"]).says(&["has schema version 3; this is", "hint: export the history again"]);
    sandbox.write("data/manifest.json", "{");
    detect(&["../data/points"]).says(&["is not a manifest", "hint:"]);
    sandbox.write("data/manifest.json", &manifest.replacen("\"path\": \"outline-", "\"path\": \"../outline-", 1));
    detect(&["../data/points"]).says(&["leads out of the dataset", "hint: export the history again"]);
    sandbox.write("data/manifest.json", &manifest);
    // Nothing that is given has no effect.
    for option in [&["--sensitivity", "loose"][..], &["--least", "0.1"], &["--stream"]] {
        let command = [&["detect", "--parquet", "../data/points"][..], option].concat();
        sprag(sandbox, &command, 2).says(&["cannot be used with", option[0]]);
    }
    sandbox
        .sprag_reading("", &["-C", "shop", "detect", "--arrow", "--dataset", "../data"])
        .expect(4)
        .says(&["`-` does not"]);
}
