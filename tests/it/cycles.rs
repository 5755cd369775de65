//! No file of a crate imports, over any way, a file that imports it.
//!
//! A file is a module. An edge leads from a file to the file that defines what it names by a path, in a `use` or in the midst
//! of code. A re-export (`pub use`) is no edge: whoever takes a name through it depends on the file that defines it. Tests are
//! left out. Paths are read as text, so what only a macro names is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules of one crate by their path from its root, such as `["changes", "detect"]`.
type ModulePath = Vec<String>;

/// What one file says of imports.
#[derive(Default)]
struct Module {
    /// Paths that its code names, absolute from the root of the crate.
    named: Vec<ModulePath>,
    /// Re-exported names, and the absolute paths of what they stand for.
    exports: BTreeMap<String, ModulePath>,
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut faults = Vec::new();
    for folder in fs::read_dir(root).expect("the sources can be listed").flatten() {
        let crate_root = folder.path();
        if crate_root.join("Cargo.toml").is_file() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let cycles = cycles(&graph(&modules(&crate_root)));
            faults.extend(cycles.into_iter().map(|files| format!("{name}: {}", files.join(", "))));
        }
    }
    faults.sort();
    assert!(faults.is_empty(), "files that import one another:\n{}", faults.join("\n"));
}

#[test]
fn the_check_sees_a_cycle_and_follows_re_exports() {
    let read = |files: &[(&str, &str)]| {
        let modules: BTreeMap<ModulePath, Module> = files
            .iter()
            .map(|(path, text)| {
                let path: ModulePath = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                (path.clone(), module(&path, text))
            })
            .collect();
        cycles(&graph(&modules))
    };
    let cut: [(&str, &str); 0] = [];
    assert!(read(&cut).is_empty());
    assert_eq!(read(&[("a", "use crate::b::B;"), ("b", "fn f() { crate::a::g(); }")]), [["a", "b"]]);
    assert_eq!(read(&[("a", "mod c;\nuse c::C;"), ("a/c", "use super::{A, self};")]), [["a", "a/c"]]);
    assert!(read(&[("a", "mod c;\nmod d;\npub use c::C;"), ("a/c", "struct C;"), ("a/d", "use super::C;")]).is_empty());
    assert_eq!(
        read(&[("a", "mod c;\npub use c::C;"), ("a/c", "use crate::b::B;"), ("b", "use crate::a::C;")]),
        [["a/c", "b"]]
    );
    assert!(
        read(&[("a", "use crate::b::B;"), ("b", "// crate::a::A\n#[cfg(test)]\nmod tests {\n use crate::a::A; }")])
            .is_empty()
    );
}

/// All modules of a crate that are no tests.
fn modules(crate_root: &Path) -> BTreeMap<ModulePath, Module> {
    let mut modules = BTreeMap::new();
    let mut folders = vec![(crate_root.to_owned(), ModulePath::new())];
    while let Some((folder, path)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources can be listed").flatten() {
            let file = entry.path();
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let here = || path.iter().cloned().chain([stem.clone()]).collect::<ModulePath>();
            if file.is_dir() {
                folders.push((file.clone(), here()));
            } else if file.extension().is_some_and(|extension| extension == "rs") {
                let path = match stem.as_str() {
                    "build" | "main" => continue,
                    "lib" | "mod" => path.clone(),
                    _ => here(),
                };
                let text = fs::read_to_string(&file).expect("a source file is text");
                modules.insert(path.clone(), module(&path, &text));
            }
        }
    }
    let is_test = |path: &ModulePath, modules: &BTreeMap<ModulePath, Module>| {
        (1..=path.len()).any(|depth| {
            let parent = modules.get(&path[..depth - 1]);
            parent.is_some_and(|parent| parent.exports.get(TESTS).is_some_and(|tests| tests.contains(&path[depth - 1])))
        })
    };
    let tests: Vec<ModulePath> = modules.keys().filter(|path| is_test(path, &modules)).cloned().collect();
    for path in tests {
        modules.remove(&path);
    }
    modules
}

/// Under this name, which no item can have, a module lists its modules of tests.
const TESTS: &str = "#[cfg(test)]";

