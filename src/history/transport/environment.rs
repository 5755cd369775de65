//! The environment that git is called in: the user's, but for everything that would turn git to another repository,
//! another configuration or another program than the ones that it would take by itself.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Variables of git that carry how the user reaches a remote, in full or by how they begin (`*`).
///
/// The three of the configuration name files, which may say where credentials are.
const PASSED_VARIABLES: [&str; 10] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_SSL_*",
    "GIT_PROXY_*",
    "GIT_HTTP_*",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// What is set in every call. Nobody is there to answer a prompt, and messages are parsed.
const SET: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
    // Git never learns of a terminal, so the width of one must not shape what it says.
    ("COLUMNS", "200"),
];

/// What is set where the user did not: without it ssh would wait for an answer at a terminal that it cannot have.
const SET_WHERE_ABSENT: [(&str, &str); 1] = [("SSH_ASKPASS_REQUIRE", "force")];

/// Cleans the variables of this process; `path` takes the place of the search path.
///
/// Of settings that are handed over by `GIT_CONFIG_COUNT` those stay that carry a token or trust in a folder:
/// `http.extraheader`, also of one URL, and `safe.directory`.
pub(crate) fn cleaned(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    path: OsString,
) -> Vec<(OsString, OsString)> {
    let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
    let settings = handed_settings(&variables);
    let mut kept: Vec<(OsString, OsString)> = variables.into_iter().filter(|(name, _)| is_passed(name)).collect();
    let absent = |name: &str, kept: &[(OsString, OsString)]| !kept.iter().any(|(known, _)| known == name);
    for (name, value) in SET_WHERE_ABSENT {
        if absent(name, &kept) {
            kept.push((name.into(), value.into()));
        }
    }
    if !settings.is_empty() {
        kept.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
        for (index, (key, value)) in settings.into_iter().enumerate() {
            kept.push((format!("GIT_CONFIG_KEY_{index}").into(), key));
            kept.push((format!("GIT_CONFIG_VALUE_{index}").into(), value));
        }
    }
    kept.extend(SET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    kept.push(("PATH".into(), path));
    kept
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    if name == "PATH" || SET.iter().any(|(set, _)| *set == name) {
        return false;
    }
    let fits = |kept: &str| kept.strip_suffix('*').map_or(name == kept, |start| name.starts_with(start));
    !name.starts_with("GIT_") || PASSED_VARIABLES.iter().any(|kept| fits(kept))
}

/// The settings of `GIT_CONFIG_COUNT` that stay, in their order.
fn handed_settings(variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let value = |name: String| variables.iter().find(|(known, _)| *known == *name).map(|(_, value)| value.clone());
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.to_str()?.parse::<usize>().ok());
    // A count is no reason to look for variables that cannot be there.
    let count = count.unwrap_or(0).min(variables.len());
    let pairs = (0..count).filter_map(|index| {
        let key = value(format!("GIT_CONFIG_KEY_{index}"))?;
        let stays = key.to_str().is_some_and(is_handed_on);
        stays.then_some((key, value(format!("GIT_CONFIG_VALUE_{index}"))?))
    });
    pairs.collect()
}

fn is_handed_on(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "safe.directory"
        || key.strip_prefix("http.").is_some_and(|rest| rest == "extraheader" || rest.ends_with(".extraheader"))
}

/// The search path without folders that what was checked out could fill: relative ones, which depend on where we are,
/// and those inside a working tree.
pub(crate) fn trusted_path(path: &OsStr, working_trees: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |folder: &Path| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let trees = working_trees.iter().flat_map(|tree| [tree.canonicalize().ok(), Some(tree.clone())]);
        trees.flatten().any(|tree| real.starts_with(&tree) || folder.starts_with(&tree))
    };
    std::env::split_paths(path).filter(|folder| folder.is_absolute() && !inside(folder)).collect()
}

/// Git in the first of these folders that has it.
pub(crate) fn find_git(folders: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    folders.iter().map(|folder| folder.join(&name)).find(|file| is_program(file))
}

