//! A release against the one before, suite by suite.

use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table::{self, SummaryRow};
use crate::link;
use crate::number::count;
use crate::phrase::Phrase;
use crate::sheet::{Rows, Section};
use sprag_model::checklist::FilledChecklist;

/// The machines whose environments differ between two releases that are listed.
const MOST_BANNERS: usize = 5;

/// How a release compares with the one before, where it names one.
pub(super) fn since(catalog: &Catalog<'_>, data: Option<&Data>, filled: &FilledChecklist) -> Option<Section> {
    let before = filled.previous.as_ref()?;
    let section = Section::new("since", format!("Against {before}"));
    let pair = data.and_then(|data| {
        let measured = || catalog.compared_number(&filled.measured);
        let b = measured().or_else(|| number_of(catalog, data, &filled.release))?;
        Some((number_of(catalog, data, before)?, b, data))
    });
    let Some((a, b, data)) = pair.filter(|(a, b, data)| data.measured(*a) < data.measured(*b)) else {
        let note = match pair {
            Some((a, b, data)) if data.measured(a) == data.measured(b) => "Nothing was measured between the two.",
            _ => "The history has no two measured commits of them to compare.",
        };
        return Some(section.paragraph(note));
    };
    let names = [a, b].map(|number| data.commit(number).sha.as_str());
    let page = Pairs::new(data, catalog).page(data, a, b);
    let page = page.unwrap_or_else(|| link::compared(names[0], names[1]));
    let table = table::listed(data, a, b, |_, _| 0);
    let [worse, better] = &table.words;
    let note = Phrase::default()
        .link(page, format!("{before} against {}", filled.release))
        .text(", series by series. The mean is geometric, over the changes of judged series; positive is worse. Its limits assume that all err together.");
    let banners = table.banners.iter().take(MOST_BANNERS);
    let banners = banners.map(|[strong, rest]| Phrase::default().strong(strong.clone()).text(format!(" {rest}")));
    let judged = |of: &SummaryRow| format!("{} of {}", count(of.counts[0] - of.counts[4]), count(of.counts[0]));
    let rows = Rows::new(format!("Each suite on each machine against {before}"), &table.summary)
        .column("Suite", "any", |of| of.suite.clone())
        .column("Machine", "any push", |of| of.machine.clone())
        .column("Judged", "n", |of| judged(of))
        .column(table::capital(worse), "n", |of| count(of.counts[1]))
        .column(table::capital(better), "n", |of| count(of.counts[2]))
        .column("Geometric mean, 95 % limits", "n", |of| match of.interval.is_empty() {
            true => of.mean.clone(),
            false => format!("{} ({})", of.mean, of.interval),
        });
    Some(section.paragraph(note).items(banners).rows(rows).wide())
}

/// The number of the commit of a release: that whose runs its evidence uses, or the one with its tag.
fn number_of(catalog: &Catalog<'_>, data: &Data, name: &str) -> Option<usize> {
    let listed = catalog.releases.newest.iter().find(|release| release.name == name);
    let measured = listed.and_then(|release| release.checklist.as_ref().ok());
    let by_tag = || {
        let mut all = data.commits.iter().chain(&data.tagged);
        all.position(|commit| commit.tags.iter().any(|tag| tag == name))
    };
    measured.and_then(|filled| catalog.compared_number(&filled.measured)).or_else(by_tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use crate::sheet::{Block, Sheet};

    /// The section of the newest release, whose commit is the newest measured one, after the release of that name.
    fn result(before: &str) -> Option<String> {
        let mut sample = sample_data::rich();
        let newest = sample.line.commits[39].sha.clone();
        let filled =
            sample.releases.newest.last_mut().and_then(|one| one.checklist.as_mut().ok()).expect("one came out");
        filled.measured = newest;
        filled.previous = (!before.is_empty()).then(|| before.to_owned());
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let data = Data::new(&catalog);
        let filled = sample.releases.newest.last().and_then(|one| one.checklist.as_ref().ok()).expect("one came out");
        let section = since(&catalog, Some(&data), filled)?;
        let page = section.blocks.first().and_then(|block| match block {
            Block::Paragraph(note) => note.parts.iter().find_map(|part| match part {
                crate::phrase::Part::Link { to, .. } => Some(to.clone()),
                _ => None,
            }),
            _ => None,
        });
        Some(page.unwrap_or_default() + "\n" + &Sheet { sections: vec![section], ..Sheet::default() }.markdown())
    }

    #[test]
    fn a_release_is_compared_with_the_one_before_suite_by_suite() {
        assert_eq!(result(""), None, "it names none");
        let text = result("v0.2.0").expect("it names one");
        assert!(text.starts_with("compare/index.html?a="), "no page is of these two: {text}");
        assert!(text.contains("## Against v0.2.0") && text.contains("| cpu | epyc-9354 | "), "{text}");
        let text = result("v0.3.0-<rc>").expect("it names one");
        let page = text.lines().next().unwrap_or_default();
        assert!(
            page.starts_with("compare/") && page.ends_with(".html"),
            "neighbours among the tagged have a page: {page}"
        );
        let text = result("v9").expect("it names one");
        assert!(text.contains("The history has no two measured commits of them"), "{text}");
    }
}
