//! Names of other tools as words that a record may hold.
//!
//! Reserved, unsafe and invisible characters, and `%`, become `%` and two hexadecimal digits per byte, as in a URL, so
//! no two names become one. The name of a suite must fit a folder.

use unicode_normalization::UnicodeNormalization as _;

use sprag_base::digest;
use sprag_base::text::is_unsafe_in_name;
use sprag_model::benchmark::MAX_WORD;

/// Longer names end in a digest.
const MAX_SUITE: usize = 60;

const DIGITS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdPart {
    Name,
    Parameter,
    Variant,
}

/// Normalised to NFC, encoded, and cut if too long.
pub fn part(text: &str, part: IdPart) -> String {
    let reserved: &[char] = match part {
        IdPart::Name => &['{', '}', '@', '%'],
        IdPart::Parameter => &['{', '}', '=', ',', '%'],
        IdPart::Variant => &['{', '}', '@', '/', '%'],
    };
    // Fast path: a large history has a hundred thousand names.
    let text = text.trim();
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !reserved.contains(&char::from(byte));
    let is_short = (1..=MAX_WORD).contains(&text.len()) && !text.starts_with(['-', '.']);
    if is_short && text.bytes().all(is_plain) && !text.contains("/.") {
        return text.to_owned();
    }
    let text: String = text.nfc().collect();
    let mut word = String::with_capacity(text.len());
    for (place, character) in text.chars().enumerate() {
        let leads = place == 0 && matches!(character, '-' | '.');
        if leads || reserved.contains(&character) || is_unsafe_in_name(character) {
            encode(&mut word, character);
        } else {
            word.push(character);
        }
    }
    // No part of a path may lead elsewhere.
    let step = |part| match part {
        "." => "%2e",
        ".." => "%2e%2e",
        part => part,
    };
    let word = word.split('/').map(step).collect::<Vec<_>>().join("/");
    match word.chars().count() {
        0 => "%".to_owned(),
        length if length <= MAX_WORD => word,
        _ => {
            let start: String = word.chars().take(MAX_WORD - DIGITS - 1).collect();
            format!("{start}~{}", &digest::sha256_hex(text.as_bytes())[..DIGITS])
        }
    }
}

fn encode(word: &mut String, character: char) {
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        word.push_str(&format!("%{byte:02x}"));
    }
}

/// Lower-case letters, digits, `.`, `_` and single dashes; a digest is added if `others` has that word for another
/// name.
pub fn suite(name: &str, others: &dyn Fn(&str) -> bool) -> String {
    let digits = || digest::sha256_hex(name.as_bytes())[..DIGITS].to_owned();
    let mut word = String::new();
    for character in name.nfc().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_') {
            word.push(character);
        } else if !word.ends_with('-') {
            word.push('-');
        }
    }
    let word = word.trim_matches(['-', '.', '_']);
    let short: String = word.chars().take(MAX_SUITE).collect();
    let is_reserved = matches!(short.split('.').next(), Some("con" | "prn" | "aux" | "nul"))
        || (short.len() == 4 && (short.starts_with("com") || short.starts_with("lpt")));
    let complete = if short.is_empty() || is_reserved { format!("suite-{}", digits()) } else { short.clone() };
    if short.len() < word.len() || (complete == short && others(&complete)) {
        let start: String = complete.chars().take(MAX_SUITE - DIGITS - 1).collect();
        return format!("{}-{}", start.trim_end_matches(['-', '.', '_']), digits());
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::benchmark::Benchmark;

    #[test]
    fn unsafe_characters_are_encoded() {
        let check = |text: &str, expected: &str| assert_eq!(part(text, IdPart::Name), expected);
        check("f(8, 'x')/3", "f(8, 'x')/3");
        check("a{b}@c 5%", "a%7bb%7d%40c 5%25");
        check("-x", "%2dx");
        check(".hidden", "%2ehidden");
        check("cde_collect_1k/3", "cde_collect_1k/3");
        check("a/../b", "a/%2e%2e/b");
        check("../././..", "%2e./%2e/%2e/%2e%2e");
        check("a/...", "a/...");
        check("red\u{1b}[31m\u{202e}", "red%1b[31m%e2%80%ae");
        check("e\u{301}", "é");
        check("  ", "%");
        assert_eq!((part("k=v", IdPart::Parameter), part("a/b", IdPart::Variant)), ("k%3dv".into(), "a%2fb".into()));
        let long = part(&"x".repeat(500), IdPart::Name);
        assert_eq!(long.chars().count(), MAX_WORD);
        assert_ne!(long, part(&"x".repeat(501), IdPart::Name));
    }

    #[test]
    fn a_suite_names_a_folder() {
        let check = |text: &str, expected: &str| assert_eq!(suite(text, &|_| false), expected);
        check("KomaMRI Benchmarks", "komamri-benchmarks");
        check("Execution cycles", "execution-cycles");
        check("../../etc", "etc");
        check("_events", "events");
        for odd in ["", "日本", "con", "NUL.txt", "com1"] {
            assert!(suite(odd, &|_| false).starts_with("suite-"), "{odd}");
        }
        let long = "Throughput Benchmark - Peak Memory Usage (S3 Express One Zone, Incremental Upload, Memory-Limited)";
        assert!(suite(long, &|_| false).len() <= MAX_SUITE);
        let second = suite("a b", &|word| word == "a-b");
        assert!(second.starts_with("a-b-") && second.len() == 12, "{second}");
    }

    proptest::proptest! {
        #[test]
        fn encoded_names_are_valid_and_distinct(a in "\\PC{0,30}|.{0,30}|[a./-]{0,9}", b in "\\PC{0,30}|.{0,30}|[a./-]{0,9}") {
            let (one, other) = (part(&a, IdPart::Name), part(&b, IdPart::Name));
            proptest::prop_assert!(Benchmark::new("s", &one, &[], "default").is_ok(), "{:?}", one);
            let same = |text: &str| text.trim().nfc().collect::<String>();
            proptest::prop_assert_eq!(one == other, same(&a) == same(&b));
        }
    }
}
