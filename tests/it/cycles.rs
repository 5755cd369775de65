//! No file of a crate imports, directly or through others, a file that imports it.
//!
//! A file is a module. An edge leads from a file to the file that defines what it names by a path, in a `use` or inside
//! code. A re-export (`pub use`) is not an edge: whoever takes a name through it depends on the file that defines it. Tests are
//! left out. Paths are read as text, so names that only a macro makes are not seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::rust_files;

/// The path of a module from the root of its crate, such as `["changes", "detect"]`.
type ModulePath = Vec<String>;

#[derive(Default)]
struct Module {
    /// Paths that its code names, from the root of the crate.
    named: Vec<ModulePath>,
    /// What re-exported names refer to.
    exports: BTreeMap<String, ModulePath>,
    /// Its modules of tests.
    tests: Vec<String>,
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let mut crates: BTreeMap<String, BTreeMap<ModulePath, Module>> = BTreeMap::new();
    for (path, text) in rust_files(&["src"]) {
        let mut parts: ModulePath = path.trim_end_matches(".rs").split('/').skip(1).map(str::to_owned).collect();
        let name = parts.remove(0);
        match parts.last().map(String::as_str) {
            Some("build" | "main") => continue,
            Some("lib" | "mod") => drop(parts.pop()),
            _ => {}
        }
        let module = module(&parts, &text);
        crates.entry(name).or_default().insert(parts, module);
    }
    let mut faults = Vec::new();
    for (name, mut modules) in crates {
        let of = |(path, module): (&ModulePath, &Module)| {
            module.tests.iter().map(|name| [&path[..], std::slice::from_ref(name)].concat()).collect::<Vec<_>>()
        };
        let tests: BTreeSet<ModulePath> = modules.iter().flat_map(of).collect();
        modules.retain(|path, _| !(1..=path.len()).any(|depth| tests.contains(&path[..depth])));
        faults.extend(cycles(&graph(&modules)).into_iter().map(|files| format!("{name}: {}", files.join(", "))));
    }
    assert!(faults.is_empty(), "files that import one another:\n{}", faults.join("\n"));
}

#[test]
fn a_cycle_is_detected_and_re_exports_are_followed() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let read = |(path, text): &(&str, &str)| {
            let path: ModulePath = path.split('/').map(str::to_owned).collect();
            (path.clone(), module(&path, text))
        };
        let groups = cycles(&graph(&files.iter().map(read).collect()));
        assert_eq!(groups.concat(), expected, "{files:?}");
    };
    check(&[("a", "use crate::b::B;"), ("b", "fn f() { crate::a::g(); }")], &["a", "b"]);
    check(&[("a", "mod c;\nuse c::C;"), ("a/c", "use super::{A, self};")], &["a", "a/c"]);
    check(&[("a", "mod c;\nmod d;\npub use c::C;"), ("a/c", "struct C;"), ("a/d", "use super::C;")], &[]);
    check(&[("a", "mod c;\npub use c::C;"), ("a/c", "use crate::b::B;"), ("b", "use crate::a::C;")], &["a/c", "b"]);
    check(&[("a", "use crate::b::B;"), ("b", "// crate::a::A\n#[cfg(test)]\nmod tests {\n use crate::a::A; }")], &[]);
}

/// Reads the imports of one file.
fn module(path: &[String], text: &str) -> Module {
    let mut module = Module::default();
    let code = code_without_tests(text, &mut module.tests);
    let tokens = tokens(&code);
    let children: BTreeSet<&str> = tokens.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1]).collect();
    let mut at = 0;
    while at + 1 < tokens.len() {
        let is_root = ["crate", "super", "self"].contains(&tokens[at]) || children.contains(tokens[at]);
        let goes_on = at > 0 && ["::", "$"].contains(&tokens[at - 1]);
        if !is_root || goes_on || tokens[at + 1] != "::" {
            at += 1;
            continue;
        }
        let is_export = at > 1 && tokens[at - 1] == "use" && ["pub", ")"].contains(&tokens[at - 2]);
        let mut ends = Vec::new();
        at = read_path(&tokens, at, &[], &mut ends);
        for (names, alias) in ends {
            let (mut absolute, names) = match names[0] {
                "crate" => (Vec::new(), &names[1..]),
                "self" => (path.to_vec(), &names[1..]),
                _ => (path.to_vec(), &names[..]),
            };
            for name in names {
                match *name {
                    "super" => drop(absolute.pop()),
                    "self" | "*" => {}
                    name => absolute.push(name.to_owned()),
                }
            }
            match alias.or(names.last().copied()) {
                Some(name) if is_export => drop(module.exports.insert(name.to_owned(), absolute)),
                _ => module.named.push(absolute),
            }
        }
    }
    module
}

