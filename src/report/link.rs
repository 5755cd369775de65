//! The paths of the pages in the site. Every name that becomes a path passes [`file_word`].

use chrono::NaiveDate;

use super::ReportError;
use crate::text::commit_digits as digits;

pub const DIGEST: &str = "index.html";
pub const SERIES_LIST: &str = "series/index.html";
pub const EVENT_LIST: &str = "events/index.html";
pub const ATOM_FEED: &str = "events/feed.atom";
pub const JSON_FEED: &str = "events/feed.json";
pub const BADGE: &str = "badge.json";
/// The verdict as a picture, for those who show a link to the site.
pub const CARD: &str = "card.svg";
pub const SITEMAP: &str = "sitemap.xml";
pub const RUN_LIST: &str = "runs/index.html";
pub const WEEK_LIST: &str = "week/index.html";
pub const COMMIT_LIST: &str = "commits/index.html";
pub const COVERAGE: &str = "coverage.html";
pub const METHOD: &str = "about/method.html";
pub const LEDGER: &str = "ledger.html";
pub const GPU: &str = "gpu/index.html";
pub const RELEASE_LIST: &str = "releases/index.html";
pub const MACHINE_LIST: &str = "machines/index.html";
pub const MISSING: &str = "404.html";
pub const STYLE: &str = "style.css";

pub const SCRIPT: &str = "app.js";
pub const CHART_SCRIPT: &str = "chart.js";
pub const COMPARE_SCRIPT: &str = "compare.js";
pub const COMPARE: &str = "compare/index.html";
pub const COMMITS_DATA: &str = "data/commits.js";
pub const SERIES_DATA: &str = "data/series.js";
pub const SEARCH_DATA: &str = "data/search.js";
/// Shows any series without a page of its own.
pub const VIEWER: &str = "series/view.html";
pub const VIEWER_SCRIPT: &str = "view.js";

/// The icon as an address that holds it, so that nobody asks for it.
pub fn icon() -> String {
    let encoded = include_str!("../../site/icon.svg").trim_end().replace('"', "'");
    let encoded = ["<", ">", "#", " ", ":"]
        .iter()
        .fold(encoded, |text, one| text.replace(one, &format!("%{:02X}", one.as_bytes()[0])));
    format!("data:image/svg+xml,{encoded}")
}

/// A page of a list but the first.
pub fn list_page(name: &str, number: usize) -> String {
    format!("list/{name}-{number}.html")
}

/// All rows of a list of several pages.
pub fn list_data(name: &str) -> String {
    format!("data/list-{name}.js")
}

pub fn values(chunk: usize) -> String {
    format!("data/values-{chunk}.js")
}

pub fn compare(a: &str, b: &str) -> String {
    format!("compare/{}-{}.html", digits(a), digits(b))
}

/// The page of the newest commit against another one: its name stays as commits are measured.
pub fn compare_newest(a: &str) -> String {
    format!("compare/{}-newest.html", digits(a))
}

/// Where the script compares two commits.
pub fn compared(a: &str, b: &str) -> String {
    format!("{COMPARE}?a={}&b={}", digits(a), digits(b))
}

/// Where the script compares a commit with the one measured before it.
pub fn compared_with_previous(commit: &str) -> String {
    format!("{COMPARE}?b={}", digits(commit))
}

pub fn week(monday: NaiveDate) -> String {
    format!("week/{}.html", monday.format("%Y-%m-%d"))
}

pub fn week_text(monday: NaiveDate) -> String {
    format!("week/{}.md", monday.format("%Y-%m-%d"))
}

pub fn commit(sha: &str) -> String {
    format!("commits/{}.html", digits(sha))
}

pub fn compare_markdown(page: &str) -> String {
    page.replace(".html", ".md")
}

pub fn release(name: &str) -> String {
    format!("release/{name}.html")
}

pub fn release_text(name: &str) -> String {
    format!("release/{name}.md")
}

pub fn release_statement(name: &str) -> String {
    format!("release/{name}.statement.json")
}

