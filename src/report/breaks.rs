//! Where long names may break: behind what joins their parts, and not in the midst of a word.
//!
//! `<wbr>` is no character: what a page says, what is copied from it and what a search finds stay as they are. It costs five bytes, so
//! that only a word too long for a narrow column has some, and no part of it is shorter than a line is worth.

/// A word of more characters may break.
const LONG: usize = 18;

/// The fewest characters before a place to break, and behind it.
const LEAST: (usize, usize) = (6, 4);

/// What a word may break behind.
const JOINTS: [u8; 5] = *b"_{,/@";

/// Writes the text between two tags, with the places where its long words may break.
pub(super) fn write(text: &[u8], out: &mut Vec<u8>) {
    for word in text.split_inclusive(u8::is_ascii_whitespace) {
        // Most words are short, in bytes, too.
        if word.len() <= LONG || !word.iter().any(|byte| JOINTS.contains(byte)) {
            out.extend_from_slice(word);
        } else {
            write_word(word, out);
        }
    }
}

fn write_word(word: &[u8], out: &mut Vec<u8>) {
    let mut left = begins(word.trim_ascii_end()).filter(|is_begin| *is_begin).count();
    let is_long = left > LONG;
    let mut since = 0;
    for ((place, byte), is_begin) in word.iter().enumerate().zip(begins(word)) {
        out.push(*byte);
        if is_begin {
            left = left.saturating_sub(1);
            since += 1;
        }
        let is_joint = JOINTS.contains(byte) && !word.get(place + 1).is_some_and(|next| JOINTS.contains(next));
        if is_long && is_joint && since >= LEAST.0 && left >= LEAST.1 {
            out.extend_from_slice(b"<wbr>");
            since = 0;
        }
    }
}

/// Of each byte whether a character begins there: one that is written by a reference, such as `&lt;`, begins at its first.
fn begins(word: &[u8]) -> impl Iterator<Item = bool> {
    word.iter().scan(false, |is_reference, byte| {
        let is_within = *is_reference || byte & 0xc0 == 0x80;
        *is_reference = *byte == b'&' || (*is_reference && *byte != b';');
        Some(!is_within)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|` stands for a place to break.
    fn check(text: &str, expected: &str) {
        let mut out = Vec::new();
        write(text.as_bytes(), &mut out);
        let out = String::from_utf8(out).expect("it is text");
        assert_eq!(out.replace("<wbr>", "|"), expected);
        assert_eq!(out.replace("<wbr>", ""), text);
    }

    #[test]
    fn a_long_name_breaks_behind_what_joins_its_parts() {
        check("tile_gather_scatter_rows{n=4096,dtype=bf16}", "tile_gather_|scatter_|rows{n=4096,|dtype=bf16}");
        check("cpu/tile_gather{n=4096,dtype=bf16} @fast", "cpu/tile_|gather{|n=4096,|dtype=bf16} @fast");
        check("tile_pack{c=64,t=8}", "tile_pack{|c=64,t=8}");
        check("<noor.haddad@example.org>", "<noor.haddad@|example.org>");
        check("see baselines/cpu/some-machine_of_ours.json\nor", "see baselines/|cpu/some-machine_|of_ours.json\nor");
    }

    #[test]
    fn what_is_short_or_has_no_joints_stays() {
        for same in [
            "",
            " ",
            "tile_pack{n=40960}",
            "tile_pack{n=4096} tile_pack{n=4096} tile_pack{n=4096}",
            "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
            "______________________________",
            "a_short_beginning&lt;",
        ] {
            check(same, same);
        }
    }

    #[test]
    fn a_reference_is_one_character_and_stays_whole() {
        check("&lt;&lt;&lt;_&amp;&amp;&amp;_&quot;", "&lt;&lt;&lt;_&amp;&amp;&amp;_&quot;");
        check(
            "&lt;&lt;&lt;_&amp;&amp;&amp;_&quot;&quot;&quot;&quot;_and_more",
            "&lt;&lt;&lt;_&amp;&amp;&amp;_|&quot;&quot;&quot;&quot;_and_|more",
        );
        check("vector&lt;int&gt;_of_many_parts/and_more", "vector&lt;int&gt;_|of_many_|parts/|and_more");
        check("große_namen_haben_viele_zeichen", "große_|namen_|haben_|viele_|zeichen");
    }
}
