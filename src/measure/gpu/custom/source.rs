//! Kernel files of the user: read with all that the compiled kernel depends on, and what functions they declare.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::gpu::probe;
use sprag_base::digest;
use sprag_base::files::read_bounded;

/// A kernel file as it is compiled or loaded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile {
    /// As in `sprag.toml`: the compiler names it so.
    pub name: String,
    /// Of the content and of the headers that it includes.
    pub digest: String,
    pub options: Vec<String>,
    pub content: Vec<u8>,
}

/// Larger than any compiled library of kernels.
const MOST_BYTES: usize = 1 << 30;

/// Headers that include one another.
const MOST_HEADERS: usize = 10_000;

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.digest)
    }
}

/// Reads a kernel file of the project, or why it cannot be used. A source or its headers must name each of `constants`.
pub fn read(
    root: &Path,
    file: &str,
    include: &[String],
    options: &[String],
    constants: &[&str],
) -> Result<SourceFile, String> {
    let path = root.join(file);
    let content = read_bounded(&path, MOST_BYTES).map_err(|error| format!("source_not_read: `{file}`: {error}"))?;
    if is_image(file) {
        let digest = digest::sha256_hex(&content);
        return Ok(SourceFile { name: file.to_owned(), digest, options: Vec::new(), content });
    }
    let mut folders = vec![path.parent().unwrap_or(root).to_owned()];
    for folder in include {
        let path = root.join(folder);
        if !path.is_dir() {
            return Err(format!("source_not_read: the folder `{folder}` of `include` is not there"));
        }
        folders.push(path);
    }
    let mut all = content.clone();
    add_headers(&String::from_utf8_lossy(&content), &folders, &mut BTreeSet::new(), &mut all);
    let text = String::from_utf8_lossy(&all);
    let texts = [&*text].into_iter().chain(options.iter().map(String::as_str));
    let words: BTreeSet<&str> = texts.flat_map(|text| text.split(|c: char| !is_word(c))).collect();
    // Headers of libraries, such as `cub/cub.cuh`, are not read, and may use any of them.
    let is_own = |header: &str| folders.iter().any(|folder| folder.join(header).is_file());
    let has_library = text.lines().filter_map(included).any(|header| header.contains('/') && !is_own(header));
    if let Some(name) = constants.iter().find(|name| !has_library && !words.contains(*name)) {
        let why = "occurs neither in the source nor in the launch; all its values would run the same code";
        return Err(format!("source_not_read: the constant `{name}` of `{file}` {why}"));
    }
    folders.extend(probe::header_folders());
    let has_standard = options.iter().any(|one| one.trim_start_matches('-').starts_with("std"));
    let standard = if has_standard { None } else { Some("--std=c++17".to_owned()) };
    let folders = folders.iter().map(|folder| format!("--include-path={}", folder.display()));
    let options = standard.into_iter().chain(options.iter().cloned()).chain(folders).collect();
    Ok(SourceFile { name: file.to_owned(), digest: digest::sha256_hex(&all), options, content })
}

/// Adds the text of each header in these folders, with what it includes. Others belong to the compiler.
fn add_headers(text: &str, folders: &[PathBuf], seen: &mut BTreeSet<PathBuf>, all: &mut Vec<u8>) {
    for line in text.lines() {
        let Some(header) = included(line) else { continue };
        let Some(path) = folders.iter().map(|folder| folder.join(header)).find(|path| path.is_file()) else { continue };
        if seen.len() >= MOST_HEADERS || !seen.insert(path.clone()) {
            continue;
        }
        // The compiler reports a file that cannot be read.
        let Ok(content) = read_bounded(&path, MOST_BYTES) else { continue };
        all.extend(&content);
        let own = path.parent().map(Path::to_owned);
        let folders: Vec<PathBuf> = own.into_iter().chain(folders.iter().cloned()).collect();
        add_headers(&String::from_utf8_lossy(&content), &folders, seen, all);
    }
}

fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.split(['"', '<', '>']).nth(1)
}

/// Whether the file holds a compiled kernel.
pub fn is_image(file: &str) -> bool {
    [".ptx", ".cubin", ".fatbin"].iter().any(|end| file.ends_with(end))
}

