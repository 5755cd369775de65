//! Tables for a terminal, without borders, lined up by the width that characters take there.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The blanks between two columns.
const GAP: u16 = 2;

/// Rows as columns: each as wide as its widest cell, those listed in `right` aligned to the right.
pub fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[&str]], right: &[usize], expected: &str) {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect();
        assert_eq!(columns(&rows, right), expected);
    }

    #[test]
    fn columns_line_up() {
        check(&[&["a", "10"], &["bcd", "9"]], &[1], "a    10\nbcd   9\n");
        check(&[&["a", ""], &["bcd", "x"]], &[], "a\nbcd  x\n");
        check(&[&["a"], &["b", "c"]], &[], "a\nb  c\n");
        check(&[], &[], "");
    }

    #[test]
    fn a_wide_character_takes_two_places() {
        check(&[&["核", "1"], &["ab", "2"], &["e\u{301}", "3"]], &[], "核  1\nab  2\ne\u{301}   3\n");
    }
}
