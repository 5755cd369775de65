//! The emulator in `tests/cuda`: libraries named like NVIDIA's that run kernels on the CPU. They are built once into
//! the target folder, with the kernels that they compile, and built again when their sources change.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::sandbox::files;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// With one device unless a variable says otherwise.
    Driver,
    Compiler,
    /// The library that reports clocks and power.
    Management,
    /// A driver without all functions.
    OldDriver,
    NoDevice,
    OldCompiler,
}

/// The environment that makes a program see an emulated machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    variables: Vec<(String, String)>,
}

/// Libraries of this machine to hide behind files that do not load.
const HIDDEN: &str =
    "libcuda.so libcuda.so.1 libnvrtc.so libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11 libnvidia-ml.so.1";

impl Machine {
    /// A machine with these libraries alone; `None`, with a note, where there is no C++ compiler, which CI must have.
    pub(crate) fn with(parts: &[Part]) -> Option<Machine> {
        let built = built()?;
        let mut folders: Vec<PathBuf> = parts.iter().map(|part| built.join(format!("{part:?}"))).collect();
        folders.push(built.join("hidden"));
        let folders: Vec<String> = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        let mut machine = Machine { variables: Vec::new() }.and("LD_LIBRARY_PATH", &folders.join(":"));
        for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
            machine = machine.and(name, "");
        }
        Some(machine.and("SPRAG_EMULATOR_CACHE", &built.join("kernels").to_string_lossy()))
    }

    pub(crate) fn complete() -> Option<Machine> {
        Machine::with(&[Part::Driver, Part::Compiler, Part::Management])
    }

    pub(crate) fn and(mut self, name: &str, value: &str) -> Machine {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// An access beyond a buffer ends the program with a report on standard error.
    pub(crate) fn watched(self) -> Machine {
        let library = output_of(Command::new("g++").arg("-print-file-name=libasan.so"));
        let options = "detect_leaks=0:detect_stack_use_after_return=0";
        self.and("LD_PRELOAD", library.trim()).and("ASAN_OPTIONS", options).and("SPRAG_EMULATOR_SANITIZE", "1")
    }

    pub(crate) fn variables(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// The folder of what was built, by the digest of its sources.
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
    let mut hasher = DefaultHasher::new();
    files(&sources).hash(&mut hasher);
    let name = format!("emulator-{:016x}", hasher.finish());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let place = target.join(name);
    if place.is_dir() {
        return place;
    }
    // Built elsewhere and renamed, since another test program may build it at the same time.
    let aside = tempfile::tempdir_in(target).expect("a folder under the target folder");
    output_of(Command::new("sh").arg(sources.join("build.sh")).arg(aside.path()));
    let hidden = aside.path().join("hidden");
    fs::create_dir(&hidden).expect("a folder");
    HIDDEN.split(' ').for_each(|name| fs::write(hidden.join(name), "no library\n").expect("a file"));
    let aside = aside.keep();
    if fs::rename(&aside, &place).is_err() {
        assert!(place.is_dir(), "the emulator could not be moved to its place");
        fs::remove_dir_all(&aside).expect("the folder can be removed");
    }
    place
}

#[track_caller]
fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
