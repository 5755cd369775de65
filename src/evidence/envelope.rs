//! The envelope of a signed statement (DSSE): Base64 around what is signed and the signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::file::{self, FileError};
use super::statement::STATEMENT;
use super::sums::first_difference;
use sprag_model::statement::{Envelope, PAYLOAD_TYPE, Signature};

/// The name of the file.
pub const ENVELOPE: &str = "statement.dsse.json";

/// An envelope with one signature around a statement.
pub fn sealed(statement: &[u8], keyid: String, signature: &[u8]) -> Envelope {
    Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(statement),
        signatures: vec![Signature { keyid, sig: STANDARD.encode(signature) }],
    }
}

/// The bytes of a field in Base64; absent where it is none, also where its unused bits are set.
pub fn decoded(field: &str) -> Option<Vec<u8>> {
    STANDARD.decode(field).ok()
}

pub fn to_file(envelope: &Envelope) -> Vec<u8> {
    file::text(envelope).into_bytes()
}

/// Reads an envelope.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read(bytes: &[u8]) -> Result<Envelope, FileError> {
    file::read(bytes)
}

/// The key and the signature of the envelope of a statement.
///
/// # Errors
/// What is wrong with it, and at which byte where that is known.
pub fn opened(bytes: &[u8], statement: &[u8]) -> Result<(String, Vec<u8>), (Option<usize>, String)> {
    let fault = |what: String| (None, what);
    let sealed = read(bytes).map_err(|error| fault(error.to_string()))?;
    if let Some(byte) = first_difference(bytes, &to_file(&sealed)) {
        return Err((Some(byte), "is not as it is written".to_owned()));
    }
    if sealed.payload_type != PAYLOAD_TYPE {
        return Err(fault(format!("is of the type `{}`, and not `{PAYLOAD_TYPE}`", sealed.payload_type)));
    }
    match decoded(&sealed.payload) {
        None => return Err(fault("its payload is no Base64".to_owned())),
        Some(payload) if payload != statement => {
            return Err(fault(format!("holds another statement than {STATEMENT}")));
        }
        Some(_) => {}
    }
    let [one] = &sealed.signatures[..] else {
        return Err(fault(format!("has {} signatures, and not one", sealed.signatures.len())));
    };
    let signature = decoded(&one.sig).ok_or_else(|| fault("its signature is no Base64".to_owned()))?;
    Ok((one.keyid.clone(), signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_reads_back() {
        let envelope = sealed(b"{}\n", "ssh".to_owned(), &[1, 2, 3, 255]);
        let back = read(&to_file(&envelope)).unwrap();
        assert_eq!(back, envelope);
        assert_eq!(decoded(&back.payload).as_deref(), Some(&b"{}\n"[..]));
        assert_eq!(decoded(&back.signatures[0].sig), Some(vec![1, 2, 3, 255]));
        assert!(decoded("e30").is_none() && decoded("e31=").is_none());
    }
}
