//! A finished file of the site.

/// One file to write: a relative path with `/`, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it lies below the site's folder, such as `series/tile-pack-1a2b3c4d.html`.
    pub path: String,
    pub bytes: Vec<u8>,
}
