//! The feed of events as JSON Feed 1.1 (<https://www.jsonfeed.org/version/1.1/>).

use serde_json::{Map, Value, json};

use super::entry::{self, Entry};
use crate::catalog::Catalog;
use crate::link;
use crate::text::visible;
use sprag_model::page::Page;

/// The feed. `root` is the site's URL with a slash at its end; without it the feed has no URLs, for they must be absolute.
pub(crate) fn json(catalog: &Catalog<'_>, root: Option<&str>) -> Page {
    let items: Vec<Value> = entry::entries(catalog, root).iter().map(|one| item(one, root)).collect();
    let mut feed = Map::from_iter([
        ("version".to_owned(), json!("https://jsonfeed.org/version/1.1")),
        ("title".to_owned(), json!(entry::title(catalog))),
        ("language".to_owned(), json!("en")),
        ("authors".to_owned(), json!([{ "name": visible(&catalog.analysis.project) }])),
        ("items".to_owned(), json!(items)),
    ]);
    if let Some(root) = root {
        feed.insert("home_page_url".to_owned(), json!(format!("{root}{}", link::EVENT_LIST)));
        feed.insert("feed_url".to_owned(), json!(format!("{root}{}", link::JSON_FEED)));
    }
    Page { path: link::JSON_FEED.to_owned(), bytes: format!("{:#}\n", Value::Object(feed)).into_bytes() }
}

fn item(one: &Entry, root: Option<&str>) -> Value {
    let mut item = json!({
        "id": one.id,
        "title": one.title,
        "content_text": one.text,
        "date_published": entry::moment(one.published),
        "date_modified": entry::moment(one.updated),
    });
    if let Some(root) = root {
        item["url"] = json!(format!("{root}{}", one.path));
    }
    item
}
