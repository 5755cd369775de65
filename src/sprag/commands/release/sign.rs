//! Signatures of statements: with ed25519 here, with keys of SSH by `ssh-keygen -Y`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::commands::{Advice, text};
use sprag_base::files::read_bounded;

/// The namespace of signatures of SSH, so that one for another purpose does not count.
pub(super) const NAMESPACE: &str = "sprag-release";

/// The most bytes of a file that holds a key or a list of signers.
const MOST_BYTES: usize = 1 << 20;

/// What `keyid` says of a signature of SSH.
pub(super) const SSH: &str = "ssh";

/// How `keyid` begins for a key of ed25519.
pub(super) const ED25519: &str = "ed25519:";

/// The width of the lines of an armoured signature of `ssh-keygen`.
const ARMOUR_WIDTH: usize = 70;

const ARMOUR_BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const ARMOUR_END: &str = "-----END SSH SIGNATURE-----\n";

pub(super) enum Trusted<'a> {
    /// Nobody was named: that it fits its own key is all that can be told.
    Nobody,
    /// The signers that `ssh-keygen` reads from this file.
    Signers(&'a Path),
    Key(&'a Path),
}

/// Signs a message with the key in a file: what `keyid` says, and the bytes of the signature.
///
/// # Errors
/// When the file cannot be read or holds no key, or `ssh-keygen` is not there or refuses.
pub(super) fn sign(key: &Path, message: &[u8]) -> anyhow::Result<(String, Vec<u8>)> {
    let held = read_bounded(key, MOST_BYTES).with_context(|| format!("cannot read the key `{}`", key.display()))?;
    let held = String::from_utf8_lossy(&held);
    if held.contains("-----BEGIN PRIVATE KEY-----") {
        let key = SigningKey::from_pkcs8_pem(&held).map_err(|error| Advice {
            message: format!("`{}` holds no key of ed25519: {error}", key.display()),
            hint: "make one with `openssl genpkey -algorithm ed25519 -out key.pem`, or give a key of SSH".to_owned(),
        })?;
        let keyid = format!("{ED25519}{}", hex(key.verifying_key().as_bytes()));
        return Ok((keyid, key.sign(message).to_bytes().to_vec()));
    }
    let path = key.to_string_lossy().into_owned();
    let signed = ssh_keygen(&["-Y", "sign", "-q", "-n", NAMESPACE, "-f", &path], message)?;
    match signed {
        Ok(signature) => Ok((SSH.to_owned(), signature)),
        Err(why) => Err(Advice {
            message: text::printable(&format!("`ssh-keygen` does not sign with `{path}`: {why}")),
            hint: "give a private key of SSH, the public one of a key that the agent holds, or ed25519 as PKCS#8"
                .to_owned(),
        }
        .into()),
    }
}

/// Checks a signature of a message; gives who made it, in words, or why it does not count.
///
/// # Errors
/// When a file that says who counts cannot be read, or `ssh-keygen` is needed and not there.
pub(super) fn check(
    keyid: &str,
    signature: &[u8],
    message: &[u8],
    trusted: &Trusted<'_>,
) -> anyhow::Result<Result<String, String>> {
    match keyid.strip_prefix(ED25519) {
        Some(digits) => of_ed25519(digits, signature, message, trusted),
        None if keyid == SSH => of_ssh(signature, message, trusted),
        None => Ok(Err(format!("its key is of no known kind: `{}`", keyid.escape_debug()))),
    }
}

fn of_ed25519(
    digits: &str,
    signature: &[u8],
    message: &[u8],
    trusted: &Trusted<'_>,
) -> anyhow::Result<Result<String, String>> {
    let named = unhex(digits).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    let Some(named) = named else { return Ok(Err("its key is none of ed25519".to_owned())) };
    let vouched = match trusted {
        Trusted::Nobody => None,
        Trusted::Signers(_) => {
            return Ok(Err("it is of ed25519, and `--allowed-signers` tells keys of SSH".to_owned()));
        }
        Trusted::Key(path) => {
            let held = read_bounded(path, MOST_BYTES);
            let held = held.with_context(|| format!("cannot read the key `{}`", path.display()))?;
            let held = String::from_utf8_lossy(&held);
            if held.starts_with("ssh-") || held.starts_with("ecdsa-") || held.starts_with("sk-") {
                return Ok(Err("it is of another key: a key of SSH was given, and no such key made it".to_owned()));
            }
            let key = VerifyingKey::from_public_key_pem(&held);
            Some(key.map_err(|error| Advice {
                message: format!("`{}` holds no public key of ed25519: {error}", path.display()),
                hint: "write it with `openssl pkey -in key.pem -pubout -out key.pub.pem`".to_owned(),
            })?)
        }
    };
    if vouched.is_some_and(|vouched| vouched != named) {
        return Ok(Err("it is of another key".to_owned()));
    }
    let Ok(signature) = Signature::from_slice(signature) else { return Ok(Err("it has not 64 bytes".to_owned())) };
    if named.verify_strict(message, &signature).is_err() {
        return Ok(Err("it is not of this statement".to_owned()));
    }
    Ok(Ok(match vouched {
        Some(_) => "the key that was given".to_owned(),
        None => format!("the key {digits}, for which nothing here vouches: give `--public-key`"),
    }))
}

fn of_ssh(signature: &[u8], message: &[u8], trusted: &Trusted<'_>) -> anyhow::Result<Result<String, String>> {
    if !is_armoured(signature) {
        return Ok(Err("it is not as `ssh-keygen` writes one".to_owned()));
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (file, own) = (place("signature"), place("signers"));
    std::fs::write(&file, signature).context("cannot write a temporary file")?;
    let signers = match trusted {
        Trusted::Nobody => {
            let checked = ssh_keygen(&["-Y", "check-novalidate", "-n", NAMESPACE, "-s", &file], message)?;
            let told = |said: Vec<u8>| {
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                format!("a key for which nothing here vouches ({said}): give `--allowed-signers` or `--public-key`")
            };
            return Ok(checked.map(told));
        }
        Trusted::Signers(path) => path.to_string_lossy().into_owned(),
        Trusted::Key(path) => {
            let held = read_bounded(path, MOST_BYTES);
            let held = held.with_context(|| format!("cannot read the key `{}`", path.display()))?;
            let line = format!("release namespaces=\"{NAMESPACE}\" {}\n", String::from_utf8_lossy(&held).trim());
            std::fs::write(&own, line).context("cannot write a temporary file")?;
            own
        }
    };
    let found = ssh_keygen(&["-Y", "find-principals", "-s", &file, "-f", &signers], b"")?;
    let Some(who) = found.ok().and_then(|found| String::from_utf8_lossy(&found).lines().next().map(str::to_owned))
    else {
        return Ok(Err("it is of none of the signers that count".to_owned()));
    };
    let checked = ssh_keygen(&["-Y", "verify", "-n", NAMESPACE, "-I", &who, "-s", &file, "-f", &signers], message)?;
    Ok(checked.map(|_| match trusted {
        Trusted::Key(_) => "the key that was given".to_owned(),
        _ => format!("`{}`, as the list of signers says", text::printable(&who)),
    }))
}

/// Whether it is what `ssh-keygen` writes, byte for byte: it reads more than that, which would leave bytes that nobody checks.
fn is_armoured(signature: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(signature) else { return false };
    let Some(body) = text.strip_prefix(ARMOUR_BEGIN).and_then(|rest| rest.strip_suffix(ARMOUR_END)) else {
        return false;
    };
    let Ok(bytes) = STANDARD.decode(body.replace('\n', "")) else { return false };
    let again = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        again.as_bytes().chunks(ARMOUR_WIDTH).map(|line| std::str::from_utf8(line).expect("Base64 is ASCII")).collect();
    body == lines.join("\n") + "\n"
}

/// Runs `ssh-keygen` with that input: what it says where it agrees, else why it does not.
///
/// # Errors
/// When it is not there.
fn ssh_keygen(arguments: &[&str], input: &[u8]) -> anyhow::Result<Result<Vec<u8>, String>> {
    let child = Command::new("ssh-keygen")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Advice {
            message: format!("cannot run `ssh-keygen`: {error}"),
            hint: "signatures of SSH need OpenSSH 8.1 or newer; keys of ed25519 in PEM need no other program"
                .to_owned(),
        })?;
    let mut child = child;
    if let Some(mut stdin) = child.stdin.take() {
        // One that has seen enough tells so by how it ends.
        let _ = stdin.write_all(input);
    }
    let ended = child.wait_with_output().context("cannot wait for `ssh-keygen`")?;
    if ended.status.success() {
        return Ok(Ok(ended.stdout));
    }
    let said = String::from_utf8_lossy(&ended.stderr).trim().replace('\n', "; ");
    Ok(Err(if said.is_empty() { "it does not say why".to_owned() } else { said }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; 32];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}
