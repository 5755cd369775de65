//! The order of names that a reader expects: 512 before 4096.

use std::cmp::Ordering;

/// Compares runs of digits as numbers; equal only where the texts are.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (left_digits, right_digits) = (digits(left), digits(right));
        if left_digits > 0 && right_digits > 0 {
            let (number_left, number_right) =
                (left[..left_digits].trim_start_matches('0'), right[..right_digits].trim_start_matches('0'));
            let order = number_left.len().cmp(&number_right.len()).then_with(|| number_left.cmp(number_right));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (&left[left_digits..], &right[right_digits..]);
            continue;
        }
        match (left.chars().next(), right.chars().next()) {
            (Some(x), Some(y)) if x == y => (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]),
            (Some(x), Some(y)) => return x.cmp(&y),
            (None, None) => return a.cmp(b),
            (x, y) => return x.cmp(&y),
        }
    }
}

/// The names and values of parameters written as `{k=v,…}`.
pub fn parameters(text: &str) -> Vec<(&str, &str)> {
    let list = text.trim_start_matches('{').trim_end_matches('}');
    list.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = ["{n=4096}", "{n=512}", "{n=64,t=10}", "{n=64,t=9}", "", "{n=0512}", "{n=}"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["", "{n=64,t=9}", "{n=64,t=10}", "{n=0512}", "{n=512}", "{n=4096}", "{n=}"]);
        assert_eq!(natural("é2", "é10"), Ordering::Less);
        assert_eq!(parameters("{c=128,t=8}"), vec![("c", "128"), ("t", "8")]);
        assert!(parameters("").is_empty());
    }
}
