//! Benchmarks of C, C++ and CUDA: Google Benchmark, nvbench and Catch2 by CMake or one compiler call, and `make bench`.

use super::tree::{Offer, Tree, inside, join, split, words};

struct Library {
    title: &'static str,
    format: &'static str,
    /// How the libraries of CMake begin.
    link: &'static str,
    arguments: &'static str,
    output: Option<&'static str>,
}

const LIBRARIES: [Library; 3] = [
    Library {
        title: "Google Benchmark",
        format: "google-benchmark",
        link: "benchmark::",
        arguments: "--benchmark_format=json",
        output: None,
    },
    Library {
        title: "nvbench",
        format: "nvbench",
        link: "nvbench::",
        arguments: "--jsonbin nvbench.json",
        output: Some("nvbench.json"),
    },
    Library { title: "Catch2", format: "catch2", link: "Catch2::", arguments: "-r xml", output: None },
];

const SOURCES: [&str; 5] = [".cc", ".cpp", ".cxx", ".C", ".cu"];

pub(super) fn google_benchmark(tree: &Tree<'_>) -> Vec<Offer> {
    let offers = by_cmake(tree, &LIBRARIES[0]);
    if !offers.is_empty()
        || ["CMakeLists.txt", "Makefile", "meson.build", "BUILD.bazel"]
            .iter()
            .any(|name| tree.named(name).next().is_some())
    {
        return offers;
    }
    tree.ending(&SOURCES).filter_map(|file| by_compiler(file, &tree.text(file))).collect()
}

pub(super) fn nvbench(tree: &Tree<'_>) -> Vec<Offer> {
    by_cmake(tree, &LIBRARIES[1])
}

/// Tests without benchmarks are passed over. Catch2 runs those with the tag `[!benchmark]` only if asked.
pub(super) fn catch2(tree: &Tree<'_>) -> Vec<Offer> {
    let with_benchmarks = |mut offer: Offer| {
        let below = split(&offer.place).0;
        let is_below = |file: &&str| below.is_empty() || file.starts_with(&format!("{below}/"));
        let words = ["BENCHMARK(", "BENCHMARK_ADVANCED(", "[!benchmark]"];
        let mut contains = [false; 3];
        for file in tree.ending(&SOURCES).filter(is_below) {
            let text = tree.text(file);
            (0..3).for_each(|place| contains[place] |= text.contains(words[place]));
        }
        // And those that are not hidden.
        offer.command.extend(contains[2].then(|| "[!benchmark],~[.]".to_owned()));
        (contains[0] || contains[1]).then_some(offer)
    };
    by_cmake(tree, &LIBRARIES[2]).into_iter().filter_map(with_benchmarks).collect()
}

/// A suite for each program that links the library.
fn by_cmake(tree: &Tree<'_>, library: &Library) -> Vec<Offer> {
    let mut all = Vec::new();
    for file in tree.named("CMakeLists.txt") {
        let text = tree.text(file);
        let folder = topmost(tree, file);
        for target in linked(&text, library.link) {
            let below = inside(split(file).0, &folder);
            let build_folder = if below.is_empty() { "build".to_owned() } else { join("build", below) };
            let program = join(&build_folder, &target);
            let build =
                format!("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --target {target}");
            all.push(Offer {
                title: library.title,
                place: file.to_owned(),
                name: target,
                folder: folder.clone(),
                build: ["sh", "-c", &build].map(str::to_owned).to_vec(),
                command: std::iter::once(program).chain(words(library.arguments)).collect(),
                format: library.format,
                output: library.output.map(str::to_owned),
                kernel: String::new(),
                ignored: std::iter::once("build").chain(library.output).map(str::to_owned).collect(),
            });
        }
    }
    all
}

/// The highest folder of the CMake project of a file: those between have a `CMakeLists.txt`, too.
fn topmost(tree: &Tree<'_>, file: &str) -> String {
    let mut folder = split(file).0;
    let mut top = folder;
    while !folder.is_empty() {
        folder = split(folder).0;
        if tree.has(&join(folder, "CMakeLists.txt")) {
            top = folder;
        }
    }
    top.to_owned()
}

