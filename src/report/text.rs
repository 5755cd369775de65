//! Text of others, made harmless: for XML and scripts here, for everywhere by `sprag_base::text`.

pub use sprag_base::text::{decoded, shortened, visible};

/// `text` for the inside of an XML element or a quoted attribute.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON for the inside of a script: what would end the script or a line of it is escaped, which JSON reads alike.
pub fn script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, from) = rest.split_at(place);
        let mut characters = from.chars();
        escaped.push_str(before);
        escaped.extend(characters.next().map(|character| format!("\\u{:04x}", character as u32)));
        rest = characters.as_str();
    }
    escaped.push_str(rest);
    escaped
}

/// A script without its comments and indentation, which are a seventh of what a reader loads.
pub(crate) fn bare(script: &str) -> String {
    let is_read = |line: &&str| !line.is_empty() && !line.starts_with("//");
    script.lines().map(str::trim).filter(is_read).flat_map(|line| [line, "\n"]).collect()
}

/// The id of a benchmark without its suite, as a reader may see it.
pub(crate) fn short_benchmark(id: &str) -> String {
    decoded(id.split_once('/').map_or(id, |(_, rest)| rest)).into_owned()
}

/// Parameters such as `n=512, t=2`.
pub(crate) fn without_brackets(params: &str) -> String {
    decoded(&params.trim_start_matches('{').trim_end_matches('}').replace(',', ", ")).into_owned()
}

pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The twelve digits of a commit by which paths and commands name it.
pub(crate) fn commit_digits(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// The first digits of a commit, as many as GitHub shows.
pub(crate) fn short_commit(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

pub(crate) fn short_digest(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_has_a_meaning() {
        assert_eq!(xml("<a b=\"c\" d='e'>&\u{1b}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{fffd}");
        assert_eq!(script("[\"</script><!--&\u{2028}\"]"), "[\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\"]");
    }
}