/// TreeLookup as a search path for what git itself starts, such as ssh.
pub(crate) fn joined(folders: &[PathBuf]) -> OsString {
    std::env::join_paths(folders).expect("the folders were split from a search path")
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn clean(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().unwrap();
        let mut cleaned: Vec<(String, String)> =
            cleaned(given, "/bin".into()).into_iter().map(|(name, value)| (text(name), text(value))).collect();
        cleaned.retain(|(name, _)| SET.iter().all(|(set, _)| set != name));
        cleaned
    }

    #[test]
    fn only_what_reaches_the_remote_stays_of_git() {
        let check = |name: &str, stays: bool| {
            let found = clean(&[(name, "x")]).iter().any(|(known, value)| known == name && value == "x");
            assert_eq!(found, stays, "{name}");
        };
        for name in ["HOME", "SSH_AUTH_SOCK", "https_proxy", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"] {
            check(name, true);
        }
        for name in ["GIT_SSL_CAINFO", "GIT_HTTP_USER_AGENT", "GIT_PROXY_COMMAND", "GIT_CONFIG_GLOBAL"] {
            check(name, true);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "PATH"] {
            check(name, false);
        }
        for name in ["GIT_EXEC_PATH", "GIT_CONFIG_PARAMETERS", "GIT_ALLOW_PROTOCOL", "GIT_TRACE", "GIT_SSHX", "LC_ALL"]
        {
            check(name, false);
        }
        check("GIT_EXTERNAL_DIFF", false);
        check("SSH_ASKPASS_REQUIRE", true);
        let set = cleaned([], "/bin".into());
        assert!(set.contains(&("GIT_TERMINAL_PROMPT".into(), "0".into())));
        assert!(set.contains(&("PATH".into(), "/bin".into())));
        assert!(set.contains(&("SSH_ASKPASS_REQUIRE".into(), "force".into())));
    }

    #[test]
    fn a_token_that_is_handed_over_stays() {
        let handed = [
            ("GIT_CONFIG_COUNT", "4"),
            ("GIT_CONFIG_KEY_0", "core.sshCommand"),
            ("GIT_CONFIG_VALUE_0", "evil"),
            ("GIT_CONFIG_KEY_1", "http.https://example.org/.extraHeader"),
            ("GIT_CONFIG_VALUE_1", "AUTHORIZATION: x"),
            ("GIT_CONFIG_KEY_2", "safe.directory"),
            ("GIT_CONFIG_VALUE_2", "/srv"),
            ("GIT_CONFIG_KEY_3", "http.proxy"),
        ];
        let kept: Vec<(String, String)> =
            clean(&handed).into_iter().filter(|(name, _)| name.starts_with("GIT_CONFIG")).collect();
        let expected = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "http.https://example.org/.extraHeader"),
            ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: x"),
            ("GIT_CONFIG_KEY_1", "safe.directory"),
            ("GIT_CONFIG_VALUE_1", "/srv"),
        ];
        assert_eq!(kept, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(!clean(&[("GIT_CONFIG_COUNT", "99999999999")]).iter().any(|(name, _)| name.starts_with("GIT_C")));
    }

    #[test]
    fn folders_that_a_checkout_could_fill_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["tree/bin", "outside", "empty", "plain"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, mode) in [("tree/bin/git", 0o755), ("outside/git", 0o755), ("plain/git", 0o644)] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(tree.join("bin"), root.join("link")).unwrap();
        let check = |entries: &[&str], expected: Option<&str>| {
            let path = entries.iter().map(|entry| match *entry {
                "" | "." | "bin" => entry.to_string(),
                name => root.join(name).to_string_lossy().into_owned(),
            });
            let path = path.collect::<Vec<_>>().join(":");
            let found = find_git(&trusted_path(OsStr::new(&path), std::slice::from_ref(&tree)));
            assert_eq!(found, expected.map(|name| root.join(name)), "{path}");
        };
        check(&["outside"], Some("outside/git"));
        check(&["", ".", "bin", "tree/bin", "link", "empty", "plain", "nowhere", "outside"], Some("outside/git"));
        check(&["tree/bin", "link", "plain", "."], None);
        assert_eq!(joined(&[root.join("a"), root.join("b")]).to_string_lossy().matches(':').count(), 1);
    }
}