pub fn release_envelope(name: &str) -> String {
    format!("release/{name}.statement.dsse.json")
}

pub fn matrix(suite: &str) -> String {
    format!("matrix/{suite}.html")
}

pub fn series(id: &str) -> String {
    format!("series/{id}.html")
}

pub fn viewed(id: &str) -> String {
    format!("{VIEWER}#{id}")
}

/// As data of scripts have a path: that of a series without a page is its fragment.
pub fn in_data(path: &str) -> &str {
    path.strip_prefix(VIEWER).unwrap_or(path)
}

/// The data of some of the series without a page.
pub fn rest(number: usize) -> String {
    format!("data/rest-{number}.js")
}

/// The chart of a series alone, for other pages to embed.
pub fn chart(id: &str) -> String {
    format!("chart/{id}.html")
}

pub fn event(id: &str) -> String {
    format!("events/{id}.html")
}

pub fn machine(id: &str) -> String {
    format!("machines/{id}.html")
}

/// The file of the record of a run, byte for byte.
pub fn record(id: &str) -> String {
    format!("data/records/{id}.json")
}

pub fn run(id: &str) -> String {
    format!("runs/{id}.html")
}

/// Checks that `word`, which names an `of`, is a plain file name on every system: letters, digits, `-`, `_` and `.`, not first a dot.
pub fn file_word(of: &'static str, word: &str) -> Result<(), ReportError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || word.len() > 120 || word.starts_with('.') || !word.chars().all(fine) {
        return Err(ReportError::Name { of, name: word.to_owned() });
    }
    Ok(())
}

/// The URL of the site with a slash at its end, where it has one; an error where that is none.
pub(super) fn root(url: Option<&str>) -> Result<Option<String>, ReportError> {
    check_url(url)?;
    Ok(url.map(|url| format!("{}/", url.trim_end_matches('/'))))
}

/// The address of the site must be one.
pub fn check_url(url: Option<&str>) -> Result<(), ReportError> {
    url.filter(|url| !is_url(url)).map_or(Ok(()), |url| Err(ReportError::Url(url.to_owned())))
}

/// The address of a commit at a forge must be one, with a place for its name.
pub fn check_commit_url(url: Option<&str>) -> Result<(), ReportError> {
    let is_one = |url: &&str| is_url(url) && url.contains("{sha}");
    url.filter(|url| !is_one(url)).map_or(Ok(()), |url| Err(ReportError::CommitUrl(url.to_owned())))
}

/// The commits of an author at GitHub or GitLab, whose names have no pages.
pub(super) fn author_search(commit_url: &str, sha: &str, author: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let name: String = author.bytes().map(encode).collect();
    if let Some(project) = commit_url.strip_suffix("/-/commit/{sha}") {
        return Some(format!("{project}/-/commits/{sha}?author={name}"));
    }
    let project = commit_url.strip_suffix("/commit/{sha}")?.strip_prefix("https://github.com/")?;
    Some(format!("https://github.com/{project}/search?type=commits&q=author-name%3A%22{name}%22"))
}

fn is_url(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_graphic());
    is_plain && (text.starts_with("https://") || text.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_searched_where_the_forge_can() {
        let search = |url: &str| author_search(url, "c0ffee", "Ada \"B\" Ré");
        let name = "Ada%20%22B%22%20R%C3%A9";
        assert_eq!(
            search("https://github.com/o/r/commit/{sha}"),
            Some(format!("https://github.com/o/r/search?type=commits&q=author-name%3A%22{name}%22"))
        );
        assert_eq!(
            search("https://git.example.org/g/p/-/commit/{sha}"),
            Some(format!("https://git.example.org/g/p/-/commits/c0ffee?author={name}"))
        );
        assert_eq!(search("https://example.org/o/r/commit/{sha}"), None);
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for bad in ["", "..", "a/b", "a\\b", ".hidden", "a b", "é", "%2e"] {
            assert!(file_word("suite", bad).is_err(), "{bad}");
        }
        assert!(file_word("suite", "cpu-2.0_x").is_ok());
    }
}
