//! Paths and names that fit a pattern.

/// Whether a name fits: `?` is a character and `*` any text, both without a slash, `**/` any folders, `**` any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    bytes_fit(pattern.as_bytes(), name.as_bytes())
}

/// Whether a path, or a folder that it lies in, fits.
pub fn covers(pattern: &str, path: &str) -> bool {
    let folders = path.match_indices('/').map(|(place, _)| &path[..place]);
    folders.chain([path]).any(|path| fits(pattern.trim_end_matches('/'), path))
}

/// Whether files below a folder may be covered: no if the pattern names other folders first.
pub fn may_cover_below(pattern: &str, folder: &str) -> bool {
    let literal = &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())];
    let folder = format!("{folder}/");
    folder.starts_with(literal.trim_end_matches('/')) || literal.starts_with(&folder)
}

fn bytes_fit(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', b'*', b'/', rest @ ..], _) => {
            let slash = name.iter().position(|byte| *byte == b'/');
            bytes_fit(rest, name) || slash.is_some_and(|slash| bytes_fit(pattern, &name[slash + 1..]))
        }
        ([b'*', b'*', rest @ ..], _) => (0..=name.len()).any(|place| bytes_fit(rest, &name[place..])),
        ([b'*', rest @ ..], _) => {
            bytes_fit(rest, name)
                || name.split_first().is_some_and(|(first, others)| *first != b'/' && bytes_fit(pattern, others))
        }
        ([one, rest @ ..], [first, others @ ..]) => {
            (one == first || *one == b'?' && *first != b'/') && bytes_fit(rest, others)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_and_paths() {
        for (pattern, name, expected) in [
            ("*.json", "a.json", true),
            ("*.json", "a/b.json", false),
            ("a*b?c", "axxbbzc", true),
            ("a?b", "a/b", false),
            ("**/r.json", "r.json", true),
            ("**/r.json", "a/b/r.json", true),
            ("**/r.json", "a/br.json", false),
            ("*/x", "a/x", true),
            ("src/kernels/**", "src/kernels/a/b.c", true),
            ("**/*.cu", "kernels/deep/a.cu", true),
            ("?.c", "ab.c", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_cover_paths_and_folders() {
        for (pattern, path, expected) in [
            ("src/kernels/**", "src/kernels/a/b.c", true),
            ("src/kernels", "src/kernels/a/b.c", true),
            ("src/kernels/", "src/kernels.c", false),
            ("src/*.c", "src/a.c", true),
            ("src/*.c", "src/a/b.c", false),
            ("**/*.cu", "kernels/deep/a.cu", true),
            ("?.c", "a.c", true),
            ("?.c", "ab.c", false),
            ("docs", "src/docs", false),
        ] {
            assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
            let folder = path.rsplit_once('/').map(|(folder, _)| folder);
            assert!(!expected || folder.is_none_or(|folder| may_cover_below(pattern, folder)), "{pattern} {path}");
        }
        for (pattern, folder, expected) in [
            ("src/kernels/**", "src", true),
            ("src/kernels/**", "docs", false),
            ("src/kernels", "src/kernels/deep", true),
            ("**/*.c", "docs", true),
            ("Makefile", "src", false),
        ] {
            assert_eq!(may_cover_below(pattern, folder), expected, "{pattern} {folder}");
        }
    }
}
