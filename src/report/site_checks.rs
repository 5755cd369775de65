//! Checks over all pages of the sample: links, markup, hostile names, and what pages say in a few words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::compare::data::Data;
use super::sample_data::{self, Sample};
use super::{ReportError, Settings, SiteInput, link, pages};
use sprag_base::digest::sha256_hex;
use sprag_model::release::Released;
use sprag_model::{Direction, Ledger, Member, Page, RecordedRun, Role, Trend};

fn site_of(sample: &Sample) -> Vec<Page> {
    sample.render().expect("the sample renders")
}

fn site_with(sample: &Sample, settings: &Settings) -> Vec<Page> {
    sample_data::rendered(&sample.catalog().input, settings).expect("the sample renders")
}

fn empty(url: Option<&str>) -> Result<Vec<Page>, ReportError> {
    let (analysis, trend) = (sample_data::empty(), Trend::default());
    let input = SiteInput { url, ..SiteInput::without_history(&analysis, &trend) };
    sample_data::rendered(&input, &Settings::default())
}

fn rich() -> &'static [Page] {
    static SITE: OnceLock<Vec<Page>> = OnceLock::new();
    SITE.get_or_init(|| site_of(&sample_data::rich()))
}

fn html(site: &[Page]) -> impl Iterator<Item = (&str, &str)> {
    site.iter().filter(|page| page.path.ends_with(".html")).map(|page| (page.path.as_str(), text(page)))
}

pub(super) fn text(page: &Page) -> &str {
    std::str::from_utf8(&page.bytes).expect("every page is UTF-8")
}

pub(super) fn page<'a>(site: &'a [Page], path: &str) -> &'a str {
    text(site.iter().find(|page| page.path == path).expect("the page was made"))
}

fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start as &str).skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect()
}

fn resolve(from: &str, to: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{from} links to {to}, outside the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_page_is_there() {
    let sample = sample_data::rich();
    let paths: BTreeSet<&str> = rich().iter().map(|page| page.path.as_str()).collect();
    // Links lead to the other pages, which another test follows.
    for path in [link::JSON_FEED, link::BADGE, link::MISSING, link::COMPARE_SCRIPT, &link::values(0)] {
        assert!(paths.contains(path), "{path}");
    }
    let linked = [
        [link::DIGEST, link::EVENT_LIST, link::SERIES_LIST, link::RUN_LIST, link::COVERAGE, link::LEDGER],
        [link::MACHINE_LIST, link::RELEASE_LIST, link::COMMIT_LIST, link::WEEK_LIST, link::METHOD, link::GPU],
        [link::ATOM_FEED, link::STYLE, link::SCRIPT, link::CHART_SCRIPT, link::COMPARE_SCRIPT, link::COMPARE],
    ];
    for path in linked.iter().flatten().chain(&[link::COMMITS_DATA, "matrix/cpu.html", "matrix/gpu.html"]) {
        assert!(paths.contains(path), "{path}");
    }
    let count = |folder: &str, end: &str| {
        let is_one = |path: &&&str| path.starts_with(folder) && path.ends_with(end) && !path.ends_with("/index.html");
        paths.iter().filter(is_one).count()
    };
    // Of the 30 commits with a page all but the changed tree against the one before, three releases and the newest commit against the
    // release before each; the newest two between releases also as Markdown.
    assert_eq!((count("compare/", ".html"), count("compare/", ".md")), (29 + 3, 2));
    // The newest 30 of 37 measured commits; no release and no event is older. Each had a run of each suite on each machine but one.
    let commits = sample.runs.iter().filter_map(|run| Some(run.run.commit.as_ref()?.sha.as_str()));
    assert_eq!(commits.collect::<BTreeSet<&str>>().len(), 37);
    assert_eq!((count("commits/", ".html"), count("runs/", ".html")), (30, sample.runs.len() - 7 * 3));
    let machines: BTreeSet<&str> = sample.runs.iter().map(|run| run.run.machine.id.as_str()).collect();
    assert_eq!((count("week/", ".html"), count("week/", ".md"), count("machines/", ".html")), (26, 26, machines.len()));
    assert_eq!(count("release/", ".html"), sample.releases.newest.len());
    assert_eq!(count("series/", ".html"), sample.analysis.series.len());
    assert_eq!(count("events/", ".html"), sample.trend.events.len());
}

/// The part of a page between two marks, without pictures.
fn part(html: &str, from: &str, to: &str) -> String {
    let start = html.find(from).expect("the part begins");
    let end = start + html[start..].find(to).expect("the part ends");
    let mut rest = &html[start..end];
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<svg") {
        text += before;
        text += "[picture]";
        rest = after.split_once("</svg>").map_or("", |(_, after)| after);
    }
    text + rest
}

