//! Arrays of numbers as NumPy saves them: `.npy`, versions 1 to 3 (NEP 1), little-endian and in C order.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Such as `f4`: kind and bytes of an element.
    pub kind: String,
    /// Empty for a single number.
    pub shape: Vec<u64>,
    /// Little-endian.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NpyError {
    #[error("is not a `.npy` file: {0}")]
    Head(&'static str),
    #[error("has elements of the type `{0}`; save little-endian numbers, as by `array.astype(\"<f4\")`")]
    Kind(String),
    #[error("is in Fortran order; save `numpy.ascontiguousarray(array)`")]
    Order,
    #[error("has {actual} bytes of data where its shape needs {needed}")]
    Length { needed: u64, actual: u64 },
}

const MAGIC: &[u8] = b"\x93NUMPY";

const KINDS: [&str; 12] = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"];

/// The data begin at a multiple of this.
const ALIGNMENT: usize = 64;

impl Array {
    pub fn read(bytes: &[u8]) -> Result<Array, NpyError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Head("it does not begin as one"))?;
        let cut = NpyError::Head("its header is cut off");
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            [version, _, ..] if *version > 3 => return Err(NpyError::Head("its version is newer than 3")),
            _ => return Err(cut),
        };
        let (header, data) = rest.split_at_checked(length).ok_or(cut)?;
        let header = String::from_utf8_lossy(header);
        let field = |name: &str| Some(header.split_once(&format!("'{name}':"))?.1.trim_start());
        let unreadable = || NpyError::Head("its header cannot be read");
        let descr = field("descr").ok_or_else(unreadable)?;
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next()).unwrap_or("a structure");
        let kind = descr.trim_start_matches(['<', '|']);
        if !KINDS.contains(&kind) {
            return Err(NpyError::Kind(descr.chars().filter(|c| !c.is_control()).take(20).collect()));
        }
        let shape = field("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or_else(unreadable)?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape: Vec<u64> = sizes.map(|size| size.parse().map_err(|_| unreadable())).collect::<Result<_, _>>()?;
        if field("fortran_order").ok_or_else(unreadable)?.starts_with("True") && shape.len() > 1 {
            return Err(NpyError::Order);
        }
        let needed = shape.iter().fold(element_bytes(kind), |product, size| product.saturating_mul(*size));
        let actual = data.len() as u64;
        if needed != actual {
            return Err(NpyError::Length { needed, actual });
        }
        Ok(Array { kind: kind.to_owned(), shape, bytes: data.to_vec() })
    }

    /// The type of its elements as NumPy names it, such as `int64`.
    pub fn type_name(&self) -> String {
        let sort = match self.kind.as_bytes().first() {
            Some(b'f') => "float",
            Some(b'i') => "int",
            Some(b'u') => "uint",
            _ => return "bool".to_owned(),
        };
        format!("{sort}{}", 8 * element_bytes(&self.kind))
    }

    pub fn write(&self) -> Vec<u8> {
        let endian = if element_bytes(&self.kind) == 1 { '|' } else { '<' };
        let sizes: String = self.shape.iter().map(|size| format!("{size},")).collect();
        let header = format!("{{'descr': '{endian}{}', 'fortran_order': False, 'shape': ({sizes}), }}", self.kind);
        // With the magic, version, length and the final line feed.
        let length = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(ALIGNMENT) - MAGIC.len() - 4;
        let mut bytes = [MAGIC, &[1, 0], &u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes()].concat();
        bytes.extend(format!("{header:<width$}\n", width = length - 1).as_bytes());
        bytes.extend(&self.bytes);
        bytes
    }
}

fn element_bytes(kind: &str) -> u64 {
    kind.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(kind: &str, shape: &[u64], bytes: &[u8]) -> Array {
        Array { kind: kind.to_owned(), shape: shape.to_vec(), bytes: bytes.to_vec() }
    }

    #[test]
    fn arrays_are_written_as_numpy_does_and_read_back() {
        let written = array("f4", &[2], &[0, 0, 128, 63, 0, 0, 0, 64]).write();
        // numpy.save of numpy.array([1, 2], "<f4"), NumPy 2.3.
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        let mut expected = b"\x93NUMPY\x01\x00v\x00".to_vec();
        expected.extend(format!("{header:<117}\n").as_bytes());
        expected.extend([0, 0, 128, 63, 0, 0, 0, 64]);
        assert_eq!(written, expected);
        for (kind, shape, bytes) in
            [("u1", &[3][..], &[1, 2, 3][..]), ("i8", &[], &[1; 8]), ("f2", &[2, 0], &[]), ("f8", &[1, 2], &[7; 16])]
        {
            let one = array(kind, shape, bytes);
            let written = one.write();
            assert_eq!((written.len() - bytes.len()) % ALIGNMENT, 0);
            assert_eq!(Array::read(&written), Ok(one));
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let with = |header: &str, data: &[u8]| {
            let length = (header.len() as u16).to_le_bytes();
            [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
        };
        let check = |bytes: &[u8], words: &str| {
            let error = Array::read(bytes).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        };
        check(b"", "does not begin as one");
        check(b"\x93NUMPY\x01\x00\xff", "is cut off");
        check(b"\x93NUMPY\x01\x00\xff\xff{}", "is cut off");
        check(b"\x93NUMPY\x04\x00\xff\xff{}", "newer than 3");
        check(&with("{}", b""), "header cannot be read");
        check(&with("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", &[0; 4]), "`>f4`");
        check(&with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", &[0; 4]), "`a structure`");
        check(&with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", &[0; 16]), "Fortran order");
        check(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 7]), "has 7 bytes of data");
        check(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", &[0; 4]), "header cannot be read");
        let most = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({m}, {m}), }}", m = u64::MAX);
        check(&with(&most, &[0; 4]), "has 4 bytes of data");
    }
}
