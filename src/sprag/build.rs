//! Passes the program the digest of its sources, so that it knows whether it is the build of a folder.

#[path = "../measure/sources.rs"]
#[expect(unreachable_pub, reason = "the program uses the same file, where these are public")]
mod sources;

use std::env;
use std::path::Path;

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    for part in sources::PARTS {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
    }
    // A package without one of them, as from a registry, has no folder that it could be the build of.
    println!("cargo:rustc-env=SPRAG_SOURCES={}", sources::digest(&root).unwrap_or_default());
}