#[test]
fn the_pages_read_as_they_should() {
    let site = rich();
    let sample = sample_data::rich();
    let analysis = &sample.analysis;
    let (head, end) = ("<div class=\"head\">", "</main>");
    let worst = analysis.suites[0].comparisons[0].series.as_deref().expect("it has a series");
    for (name, path, end) in [
        ("digest", link::DIGEST, "<h2 id=\"suite-2\">"),
        ("events", link::EVENT_LIST, end),
        ("event", &link::event("e-7c1f03"), end),
        ("releases", link::RELEASE_LIST, end),
        ("release", &link::release("v1.1"), end),
        ("matrix", "matrix/cpu.html", end),
        ("series", &link::series(worst), "<h2 id=\"points\">"),
        ("coverage", link::COVERAGE, end),
        ("machine", &link::machine(&analysis.suites[0].machine), "<h2 id=\"runs\">"),
        ("commit", &link::commit(&sample.line.commits[36].sha), end),
        ("week", "week/2026-11-09.html", end),
        ("gpu", link::GPU, end),
        ("method", link::METHOD, end),
        ("ledger", link::LEDGER, end),
        ("run_skipped", &link::run(&analysis.suites[2].run), end),
    ] {
        insta::assert_snapshot!(name, part(page(site, path), head, end));
    }
}

#[test]
fn equal_input_gives_equal_bytes() {
    assert!(site_of(&sample_data::rich()) == rich());
    let mut shuffled = sample_data::rich();
    shuffled.runs.reverse();
    assert!(site_of(&shuffled) == rich(), "the order in which runs were read does not show");
}

/// The ids of the series that a site shows on one page, and those that the files of these say to have their own.
fn viewed(site: &[Page]) -> [BTreeSet<String>; 2] {
    let mut ids = [BTreeSet::new(), BTreeSet::new()];
    for page in site.iter().filter(|page| page.path.starts_with("data/rest-")) {
        let json = text(page).strip_prefix("sprag.rest(").and_then(|rest| rest.strip_suffix(");\n"));
        let file: serde_json::Value = serde_json::from_str(json.expect("it is a call")).expect("JSON");
        ids[0].extend(file["series"].as_object().expect("by id").keys().cloned());
        ids[1].extend(file["own"].as_array().expect("a list").iter().filter_map(|id| Some(id.as_str()?.to_owned())));
    }
    ids
}

#[test]
fn series_without_a_page_are_shown_by_one() {
    let sample = Sample { asked: Some(vec!["infer{n=512} @fast time".to_owned()]), ..sample_data::rich() };
    let site = site_of(&sample);
    let [others, own] = viewed(&site);
    let present: BTreeSet<String> = sample.analysis.series.iter().map(|one| one.series.id.clone()).collect();
    assert!(!others.is_empty() && others.is_disjoint(&own) && present == &others | &own, "each is in a file");
    let paths: BTreeSet<&str> = site.iter().map(|page| page.path.as_str()).collect();
    for (ids, has_page) in [(&own, true), (&others, false)] {
        assert!(ids.iter().all(|id| paths.contains(&*link::series(id)) == has_page));
    }
    let asked = sample.analysis.series.iter().filter(|one| one.series.benchmark == "cpu/infer{n=512} @fast");
    assert!(asked.filter(|one| one.series.metric.name == "time").all(|one| own.contains(&one.series.id)));
    // Two commits are compared by script for them, too; of very many values only for series with a page.
    let named = |data: &str| others.iter().filter(|id| data.contains(&format!("\"{id}\""))).count();
    let compared = page(&site, link::COMPARE_SCRIPT);
    assert!(named(compared) > 0 && named(compared) == compared.matches("\"viewed\":true").count());
    let mut catalog = sample.catalog();
    let (scripted, all) = Data::new(&catalog).series_counts();
    catalog.compares_all = false;
    assert_eq!((scripted, Data::new(&catalog).series_counts().0), (all, all - named(compared)));
    let linked = page(&site, link::SEARCH_DATA).split("\"#").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    assert_eq!(linked.map(str::to_owned).collect::<BTreeSet<String>>(), others);
    check_links(&site);
    for page in &site {
        if page.path == link::VIEWER {
            check_balance(&page.path, text(page));
        }
    }
    // None has one where none changed.
    let mut quiet = Sample { asked: Some(Vec::new()), ..sample_data::rich() };
    quiet.trend.events.clear();
    quiet.analysis.series.iter_mut().for_each(|one| one.comparison = None);
    quiet.analysis.suites.iter_mut().for_each(|suite| suite.comparisons.clear());
    let site = site_of(&quiet);
    assert!(viewed(&site)[1].is_empty() && site.iter().any(|page| page.path == link::SERIES_LIST));
    check_links(&site);
}

