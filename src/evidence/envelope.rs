//! The envelope of a signed statement (DSSE): Base64 around what is signed and the signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::file;
use super::release::Fault;
use super::statement::STATEMENT;
use sprag_model::statement::PAYLOAD_TYPE;
use sprag_model::{Envelope, Signature};

pub const ENVELOPE: &str = "statement.dsse.json";

pub fn seal(statement: &[u8], keyid: String, signature: &[u8]) -> Envelope {
    Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(statement),
        signatures: vec![Signature { keyid, sig: STANDARD.encode(signature) }],
    }
}

/// The key and the signature in the envelope of a statement.
pub fn open(bytes: &[u8], statement: &[u8]) -> Result<(String, Vec<u8>), Fault> {
    let fault = |what: String| Fault::new(ENVELOPE, what);
    let envelope: Envelope = file::read(bytes).map_err(|error| fault(error.to_string()))?;
    if let Some(fault) = Fault::compare(ENVELOPE, bytes, &file::to_bytes(&envelope), "is not in the written form") {
        return Err(fault);
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(fault(format!("has the type `{}`, and not `{PAYLOAD_TYPE}`", envelope.payload_type)));
    }
    // Also refused where unused bits are set.
    let decoded = |field: &str| STANDARD.decode(field);
    match decoded(&envelope.payload) {
        Err(_) => return Err(fault("its payload is not Base64".to_owned())),
        Ok(payload) if payload != statement => {
            return Err(fault(format!("contains another statement than {STATEMENT}")));
        }
        Ok(_) => {}
    }
    let [one] = &envelope.signatures[..] else {
        return Err(fault(format!("has {} signatures, and not one", envelope.signatures.len())));
    };
    let signature = decoded(&one.sig).map_err(|_| fault("its signature is not Base64".to_owned()))?;
    Ok((one.keyid.clone(), signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_opens_for_its_statement_alone() {
        let sealed = file::to_bytes(&seal(b"{}\n", "ssh".to_owned(), &[1, 2, 3, 255]));
        assert_eq!(open(&sealed, b"{}\n"), Ok(("ssh".to_owned(), vec![1, 2, 3, 255])));
        let check = |from: &str, to: &str, statement: &[u8], words: &str| {
            let text = String::from_utf8_lossy(&sealed).replace(from, to);
            let fault = open(text.as_bytes(), statement).expect_err(words);
            assert!(fault.what.contains(words), "{fault:?}");
        };
        check("", "", b"[]\n", "another statement");
        check("in-toto", "in-tato", b"{}\n", "has the type");
        check("\"payload\": \"e30K\"", "\"payload\": \"e30\"", b"{}\n", "payload is not Base64");
        check("AQID/w==", "AQID/x==", b"{}\n", "signature is not Base64");
        check("\"keyid\":", "\"keyid\": ", b"{}\n", "written form");
    }
}
