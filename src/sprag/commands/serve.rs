//! A server of a folder for the browser of this machine. It reads files only, and listens on 127.0.0.1.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sprag_base::files;
use sprag_pipeline::{Advice, Result, text};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

const TYPES: [(&str, &str); 10] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("xml", "application/xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/plain; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
];

/// Serves the folder until the process ends.
pub(super) fn serve(folder: &Path, port: u16, opens: bool, out: &mut dyn Write) -> Result<()> {
    let folder = folder.canonicalize()?;
    let server = Server::http(("127.0.0.1", port)).map_err(|error| {
        let message = format!("port {port} of 127.0.0.1 cannot be used: {error}");
        Advice::new(message, "name another with `--port`, or `--port 0` for one that is free".to_owned())
    })?;
    let port = server.server_addr().to_ip().map_or(port, |address| address.port());
    let address = format!("http://127.0.0.1:{port}/");
    writeln!(out, "Serving {address} until Ctrl-C ends it.")?;
    out.flush()?;
    if opens && !open(&address) {
        text::warn("no browser could be started; open the address by hand");
    }
    for request in server.incoming_requests() {
        // A browser that went away is not a fault.
        drop(answer(&folder, request));
    }
    Ok(())
}

fn answer(folder: &Path, request: Request) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::empty(405));
    }
    let asked = file(folder, request.url());
    let status = StatusCode(if asked.is_some() { 200 } else { 404 });
    let Some(path) = asked.or_else(|| file(folder, "/404.html")) else {
        return request.respond(Response::empty(404));
    };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = TYPES.iter().find(|(one, _)| *one == extension).map_or("application/octet-stream", |(_, kind)| kind);
    let response = Response::from_file(files::open(&path)?).with_status_code(status);
    match Header::from_bytes("Content-Type", kind) {
        Ok(header) => request.respond(response.with_header(header)),
        Err(()) => request.respond(response),
    }
}

/// The file that an address names, if it lies in the folder.
fn file(folder: &Path, url: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?.trim_start_matches('/');
    let mut place = folder.join(decoded(path)?).canonicalize().ok()?;
    if place.is_dir() {
        place = place.join("index.html").canonicalize().ok()?;
    }
    (place.starts_with(folder) && place.is_file()).then_some(place)
}

/// A path without its percent signs.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains('\0'))
}

fn open(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_served() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a folder");
        let folder = root.join("_site");
        std::fs::create_dir_all(folder.join("series/a b")).expect("a folder");
        for path in ["_site/index.html", "_site/series/a b/index.html", "secret.txt"] {
            std::fs::write(root.join(path), path).expect("a file");
        }
        for (url, expected) in [
            ("/", Some("index.html")),
            ("/index.html?x=1#y", Some("index.html")),
            ("/series/a%20b/", Some("series/a b/index.html")),
            ("/series/", None),
            ("/../secret.txt", None),
            ("/%2e%2e/secret.txt", None),
            ("//etc/passwd", None),
            ("/%zz", None),
            ("/%", None),
            ("/index.html%00", None),
        ] {
            assert_eq!(file(&folder, url), expected.map(|path| folder.join(path)), "{url}");
        }
    }
}
