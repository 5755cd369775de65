//! The CUDA of `tests/cuda`: libraries with the names of NVIDIA's that run kernels on the CPU. They are built once, kept
//! under the target folder beside the kernels that they compiled, and built anew when their sources change.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A library that a machine may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The driver, with one device unless a variable says otherwise.
    Driver,
    Compiler,
    /// The library that tells clocks and power.
    Management,
    /// A driver that has not all functions.
    OldDriver,
    /// A driver that counts no device.
    NoDevice,
    /// A compiler that has not all functions.
    OldCompiler,
}

/// What a program is started with so that it sees a machine of our making.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    variables: Vec<(String, String)>,
}

/// Where to look for nothing: libraries of this machine that must not be found, written as files that do not load.
const HIDDEN: [&str; 7] = [
    "libcuda.so",
    "libcuda.so.1",
    "libnvrtc.so",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11",
    "libnvidia-ml.so.1",
];

impl Machine {
    /// A machine with these libraries and no others. `None` where there is no C++ compiler to build them, which is said
    /// on standard error; an automated build must have one.
    pub(crate) fn with(parts: &[Part]) -> Option<Machine> {
        let built = built()?;
        let mut folders: Vec<PathBuf> = parts.iter().map(|part| built.join(folder_of(*part))).collect();
        folders.push(built.join("hidden"));
        let folders: Vec<String> = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        let mut machine = Machine { variables: Vec::new() }.and("LD_LIBRARY_PATH", &folders.join(":"));
        for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
            machine = machine.and(name, "");
        }
        Some(machine.and("SPRAG_EMULATOR_CACHE", &built.join("kernels").to_string_lossy()))
    }

    /// A machine with a device, its compiler and its management library.
    pub(crate) fn complete() -> Option<Machine> {
        Machine::with(&[Part::Driver, Part::Compiler, Part::Management])
    }

    /// With a variable more.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Machine {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With kernels that are watched: an access beyond a buffer ends the program with a report on standard error.
    pub(crate) fn watched(self) -> Machine {
        let library = output_of(Command::new("g++").arg("-print-file-name=libasan.so"));
        let options = "detect_leaks=0:detect_stack_use_after_return=0";
        self.and("LD_PRELOAD", library.trim()).and("ASAN_OPTIONS", options).and("SPRAG_EMULATOR_SANITIZE", "1")
    }

    /// The variables, as the sandbox takes them.
    pub(crate) fn variables(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// The folder of all that is built, by the digest of its sources.
fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let has_compiler = Command::new("g++").arg("--version").output().is_ok_and(|output| output.status.success());
        if !has_compiler {
            assert!(std::env::var_os("CI").is_none(), "there is no g++ to build the CUDA emulator with");
            return None;
        }
        Some(build())
    });
    if built.is_none() {
        eprintln!("skipped: there is no g++ to build the CUDA emulator with");
    }
    built.as_deref()
}

fn build() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda");
    let name = format!("emulator-{:016x}", digest(&sources));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let place = target.join(name);
    if place.is_dir() {
        return place;
    }
    // Built aside and renamed, since another test program may build it at the same time.
    let aside = tempfile::tempdir_in(target).expect("a folder under the target folder");
    output_of(Command::new("sh").arg(sources.join("build.sh")).arg(aside.path()));
    let hidden = aside.path().join("hidden");
    fs::create_dir(&hidden).expect("a folder");
    HIDDEN.iter().for_each(|name| fs::write(hidden.join(name), "no library\n").expect("a file"));
    let aside = aside.keep();
    if fs::rename(&aside, &place).is_err() {
        assert!(place.is_dir(), "the emulator could not be moved to its place");
        fs::remove_dir_all(&aside).expect("the folder can be removed");
    }
    place
}

fn folder_of(part: Part) -> String {
    format!("{part:?}")
}

/// Of the names and texts of all sources of the emulator.
fn digest(sources: &Path) -> u64 {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("the sources are there");
        let (inner, plain): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.map(|entry| entry.expect("the folder can be listed").path()).partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(plain);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file, fs::read(&file).expect("a source can be read")).hash(&mut hasher);
    }
    hasher.finish()
}

/// Runs a command, which must succeed.
#[track_caller]
fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
