//! Which variables a program of the project gets: those of toolchains and of the system, and what its suite names.
//!
//! Tokens stay out, and so do the command files of a CI runner, through which a program could steer the steps after it. This is no
//! sandbox: the program has the files and the network of its user.

use std::ffi::OsString;
use std::process::Command;

/// In capital letters; one that ends in `*` is how names begin.
const PASSED: &str = include_str!("variables.txt");

/// What may hold a secret, whatever the name begins with.
const SECRETS: [&str; 9] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "API_KEY", "ACCESS_KEY", "CONNECTION_STRING"];

/// Leaves the command only what passes, besides the variables that its suite names: `FOO`, or `FOO_*` for all that begin so.
pub(crate) fn restrict(command: &mut Command, named: &[String]) {
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| passes(&name.to_string_lossy(), named)));
}

fn passes(name: &str, named: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    let may_be_secret = SECRETS.iter().any(|word| upper.contains(word));
    named.iter().any(|pattern| fits(pattern, name))
        || PASSED.split_whitespace().any(|pattern| fits(pattern, &upper) && !(may_be_secret && pattern.ends_with('*')))
}

/// Reads after `pass_env`: which of its names no variable can have.
pub fn fault(named: &[String]) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = |name: &str| !name.is_empty() && name.chars().all(is_part);
    let odd = named.iter().find(|name| !is_variable(name.strip_suffix('*').unwrap_or(name)))?;
    Some(format!("` has `{}`, which is not the name of a variable", odd.escape_debug()))
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Words for a failure whose messages mention variables that were not passed; empty where they mention none.
pub(crate) fn missing(messages: &[&[u8]], named: &[String]) -> String {
    let withheld = std::env::vars_os().map(|(name, _)| name).filter(|name| !passes(&name.to_string_lossy(), named));
    mentioned(messages, withheld)
}

fn mentioned(messages: &[&[u8]], withheld: impl Iterator<Item = OsString>) -> String {
    let text = messages.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect::<Vec<_>>().join("\n");
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words: Vec<&str> = text.split(is_part).collect();
    let names = withheld.map(|name| name.to_string_lossy().into_owned());
    // A short name, such as `_`, or one in lower case may be an ordinary word.
    let is_telling = |name: &str| name.len() > 2 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut names: Vec<String> = names.filter(|name| is_telling(name) && words.contains(&name.as_str())).collect();
    names.sort();
    match &names[..] {
        [] => String::new(),
        names => format!("; not passed to it: `{}`, which `pass_env` allows", names.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_get_their_variables_and_nobody_a_token() {
        for name in [
            "PATH", "Path", "HOME", "LC_ALL", "http_proxy", "CARGO_HOME", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "CC",
            "GOFLAGS", "CGO_CFLAGS", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
            "OMP_NUM_THREADS", "JAVA_HOME", "SPRAG_MACHINE", "XDG_CACHE_HOME", "SDKROOT", "NODE_OPTIONS",
        ] {
            assert!(passes(name, &[]), "{name}");
        }
        for name in [
            "GITHUB_TOKEN", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY",
            "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "RUNNER_TEMP", "CI_JOB_TOKEN",
            "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "CARGO_REGISTRY_TOKEN", "UV_PUBLISH_PASSWORD",
            "SSH_AUTH_SOCK", "GIT_DIR", "GIT_CONFIG_VALUE_0", "BASH_ENV", "ENV", "NPM_CONFIG__AUTH",
            "SCCACHE_AZURE_CONNECTION_STRING", "",
        ] {
            assert!(!passes(name, &[]), "{name}");
        }
        let named = ["GITHUB_SHA", "MY_*"].map(str::to_owned);
        assert!(passes("GITHUB_SHA", &named) && passes("MY_TOKEN", &named));
        assert!(!passes("GITHUB_SHA256", &named) && !passes("NOT_MY_", &named));
    }

    #[test]
    fn a_message_that_mentions_what_was_withheld_says_so() {
        let check = |message: &str, expected: &str| {
            let withheld = ["HF_HOME", "DATASET", "_", "is"].map(OsString::from);
            assert_eq!(mentioned(&[message.as_bytes(), b""], withheld.into_iter()), expected, "{message}");
        };
        check("KeyError: 'HF_HOME'", "; not passed to it: `HF_HOME`, which `pass_env` allows");
        check("set $DATASET and HF_HOME", "; not passed to it: `DATASET`, `HF_HOME`, which `pass_env` allows");
        check("is no MY_HF_HOME_X; _", "");
    }
}
