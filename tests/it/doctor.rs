//! The doctor: it looks, says what it found in either form, and sets nothing.

use crate::sandbox::Sandbox;

/// The headlines of the text.
const SECTIONS: [&str; 6] =
    ["Machine", "What can be measured", "Clocks", "Pressure meanwhile", "Noise in ", "What to change"];

#[test]
fn the_document_has_its_fields_and_tells_nothing_private() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag(&["doctor", "--quick", "--json"]).expect(0);
    let found: serde_json::Value = serde_json::from_str(&ended.out).expect("standard output is one JSON document");
    crate::schemas::follows("doctor-1", &ended.out);
    assert_eq!(found["schema_version"], 1);
    let home = sandbox.project.parent().expect("the project lies in a folder").join("home");
    let home = home.to_str().expect("a temporary path is text");
    for private in [home, "[project]", "tester@example.org"] {
        assert!(!ended.out.contains(private), "`{private}` is reported:\n{}", ended.out);
    }
    assert_eq!(
        (&found["machine"]["name"], &found["machine"]["named_by"]),
        (&"sandbox".into(), &"SPRAG_MACHINE".into())
    );
    for name in ["id", "environment_key"] {
        let digits = found["machine"][name].as_str().expect("it is text");
        assert!(digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{name}: {digits}");
    }
    assert!(found["machine"]["facts"]["compiler"].is_string());
    let abilities = found["abilities"].as_array().expect("a list");
    let able = |name: &str| abilities.iter().find(|one| one["name"] == name).map(|one| one["able"].clone());
    assert_eq!((able("suite cpu"), able("recording")), (Some(true.into()), Some(true.into())));
    assert_eq!(able("suite gpu"), None, "the project has no such suite");
    assert!(found["clocks"]["wall"]["cost"].as_f64().is_some_and(|cost| cost > 0.0));
    assert!(found["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    let noise = &found["noise"];
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
    for advice in found["advice"].as_array().expect("a list") {
        assert!(["about", "why", "how"].iter().all(|part| advice[part].as_str().is_some_and(|text| !text.is_empty())));
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "it leaves nothing behind");
}

#[test]
fn the_text_has_its_sections_also_outside_a_repository() {
    let sandbox = Sandbox::empty();
    let ended = sandbox.sprag(&["doctor", "--quick"]).expect(0);
    assert!(ended.out.starts_with("This machine is "), "{}", ended.out);
    let headlines: Vec<&str> =
        ended.out.lines().filter(|line| SECTIONS.iter().any(|one| line.starts_with(one))).collect();
    assert_eq!(headlines.len(), SECTIONS.len(), "{}", ended.out);
    for word in ["suite cpu", "suite gpu", "no git repository", "recording", "multiply-add", "copy 8 MiB"] {
        assert!(ended.out.contains(word), "`{word}` is not in:\n{}", ended.out);
    }
}

#[test]
fn faults_of_the_user_are_the_usual_ones() {
    let sandbox = Sandbox::new();
    sandbox.sprag(&["doctor", "--jason"]).expect(2).says(&["--jason", "--json"]);
    sandbox.sprag(&["-C", "nowhere", "doctor"]).expect(2).says(&["nowhere"]);
    sandbox.write("sprag.toml", "[suites.cpu]\nkind = \"cpy\"\n");
    let ended = sandbox.sprag(&["doctor"]).expect(2);
    ended.says(&["[project]/sprag.toml:2:8", "did you mean `cpu`?"]);
}
