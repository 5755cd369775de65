//! `sprag site --check`: whether a folder equals a clean rebuild; `--serve`: a site for the browser of this machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::demo::shop;
use crate::sandbox::{Sandbox, assert_contains, wait_until};

#[test]
fn a_site_is_proven_or_named_where_it_differs() {
    let sandbox = shop();
    let check = || sandbox.sprag(&["-C", "shop", "site", "--check"]);
    check().expect(0).prints(&["equals a clean rebuild"]);
    let site = sandbox.project.join("shop/_site");
    let write = |path: &str, text: &str| fs::write(site.join(path), text).expect("a file of the site");
    let style = sandbox.read("shop/_site/style.css");
    write("style.css", &style.replacen('*', "+", 1));
    fs::remove_file(site.join("coverage.html")).expect("the page is there");
    write("series/another.html", "");
    let out = check().expect(1).out;
    assert_contains(
        &out,
        &["differs: style.css", "missing: coverage.html", "not of this site: series/another.html", "in 3 files"],
    );
    // The check writes nothing; rendering keeps files of others.
    assert!(!site.join("coverage.html").exists());
    let refused = &["holds `series/another.html`, which is not part of the site", "move that out of it"];
    sandbox.ends(2, &["-C", "shop", "site"]).says(refused);
    assert!(site.join("series/another.html").exists() && !site.join("coverage.html").exists());
    fs::remove_file(site.join("series/another.html")).expect("it was left alone");
    sandbox.ends(0, &["-C", "shop", "site"]);
    check().expect(0);
}

#[test]
fn what_is_no_site_is_not_checked() {
    let sandbox = Sandbox::new();
    sandbox.ends(2, &["site", "--check"]).says(&["there is no site of sprag at", "sprag site"]);
    fs::create_dir(sandbox.project.join("mine")).expect("a folder");
    fs::write(sandbox.project.join("mine/letter.txt"), "mine").expect("a file");
    sandbox.ends(2, &["site", "--check", "--out", "mine"]).says(&["files that `sprag site` did not write"]);
    fs::write(sandbox.project.join("file"), "mine").expect("a file");
    sandbox.ends(2, &["site", "--check", "--out", "file"]).says(&["cannot use `", "not a folder", "--out"]);
}

#[test]
fn downloads_are_published_if_configured() {
    let sandbox = shop();
    let site = sandbox.project.join("shop/_site");
    assert!(!site.join("data/benchmarks.csv").exists() && site.join("data/commits.js").exists());
    assert!(!sandbox.read("shop/_site/about/method.html").contains("benchmarks.csv"));
    let settings = sandbox.read("shop/sprag.toml");
    sandbox.write("shop/sprag.toml", &format!("{settings}\n[site]\ndownloads = true\n"));
    sandbox.ends(0, &["-C", "shop", "site"]);
    let exported = |form: &str| sandbox.ends(0, &["-C", "shop", "export", form]).out;
    assert!(sandbox.read("shop/_site/data/benchmarks.csv") == exported("csv"), "the CSV is that of `export`");
    assert!(sandbox.read("shop/_site/data/values.jsonl") == exported("jsonl"), "the JSON Lines are those of `export`");
    for table in ["benchmarks", "samples"] {
        let bytes = fs::read(site.join(format!("data/{table}.parquet"))).expect("the table is there");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.len() > 10_000, "{table}");
    }
    let method = sandbox.read("shop/_site/about/method.html");
    for file in ["benchmarks.csv", "values.jsonl", "benchmarks.parquet", "samples.parquet"] {
        assert_contains(&method, &[&format!("href=\"../data/{file}\"")]);
    }
    sandbox.ends(0, &["-C", "shop", "site", "--check"]);
    sandbox.write("shop/sprag.toml", &format!("{settings}\n[site]\ndownloads = \"all\"\n"));
    sandbox.ends(2, &["-C", "shop", "site"]).says(&["expected a boolean"]);
}

#[test]
fn a_site_is_served_to_this_machine() {
    let sandbox = Sandbox::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("it has an address");
    let mut server = sandbox.start(&["site", "--serve", "--port", &free.port().to_string()]);
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(free).ok()?;
        write!(stream, "{request} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    wait_until("the server answers", || ask("HEAD /").is_some());
    for (request, words) in [
        ("GET /", &["200", "text/html; charset=utf-8", "No runs yet"][..]),
        ("GET /nothing.html", &["404", "text/html"]),
        ("GET /../sprag.toml", &["404"]),
        ("POST /", &["405"]),
    ] {
        let answer = ask(request).expect("it answers");
        assert_contains(&answer, words);
    }
    let port = free.port().to_string();
    sandbox.ends(2, &["site", "--serve", "--port", &port]).says(&["cannot be used", "`--port 0`"]);
    server.kill().expect("it can be stopped");
    server.wait().expect("it ends");
    sandbox.ends(2, &["site", "--open"]).says(&["--serve"]);
}
