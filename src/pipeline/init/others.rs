//! Benchmarks of Go, Java and Julia, and scripts of hyperfine.

use super::tree::{Offer, Tree, join, split, words};

pub(super) fn go(tree: &Tree<'_>) -> Vec<Offer> {
    let offer = |module: &str| {
        let folder = split(module).0;
        let is_own = |file: &&str| tree.above(file, |folder| tree.has(&join(folder, "go.mod"))) == folder;
        let mut tests = tree.ending(&["_test.go"]).filter(is_own);
        let place = tests.find(|file| tree.text(file).contains("\nfunc Benchmark"))?;
        Some(Offer {
            title: "go test -bench",
            place: place.to_owned(),
            name: "go".to_owned(),
            folder: folder.to_owned(),
            build: words("go test -run ^$ ./..."),
            command: words("go test -run ^$ -bench . ./..."),
            format: "go",
            ..Offer::default()
        })
    };
    tree.named("go.mod").filter_map(offer).collect()
}

pub(super) fn jmh(tree: &Tree<'_>) -> Vec<Offer> {
    let maven = tree.named("pom.xml").filter(|file| tree.text(file).contains("jmh-core"));
    let gradle = ["build.gradle", "build.gradle.kts"].into_iter().flat_map(|name| tree.named(name));
    let gradle = gradle.filter(|file| tree.text(file).contains("me.champeau.jmh"));
    let offer = |file: &str, build: &str, command: &str, output: &str| Offer {
        title: "JMH",
        place: file.to_owned(),
        name: "jmh".to_owned(),
        folder: split(file).0.to_owned(),
        build: words(build),
        command: words(command),
        format: "jmh",
        output: Some(output.to_owned()),
        kernel: String::new(),
        ignored: vec![output.to_owned()],
    };
    let jar = "java -jar target/benchmarks.jar -rf json -rff jmh.json";
    maven
        .map(|file| offer(file, "mvn -q package -DskipTests", jar, "jmh.json"))
        .chain(gradle.map(|file| offer(file, "", "./gradlew -q jmh", "build/results/jmh/results.json")))
        .collect()
}

pub(super) fn benchmark_tools(tree: &Tree<'_>) -> Vec<Offer> {
    let files = tree.named("benchmarks.jl").filter(|file| tree.text(file).contains("SUITE"));
    let script = |folder: &str| {
        let path = join(folder, "benchmarks.jl");
        format!("using BenchmarkTools; include(\"{path}\"); BenchmarkTools.save(\"benchmark-tools.json\", run(SUITE))")
    };
    let offer = |file: &str| {
        let folder = split(file).0;
        let project = if folder.is_empty() { "." } else { folder };
        Offer {
            title: "BenchmarkTools",
            place: file.to_owned(),
            name: "julia".to_owned(),
            command: ["julia", &format!("--project={project}"), "-e", &script(folder)].map(str::to_owned).to_vec(),
            format: "benchmark-tools",
            output: Some("benchmark-tools.json".to_owned()),
            ignored: vec!["benchmark-tools.json".to_owned()],
            ..Offer::default()
        }
    };
    files.map(offer).collect()
}

/// Scripts that export what hyperfine measured.
pub(super) fn hyperfine(tree: &Tree<'_>) -> Vec<Offer> {
    let offer = |file: &str| {
        let text = tree.text(file);
        let (_, rest) = text.split_once("--export-json").filter(|_| text.contains("hyperfine "))?;
        let rest = rest.trim_start_matches([' ', '=']);
        let output = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
            _ => rest.split(|end: char| end.is_whitespace() || ";&|)".contains(end)).next()?,
        };
        let is_plain = !output.is_empty() && !output.starts_with(['-', '/', '$']) && !output.contains('$');
        let shell = if text.lines().next().is_some_and(|line| line.ends_with("bash")) { "bash" } else { "sh" };
        is_plain.then(|| Offer {
            title: "hyperfine",
            place: file.to_owned(),
            name: split(file).1.trim_end_matches(".sh").to_owned(),
            command: vec![shell.to_owned(), file.to_owned()],
            format: "hyperfine",
            output: Some(output.to_owned()),
            ignored: vec![output.to_owned()],
            ..Offer::default()
        })
    };
    tree.ending(&[".sh"]).filter_map(offer).collect()
}
