//! A finished file of the site.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path in the folder of the site, such as `series/tile-pack-1a2b3c4d.html`.
    pub path: String,
    pub bytes: Vec<u8>,
}
