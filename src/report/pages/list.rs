//! Lists of many rows: with filters, on pages of [`PAGE`] rows each. Of a list of several pages a script file has all rows, by which
//! a reader filters and sorts beyond the page; without script each page leads to the others.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::frame::prelude::*;
use crate::compare::script;
use crate::phrase::Part;
use crate::sheet::{Filter, Row, Table};
use crate::text::visible;

/// So that a page of series has about 120 KB and 2,000 elements.
const PAGE: usize = 150;

/// A list of fewer rows has no filter.
const FEW: usize = 10;

const CHOICES: [(&str, &str); 4] =
    [("suite", "Suite"), ("machine", "Machine"), ("change", "Change"), ("verdict", "Verdict")];

/// The filter of a table whose choices only the script knows.
pub(super) fn filter() -> Filter {
    let choices = CHOICES.map(|(name, label)| (name, label, BTreeSet::new()));
    Filter { choices: choices.to_vec(), has_size: true, ..Filter::default() }
}

/// The pages of a list, and the file with all its rows where there are several.
pub(super) fn list_pages(
    catalog: &Catalog<'_>,
    (path, part): (&str, &str),
    title: &str,
    mut sheet: Sheet,
) -> Result<Vec<Page>, ReportError> {
    let name = path.split('/').next().unwrap_or(path);
    let sections = std::mem::take(&mut sheet.sections);
    let rows = sections.iter().filter_map(Section::table).map(|table| table.rows.len()).sum::<usize>();
    sheet.filter = (rows >= FEW).then(|| filter_of(&sections));
    if rows <= PAGE {
        return Ok(vec![history_page(catalog, (path, part), title, Sheet { sections, ..sheet })?]);
    }
    let all = script::page(link::list_data(name), "list", &data(&sections));
    if let Some(filter) = &mut sheet.filter {
        filter.rows = format!("list-{name}.js");
    }
    let split = split(printed(sections));
    let paths: Vec<String> = (1..=split.len()).map(|number| page_path(path, name, number)).collect();
    let page = |(number, sections): (usize, Vec<Section>)| {
        let sections = sections.into_iter().chain((paths.len() > 1).then(|| pager(&paths, number))).collect();
        let title = if number == 0 { title.to_owned() } else { format!("{title}, page {}", number + 1) };
        history_page(catalog, (&paths[number], part), &title, Sheet { sections, ..sheet.clone() })
    };
    split.into_iter().enumerate().map(page).chain([Ok(all)]).collect()
}

fn page_path(first: &str, name: &str, number: usize) -> String {
    if number == 1 { first.to_owned() } else { link::list_page(name, number) }
}

/// Links to the pages of a list.
fn pager(paths: &[String], current: usize) -> Section {
    let page = |(number, path): (usize, &String)| {
        let now = if number == current { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"../{path}\"{now}>{}</a>", number + 1)
    };
    let links: String = paths.iter().enumerate().map(page).collect();
    Section::default().drawn(format!("<nav class=\"pages\" aria-label=\"Pages\"><span>Page</span>{links}</nav>"))
}

/// What pages have: all rows but those for the script, or a page of these where there is no other.
fn printed(mut sections: Vec<Section>) -> Vec<Section> {
    let is_any = sections.iter().filter_map(Section::table).flat_map(|table| &table.rows).any(|row| !row.is_for_script);
    let mut left = if is_any { 0 } else { PAGE };
    for table in sections.iter_mut().filter_map(Section::table_mut) {
        // A group whose first row goes keeps its heading.
        let mut group = None;
        table.rows.retain_mut(|row| {
            group = row.group.take().or_else(|| group.take());
            let is_shown = !row.is_for_script || left > 0;
            if is_shown {
                row.group = group.take();
                left = left.saturating_sub(1);
            }
            is_shown
        });
    }
    sections.retain(|section| section.table().is_none_or(|table| !table.rows.is_empty()));
    sections
}

/// Each part has at most [`PAGE`] rows; a group that is cut keeps its heading.
fn split(sections: Vec<Section>) -> Vec<Vec<Section>> {
    let (mut pages, mut left) = (vec![Vec::new()], PAGE);
    for mut section in sections {
        while let Some(more) = cut(&mut section, left) {
            let full = std::mem::replace(&mut section, more);
            if left > 0 {
                pages.last_mut().expect("there is one").push(full);
            }
            pages.push(Vec::new());
            left = PAGE;
        }
        left -= section.table().map_or(0, |table| table.rows.len());
        pages.last_mut().expect("there is one").push(section);
    }
    pages
}

