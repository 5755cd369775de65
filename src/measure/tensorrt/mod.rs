//! Engines of TensorRT, timed by its own program `trtexec` as a process: nothing of TensorRT is linked, and whatever
//! version is installed can be used. What it cannot do is a reason with a code, never a panic.
//!
//! Each process times one case of a sweep and leaves the times of all its calls in a file. The unit of replication is
//! the process, as everywhere: the cases take turns, in turned order every other round, and what is tracked is the
//! median over processes.

mod transcript;
pub mod plan;
pub(crate) mod once;
pub mod sweep;

pub use once::find;
pub use plan::Version;
pub use plan::benchmark;

use std::path::{Path, PathBuf};

/// The variable that names a library with plugins, as the seed knows it.
const PLUGIN_VARIABLE: &str = "APEXX_TRT_PLUGIN_LIB";

/// The library with plugins that the environment names, and how it does, where that file is there. A relative path
/// counts from `folder`, where the user is.
pub fn plugin_of_environment(folder: &Path) -> Option<(PathBuf, String)> {
    let text = std::env::var_os(PLUGIN_VARIABLE).filter(|text| !text.is_empty())?;
    let path = folder.join(&text);
    path.is_file().then(|| (path, text.to_string_lossy().into_owned()))
}
