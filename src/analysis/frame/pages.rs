//! What the pages of a column in a Parquet file unpack to, by their headers alone.
//!
//! The header of a page is a struct in the compact protocol of Thrift. Whoever unpacks a page makes room for as much as its
//! header says, up to 2 GiB, and refuses a page that has more. The footer of the file may say anything.

use std::collections::BTreeMap;

/// One text of a dictionary may be the value of each row.
const MOST_DICTIONARY: i64 = 256 << 10;

const PLAIN: i64 = 0;

/// Values that are numbers of a dictionary, in both versions of pages.
const NUMBERS: [i64; 2] = [2, 8];

/// The bytes that the pages of a column unpack to. In other encodings, or with a dictionary, values take more room than in
/// their page; of the latter, `may_number` allows small ones.
///
/// # Errors
/// What is a problem with the first bad page.
pub(super) fn unpacked(mut column: &[u8], may_number: bool) -> Result<i64, &'static str> {
    let mut total = 0;
    while !column.is_empty() {
        let mut numbers = BTreeMap::new();
        read_struct(&mut column, 0, 0, &mut numbers).ok_or("a page without a header")?;
        let number = |outer: i64, field: i64| numbers.get(&(outer, field)).copied().filter(|number| *number >= 0);
        let kind = number(0, 1);
        let (Some(size), Some(packed)) = (number(0, 2), number(0, 3).and_then(|packed| usize::try_from(packed).ok()))
        else {
            return Err("a page without a size");
        };
        let encoding = match kind {
            Some(0) => number(5, 2),
            Some(3) => number(8, 4),
            Some(2) if !may_number => return Err("a dictionary"),
            Some(2) if size > MOST_DICTIONARY => return Err("a dictionary that is too large"),
            Some(2) => Some(PLAIN),
            _ => None,
        };
        if !encoding.is_some_and(|encoding| encoding == PLAIN || (may_number && NUMBERS.contains(&encoding))) {
            return Err("a page in another encoding");
        }
        skip(&mut column, packed).ok_or("a page that is cut short")?;
        total += size;
    }
    Ok(total)
}

fn skip(bytes: &mut &[u8], count: usize) -> Option<()> {
    *bytes = bytes.get(count..)?;
    Some(())
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let first = *bytes.first()?;
    skip(bytes, 1)?;
    Some(first)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        number |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Adds the numbers of a struct, and of those in it, each by the field of its struct and its own; the outer one is 0. Headers
/// of pages have no lists. A field that comes twice is refused, as readers differ in which they take.
fn read_struct(bytes: &mut &[u8], outer: i64, depth: u8, numbers: &mut BTreeMap<(i64, i64), i64>) -> Option<()> {
    let zigzag = |number: u64| (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
    let mut field: i64 = 0;
    loop {
        let head = byte(bytes)?;
        if head == 0 {
            return Some(());
        }
        field = match head >> 4 {
            0 => zigzag(varint(bytes)?),
            more => field.checked_add(more.into())?,
        };
        match head & 15 {
            1 | 2 => {}
            3 => skip(bytes, 1)?,
            4..=6 => {
                let number = zigzag(varint(bytes)?);
                let mut is_new = || numbers.insert((outer, field), number).is_none();
                (depth > 1 || (i32::try_from(number).is_ok() && is_new())).then_some(())?;
            }
            7 => skip(bytes, 8)?,
            8 => {
                let count = varint(bytes)?;
                skip(bytes, usize::try_from(count).ok()?)?;
            }
            12 if depth < 3 => read_struct(bytes, field, depth + 1, numbers)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a page of that kind, which unpacks to `size` bytes, with one byte after it.
    fn page(kind: u8, size: u8, encoding: u8) -> Vec<u8> {
        let (outer, inner) = if kind == 2 { (4 << 4, 1 << 4) } else { (2 << 4, 1 << 4) };
        [0x15, kind * 2, 0x15, size * 2, 0x15, 2, outer | 12, inner | 5, 2, 0x15, encoding * 2, 0, 0, b'x'].into()
    }

    #[test]
    fn pages_are_read_by_their_headers() {
        let check = |column: &[u8], may_number: bool, expected: Result<i64, &str>| {
            assert_eq!(unpacked(column, may_number), expected, "{column:?}");
        };
        check(&[], false, Ok(0));
        check(&[page(0, 7, 0), page(0, 9, 0)].concat(), false, Ok(16));
        check(&page(0, 7, 8), true, Ok(7));
        check(&page(0, 7, 8), false, Err("a page in another encoding"));
        check(&page(0, 7, 7), true, Err("a page in another encoding"));
        check(&page(1, 7, 0), true, Err("a page in another encoding"));
        check(&page(2, 7, 0), true, Ok(7));
        check(&page(2, 7, 0), false, Err("a dictionary"));
        let valid = page(0, 7, 0);
        check(&valid[..valid.len() - 1], false, Err("a page that is cut short"));
        (1..valid.len() - 1).for_each(|end| check(&valid[..end], false, Err("a page without a header")));
        // A size that comes twice, one below zero, and one that is too large.
        check(&[&[0x15, 0, 0x15, 4, 0x05, 4, 6][..], &[0x15, 2, 0]].concat(), false, Err("a page without a header"));
        check(&[0x15, 0, 0x15, 3, 0x15, 2, 0], false, Err("a page without a size"));
        check(&[0x15, 0, 0x16, 0xff, 0xff, 0xff, 0xff, 0x7f, 0], false, Err("a page without a header"));
        check(&[0x1c; 100], false, Err("a page without a header"));
        check(&[0x19, 0x15, 2], false, Err("a page without a header"));
    }
}
