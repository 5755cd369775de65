//! A comparison as Markdown. The script of the site writes the same text for any pair.

use super::commits::ComparedCommit;
use super::data::Data;
use super::table::{Group, SummaryRow, Table};
use super::words::{ComparedRow, Kind};
use crate::number;
use crate::phrase::Phrase;
use crate::sheet::{self, Column, Row, Section, Sheet};
use crate::text::{capital, commit_digits};

pub(crate) const ROWS: usize = 60;

const COLUMNS: [(&str, &str); 8] = [
    ("Series", ""),
    ("Machine", ""),
    ("Verdict", ""),
    ("Level at A", "n"),
    ("Level at B", "n"),
    ("Change", "n"),
    ("95\u{202f}% interval", "n"),
    ("Detectable", "n"),
];

pub(crate) const UNMEASURED: &str = ", not measured: each series as it was measured last before it";

pub(super) const AVERAGES_NOTE: &str = "Limits assume that the errors of all series are correlated. Those of an unchanged series reach from zero to the measured difference.";

pub(crate) fn markdown(data: &Data, [a, b]: [usize; 2], table: &Table) -> String {
    let pieces = table.headline.iter().map(|[_, glyph, words]| format!("{glyph} {words}").trim().to_owned());
    let sides = [('A', a), ('B', b)].map(|(letter, commit)| side(letter, data.commit(commit)));
    let mut top = Section::default().items(sides);
    for [strong, words] in &table.banners {
        top = top.paragraph(Phrase::default().strong(strong.clone()).text(format!(" {words}")));
    }
    if !table.summary.is_empty() {
        top = top.with(summary(table)).paragraph(AVERAGES_NOTE);
    }
    let (listed, counted): (Vec<&Group>, Vec<&Group>) = table.groups.iter().partition(|group| is_listed(group));
    let rest = counted.iter().map(|group| {
        let detectable = [if group.detectable.is_empty() { "" } else { ", " }, &group.detectable].concat();
        format!("{}: {}{detectable}.", group.heading, number::count(group.count))
    });
    let rest = Section::default().paragraph(rest.collect::<Vec<String>>().join(" "));
    let groups = listed.into_iter().map(|group| {
        let section = Section::new("", format!("{} ({})", group.heading, number::count(group.count)));
        let section = section.with(sheet::Table::new(&COLUMNS, group.rows.iter().take(ROWS).map(row).collect()));
        match group.count.saturating_sub(ROWS) {
            0 => section,
            more => section.paragraph(format!("And {} more.", number::count(more))),
        }
    });
    let sheet = Sheet {
        headline: Phrase::plain(format!("{} to {}", data.name(a), data.name(b))),
        lede: Phrase::default().strong(pieces.collect::<Vec<String>>().join(" ")),
        sections: std::iter::once(top).chain(groups).chain([rest]).collect(),
        ..Sheet::default()
    };
    sheet.markdown()
}

fn summary(table: &Table) -> sheet::Table {
    let [worse, better] = [0, 1].map(|place| capital(&table.words[place]));
    let heads =
        ["Suite", "Machine", "Series", &worse, &better, "No change", "No verdict", "Mean", "95\u{202f}% limits"];
    let class = |place: usize| if place < 2 { "" } else { "n" };
    let column = |(place, head): (usize, &&str)| Column { head: (*head).to_owned().into(), class: class(place) };
    let columns = heads.iter().enumerate().map(column).collect();
    let row = |row: &SummaryRow| {
        let names = [&row.suite, &row.machine].into_iter().cloned();
        Row::new(names.chain(row.counts.map(number::count)).chain([row.mean.clone(), row.interval.clone()]))
    };
    sheet::Table { columns, rows: table.summary.iter().map(row).collect(), ..sheet::Table::default() }
}

fn is_listed(group: &Group) -> bool {
    group.rows.first().is_some_and(|row| matches!(row.kind, Kind::Worse | Kind::Better | Kind::Doubt))
        && !group.is_auxiliary()
}

fn side(letter: char, commit: &ComparedCommit) -> Phrase {
    let ComparedCommit { sha, day, subject, tags, .. } = commit;
    let tags = if tags.is_empty() { String::new() } else { format!(" {}", tags.join(", ")) };
    let unmeasured = if commit.measured_before.is_some() { UNMEASURED } else { "" };
    let subject = if subject.is_empty() { String::new() } else { format!(", “{subject}”") };
    Phrase::plain(format!("{letter}: ")).id(commit_digits(sha)).text(format!("{tags}{subject}, {day}{unmeasured}"))
}

fn row(row: &ComparedRow) -> Row {
    let [_, glyph, word] = &row.mark;
    let verdict = format!("{glyph} {word}");
    Row::new([
        Phrase::code(&*row.name).text(format!(" {}", row.metric)),
        Phrase::plain(&*row.machine),
        if row.reason.is_empty() { verdict } else { format!("{verdict}: {}", row.reason) }.into(),
        row.before.clone().into(),
        row.after.clone().into(),
        row.change.clone().into(),
        row.interval.clone().into(),
        format!("{} {}", row.shows, row.times).trim_end().into(),
    ])
}