/// The text with the body of each `foreach` once for each item; of lists those that a `set` in this text gives.
fn unrolled(text: &str) -> String {
    let Some((before, rest)) = text.split_once("foreach(") else { return text.to_owned() };
    let Some((head, rest)) = rest.split_once(')') else { return text.to_owned() };
    let Some((body, after)) = rest.split_once("endforeach") else { return text.to_owned() };
    let mut words = head.split_whitespace();
    let variable = format!("${{{}}}", words.next().unwrap_or_default());
    let (mut items, mut is_list) = (Vec::new(), false);
    for word in words {
        match word {
            "IN" => {}
            "LISTS" | "ITEMS" => is_list = word == "LISTS",
            name if is_list => items.extend(list(text, name)),
            item => match item.strip_prefix("${").and_then(|item| item.strip_suffix('}')) {
                Some(name) => items.extend(list(text, name)),
                None => items.push(item),
            },
        }
    }
    let bodies: String = items.iter().map(|item| body.replace(&variable, item.trim_matches('"'))).collect();
    format!("{before}{bodies}{}", unrolled(after))
}

fn list<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let calls = text.split("set(").skip(1).filter_map(|rest| rest.split(')').next());
    let values = calls.map(|call| call.split_whitespace().collect::<Vec<&str>>());
    values.filter(|words| words.first() == Some(&name)).last().map_or_else(Vec::new, |words| words[1..].to_vec())
}

/// The targets that link a library whose name begins so.
fn linked(text: &str, link: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
    let text = unrolled(&lines.join("\n"));
    let calls = text
        .split("target_link_libraries")
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('(')?.split(')').next());
    let is_plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    let target = |call: &str| {
        let mut words = call.split_whitespace();
        let target = words.next().filter(|name| is_plain(name))?;
        words.any(|word| word.starts_with(link)).then(|| target.to_owned())
    };
    let mut targets: Vec<String> = calls.filter_map(target).collect();
    targets.dedup();
    targets
}

/// One source without a build system.
fn by_compiler(file: &str, text: &str) -> Option<Offer> {
    let is_one = text.contains("benchmark/benchmark.h") && text.contains("BENCHMARK(");
    let (folder, name) = split(file);
    let (stem, _) = name.rsplit_once('.').filter(|_| is_one)?;
    let main: &[&str] = if text.contains("BENCHMARK_MAIN") { &[] } else { &["-lbenchmark_main"] };
    Some(Offer {
        title: "Google Benchmark",
        place: file.to_owned(),
        name: stem.to_owned(),
        folder: folder.to_owned(),
        build: [&["c++", "-O2", name, "-o", stem][..], main, &["-lbenchmark", "-lpthread"]]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect(),
        command: vec![format!("./{stem}"), "--benchmark_format=json".to_owned()],
        format: "google-benchmark",
        output: None,
        kernel: String::new(),
        ignored: vec![stem.to_owned()],
    })
}

/// A program of any kind that `make bench` runs, which prints Sprag's own report.
pub(super) fn make(tree: &Tree<'_>) -> Vec<Offer> {
    let targets = ["bench", "benchmark"];
    let offer = |file: &str| {
        let text = tree.text(file);
        let target = targets.iter().find(|target| {
            text.lines().any(|line| line.strip_prefix(**target).is_some_and(|rest| rest.starts_with(':')))
        })?;
        Some(Offer {
            title: "make",
            place: file.to_owned(),
            name: (*target).to_owned(),
            folder: split(file).0.to_owned(),
            command: words(&format!("make -s {target}")),
            format: "custom",
            ..Offer::default()
        })
    };
    tree.named("Makefile").filter_map(offer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_link_a_library_are_named() {
        let text = "add_executable(b b.cc)\ntarget_link_libraries(b\n  PRIVATE benchmark::benchmark)\n\
                    # target_link_libraries(c benchmark::benchmark)\ntarget_link_libraries(d fmt::fmt)\n\
                    target_link_libraries(${name} benchmark::benchmark)\ntarget_link_libraries ( e benchmark::benchmark_main )\n";
        assert_eq!(linked(text, "benchmark::"), ["b", "e"]);
        assert_eq!(linked("target_link_libraries(", "benchmark::"), Vec::<String>::new());
        let body =
            "add_executable(${name}_bench ${name}.cc)\ntarget_link_libraries(${name}_bench benchmark::benchmark)\n";
        for (head, expected) in [
            ("name a b", &["a_bench", "b_bench"][..]),
            ("name IN ITEMS a \"b\"", &["a_bench", "b_bench"]),
            ("name IN LISTS NAMES ITEMS z", &["c_bench", "d_bench", "z_bench"]),
            ("name ${NAMES}", &["c_bench", "d_bench"]),
            ("name ${UNKNOWN}", &[]),
            ("other a b", &[]),
        ] {
            let text = format!("set(NAMES c d)\nforeach({head})\n{body}endforeach()\n");
            assert_eq!(linked(&text, "benchmark::"), expected, "{head}");
        }
        for cut in ["foreach(", "foreach(name a)\n", "foreach()endforeach()"] {
            assert!(linked(cut, "benchmark::").is_empty());
        }
    }
}
