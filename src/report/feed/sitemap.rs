//! The list of pages for those who index sites (<https://www.sitemaps.org/protocol.html>).

use crate::link;
use crate::text::xml;
use sprag_model::page::Page;

/// A list of pages may name no more.
const MOST: usize = 50_000;

/// The list of the pages at those paths. `root` is the site's URL with a slash at its end.
pub(crate) fn sitemap<'a>(root: &str, paths: impl Iterator<Item = &'a str>) -> Page {
    let mut list = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    let pages = paths.filter(|path| path.ends_with(".html") && *path != link::MISSING);
    for path in pages.take(MOST) {
        list += &format!("<url><loc>{}{}</loc></url>\n", xml(root), xml(path));
    }
    list += "</urlset>\n";
    Page { path: link::SITEMAP.to_owned(), bytes: list.into_bytes() }
}
