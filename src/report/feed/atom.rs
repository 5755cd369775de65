//! The feed of events as Atom 1.0 (RFC 4287).

use super::entry::{self, Entry};
use crate::catalog::Catalog;
use crate::link;
use crate::text::xml;
use sprag_model::page::Page;

/// The feed. `root` is the site's URL with a slash at its end; links are relative to the feed where there is none.
pub(crate) fn atom(catalog: &Catalog<'_>, root: Option<&str>) -> Page {
    let entries = entry::entries(catalog, root);
    let newest = entries.iter().map(|one| one.updated).max();
    // Not when something was measured last: that says nothing new.
    let updated = newest.or(catalog.analysis.as_of).unwrap_or_default();
    let mut feed =
        String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    element(&mut feed, "id", &entry::id(catalog, root, link::ATOM_FEED));
    element(&mut feed, "title", &entry::title(catalog));
    element(&mut feed, "updated", &entry::moment(updated));
    feed += &format!("<author><name>{}</name></author>\n", xml(&catalog.analysis.project));
    feed += &format!("<generator version=\"{0}\">sprag</generator>\n", env!("CARGO_PKG_VERSION"));
    if let Some(root) = root {
        feed +=
            &format!("<link rel=\"self\" type=\"application/atom+xml\" href=\"{}{}\"/>\n", xml(root), link::ATOM_FEED);
    }
    feed += &format!("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", xml(&to(root, link::EVENT_LIST)));
    for one in &entries {
        feed += &entry_of(one, root);
    }
    feed += "</feed>\n";
    Page { path: link::ATOM_FEED.to_owned(), bytes: feed.into_bytes() }
}

fn entry_of(one: &Entry, root: Option<&str>) -> String {
    let mut entry = String::from("<entry>\n");
    element(&mut entry, "id", &one.id);
    element(&mut entry, "title", &one.title);
    element(&mut entry, "published", &entry::moment(one.published));
    element(&mut entry, "updated", &entry::moment(one.updated));
    entry += &format!("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", xml(&to(root, &one.path)));
    entry += &format!("<content type=\"text\">{}</content>\n</entry>\n", xml(&one.text));
    entry
}

fn element(into: &mut String, name: &str, text: &str) {
    *into += &format!("<{name}>{}</{name}>\n", xml(text));
}

/// The way to a page: from the root, or from the folder of the feed up to it.
fn to(root: Option<&str>, path: &str) -> String {
    format!("{}{path}", root.unwrap_or("../"))
}
