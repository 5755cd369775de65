//! `sprag demo`: a site in seconds, and a gate that finds the planted regression.

use std::fs;
use std::sync::OnceLock;

use crate::sandbox::{Sandbox, assert_contains};

/// What `sprag demo` printed, next to the folder `shop`.
pub(crate) const PRINTED: &str = "planted.txt";

/// The demo and its site in the folder `shop`; generated once a process and copied.
pub(crate) fn shop() -> Sandbox {
    static DEMO: OnceLock<Sandbox> = OnceLock::new();
    Sandbox::copy_of(&DEMO, || {
        let sandbox = Sandbox::empty();
        let ended = sandbox.sprag(&["demo", "shop", "--seed", "3"]).expect(0);
        sandbox.write(PRINTED, &ended.out);
        sandbox
    })
}

/// The repository of the demo without site and caches.
pub(crate) fn repository() -> Sandbox {
    static DEMO: OnceLock<Sandbox> = OnceLock::new();
    Sandbox::copy_of(&DEMO, || {
        let sandbox = shop().below("shop");
        for folder in ["_site", ".sprag"] {
            fs::remove_dir_all(sandbox.project.join(folder)).unwrap_or_default();
        }
        sandbox
    })
}

#[test]
fn the_demo_shows_what_it_planted() {
    let sandbox = shop();
    let printed = sandbox.read(PRINTED);
    assert_contains(&printed, &["Planted", "tile_pack"]);
    let page = sandbox.read("shop/_site/index.html");
    assert!(page.contains("slower") && page.contains("tile_pack"), "the digest does not show the planted step");
    let events = sandbox.read("shop/_site/events/index.html");
    assert!(
        events.contains("3 open regressions") && events.contains("fusion_gate"),
        "not all that was planted is an event"
    );
    let newest = &sandbox.json("shop/_site/events/feed.json")["items"][0];
    let sentence = newest["title"].as_str().expect("an entry has a sentence").to_owned();
    assert_contains(&sentence, &["tile_pack{c=64,t=8} @fast is ", " slower on 2 machines since "]);
    let page = newest["id"].as_str().and_then(|id| id.rsplit('/').next()).expect("it ends with the page");
    assert!(sandbox.read(&format!("shop/_site/events/{page}")).contains(&sentence), "the page says the same");
    assert_contains(&sandbox.read("shop/_site/badge.json"), &["3 open regressions"]);
    for machine in ["bench-epyc", "bench-xeon"] {
        let gate = sandbox.sprag_with(&[("SPRAG_MACHINE", machine)], &["-C", "shop", "check"]).expect(1);
        let slower = gate.out.lines().filter(|line| line.starts_with("regressed"));
        assert!(slower.clone().all(|line| line.contains("cpu/tile_pack{c=64,t=8} @fast")), "{machine}: {}", gate.out);
        assert_eq!(slower.count(), 1, "{machine}: {}", gate.out);
    }
    // Its commits hold no kernels, so nothing offers to build them.
    let trend = sandbox.sprag(&["-C", "shop", "trend", "--details"]).expect(0).prints(&["checked out there first"]);
    assert!(!trend.out.contains("sprag bisect"), "{}", trend.out);
    assert_eq!(sandbox.git(&["-C", "shop", "status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["-C", "shop", "fsck", "--no-progress", "--no-dangling"]), "");
    sandbox.sprag(&["demo", "shop"]).expect(2).says(&["is not empty"]);
}