/// The code without comments and tests; the names of test modules in other files go to `tests`.
fn code_without_tests(text: &str, tests: &mut Vec<String>) -> String {
    let mut code = String::new();
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    while let Some(line) = lines.next() {
        match line.trim() {
            "#![cfg(test)]" => return String::new(),
            "#[cfg(test)]" => {
                let item = lines.find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
                match item.trim().strip_suffix(';').and_then(|item| item.rsplit_once("mod ")) {
                    Some((_, name)) => tests.push(name.to_owned()),
                    None if item.contains("mod ") => break,
                    None => {}
                }
            }
            _ => code.extend([line, "\n"]),
        }
    }
    code
}

/// Words, `::` and single other characters.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            first if is_word(first) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// Reads a path with its groups, `a::{b, c::d as e}`, into single paths with their aliases; gives the place after it.
fn read_path<'c>(
    tokens: &[&'c str],
    mut at: usize,
    before: &[&'c str],
    ends: &mut Vec<(Vec<&'c str>, Option<&'c str>)>,
) -> usize {
    let token = |at: usize| tokens.get(at).copied().unwrap_or("}");
    let mut names = before.to_vec();
    loop {
        match token(at) {
            "{" => {
                at += 1;
                while token(at) != "}" {
                    at = read_path(tokens, at, &names, ends).max(at + 1);
                    at += usize::from(token(at) == ",");
                }
                return at + 1;
            }
            name if name == "*" || name.starts_with(|c: char| c.is_alphanumeric() || c == '_') => names.push(name),
            _ => break,
        }
        at += 1;
        if token(at) != "::" {
            break;
        }
        at += 1;
    }
    let alias = (token(at) == "as").then(|| token(at + 1));
    ends.push((names, alias));
    at + if alias.is_some() { 2 } else { 0 }
}

/// Which file of a crate imports which.
fn graph(modules: &BTreeMap<ModulePath, Module>) -> BTreeMap<String, BTreeSet<String>> {
    let name = |path: &[String]| if path.is_empty() { "lib".to_owned() } else { path.join("/") };
    let edges = |(path, module): (&ModulePath, &Module)| {
        let targets = module.named.iter().filter_map(|named| defined_in(modules, named, 0));
        (name(path), targets.filter(|target| target != path).map(|target| name(&target)).collect())
    };
    modules.iter().map(edges).collect()
}

/// The module that defines what a path names.
fn defined_in(modules: &BTreeMap<ModulePath, Module>, path: &[String], depth: usize) -> Option<ModulePath> {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (module, rest) = path.split_at(length);
    match rest.first().and_then(|item| modules[module].exports.get(item)) {
        Some(target) if depth < 10 => defined_in(modules, target, depth + 1),
        _ => Some(module.to_vec()),
    }
}

/// Groups of files that reach one another.
fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut reach: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for start in graph.keys() {
        let (seen, mut open) = (reach.entry(start).or_default(), vec![start]);
        while let Some(next) = open.pop().and_then(|one| graph.get(one)) {
            open.extend(next.iter().filter(|one| seen.insert(*one)));
        }
    }
    let mut groups = BTreeSet::new();
    for (one, reached) in reach.iter().filter(|(one, reached)| reached.contains(*one)) {
        let group = reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(one)));
        groups.insert(group.map(|file| (*file).clone()).collect::<Vec<_>>());
    }
    groups.into_iter().collect()
}