/// Reads the imports of one file.
fn module(path: &[String], text: &str) -> Module {
    let mut module = Module::default();
    let mut code = String::new();
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default()).peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#![cfg(test)]" {
            return Module::default();
        }
        if line.trim() == "#[cfg(test)]" {
            let item = lines.find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
            match item.trim().strip_suffix(';').and_then(|item| item.rsplit_once("mod ")) {
                Some((_, name)) => module.exports.entry(TESTS.to_owned()).or_default().push(name.to_owned()),
                None if item.contains("mod ") => break,
                None => {}
            }
            continue;
        }
        code += line;
        code.push('\n');
    }
    let children: BTreeSet<&str> =
        words(&code).zip(words(&code).skip(1)).filter(|(word, _)| *word == "mod").map(|(_, name)| name).collect();
    let mut rest = code.as_str();
    while let Some(start) = next_path(rest, &children) {
        let before = &rest[..start];
        let statement = before.rsplit([';', '}', '{']).next().unwrap_or_default().trim();
        let mut ends = Vec::new();
        let length = expand(&rest[start..], &[], &mut ends);
        for (mut names, alias) in ends {
            let mut absolute: ModulePath = match names.first().map(String::as_str) {
                Some("crate") => Vec::new(),
                Some("super") => path[..path.len().saturating_sub(1)].to_vec(),
                Some("self") => path.to_vec(),
                _ => path.iter().cloned().chain(names.first().cloned()).collect(),
            };
            names.remove(0);
            while names.first().is_some_and(|name| name == "super") {
                absolute.pop();
                names.remove(0);
            }
            let last = names.last().cloned();
            absolute.extend(names.into_iter().filter(|name| name != "self" && name != "*"));
            if statement.starts_with("pub") && statement.ends_with("use") {
                if let Some(name) = alias.or(last) {
                    module.exports.insert(name, absolute);
                }
            } else {
                module.named.push(absolute);
            }
        }
        rest = &rest[start + length.max(1)..];
    }
    module
}

/// Where the next path begins that leads to a module of the crate.
fn next_path(code: &str, children: &BTreeSet<&str>) -> Option<usize> {
    let mut at = 0;
    for word in code.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let name = word.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        let is_root = ["crate", "super", "self"].contains(&name) || children.contains(name);
        let follows = code[at + name.len()..].starts_with("::");
        let before = code[..at].chars().next_back();
        if is_root && follows && !name.is_empty() && !matches!(before, Some(':' | '$')) {
            return Some(at);
        }
        at += word.len();
    }
    None
}

/// Reads a path with its groups, `a::{b, c::d as e}`, into single paths; gives its length.
fn expand(code: &str, before: &[String], ends: &mut Vec<(ModulePath, Option<String>)>) -> usize {
    let mut names = before.to_vec();
    let mut at = 0;
    loop {
        let rest = &code[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            at += blank + 1;
            let mut inner = 0;
            loop {
                let part = &group[inner..];
                inner += part.len() - part.trim_start_matches([' ', '\n', ',']).len();
                if group[inner..].starts_with('}') || group[inner..].is_empty() {
                    return at + inner + 1;
                }
                let taken = expand(&group[inner..], &names, ends);
                if taken == 0 {
                    return at + inner;
                }
                inner += taken;
            }
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        names.push(rest[..end].to_owned());
        at += blank + end;
        match code[at..].strip_prefix("::") {
            Some(_) => at += 2,
            None => break,
        }
    }
    let alias =
        code[at..].trim_start().strip_prefix("as ").map(|rest| words(rest).next().unwrap_or_default().to_owned());
    if let Some(alias) = &alias {
        at += code[at..].find(alias.as_str()).unwrap_or(0) + alias.len();
    }
    if names.len() > before.len() {
        ends.push((names, alias));
    }
    at
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Which file of a crate imports which.
fn graph(modules: &BTreeMap<ModulePath, Module>) -> BTreeMap<String, BTreeSet<String>> {
    let name = |path: &[String]| if path.is_empty() { "lib".to_owned() } else { path.join("/") };
    modules
        .iter()
        .map(|(path, module)| {
            let reached =
                module.named.iter().filter_map(|named| defined_in(modules, named, 0)).filter(|found| found != path);
            (name(path), reached.map(|found| name(&found)).collect())
        })
        .collect()
}

/// The module that defines what a path names.
fn defined_in(modules: &BTreeMap<ModulePath, Module>, path: &[String], depth: usize) -> Option<ModulePath> {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (at, rest) = path.split_at(length);
    let Some(item) = rest.first().filter(|_| depth < 10) else { return Some(at.to_vec()) };
    let module = &modules[at];
    if let Some(target) = module.exports.get(item) {
        return defined_in(modules, target, depth + 1);
    }
    Some(at.to_vec())
}

/// Groups of files that reach one another.
fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|start| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
            while let Some(next) = open.pop().and_then(|one| graph.get(one)) {
                open.extend(next.iter().filter(|one| seen.insert(*one)));
            }
            (start, seen)
        })
        .collect();
    let mut groups = BTreeSet::new();
    for (one, reached) in &reach {
        if reached.contains(one) {
            let group = reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(one)));
            groups.insert(group.map(|file| (*file).clone()).collect::<Vec<_>>());
        }
    }
    groups.into_iter().collect()
}
