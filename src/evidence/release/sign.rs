//! Signatures of statements: ed25519 here, SSH keys with `ssh-keygen -Y`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::{Fault, ReleaseError, Result};
use crate::envelope::ENVELOPE;
use sprag_base::digest::Digest;
use sprag_base::files::read_bounded;
use sprag_base::process::{Bounds, Captured, End, OutputLimit, capture_foreground, find_program, trusted_path};

/// The namespace of SSH signatures, so that one made for another purpose is rejected.
const NAMESPACE: &str = "sprag-release";

const MOST_BYTES: usize = 1 << 20;

/// How long `ssh-keygen` may take: someone may have to type a passphrase or touch a key.
const SSH_LIMIT: Duration = Duration::from_secs(300);

/// The `keyid` of SSH signatures, and how that of an ed25519 key begins.
pub(super) const SSH: &str = "ssh";
const ED25519: &str = "ed25519:";

/// The form of a signature of `ssh-keygen`: Base64 in lines of that width between two lines.
const ARMOR_WIDTH: usize = 70;
const ARMOR_BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const ARMOR_END: &str = "-----END SSH SIGNATURE-----\n";

/// Whose signature is trusted.
#[derive(Clone, Copy)]
pub enum Trusted<'a> {
    /// Nobody was named, so only the signature itself can be checked.
    Nobody,
    /// The signers of this file, as `ssh-keygen` reads it.
    Signers(&'a Path),
    Key(&'a Path),
}

/// Signs a message with the key in a file: the `keyid` and the bytes of the signature.
pub(super) fn sign(path: &Path, message: &[u8]) -> Result<(String, Vec<u8>)> {
    let text = read_key(path)?;
    if text.contains("-----BEGIN PRIVATE KEY-----") {
        let key = SigningKey::from_pkcs8_pem(&text).map_err(|error| {
            ReleaseError::refused(
                format!("`{}` is not an ed25519 key: {error}", path.display()),
                "make one with `openssl genpkey -algorithm ed25519 -out key.pem`, or use an SSH key",
            )
        })?;
        // A public key has as many bytes, and is written with as many digits, as a digest.
        let keyid = format!("{ED25519}{}", Digest(key.verifying_key().to_bytes()));
        return Ok((keyid, key.sign(message).to_bytes().to_vec()));
    }
    let shown = path.to_string_lossy();
    let signature = ssh_keygen(&["-Y", "sign", "-q", "-n", NAMESPACE, "-f", &shown], message)?.map_err(|why| {
        ReleaseError::refused(
            format!("`ssh-keygen` does not sign with `{shown}`: {why}"),
            "use a private SSH key, the public key of one in the agent, or ed25519 as PKCS#8",
        )
    })?;
    Ok((SSH.to_owned(), signature))
}

/// Checks the signature of a message: who made it, in words.
pub(super) fn check(keyid: &str, signature: &[u8], message: &[u8], trusted: Trusted<'_>) -> Result<String> {
    match keyid.strip_prefix(ED25519) {
        Some(digits) => check_ed25519(digits, signature, message, trusted),
        None if keyid == SSH => check_ssh(signature, message, trusted),
        None => Err(rejected(format!("unknown kind of key `{}`", keyid.escape_debug()))),
    }
}

fn rejected(why: impl std::fmt::Display) -> ReleaseError {
    Fault::new(ENVELOPE, format!("its signature is rejected: {why}")).into()
}

fn check_ed25519(digits: &str, signature: &[u8], message: &[u8], trusted: Trusted<'_>) -> Result<String> {
    let named = digits.parse::<Digest>().ok().and_then(|bytes| VerifyingKey::from_bytes(&bytes.0).ok());
    let named = named.ok_or_else(|| rejected("its key is not an ed25519 key"))?;
    let given = match trusted {
        Trusted::Nobody => None,
        Trusted::Signers(_) => return Err(rejected("it is of an ed25519 key, and `--allowed-signers` lists SSH keys")),
        Trusted::Key(path) => {
            let text = read_key(path)?;
            if ["ssh-", "ecdsa-", "sk-"].iter().any(|kind| text.starts_with(kind)) {
                return Err(rejected("it is of an ed25519 key in PEM, but `--public-key` is an SSH key"));
            }
            Some(VerifyingKey::from_public_key_pem(&text).map_err(|error| {
                ReleaseError::refused(
                    format!("`{}` is not a public ed25519 key: {error}", path.display()),
                    "write it with `openssl pkey -in key.pem -pubout -out key.pub.pem`",
                )
            })?)
        }
    };
    if given.is_some_and(|given| given != named) {
        return Err(rejected("it is of another key"));
    }
    let signature = Signature::from_slice(signature).map_err(|_| rejected("it is not 64 bytes long"))?;
    named.verify_strict(message, &signature).map_err(|_| rejected("it is not of this statement"))?;
    Ok(match given {
        Some(_) => "the given key".to_owned(),
        None => format!("the key {digits}, whose owner is not checked: give `--public-key`"),
    })
}

fn check_ssh(signature: &[u8], message: &[u8], trusted: Trusted<'_>) -> Result<String> {
    if !is_armored(signature) {
        return Err(rejected("it is not in the form that `ssh-keygen` writes"));
    }
    let folder = tempfile::tempdir().map_err(ReleaseError::io("write below", &std::env::temp_dir()))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).map_err(ReleaseError::io("write", &path))?;
        Ok::<_, ReleaseError>(path.to_string_lossy().into_owned())
    };
    let file = write("signature", signature)?;
    let signers = match trusted {
        Trusted::Nobody => {
            let checked = ssh_keygen(&["-Y", "check-novalidate", "-n", NAMESPACE, "-s", &file], message)?;
            let output = checked.map_err(rejected)?;
            let key = String::from_utf8_lossy(&output);
            return Ok(format!(
                "a key that nothing here vouches for ({}): give `--allowed-signers` or `--public-key`",
                key.trim()
            ));
        }
        Trusted::Signers(path) => read_key(path)?,
        Trusted::Key(path) => format!("release namespaces=\"{NAMESPACE}\" {}", read_key(path)?.trim()),
    };
    let mut why = "it is of none of the trusted signers".to_owned();
    // `ssh-keygen` takes the first line with the key, even where its namespaces or times exclude what a later one allows.
    for line in signers.lines().filter(|line| may_allow(line, signature)) {
        let signers = write("signers", format!("{line}\n").as_bytes())?;
        let principals = ssh_keygen(&["-Y", "find-principals", "-s", &file, "-f", &signers], b"")?.unwrap_or_default();
        let principals = String::from_utf8_lossy(&principals);
        let Some(who) = principals.lines().next() else { continue };
        let verify = ["-Y", "verify", "-n", NAMESPACE, "-I", who, "-s", &file, "-f", &signers];
        match (ssh_keygen(&verify, message)?, trusted) {
            (Ok(_), Trusted::Key(_)) => return Ok("the given key".to_owned()),
            (Ok(_), _) => return Ok(format!("`{who}`, according to the list of signers")),
            (Err(fault), _) => why = fault,
        }
    }
    Err(rejected(why))
}

