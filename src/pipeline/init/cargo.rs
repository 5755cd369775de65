//! Benches of Cargo packages: Criterion, divan, gungraun, and the functions of `#[bench]`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::tree::{Offer, Tree, inside, join, split, words};
use sprag_base::toml::TomlText;

struct Kind {
    title: &'static str,
    name: &'static str,
    format: &'static str,
    /// What the source of its benches contains.
    signs: &'static [&'static str],
    /// Arguments of its benches.
    arguments: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        title: "gungraun",
        name: "gungraun",
        format: "gungraun",
        signs: &["gungraun::", "iai_callgrind::"],
        arguments: " -- --output-format=json",
    },
    Kind { title: "divan", name: "divan", format: "divan", signs: &["divan::"], arguments: "" },
    Kind {
        title: "Criterion",
        name: "criterion",
        format: "criterion",
        signs: &["criterion_group!", "criterion_main!"],
        arguments: "",
    },
    Kind { title: "cargo bench", name: "bench", format: "libtest", signs: &["#[bench]", "bencher::"], arguments: "" },
];

#[derive(Deserialize)]
struct Manifest {
    package: Option<Package>,
    workspace: Option<IgnoredAny>,
    #[serde(default)]
    bench: Vec<Bench>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
struct Bench {
    name: Option<String>,
    path: Option<String>,
}

impl Manifest {
    fn read(tree: &Tree<'_>, path: &str) -> Option<Manifest> {
        TomlText::new(path, &tree.text(path)).parse().ok()
    }
}

#[derive(Default)]
struct Group<'t> {
    packages: BTreeSet<String>,
    /// Arguments that select targets.
    targets: BTreeSet<String>,
    first: Option<&'t str>,
}

/// One suite for each framework and Cargo workspace.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Offer> {
    let mut groups: BTreeMap<(String, usize), Group<'_>> = BTreeMap::new();
    for manifest in tree.named("Cargo.toml") {
        let Some(read) = Manifest::read(tree, manifest) else { continue };
        let Some(package) = &read.package else { continue };
        let folder = split(manifest).0;
        let root = workspace(tree, manifest);
        for (target, file) in targets(tree, folder, &read) {
            let text = tree.text(file);
            let Some(kind) = KINDS.iter().position(|kind| kind.signs.iter().any(|sign| text.contains(sign))) else {
                continue;
            };
            let group = groups.entry((root.clone(), kind)).or_default();
            group.packages.extend((root != folder).then(|| package.name.clone()));
            group.targets.insert(target);
            group.first.get_or_insert(file);
        }
    }
    groups.into_iter().map(|((folder, kind), group)| offer(folder, &KINDS[kind], &group)).collect()
}

fn offer(folder: String, kind: &Kind, group: &Group<'_>) -> Offer {
    let packages: String = group.packages.iter().map(|package| format!(" -p {package}")).collect();
    let targets: String = group.targets.iter().map(|target| format!(" {target}")).collect();
    Offer {
        title: kind.title,
        place: group.first.unwrap_or_default().to_owned(),
        name: kind.name.to_owned(),
        build: words(&format!("cargo bench --no-run{packages}{targets}")),
        command: words(&format!("cargo bench{packages}{targets}{}", kind.arguments)),
        format: kind.format,
        folder,
        ignored: vec!["target".to_owned()],
        ..Offer::default()
    }
}

/// The folder of the workspace of a package, which may be its own.
fn workspace(tree: &Tree<'_>, manifest: &str) -> String {
    let is_workspace =
        |folder: &str| Manifest::read(tree, &join(folder, "Cargo.toml")).is_some_and(|one| one.workspace.is_some());
    let above = tree.above(manifest, is_workspace);
    if is_workspace(&above) { above } else { split(manifest).0.to_owned() }
}

/// The arguments that select each bench of a package, with its file.
fn targets<'t>(tree: &'t Tree<'_>, folder: &str, manifest: &Manifest) -> Vec<(String, &'t str)> {
    let named_at = |path: &str| manifest.bench.iter().find(|one| one.path.as_deref() == Some(path))?.name.clone();
    let mut targets = Vec::new();
    let below = join(folder, "");
    for file in tree.ending(&[".rs"]).filter(|file| file.starts_with(&below)) {
        let path = inside(file, folder);
        let stem =
            path.strip_prefix("benches/").and_then(|path| path.strip_suffix("/main.rs").or(path.strip_suffix(".rs")));
        let name = named_at(path).or_else(|| stem.filter(|stem| !stem.contains('/')).map(str::to_owned));
        match name {
            Some(name) => targets.push((format!("--bench {name}"), file)),
            None if path == "src/lib.rs" && tree.text(file).contains("#![feature(test)]") => {
                targets.push(("--lib".to_owned(), file))
            }
            None => {}
        }
    }
    targets
}
