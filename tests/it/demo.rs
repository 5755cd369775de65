//! `sprag demo`: a site in seconds, and a gate that finds the planted regression.

use std::collections::BTreeSet;
use std::fs;
use std::sync::OnceLock;

use crate::sandbox::{self, Sandbox, assert_contains};

/// What `sprag demo` printed, next to the folder `shop`.
pub(crate) const PRINTED: &str = "planted.txt";

/// The demo and its site in the folder `shop`; generated once a process and copied.
pub(crate) fn shop() -> Sandbox {
    static DEMO: OnceLock<Sandbox> = OnceLock::new();
    Sandbox::copy_of(&DEMO, || {
        let sandbox = Sandbox::empty();
        let ended = sandbox.ends(0, &["demo", "shop", "--seed", "3"]);
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
        events.contains("2 open regressions") && events.contains("fusion_gate"),
        "not all that was planted is an event"
    );
    let newest = &sandbox.json("shop/_site/events/feed.json")["items"][0];
    let sentence = newest["title"].as_str().expect("an entry has a sentence").to_owned();
    assert_contains(&sentence, &["tile_pack{c=64,t=8} @fast is ", " slower on 2 machines since "]);
    let page = newest["id"].as_str().and_then(|id| id.rsplit('/').next()).expect("it ends with the page");
    assert!(sandbox.read(&format!("shop/_site/events/{page}")).contains(&sentence), "the page says the same");
    assert_contains(&sandbox.read("shop/_site/badge.json"), &["2 open regressions"]);
    for machine in ["bench-epyc", "bench-xeon"] {
        let gate = sandbox.sprag_with(&[("SPRAG_MACHINE", machine)], &["-C", "shop", "check"]).expect(1);
        let slower = gate.out.lines().filter(|line| line.starts_with("regressed"));
        assert!(slower.clone().all(|line| line.contains("cpu/tile_pack{c=64,t=8} @fast")), "{machine}: {}", gate.out);
        assert_eq!(slower.count(), 1, "{machine}: {}", gate.out);
    }
    assert_eq!(sandbox.git(&["-C", "shop", "status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["-C", "shop", "fsck", "--no-progress", "--no-dangling"]), "");
    sandbox.ends(2, &["demo", "shop"]).says(&["is not empty"]);
}

#[cfg(unix)]
#[test]
fn what_the_demo_offers_can_be_run() {
    let sandbox = repository();
    let trend = sandbox.ends(0, &["trend"]);
    let bisect = trend.out.lines().find(|line| line.contains("sprag bisect --event")).expect("it offers a bisection");
    sandbox.ends(0, &words(bisect)).prints(&["The culprit is one commit", "Handle ragged edges in tile_pack"]);
    sandbox.ends(0, &["site"]);
    let mut offered = BTreeSet::new();
    for page in sandbox::files(&sandbox.project.join("_site/events")).into_values() {
        let page = String::from_utf8_lossy(&page).replace("&#39;", "'");
        let starts = page.match_indices(">sprag ").map(|(at, _)| &page[at + 1..]);
        offered.extend(starts.filter_map(|rest| rest.split('<').next()).map(str::to_owned));
    }
    // Three places are for the reader to fill.
    offered.retain(|command| !command.contains("TEXT"));
    assert!(offered.len() > 5 && offered.iter().any(|command| command.contains("run --commit")), "{offered:?}");
    for command in offered {
        let ended = sandbox.sprag(&words(&command));
        assert!([0, 1, 3].contains(&ended.code), "{command}: {}", ended.err);
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// The arguments of a command as a shell reads them; none of these has a quote within quotes.
#[cfg(unix)]
fn words(command: &str) -> Vec<&str> {
    let parts = command.trim().trim_start_matches("sprag ").split('\'').enumerate();
    let words = parts.flat_map(|(place, part)| match place % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}