/// Whether a line of trusted signers has the key of the signature, or that of an authority which may have certified it.
fn may_allow(line: &str, signature: &[u8]) -> bool {
    const LENGTH: usize = 4;
    /// The mark and the version, before the length of the key.
    const BEFORE: usize = "SSHSIG".len() + 4;
    let text = String::from_utf8_lossy(signature);
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let key = STANDARD.decode(body).ok().and_then(|bytes| {
        let length = u32::from_be_bytes(bytes.get(BEFORE..BEFORE + LENGTH)?.try_into().ok()?);
        let key = bytes.get(BEFORE + LENGTH..)?.get(..usize::try_from(length).ok()?)?;
        Some(STANDARD.encode(key))
    });
    line.contains("cert-authority") || key.is_some_and(|key| line.split_whitespace().any(|word| word == key))
}

fn read_key(path: &Path) -> Result<String> {
    let bytes = read_bounded(path, MOST_BYTES).map_err(ReleaseError::io("read the key", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a signature is, byte for byte, in the form that `ssh-keygen` writes; it reads more, which nobody would check.
fn is_armored(signature: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(signature) else { return false };
    let Some(body) = text.strip_prefix(ARMOR_BEGIN).and_then(|rest| rest.strip_suffix(ARMOR_END)) else {
        return false;
    };
    let Ok(bytes) = STANDARD.decode(body.replace('\n', "")) else { return false };
    let encoded = STANDARD.encode(bytes).into_bytes();
    let lines = encoded.chunks(ARMOR_WIDTH).flat_map(|line| [line, b"\n"]);
    lines.flatten().eq(body.as_bytes())
}

/// Runs `ssh-keygen` with that input: what it prints where it succeeds, else why it does not.
fn ssh_keygen(arguments: &[&str], input: &[u8]) -> Result<std::result::Result<Vec<u8>, String>> {
    let output = OutputLimit::all(MOST_BYTES as u64);
    let limits = Bounds::new(SSH_LIMIT, output, output);
    const NEEDED: &str = "SSH signatures need OpenSSH 8.1 or newer; ed25519 keys in PEM need no other program";
    // A checkout must not bring the program that vouches for it.
    let here = std::env::current_dir().unwrap_or_default();
    let tree = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
    let folders = trusted_path(&std::env::var_os("PATH").unwrap_or_default(), &[tree]);
    let program = find_program("ssh-keygen", &folders).ok_or_else(|| {
        let message = "there is no `ssh-keygen` in the folders of PATH that lie outside the working tree";
        ReleaseError::refused(message, NEEDED)
    })?;
    let captured = capture_foreground(Command::new(program).args(arguments), input.to_vec(), &limits);
    let Captured { end, stdout, stderr, .. } =
        captured.map_err(|error| ReleaseError::refused(format!("cannot run `ssh-keygen`: {error}"), NEEDED))?;
    Ok(match end {
        End::Exited(status) if status.success() => Ok(stdout),
        End::TimeOut | End::Overflow => Err("it took too long or printed too much, and was stopped".to_owned()),
        End::Exited(_) => {
            let message = String::from_utf8_lossy(&stderr).trim().replace('\n', "; ");
            Err(if message.is_empty() { "it does not say why".to_owned() } else { message })
        }
    })
}
