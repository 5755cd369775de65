//! Whether the statement of a release is signed and by which key, and the statement itself.

use crate::link;
use crate::phrase::Phrase;
use crate::text::shortened;
use sprag_model::page::Page;
use sprag_model::release::{PublishedStatement, ReleaseReport, Sealed};

/// The longest name of a key, in characters.
const KEY: usize = 100;

/// Whether it is signed, in a sentence.
pub(super) fn signature(release: &ReleaseReport) -> Phrase {
    let folder = || format!("release/{}/", release.name);
    match &release.statement {
        None => Phrase::default().strong("Not signed").text(": no statement of it is in ").id(folder()).text("."),
        Some(Err(fault)) => {
            Phrase::default().strong("Not signed").text(": ").join(super::release_items::sentence(fault)).text(".")
        }
        Some(Ok(PublishedStatement { sealed: None, .. })) => Phrase::default()
            .text("Its ")
            .link(link::release_statement(&release.name), "statement")
            .text(" is ")
            .strong("not signed")
            .text("."),
        Some(Ok(PublishedStatement { sealed: Some(Sealed { keyid, checked, .. }), .. })) => {
            let words = Phrase::default()
                .text("Its ")
                .link(link::release_statement(&release.name), "statement")
                .text(" is ")
                .strong("signed");
            match checked {
                true => {
                    words.text(" by the key ").id(shortened(keyid, KEY)).text(". Nothing here vouches for that key.")
                }
                false => words
                    .text(" with an SSH key, which is not checked here: ")
                    .id("sprag release verify --allowed-signers FILE")
                    .text(" checks it."),
            }
        }
    }
}

/// Where to download the statement; nothing where there is none.
pub(super) fn downloads(release: &ReleaseReport) -> Option<Phrase> {
    let Some(Ok(PublishedStatement { folder, sealed, .. })) = &release.statement else { return None };
    let words = Phrase::plain("Download: ")
        .link(link::release_statement(&release.name), "statement.json")
        .text(" (in-toto Statement v1, test-result v0.1)");
    let words = match sealed {
        Some(_) => words
            .text(" and ")
            .link(link::release_envelope(&release.name), "statement.dsse.json")
            .text(", its envelope"),
        None => words,
    };
    Some(words.text("; byte for byte as ").id(format!("{folder}/")).text(" has them"))
}

/// The files of the statement, as they are in the repository.
pub(super) fn files(release: &ReleaseReport) -> Vec<Page> {
    let Some(Ok(PublishedStatement { statement, sealed, .. })) = &release.statement else { return Vec::new() };
    let statement = Page { path: link::release_statement(&release.name), bytes: statement.clone() };
    let envelope =
        sealed.as_ref().map(|sealed| Page { path: link::release_envelope(&release.name), bytes: sealed.bytes.clone() });
    std::iter::once(statement).chain(envelope).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn release(statement: Option<Result<PublishedStatement, String>>) -> ReleaseReport {
        ReleaseReport { name: "v1".to_owned(), checklist: Err(String::new()), figures: BTreeMap::new(), statement }
    }

    fn sealed_by(keyid: Option<(&str, bool)>) -> Option<Result<PublishedStatement, String>> {
        let sealed = keyid.map(|(keyid, checked)| Sealed { bytes: b"{1}".to_vec(), keyid: keyid.to_owned(), checked });
        Some(Ok(PublishedStatement { folder: "release/v1".to_owned(), statement: b"{}".to_vec(), sealed }))
    }

    #[test]
    fn a_page_says_whether_it_is_signed_and_by_whom() {
        let check = |remaining, expected: &str, files_there: &[&str]| {
            let release = release(remaining);
            assert_eq!(signature(&release).words(), expected);
            let paths: Vec<String> = files(&release).into_iter().map(|page| page.path).collect();
            assert_eq!(paths, files_there);
            assert_eq!(downloads(&release).is_some(), !files_there.is_empty());
        };
        let (statement, envelope) = ("release/v1.statement.json", "release/v1.statement.dsse.json");
        check(None, "Not signed: no statement of it is in release/v1/.", &[]);
        check(Some(Err("`x` is not about v1".to_owned())), "Not signed: x is not about v1.", &[]);
        check(sealed_by(None), "Its statement is not signed.", &[statement]);
        check(
            sealed_by(Some(("ed25519:ab", true))),
            "Its statement is signed by the key ed25519:ab. Nothing here vouches for that key.",
            &[statement, envelope],
        );
        check(
            sealed_by(Some(("ssh", false))),
            "Its statement is signed with an SSH key, which is not checked here: sprag release verify --allowed-signers FILE checks it.",
            &[statement, envelope],
        );
        assert_eq!(files(&release(sealed_by(None)))[0].bytes, b"{}");
    }
}