impl SourceFile {
    /// Its kernels, as the end of a sentence.
    pub fn listed(&self) -> String {
        let entries = self.entries();
        match &entries[..] {
            [] if is_image(&self.name) => String::new(),
            [] => "; declare it `extern \"C\" __global__ void`".to_owned(),
            entries => format!("; there is `{}`", entries.join("`, `")),
        }
    }

    /// The names of its kernels, as far as they show: those with `extern "C"`, or with a section of machine code.
    pub fn entries(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.content);
        let mut names: Vec<String> = if !is_image(&self.name) {
            kernels(&text).into_iter().filter(|kernel| kernel.is_c).map(|kernel| kernel.name).collect()
        } else {
            let word = if self.name.ends_with(".ptx") { ".entry " } else { "\0.text." };
            let name = |rest: &str| rest.split(|c: char| !is_word(c)).next().unwrap_or_default().to_owned();
            text.split(word).skip(1).map(name).filter(|name| !name.is_empty()).collect()
        };
        names.sort();
        names.dedup();
        names
    }
}

/// A kernel as its source declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub name: String,
    /// Whether it is declared `extern "C"`.
    pub is_c: bool,
    pub parameters: Vec<Parameter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Of the number or of the elements, such as `float`.
    pub element: String,
    pub is_pointer: bool,
    /// Whether what it points to is constant.
    pub is_constant: bool,
}

/// The kernels that a source declares, in its order. Macros are not expanded.
pub fn kernels(text: &str) -> Vec<Kernel> {
    let text = without_comments(text);
    let mut kernels: Vec<Kernel> = Vec::new();
    for (at, word) in text.match_indices("__global__") {
        let before = text[..at].rsplit([';', '}']).next().unwrap_or_default();
        let is_c = before.contains("extern \"C\"") || is_in_block(&text[..at]);
        let Some(kernel) = declared(&text[at + word.len()..], is_c) else { continue };
        if !kernels.iter().any(|other| other.name == kernel.name) {
            kernels.push(kernel);
        }
    }
    kernels
}

/// Whether a block of `extern "C" {` is open at the end.
fn is_in_block(text: &str) -> bool {
    let depth = |text: &str| text.matches('{').count() > text.matches('}').count();
    text.rsplit_once("extern \"C\"").is_some_and(|(_, after)| after.trim_start().starts_with('{') && depth(after))
}

fn declared(mut rest: &str, is_c: bool) -> Option<Kernel> {
    loop {
        let (head, after) = rest.split_once('(')?;
        let name = head.trim_end().rsplit(|c: char| !is_word(c)).next()?.to_owned();
        let (inside, after) = enclosed(after)?;
        if name == "__launch_bounds__" {
            rest = after;
            continue;
        }
        let mut depth = 0_i32;
        let parts = inside.split(|c: char| {
            depth += i32::from(matches!(c, '<' | '(')) - i32::from(matches!(c, '>' | ')'));
            c == ',' && depth == 0
        });
        let is_c = is_c || head.contains("extern \"C\"");
        return (!name.is_empty() && name != "void").then(|| Kernel {
            name,
            is_c,
            parameters: parts.filter_map(parameter).collect(),
        });
    }
}

/// The text up to the parenthesis that closes, and what follows.
fn enclosed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0
    })?;
    Some((&text[..end.0], &text[end.0 + 1..]))
}

