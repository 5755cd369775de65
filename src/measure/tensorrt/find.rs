//! Where `trtexec` is: where the user says, on the search path, or where TensorRT puts it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::reason::{Reason, ReasonCode};

const PROGRAM: &str = "trtexec";

/// The variable that names the program itself.
const PROGRAM_VARIABLE: &str = "TRTEXEC";

/// The variable that names the folder that TensorRT was unpacked to.
const ROOT_VARIABLE: &str = "TENSORRT_ROOT";

/// Where the packages of TensorRT put it.
const USUAL_FOLDER: &str = "/usr/src/tensorrt/bin";

/// Finds the program: the given one, else that of a variable of the environment, else in the usual places. One that was
/// named and is not there is never replaced by another.
pub fn find(given: Option<&Path>) -> Result<PathBuf, Reason> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    find_in(given, &variable, Path::new(USUAL_FOLDER))
}

fn find_in(
    given: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    usual_folder: &Path,
) -> Result<PathBuf, Reason> {
    let named = given.map(Path::to_owned).or_else(|| variable(PROGRAM_VARIABLE).map(PathBuf::from));
    if let Some(path) = named {
        let shown = path.display();
        let fault = match std::fs::metadata(&path) {
            Err(_) => format!("there is no program `{shown}`"),
            Ok(metadata) if !metadata.is_file() => format!("`{shown}` is no file"),
            Ok(metadata) if !may_run(&metadata) => format!("`{shown}` is not executable"),
            Ok(_) => return Ok(absolute(path)),
        };
        return Err(Reason::new(ReasonCode::TrtexecNotFound, fault));
    }
    let mut folders: Vec<PathBuf> =
        variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(variable(ROOT_VARIABLE).map(|root| PathBuf::from(root).join("bin")));
    folders.push(usual_folder.to_owned());
    let is_program = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|one| one.is_file() && may_run(&one));
    let found = folders.iter().map(|folder| folder.join(PROGRAM)).find(is_program);
    found.map(absolute).ok_or_else(|| {
        let places = format!("`{PROGRAM}` is neither on the search path nor where TensorRT puts it");
        Reason::new(
            ReasonCode::TrtexecNotFound,
            format!("{places}; name it with `--{PROGRAM}` or in {PROGRAM_VARIABLE}"),
        )
    })
}

/// A process starts in a folder of its own, so a relative path would be another one there.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(unix)]
fn may_run(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn may_run(_metadata: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is our own file");
    }

    #[test]
    fn the_places_are_looked_at_in_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let check = |given: Option<&str>, variables: &[(&str, &str)], expected: Result<&str, &str>| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| at(value).into_os_string())
            };
            let found = find_in(given.map(at).as_deref(), &variable, &at("usual"));
            match expected {
                Ok(path) => assert_eq!(found, Ok(at(path))),
                Err(words) => {
                    let error = found.expect_err("it cannot be found");
                    assert_eq!(error.code, ReasonCode::TrtexecNotFound);
                    assert!(error.text.contains(words), "{error}");
                }
            }
        };
        check(None, &[], Err("`trtexec` is neither on the search path"));
        check(Some("absent"), &[], Err("there is no program"));
        check(Some("."), &[], Err("is no file"));
        program(&at("usual/trtexec"), 0o755);
        check(None, &[], Ok("usual/trtexec"));
        program(&at("root/bin/trtexec"), 0o755);
        check(None, &[("TENSORRT_ROOT", "root")], Ok("root/bin/trtexec"));
        program(&at("path/trtexec"), 0o644);
        check(None, &[("TENSORRT_ROOT", "root"), ("PATH", "path")], Ok("root/bin/trtexec"));
        program(&at("path/trtexec"), 0o755);
        check(None, &[("TENSORRT_ROOT", "root"), ("PATH", "path")], Ok("path/trtexec"));
        program(&at("mine"), 0o755);
        check(None, &[("TRTEXEC", "mine"), ("PATH", "path")], Ok("mine"));
        check(None, &[("TRTEXEC", "absent"), ("PATH", "path")], Err("there is no program"));
        check(Some("path/trtexec"), &[("TRTEXEC", "mine")], Ok("path/trtexec"));
        program(&at("mine"), 0o644);
        check(Some("mine"), &[], Err("is not executable"));
    }
}