#[test]
fn every_link_leads_to_a_page_and_a_place() {
    let links = check_links(rich());
    assert!(links > 10_000, "{links} links were seen");
}

fn check_links(site: &[Page]) -> usize {
    let [viewed, _] = viewed(site);
    let mut ids: BTreeMap<&str, BTreeSet<&str>> =
        html(site).map(|(path, html)| (path, attributes(html, "id").into_iter().collect())).collect();
    ids.entry(link::VIEWER).or_default().extend(viewed.iter().map(String::as_str));
    let paths: BTreeSet<&str> = site.iter().map(|page| page.path.as_str()).collect();
    let mut links = 0;
    for (path, html) in html(site) {
        let targets = attributes(html, "href").into_iter().chain(attributes(html, "src"));
        // The page for missing pages knows no place.
        for target in targets.filter(|one| *one != link::icon() && path != link::MISSING) {
            assert!(!target.contains(':') && !target.starts_with('/'), "{path} links to {target}");
            let target = target.replace("&#38;", "&");
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let file = file.split('?').next().unwrap_or_default();
            let file = if file.is_empty() { path.to_owned() } else { resolve(path, file) };
            assert!(paths.contains(file.as_str()), "{path} links to {target}, which is no page");
            let present = fragment.is_empty() || ids.get(file.as_str()).is_some_and(|ids| ids.contains(fragment));
            assert!(present, "{path} links to {target}, but there is no such id");
            links += 1;
        }
    }
    links
}

#[test]
fn pages_need_no_script_of_theirs_no_style_attribute_and_no_network() {
    for (path, html) in html(rich()) {
        let lower = html.to_lowercase();
        for banned in [" style=", "<style", " onclick", "javascript:", "http:", "https:", "url("] {
            // The page for missing pages may be shown at any address, from which no path leads to a file.
            let is_own = banned == "<style" && path == link::MISSING;
            assert!(is_own || !lower.contains(banned), "{path} holds {banned}");
        }
        for script in lower.split("<script").skip(1).filter(|_| path != link::MISSING) {
            // Data for the script, which no browser runs.
            if let Some(json) =
                script.strip_prefix(" type=\"application/json\">").and_then(|rest| rest.split('<').next())
            {
                assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{path} holds data that is no JSON");
                continue;
            }
            let file = script.strip_prefix(" src=\"").and_then(|rest| rest.split_once('"'));
            assert!(file.is_some_and(|(_, rest)| rest.starts_with(" defer></script>")), "{path} holds a script");
        }
        for tag in lower.split('<').filter_map(|rest| rest.split_once('>').map(|(tag, _)| tag)) {
            let handler = tag.split('"').step_by(2).flat_map(str::split_whitespace).find(|word| word.starts_with("on"));
            assert!(handler.is_none_or(|word| !word.contains('=')), "{path} holds a handler: <{tag}>");
        }
        assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{path}");
        assert!(
            html.contains("default-src 'none';script-src 'self';style-src 'self'") || path == link::MISSING,
            "{path}"
        );
        assert_eq!(html.matches("<h1>").count(), 1, "{path}");
    }
    assert!(!page(rich(), link::STYLE).contains("@import"));
}

#[test]
fn the_script_is_small_and_writes_text_only() {
    for path in [link::SCRIPT, link::CHART_SCRIPT, link::COMPARE_SCRIPT] {
        let script = page(rich(), path).split("sprag.series(").next().unwrap_or_default();
        let script = script.strip_prefix(page(rich(), link::SCRIPT)).filter(|own| !own.is_empty()).unwrap_or(script);
        // Compressed it is a third of that; a page may cost a reader 40 KB of script.
        assert!(script.len() < 40 << 10, "{path} has {} bytes", script.len());
        for banned in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "http"]
        {
            assert!(!script.contains(banned), "{path} holds {banned}");
        }
        assert!(script.contains("\"use strict\";"));
    }
}