fn parameter(text: &str) -> Option<Parameter> {
    let is_pointer = text.contains(['*', '[']);
    let words: Vec<&str> = text.split(|c: char| !is_word(c) && c != ':').filter(|word| !word.is_empty()).collect();
    let qualifiers = ["const", "__restrict__", "__restrict", "restrict", "volatile", "__grid_constant__"];
    let plain: Vec<&str> = words.iter().copied().filter(|word| !qualifiers.contains(word)).collect();
    let (name, element) = plain.split_last()?;
    if element.is_empty() {
        return None;
    }
    let is_constant = is_pointer && text.split('*').next().is_some_and(|before| before.contains("const"));
    Some(Parameter { name: (*name).to_owned(), element: element.join(" "), is_pointer, is_constant })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

fn without_comments(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        plain.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at + 2..].split_once(end).map_or("", |(_, after)| after);
        plain.push('\n');
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_read_from_their_declarations() {
        let text = "// __global__ void no(int);\n\
            extern \"C\" __global__ void __launch_bounds__(BLOCK(2), 1) saxpy(int n, float a, const float* __restrict__ x,\n\
            float *y /* in place */) { f(x); }\n\
            __global__ void mangled(unsigned long long count, half2 const* in, std::pair<int, int> p) {}\n\
            template <class T> __global__ void twice(T* x);\n\
            extern \"C\" {\n__global__ void inside() {}\n__global__ void also() {}\n}\n";
        let shown = kernels(text).into_iter().map(|kernel| {
            let parameters = kernel.parameters.iter().map(|one| {
                let stars = if one.is_pointer { "*" } else { "" };
                let constant = if one.is_constant { "const " } else { "" };
                format!("{constant}{}{stars} {}", one.element, one.name)
            });
            let c = if kernel.is_c { "C " } else { "" };
            format!("{c}{}({})", kernel.name, parameters.collect::<Vec<_>>().join(", "))
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "C saxpy(int n, float a, const float* x, float* y)",
                "mangled(unsigned long long count, const half2* in, std::pair int int p)",
                "twice(T* x)",
                "C inside()",
                "C also()",
            ]
        );
        for cut in ["__global__", "__global__ void f(", "__global__ void (int)", "/* __global__", "//"] {
            assert!(kernels(cut).is_empty(), "{cut}");
        }
    }

    #[test]
    fn a_digest_covers_headers_and_not_their_neighbours() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("k/a.cu", "#include \"a.cuh\"\n# include <shared/b.cuh>\n#include <cuda_fp16.h>\n");
        write("k/a.cuh", "#include \"a.cuh\"\n");
        write("k/other.cuh", "");
        write("lib/shared/b.cuh", "#include \"c.cuh\"\n");
        write("lib/shared/c.cuh", "int c;");
        let read = || read(folder.path(), "k/a.cu", &["lib".to_owned()], &["--use_fast_math".to_owned()], &[]);
        let first = read().expect("it can be read");
        assert_eq!(
            (first.name.as_str(), &first.options[..2]),
            ("k/a.cu", &["--std=c++17", "--use_fast_math"].map(String::from)[..])
        );
        assert!(first.options[2].starts_with("--include-path=") && first.options[3].ends_with("lib"));
        write("k/other.cuh", "int other;");
        assert_eq!(read(), Ok(first.clone()));
        write("lib/shared/c.cuh", "int d;");
        assert_ne!(read().map(|one| one.digest), Ok(first.digest));
        let fault = super::read(folder.path(), "b.cu", &[], &[], &[]).expect_err("it is not there");
        assert!(fault.starts_with("source_not_read: `b.cu`: "), "{fault}");
        let fault = super::read(folder.path(), "k/a.cu", &["no".to_owned()], &[], &[]).expect_err("it is not there");
        assert_eq!(fault, "source_not_read: the folder `no` of `include` is not there");
        let with = |constant| super::read(folder.path(), "k/a.cu", &["lib".to_owned()], &[], &[constant]);
        assert!(with("d").is_ok(), "a header names it");
        let fault = with("BLOCK").expect_err("nothing names it");
        let why = "occurs neither in the source nor in the launch; all its values would run the same code";
        assert_eq!(fault, format!("source_not_read: the constant `BLOCK` of `k/a.cu` {why}"));
        write("k/b.cu", "#include <cub/cub.cuh>\n");
        assert!(super::read(folder.path(), "k/b.cu", &[], &[], &["BLOCK"]).is_ok(), "a library may use it");
    }

    #[test]
    fn the_kernels_of_a_file_are_listed() {
        let check = |name: &str, content: &[u8], expected: &[&str]| {
            let file =
                SourceFile { name: name.into(), digest: String::new(), options: vec![], content: content.into() };
            assert_eq!(file.entries(), expected, "{name}");
        };
        check(
            "a.cu",
            b"extern \"C\" __global__ void b(int n){} extern \"C\" __global__ void a(){} __global__ void c(){}",
            &["a", "b"],
        );
        check("a.ptx", b".visible .entry saxpy(\n.param .u64 a)\n.entry b (", &["b", "saxpy"]);
        check("a.cubin", b"\x7fELF\0.text.saxpy\0.nv.info.saxpy\0.text.b\0\xff", &["b", "saxpy"]);
        check("a.fatbin", b"packed", &[]);
    }
}
