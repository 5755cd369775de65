//! Who works here, as git's configuration knows them.

use chrono::{DateTime, Utc};
use git2::{Config, Repository, Signature};

use crate::error::HistoryError;
use crate::store::{Store, failed};

/// Who commits where git's configuration names nobody.
pub(crate) const NOBODY: (&str, &str) = ("sprag", "sprag@localhost");

/// A person who commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

/// The author that git's configuration names, of the repository where there is one; `false` where it names nobody, so that
/// the author is the stand-in that commits of records bear.
pub fn author(store: Option<&Store>) -> (Author, bool) {
    let config = match store {
        Some(store) => store.repository.config(),
        None => Config::open_default(),
    };
    // Reading through a snapshot is the only way that gives texts.
    let config = config.and_then(|mut config| config.snapshot());
    let named = |key: &str| {
        let value = config.as_ref().ok()?.get_bytes(key).ok()?;
        Some(String::from_utf8_lossy(value).trim().to_owned()).filter(|value| !value.is_empty())
    };
    match (named("user.name"), named("user.email")) {
        (Some(name), Some(email)) => (Author { name, email }, true),
        _ => (Author { name: NOBODY.0.to_owned(), email: NOBODY.1.to_owned() }, false),
    }
}

/// Who commits at `time`, and whether that is a stand-in.
pub(crate) fn signature_at(
    repository: &Repository,
    time: DateTime<Utc>,
) -> Result<(Signature<'static>, bool), HistoryError> {
    let time = git2::Time::new(time.timestamp(), 0);
    if let Ok(known) = repository.signature() {
        let (name, email) = (String::from_utf8_lossy(known.name_bytes()), String::from_utf8_lossy(known.email_bytes()));
        if let Ok(signature) = Signature::new(&name, &email, &time) {
            return Ok((signature, false));
        }
    }
    let (name, email) = NOBODY;
    Ok((Signature::new(name, email, &time).map_err(failed("name an author"))?, true))
}

#[cfg(test)]
mod tests {
    use crate::commits::create::create;

    use super::*;

    #[test]
    fn the_configuration_of_the_repository_names_the_author() {
        let folder = tempfile::tempdir().unwrap();
        let ada = Author { name: "Ada".to_owned(), email: "ada@example.com".to_owned() };
        let store = create(folder.path(), &ada).unwrap();
        assert_eq!(author(Some(&store)), (ada, true));
    }
}
