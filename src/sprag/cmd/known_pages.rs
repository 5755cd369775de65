//! The pages that a site has already. Those of runs and series are most of its files and of the work, and each stays as it is
//! until something that it tells of comes or goes; what the page of a run hangs on is known without the record, which need not be
//! read, and that of a series is put together before it is drawn.
//!
//! The cache holds of each page a digest of what it was rendered from and one of its bytes. So a page is taken over where it
//! would be rendered from the same again, and the file that lies there is the one that was rendered.

use std::collections::BTreeMap;

use super::kept::Kept;
use super::project::Project;
use sprag_model::digest::Digest;

/// What the pages of a site were rendered from.
pub(super) struct KnownPages {
    /// Absent where nothing is kept.
    kept: Option<Kept>,
    known: BTreeMap<String, Rendered>,
    now: BTreeMap<String, Rendered>,
}

/// A page: the digests of what it was rendered from, and of its bytes; the latter absent until it is rendered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rendered {
    from: Digest,
    page: Option<Digest>,
}

impl KnownPages {
    pub(super) fn of(project: &Project) -> KnownPages {
        let kept = Kept::at(project, "pages");
        let known = kept.as_ref().and_then(Kept::read).and_then(|bytes| lines(&bytes)).unwrap_or_default();
        KnownPages { kept, known, now: BTreeMap::new() }
    }

    /// Whether the page at a path was rendered from what `key` stands for, and can be taken over.
    pub(super) fn has(&mut self, path: &str, key: &dyn Fn() -> Digest, take_over: impl FnOnce(Digest) -> bool) -> bool {
        if self.kept.is_none() {
            return false;
        }
        let from = key();
        let page = self.known.get(path).filter(|known| known.from == from).and_then(|known| known.page);
        let page = page.filter(|page| take_over(*page));
        self.now.insert(path.to_owned(), Rendered { from, page });
        page.is_some()
    }

    /// Takes note of a page that was rendered, if it is one that could be taken over.
    pub(super) fn rendered(&mut self, path: &str, page: &[u8]) {
        if let Some(rendered) = self.now.get_mut(path) {
            rendered.page = Some(Digest::of(&[page]));
        }
    }

    /// Keeps it for the next site.
    pub(super) fn keep(self) {
        if let Some(kept) = self.kept.filter(|_| self.known != self.now) {
            kept.write(text(&self.now).as_bytes());
        }
    }
}

/// A line a page.
fn text(pages: &BTreeMap<String, Rendered>) -> String {
    let line = |(path, one): (&String, &Rendered)| Some(format!("{} {} {path}\n", one.from, one.page?));
    pages.iter().filter_map(line).collect()
}

fn lines(bytes: &[u8]) -> Option<BTreeMap<String, Rendered>> {
    let line = |line: &str| {
        let (from, rest) = line.split_once(' ')?;
        let (page, path) = rest.split_once(' ')?;
        Some((path.to_owned(), Rendered { from: from.parse().ok()?, page: Some(page.parse().ok()?) }))
    };
    std::str::from_utf8(bytes).ok()?.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_pages_that_were_not_rendered_are_left_out() {
        let digest = |text: &str| Digest::of(&[text.as_bytes()]);
        let rendered = |page| Rendered { from: digest("from"), page };
        let pages: BTreeMap<String, Rendered> = [
            ("runs/1a.html".to_owned(), rendered(Some(digest("page")))),
            ("series/2b.html".to_owned(), rendered(None)),
        ]
        .into();
        let read = lines(text(&pages).as_bytes()).expect("all lines are ours");
        assert_eq!(read, [("runs/1a.html".to_owned(), rendered(Some(digest("page"))))].into());
        assert_eq!(lines(b""), Some(BTreeMap::new()));
        for wrong in ["x", "x y z", &format!("{} y z", digest("from"))] {
            assert_eq!(lines(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