#[test]
fn ids_are_unique_and_labels_lead_to_them() {
    for (path, html) in html(rich()) {
        let list = attributes(html, "id");
        let ids: BTreeSet<&str> = list.iter().copied().collect();
        assert_eq!(ids.len(), list.len(), "{path} has an id twice");
        for label in attributes(html, "aria-labelledby").into_iter().flat_map(str::split_whitespace) {
            assert!(ids.contains(label), "{path} is labelled by {label}, which is not there");
        }
    }
}

#[test]
fn text_of_others_does_nothing() {
    let site = rich();
    let mut seen = 0;
    for (path, html) in html(site) {
        for banned in ["<b>\u{202e}", "</td><script", "\u{202e}", "&\u{fffd}"] {
            assert!(!html.contains(banned), "{path} holds {banned:?}");
        }
        seen += usize::from(html.contains("alert") || html.contains("evil"));
    }
    assert!(seen > 30, "hostile names were on {seen} pages only");
    assert!(page(site, link::DIGEST).contains("signal 11↵"), "a line break is seen");
    let sample = sample_data::rich();
    let markdown = pages::digest_markdown(&sample.analysis, &sample.trend);
    assert!(!markdown.contains("<script") && !markdown.contains('\u{202e}'));
}

#[test]
fn markup_is_balanced() {
    for page in rich() {
        if page.path.ends_with(".html") || page.path.ends_with(".svg") {
            check_balance(&page.path, text(page));
        }
    }
}

/// Elements are closed in the order in which they were opened, and attributes have quoted values.
pub(super) fn check_balance(path: &str, markup: &str) {
    const VOID: [&str; 6] = ["meta", "link", "br", "wbr", "input", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap_or_else(|| panic!("{path}: a tag without end"));
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap_or_default();
        assert!(!tag.contains('<'), "{path}: <{tag}> holds a bracket");
        assert_eq!(tag.matches('"').count() % 2, 0, "{path}: <{tag}> has an open quote");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{path}: </{name}> closes another element");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{path}: {open:?} stay open");
    for entity in markup.split('&').skip(1) {
        let name = entity.split(';').next().unwrap_or_default();
        let present = ["amp", "lt", "gt", "quot"].contains(&name);
        assert!(present || name.starts_with('#'), "{path}: &{name} is no entity");
    }
}

/// A well-formed document of characters that XML 1.0 allows.
pub(crate) fn check_xml(path: &str, document: &str) {
    let body = document.split_once("?>\n").map(|(_, body)| body).expect("it begins with a declaration");
    check_balance(path, body);
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    assert!(document.chars().all(is_allowed), "{path} holds a character that XML forbids");
    assert!(!document.contains("]]>") && !document.contains('\u{202e}'), "{path}");
}

