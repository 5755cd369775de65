//! `sprag doctor`: what it reports, as text and JSON.

use crate::sandbox::{Sandbox, assert_contains};

const SECTIONS: [&str; 6] =
    ["Machine", "What can be measured", "Clocks", "Pressure meanwhile", "Noise in ", "What to change"];

#[test]
fn the_document_has_its_fields_and_holds_nothing_private() {
    let sandbox = Sandbox::new();
    let ended = sandbox.ends(0, &["doctor", "--quick", "--json"]);
    crate::schemas::follows("doctor-1", &ended.out);
    let home = sandbox.project.with_file_name("home").to_string_lossy().into_owned();
    for private in [&home, "[project]", "tester@example.org"] {
        assert!(!ended.out.contains(private), "`{private}` is reported:\n{}", ended.out);
    }
    let report = ended.json();
    let machine = &report["machine"];
    assert_eq!((&machine["name"], &machine["named_by"]), (&"sandbox".into(), &"SPRAG_MACHINE".into()));
    for name in ["id", "environment_key"] {
        let digits = machine[name].as_str().expect("it is text");
        assert!(digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{name}: {digits}");
    }
    assert!(machine["facts"]["compiler"].is_string());
    assert!(report["clocks"]["wall"]["cost"].as_f64().is_some_and(|cost| cost > 0.0));
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    for advice in report["advice"].as_array().expect("a list") {
        assert!(["about", "why", "how"].iter().all(|part| advice[part].as_str().is_some_and(|text| !text.is_empty())));
    }
    let abilities = report["abilities"].as_array().expect("a list");
    let able = |name: &str| abilities.iter().find(|one| one["name"] == name).map(|one| one["able"].clone());
    assert_eq!((able("suite cpu"), able("recording")), (Some(true.into()), Some(true.into())));
    assert_eq!(able("suite gpu"), None, "the project has no such suite");
    let noise = &report["noise"];
    assert_eq!((&noise["processes"], &noise["faults"]), (&3.into(), &serde_json::json!([])));
    let classes: Vec<&str> =
        noise["classes"].as_array().expect("a list").iter().filter_map(|one| one["class"].as_str()).collect();
    assert_eq!(classes, ["compute", "cache", "dram"]);
    for kernel in noise["kernels"].as_array().expect("a list") {
        for figure in ["time", "between", "ratio", "detectable_time", "detectable_ratio"] {
            assert!(kernel[figure].as_f64().is_some_and(|value| value >= 0.0), "{figure} of {kernel}");
        }
        let interval = kernel["ratio_interval"].as_array().expect("three processes give an interval");
        assert!(interval[0].as_f64() <= kernel["ratio"].as_f64() && kernel["ratio"].as_f64() <= interval[1].as_f64());
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "it leaves nothing behind");
}

#[test]
fn the_text_has_its_sections_also_outside_a_repository() {
    let sandbox = Sandbox::empty();
    let ended = sandbox.ends(0, &["doctor", "--quick"]);
    assert!(ended.out.starts_with("This machine is "), "{}", ended.out);
    let headlines: Vec<&str> =
        ended.out.lines().filter(|line| SECTIONS.iter().any(|one| line.starts_with(one))).collect();
    assert_eq!(headlines.len(), SECTIONS.len(), "{}", ended.out);
    assert_contains(
        &ended.out,
        &["suite cpu", "suite gpu", "no git repository", "recording", "multiply-add", "copy 8 MiB"],
    );
}

#[test]
fn faults_of_the_user_are_the_usual_ones() {
    let sandbox = Sandbox::new();
    sandbox.ends(2, &["doctor", "--jason"]).says(&["--jason", "--json"]);
    sandbox.ends(2, &["-C", "nowhere", "doctor"]).says(&["nowhere"]);
    sandbox.write("sprag.toml", "[suites.cpu]\nkind = \"cpy\"\n");
    let ended = sandbox.ends(2, &["doctor"]);
    ended.says(&["[project]/sprag.toml:2:8", "did you mean `cpu`?"]);
}
