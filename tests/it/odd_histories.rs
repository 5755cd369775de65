//! Sites of histories that hold little or hostile text.

use sprag_model::{Benchmark, Machine, Run, RunStatus};

use crate::crafted;
use crate::crafted::{CLASS, Crafted};
use crate::sandbox::{assert_contains, files};

/// Hostile text of more than 500 characters.
fn hostile() -> String {
    let piece = "</td></script><script>alert('x')</script>\"'&|`=\u{202e}\u{200f}\u{2028}\n\t../../etc/x ";
    piece.repeat(8)
}

/// Renders the site, checks what holds for every page and gives its files.
#[track_caller]
fn site(of: &Crafted) -> Vec<(String, String)> {
    of.ends(0, &["site"]);
    of.ends(0, &["site", "--check"]);
    let text = |bytes| String::from_utf8(bytes).expect("every file of these sites is text");
    let pages: Vec<(String, String)> = files(&of.sandbox.project.join("_site"))
        .into_iter()
        .map(|(path, bytes)| (format!("/{path}"), text(bytes)))
        .collect();
    for (path, text) in pages.iter().filter(|(path, _)| path.ends_with(".html")) {
        let lower = text.to_lowercase();
        assert_eq!(text.matches("<h1").count(), 1, "{path} has one headline");
        let own_script = usize::from(path == "/404.html");
        assert!(lower.matches("<script>").count() == own_script && !lower.contains(">nan"), "{path}");
        assert!(!text.contains(['\u{202e}', '\u{200f}', '\u{2028}', '\u{0}']), "{path} hides text");
        assert!(text.len() < 1 << 20, "{path} has {} bytes", text.len());
        assert!(!path.contains("..") && !path.contains('<'), "{path}");
    }
    for (path, text) in pages.iter().filter(|(path, _)| path.ends_with(".js") && path.contains("/data/")) {
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{202e}']), "{path} ends its script");
    }
    pages
}

fn page<'a>(site: &'a [(String, String)], name: &str) -> &'a str {
    let page = site.iter().find(|(path, _)| path[1..] == *name);
    &page.unwrap_or_else(|| panic!("there is no {name}")).1
}

#[test]
fn one_run_gives_every_kind_of_page() {
    let history = Crafted::with_sessions(1);
    let site = site(&history);
    assert_contains(page(&site, "index.html"), &["pack"]);
    assert_contains(page(&site, "matrix/cpu.html"), &["the only measured commit"]);
    assert_contains(page(&site, "compare/index.html"), &["1 measured commit"]);
    let series = site.iter().find(|(path, _)| path.contains("/series/cpu-pack")).expect("it has a page");
    assert_contains(&series.1, &["Too few points to find a change", "<svg"]);
}

#[test]
fn a_history_of_skipped_runs_says_why() {
    let history = Crafted::new();
    for day in 1..=3 {
        let run =
            Run { status: RunStatus::Skipped, reason: Some("no such device".to_owned()), ..history.run(day, &[]) };
        history.record(&run);
    }
    let site = site(&history);
    assert_contains(page(&site, "index.html"), &["no such device"]);
    assert_contains(page(&site, "runs/index.html"), &["skipped"]);
    assert!(
        !site.iter().any(|(path, _)| path.contains("/matrix/") || path.contains("/series/")),
        "nothing was measured"
    );
}

#[test]
fn a_series_with_one_point_is_accepted() {
    let history = Crafted::with_sessions(12);
    history.change(13, &[("pack", 1e-3), ("scan", 2e-3), ("new_one", 3e-3)]);
    let site = site(&history);
    let one = site.iter().find(|(path, _)| path.contains("/series/cpu-new-one")).expect("it has a page");
    assert_contains(&one.1, &["1 run, newest commit first"]);
    assert_contains(page(&site, "matrix/cpu.html"), &["<span>– new</span>"]);
}

#[test]
fn text_of_others_harms_no_page_and_names_no_file() {
    let history = Crafted::new();
    history.git(&["tag", "v1\"><script>&'|`"]);
    for day in 1..=12 {
        history.commit_with("code.rs", &format!("// {day}"), &hostile().replace('\n', " "));
        if day == 6 {
            history.git(&["tag", "v2\"><script>&'|`"]);
        }
        let mut run = history.run(day, &[("pack", if day < 8 { 1e-3 } else { 2e-3 })]);
        let name = "a<script>\"'&|`=</b> %2e%2e\\..".repeat(5);
        run.measurements[0].benchmark = Benchmark::new("cpu", &name, &[("n", "../../<b>'\"".into())], "f<i>")
            .expect("none of it is reserved")
            .into();
        run.machine = Machine::named(&hostile(), CLASS);
        run.reason = Some(hostile());
        history.record(&run);
    }
    let site = site(&history);
    assert!(site.iter().filter(|(_, text)| text.contains("script")).count() > 10, "the names are on many pages");
    let markdown: Vec<&(String, String)> = site.iter().filter(|(path, _)| path.ends_with(".md")).collect();
    for folder in ["/compare/", "/week/"] {
        assert!(markdown.iter().any(|(path, _)| path.contains(folder)), "there is none in {folder}");
    }
    for (path, text) in markdown {
        // Names that would end a span of code are in an element of their own.
        let bare = text.replace("<code>", "").replace("</code>", "");
        assert!(!bare.contains('<'), "{path}: {text}");
    }
}

#[test]
fn a_bad_benchmark_name_is_refused_and_the_site_unharmed() {
    let history = Crafted::with_sessions(1);
    let text = crafted::text(&history.run(2, &[("pack", 1e-3)]));
    let named = text.replace("\"pack\"", &serde_json::to_string(&hostile()).expect("text is JSON"));
    assert_ne!(named, text);
    history.write("../run.json", &named);
    history.ends(2, &["history", "add", "../run.json"]);
    site(&history);
}