#[test]
fn every_class_has_a_rule() {
    let site = rich();
    let style = page(site, link::STYLE);
    let present = |class: &str| {
        style.match_indices(&format!(".{class}")).any(|(at, matched)| {
            !style[at + matched.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        })
    };
    let mut classes = BTreeSet::new();
    for (_, html) in html(site) {
        classes.extend(attributes(html, "class").into_iter().flat_map(str::split_whitespace).map(str::to_owned));
    }
    let unknown: Vec<String> = classes.into_iter().filter(|class| !present(class)).collect();
    assert!(unknown.is_empty(), "classes without a rule: {unknown:?}");
}

#[test]
fn an_empty_history_has_a_page_that_helps() {
    let site = empty(None).expect("it renders");
    let paths: BTreeSet<&str> = site.iter().map(|page| page.path.as_str()).collect();
    let scripts = [link::SCRIPT, link::CHART_SCRIPT];
    let others = [link::MISSING, link::BADGE, link::DIGEST, link::STYLE];
    assert_eq!(paths, scripts.into_iter().chain(others).collect());
    assert_eq!(paths.len(), site.len());
    assert!(page(&site, link::BADGE).contains("No runs yet"));
    let digest = page(&site, link::DIGEST);
    assert!(digest.contains("No runs yet") && digest.contains("sprag weekly"));
    assert!(!digest.contains("series/"), "navigation shows only what there is");
    check_balance(link::DIGEST, digest);
}

#[test]
fn the_page_for_missing_pages_is_safe_under_any_path() {
    let without = page(rich(), link::MISSING);
    assert_eq!(attributes(without, "href"), ["../index.html", "index.html", "../../index.html"]);
    let with = |url: &str| empty(Some(url));
    let site = with("https://example.org/kernels").expect("it renders");
    assert_eq!(attributes(page(&site, link::MISSING), "href"), ["https://example.org/kernels/index.html"]);
    for bad in ["example.org", "javascript:alert(1)", "https://a b", "https://a\n"] {
        assert!(matches!(with(bad), Err(ReportError::Url(_))), "{bad}");
    }
}

#[test]
fn links_to_series_that_lost_their_page_lead_to_the_viewer() {
    let sample = Sample { asked: Some(Vec::new()), ..sample_data::rich() };
    let site = sample_data::rendered(&sample.catalog().input, &Settings::default()).expect("it renders");
    let missing = page(&site, link::MISSING);
    assert!(missing.contains("<body data-viewer>") && missing.contains(&link::viewed("${id}")), "{missing}");
    assert!(!page(rich(), link::MISSING).contains("<body data-viewer>"));
}

#[test]
fn commits_lead_to_their_author_and_diff_and_pages_to_a_picture() {
    let sample = sample_data::rich();
    let render = |commit_url| {
        let input = SiteInput { commit_url: Some(commit_url), url: Some("https://x.org/k"), ..sample.catalog().input };
        sample_data::rendered(&input, &Settings::default())
    };
    let site = render("https://forge.org/c/{sha}").expect("it renders");
    let commit = &sample.line.commits[36];
    let diff = format!("<a href=\"https://forge.org/c/{}\" rel=\"noreferrer\">", commit.sha);
    assert!(page(&site, &link::event("e-7c1f03")).contains(&format!("{diff}diff</a>")));
    let own = page(&site, &link::commit(&commit.sha));
    assert!(own.contains(&format!("{diff}Its diff at the forge</a>")) && own.contains(&commit.author), "{own}");
    assert!(own.contains(&format!("git show {}", &commit.sha[..12])));
    assert!(own.contains("<meta property=\"og:image\" content=\"https://x.org/k/card.svg\">"));
    let card = page(&site, link::CARD);
    check_balance(link::CARD, card);
    assert!(card.contains(">Regressed: 2 of 17 judged metrics got<"), "{card}");
    assert!(card.contains(">slower; 2 open regressions<"), "{card}");
    for bad in ["forge.org/c/{sha}", "https://forge.org/c", "javascript:{sha}"] {
        assert!(matches!(render(bad), Err(ReportError::CommitUrl(_))), "{bad}");
    }
}

#[test]
fn the_page_of_a_run_has_the_digest_of_its_record_and_its_choices_as_text() {
    let sample = sample_data::rich();
    let run = sample.runs.iter().find(|run| !run.run.autotune.is_empty()).expect("one was tuned");
    let made = pages::run(&sample.catalog(), run).expect("it renders");
    let html = text(&made[0]);
    let check = format!("{} | sha256sum\n</code></pre>", run.path);
    assert!(
        html.contains(&sha256_hex(&run.run.to_record().2))
            && html.contains(&check)
            && html.contains("sprag history fsck"),
        "{html}"
    );
    assert!(part(html, "id=\"tuned-1\"", "</section>").contains(">Chosen</th>"), "{html}");
}

#[test]
fn the_records_that_a_release_is_derived_from_have_pages_and_files() {
    let mut sample = sample_data::rich();
    let heads = sample.heads();
    let oldest = heads.iter().min_by_key(|head| head.timestamp).expect("it has runs").id.clone();
    let recorded = sample.runs.iter().find(|run| run.id == oldest).expect("it was recorded").clone();
    assert_eq!(sample.catalog().run_page(&oldest), None);
    let filled = sample.releases.newest.last_mut().and_then(|one| one.checklist.as_mut().ok()).expect("it is there");
    let item = filled.items.iter_mut().find(|item| !item.rests_on.is_empty()).expect("it has files");
    item.rests_on[0].path.clone_from(&recorded.path);
    let name = sample.releases.newest.last().map(|release| link::release(&release.name)).expect("it is there");
    let catalog = sample.catalog();
    assert_eq!(catalog.run_page(&oldest), Some(link::run(&oldest)));
    let made = pages::run(&catalog, &recorded).expect("it renders");
    let (html, file) = (text(&made[0]), &made[1]);
    assert_eq!((&*file.path, &file.bytes), (&*link::record(&oldest), &recorded.run.to_record().2));
    let check = format!("{}  {oldest}.json", sha256_hex(&file.bytes));
    assert!(html.contains(&check) && html.contains(&format!("href=\"../{}\"", file.path)), "{html}");
    let site = site_of(&sample);
    assert!(page(&site, &name).contains(&format!("href=\"../{}\"", file.path)), "the release leads to the file");
}

#[test]
fn a_name_that_is_no_file_name_is_refused() {
    let mut sample = sample_data::rich();
    let newest = sample.runs.len() - 1;
    sample.runs.push(sample.runs[newest].clone());
    assert!(matches!(sample.render(), Err(ReportError::Duplicate(_))));
    "../../etc/x".clone_into(&mut sample.runs[newest].id);
    assert!(matches!(sample.render(), Err(ReportError::Name { of: "run", .. })));
    for bad in ["../../x", "a b", ""] {
        sample.trend.events[0].id = bad.to_owned();
        let page = pages::event(&sample.catalog(), &sample.trend.events[0]);
        assert!(matches!(page, Err(ReportError::Name { of: "event", .. })), "{bad}");
    }
}

#[test]
fn controls_and_calibration_kernels_come_last_under_their_own_heading() {
    let mut sample = sample_data::rich();
    let list = |sample: &Sample| page(&site_of(sample), link::SERIES_LIST).to_owned();
    assert!(!list(&sample).contains("control and calibration"));
    // The first judged kernel becomes the control, in the analysis and in the runs.
    let judged = sample.analysis.series.iter().find(|one| one.judged && one.series.suite == "cpu");
    let benchmark = judged.expect("one of the suite is judged").series.benchmark.clone();
    for one in sample.analysis.series.iter_mut().filter(|one| one.series.benchmark == benchmark) {
        (one.series.role, one.judged) = (Role::Control, false);
    }
    for measurement in sample.runs.iter_mut().flat_map(|one| &mut one.run.measurements) {
        if measurement.benchmark.id() == benchmark {
            measurement.role = Role::Control;
        }
    }
    let site = site_of(&sample);
    let series = page(&site, link::SERIES_LIST);
    assert!(series.contains("judged. Other metrics, controls"), "the lede names the others");
    let run = sample.runs.iter().rfind(|one| one.run.suite == "cpu" && one.run.measurements.len() > 1);
    let run = page(&site, &link::run(&run.expect("the suite was measured").id));
    for table in [series, run] {
        let kernels = table.find("ratio, lower is better").expect("kernels have a heading");
        let auxiliary = table.find("control and calibration: ratio").expect("the control has a heading");
        assert!(kernels < auxiliary);
    }
}

#[test]
fn titles_of_series_name_their_suite_and_names_in_reasons_have_no_backticks() {
    let mut sample = sample_data::rich();
    let comparison = &mut sample.analysis.suites[0].comparisons[0];
    comparison.note = Some("taking turns tells: `sprag compare A B --measure`".to_owned());
    let series = sample.analysis.series.iter_mut().find(|one| Some(&one.series.id) == comparison.series.as_ref());
    series.expect("it has a series").comparison = Some(comparison.clone());
    let downloads = vec![("data/a.csv".to_owned(), "CSV."), ("data/b.parquet".to_owned(), "Parquet.")];
    let site = site_with(&sample, &Settings { downloads, ..Settings::default() });
    for (path, html) in html(&site).filter(|(path, _)| path.starts_with("series/") && *path != link::SERIES_LIST) {
        let title = html.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        assert!(
            title.is_some_and(|(title, _)| title.contains(" of cpu on ") || title.contains(" of gpu on ")),
            "{path}"
        );
        assert!(
            !html.contains("<td class=\"n ci\"></td>") && !html.contains("<td class=\"n ci opt2\"></td>"),
            "{path}"
        );
    }
    let all = "All values, for other programs: <a href=\"../data/a.csv\">a.csv</a>, <a href=\"../data/b.parquet\">b.parquet</a>.";
    assert!(page(&site, link::SERIES_LIST).contains(all));
    assert!(page(&site, link::EVENT_LIST).contains("Feeds: <a href=\"../events/feed.atom\">Atom</a>, <a href"));
    assert!(page(&site, link::DIGEST).contains("Feeds: <a href=\"events/feed.atom\">Atom</a>, <a href"));
    assert_eq!(html(&site).filter(|(_, html)| html.contains("Feeds: ")).count(), 2, "no other page has them");
    let digest = page(&site, link::DIGEST);
    assert!(digest.contains("No baseline: there is no <span class=\"id\">baselines/"), "{digest}");
    let reason = "taking turns tells: <span class=\"id\">sprag compare A B --measure</span>";
    assert!(html(&site).any(|(path, html)| path.starts_with("series/") && html.contains(reason)));
    assert!(!digest.contains("`sprag") && !digest.contains("`baselines"));
    assert!(!digest.contains("ci opt\"></td>") && digest.contains("class=\"n\">–</td>"), "{digest}");
}

#[test]
fn how_checks_ran_is_a_column_only_where_one_has_attributes() {
    let sample = sample_data::rich();
    let catalog = sample.catalog();
    let run_page = |recorded: &RecordedRun| text(&pages::run(&catalog, recorded).expect("it renders")[0]).to_owned();
    let mut recorded = sample.runs[0].clone();
    let full = run_page(&recorded);
    assert!(full.contains("How it ran") && full.contains("<td class=\"opt\">tile=64x8</td>"));
    assert!(!full.contains("\"></td>") && !full.contains("<td></td>"));
    recorded.run.measurements.iter_mut().for_each(|one| one.attributes.clear());
    let bare = run_page(&recorded);
    assert!(bare.contains("Checked against the reference</h2>") && !bare.contains("How it ran"));
}

#[test]
fn a_release_that_names_none_before_it_has_the_tag_before() {
    let mut sample = sample_data::rich();
    let newest = sample.releases.newest.last_mut().expect("it has releases");
    let name = newest.name.clone();
    let filled = newest.checklist.as_mut().expect("it holds together");
    filled.previous = None;
    filled.commit.clone_from(&sample.line.commits[10].sha);
    for commit in &mut sample.line.commits[..10] {
        commit.tags.clear();
    }
    let result = |sample: &Sample| page(&site_with(sample, &Settings::default()), &link::release(&name)).to_owned();
    assert!(result(&sample).contains("It names no previous release. "));
    sample.line.commits[7].tags = vec!["v0.3.0".to_owned()];
    assert!(result(&sample).contains("the newest tag before its commit is <span class=\"id\">v0.3.0</span>. "));
}

#[test]
fn without_releases_and_ledger_pages_say_how_to_have_them() {
    let mut sample = sample_data::rich();
    (sample.releases, sample.ledger) = (Released::default(), Ledger::default());
    let site = site_with(&sample, &Settings::default());
    let html = page(&site, link::RELEASE_LIST);
    assert!(html.contains("No release is listed") && html.contains("release/releases.toml"), "{html}");
    assert!(!page(&site, link::DIGEST).contains("releases/index.html"), "the navigation leads to none");
    let ledger = page(&site, link::LEDGER);
    assert!(ledger.contains("Nothing is accepted or waived") && !ledger.contains("<table"), "{ledger}");
    assert!(ledger.contains("sprag release waive --event ID --reason TEXT"));
    assert!(ledger.contains("sprag release waive --release TAG --item ID --reason TEXT"));
}

#[test]
fn a_state_without_a_word_is_a_glyph_in_markdown() {
    for week in rich().iter().filter(|page| page.path.starts_with("week/") && page.path.ends_with(".md")) {
        let doubled = text(week).lines().find(|line| line.trim_start().contains("  "));
        assert_eq!(doubled, None, "{}", week.path);
    }
}

#[test]
fn the_sample_has_the_changes_that_it_was_built_with() {
    let sample = sample_data::rich();
    let moved: Vec<usize> = sample.trend.events.iter().map(|one| one.members.len()).collect();
    assert_eq!(moved, [2, 1, 4, 1, 23, 1, 1]);
    for event in &sample.trend.events {
        let is_worse = |member: &Member| member.worse.expect("it has a level before") > 0.0;
        let expected = event.direction == Direction::Worse;
        assert!(event.members.iter().all(|one| is_worse(one) == expected), "{}: {:?}", event.id, event.worst);
    }
    assert!(sample.trend.newest[0].series[0].worse.is_some_and(|worse| worse > 0.03));
    assert_eq!(sample.trend.coverage.total, 36);
}