/// Leaves so many rows in the table of a section, and returns the section of the others.
fn cut(section: &mut Section, left: usize) -> Option<Section> {
    let rows = &mut section.table_mut().filter(|table| table.rows.len() > left)?.rows;
    let mut others = rows.split_off(left);
    let group = rows.iter().rev().find_map(|row| row.group.clone());
    others[0].group = others[0].group.take().or(group);
    let mut more = section.clone();
    more.table_mut()?.rows = others;
    Some(more)
}

/// What a filter takes a row for, where the list says that: one or several names.
fn names_of(name: &str, section: &Section, table: &Table, row: &Row) -> Vec<String> {
    let facet = row.facets.iter().find(|(facet, _)| *facet == name).map(|(_, words)| words.clone());
    let in_column = || {
        let mut cells = table.cells(row).filter(|(column, _)| column.by() == Some(name));
        cells.find_map(|(_, cell)| match cell {
            Cell::Words(words) | Cell::Noted(words, _) => Some(words.words()),
            Cell::Drawn(_) => None,
        })
    };
    let words = facet.or_else(in_column).or_else(|| (name == "suite").then(|| section.heading.words()));
    let names = words.iter().flat_map(|words| words.split(", ")).flat_map(|words| words.split(" and "));
    names.filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// The choices of the rows that a column makes ones to filter.
fn filter_of(sections: &[Section]) -> Filter {
    let tables = sections.iter().filter_map(|section| Some((section, section.table().filter(|one| is_filtered(one))?)));
    let tables: Vec<(&Section, &Table)> = tables.collect();
    let named = |name: &str| {
        let rows = tables.iter().flat_map(|(section, table)| table.rows.iter().map(move |row| (section, table, row)));
        rows.flat_map(|(section, table, row)| names_of(name, section, table, row)).collect::<BTreeSet<String>>()
    };
    let choices = CHOICES.map(|(name, label)| (name, label, named(name)));
    let has_size = tables.iter().any(|(_, table)| table.columns.iter().any(|column| column.by() == Some("size")));
    Filter {
        choices: choices.into_iter().filter(|(.., names)| names.len() > 1).collect(),
        has_size,
        ..Filter::default()
    }
}

fn is_filtered(table: &Table) -> bool {
    table.columns.iter().any(|column| column.by().is_some()) || table.rows.iter().any(|row| !row.facets.is_empty())
}

/// Of each section its heading, caption, and groups: heading, size, rows. Of a row its cells, facets, and tint.
fn data(sections: &[Section]) -> Value {
    let tables = sections.iter().filter_map(|section| Some((section, section.table().filter(|one| is_filtered(one))?)));
    tables
        .map(|(section, table)| {
            let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
            for row in &table.rows {
                match &row.group {
                    Some([heading, size]) => groups.push((json!(visible(heading)), json!(size), Vec::new())),
                    None if groups.is_empty() => groups.push((json!(""), json!(""), Vec::new())),
                    None => {}
                }
                groups.last_mut().expect("one was added").2.push(row_value(table, row));
            }
            json!([visible(&section.heading.words()), visible(&table.caption), groups])
        })
        .collect()
}

fn row_value(table: &Table, row: &Row) -> Value {
    let cells = table.cells(row).map(|(_, cell)| match cell {
        Cell::Words(words) => json!([parts(words)]),
        Cell::Noted(words, note) => json!([parts(words), parts(note)]),
        Cell::Drawn(picture) if picture.is_empty() => json!([[]]),
        Cell::Drawn(picture) => json!([[["svg", picture]]]),
    });
    let cells: Vec<Value> = cells.collect();
    let facets: Map<String, Value> =
        row.facets.iter().map(|(name, words)| ((*name).to_owned(), json!(visible(words)))).collect();
    if row.bad { json!([cells, facets, 1]) } else { json!([cells, facets]) }
}

fn parts(words: &Phrase) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::Text(words) => json!(visible(words)),
        Part::Strong(words) => json!(["b", visible(words)]),
        Part::Id(words) => json!(["id", visible(words)]),
        Part::Link { to, words, is_name: false } => json!(["a", visible(words), link::in_data(to)]),
        Part::Link { to, words, is_name: true } => json!(["name", visible(words), link::in_data(to)]),
        Part::Outside { url, words } => json!(["outside", visible(words), url]),
        Part::Mark(mark) => json!([format!("v {}", mark.class()), visible(&mark.word), visible(&mark.slot())]),
    };
    words.parts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(heading: &str, groups: &[usize]) -> Section {
        let groups = groups.iter().enumerate().map(|(number, size)| (format!("group {number}"), (0..*size).collect()));
        let rows = Rows::grouped("Rows", groups)
            .column("Name", "full", |number: &usize| format!("row {number}"))
            .column("Machine", "by-machine", |number| ["a", "b and c"][number % 2].to_owned());
        Section::new("id", heading.to_owned()).rows(rows)
    }

    #[test]
    fn a_page_has_so_many_rows_and_a_cut_group_keeps_its_heading() {
        let pages = split(vec![section("one", &[150, 100]), section("two", &[400]), section("three", &[1])]);
        let headings = |sections: &Vec<Section>| {
            let group = |row: &Row| row.group.as_ref().map(|[heading, size]| format!("{heading} of {size}"));
            let rows = sections.iter().filter_map(Section::table).flat_map(|table| &table.rows);
            (rows.clone().count(), rows.filter_map(group).collect::<Vec<String>>().join(", "))
        };
        let result: Vec<(usize, String)> = pages.iter().map(headings).collect();
        let expected = [
            (150, "group 0 of 150"),
            (150, "group 1 of 100, group 0 of 400"),
            (150, "group 0 of 400"),
            (150, "group 0 of 400"),
            (51, "group 0 of 400, group 0 of 1"),
        ];
        assert_eq!(result, expected.map(|(rows, headings)| (rows, headings.to_owned())));
    }

    #[test]
    fn rows_for_the_script_are_not_printed_unless_there_are_no_others() {
        let rows = |is_for_script: fn(usize) -> bool| {
            let mut sections = vec![section("one", &[200, 3]), section("two", &[2])];
            let tables = sections.iter_mut().filter_map(Section::table_mut);
            for (number, row) in tables.flat_map(|table| &mut table.rows).enumerate() {
                row.is_for_script = is_for_script(number);
            }
            let printed = printed(sections);
            let rows = printed.iter().filter_map(Section::table).flat_map(|table| &table.rows);
            (printed.len(), rows.map(|row| row.group.as_ref().map(|group| group[0].clone())).collect::<Vec<_>>())
        };
        let groups = [Some("group 0".to_owned()), None, Some("group 1".to_owned())].to_vec();
        assert_eq!(rows(|number| ![5, 7, 202].contains(&number)), (1, groups));
        let (sections, all) = rows(|_| true);
        assert_eq!((sections, all.len()), (1, PAGE));
    }

    #[test]
    fn choices_are_single_names_and_those_of_one_kind_have_no_field() {
        let filter = filter_of(&[section("one", &[4]), section("two", &[1])]);
        let choices = filter.choices.iter().map(|(name, _, words)| (*name, words.iter().map(String::as_str).collect()));
        let expected = [("suite", vec!["one", "two"]), ("machine", vec!["a", "b", "c"])];
        assert_eq!(choices.collect::<Vec<(&str, Vec<&str>)>>(), expected);
        assert!(!filter.has_size && filter_of(&[section("one", &[1])]).choices.is_empty());
    }

    #[test]
    fn the_data_have_every_row() {
        let value = data(&[section("one", &[2, 1]), Section::new("none", "No rows")]);
        let row = |number: usize, machine: &str| json!([[[[format!("row {number}")]], [[machine]]], {}]);
        let groups = json!([["group 0", "2", [row(0, "a"), row(1, "b and c")]], ["group 1", "1", [row(0, "a")]]]);
        assert_eq!(value, json!([["one", "Rows", groups]]));
    }

    #[test]
    fn rows_for_the_script_have_their_pictures() {
        let rows =
            Rows::new("Rows", [()])
                .column("Machine", "by-machine", |()| "a".to_owned())
                .column("Fit", "g", |()| Cell::Drawn("<svg/>".to_owned()));
        let data = data(&[Section::new("id", "one".to_owned()).rows(rows)]);
        let expected = json!([["one", "Rows", [["", "", [[[[["a"]], [[["svg", "<svg/>"]]]], {}]]]]]]);
        assert_eq!(data, expected);
    }
}
