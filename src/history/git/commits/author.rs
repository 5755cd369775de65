//! Who works here, as git's configuration knows them.

use git2::Config;

use crate::git::Store;
use crate::git::append::NOBODY;
use crate::git::commits::create::Author;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::create;

    #[test]
    fn the_configuration_of_the_repository_names_the_author() {
        let folder = tempfile::tempdir().unwrap();
        let ada = Author { name: "Ada".to_owned(), email: "ada@example.com".to_owned() };
        let store = create(folder.path(), &ada).unwrap();
        assert_eq!(author(Some(&store)), (ada, true));
    }
}
