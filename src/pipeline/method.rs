//! What the site tells of the method: the constants of the rules, and how often these were right and wrong.

use sprag_analysis::method::{constants, sensitivities};
use sprag_measure::protocol;
use sprag_model::method::{Constants, Figure, MeasuredTable, Method};

/// The document that holds the tables of what was counted; the site shows the same ones.
const TRENDS: &str = include_str!("../../docs/TRENDS.md");

/// The first columns of each of its tables of error rates, and a word, a heading and a caption for it.
const TABLES: [(&str, [&str; 3]); 3] = [
    (
        "family | changes",
        ["found", "How often changes are found", "Series of known changes, 300 a family, at the sensitivity balanced"],
    ),
    (
        "sensitivity | F1@2",
        ["found-by", "How often changes are found, by sensitivity", "The same series at each sensitivity"],
    ),
    (
        "sensitivity | points",
        [
            "nothing",
            "How often a change is reported where there is none",
            "Series without a change, of eight kinds of noise: each change reported of them is false",
        ],
    ),
];

/// The rules in figures.
pub fn method() -> Method {
    let run = Constants {
        of: "What makes a run rough",
        list: vec![
            ("share of samples that were kept from running, more than", Figure::Share(protocol::MOST_PREEMPTED)),
            ("movement of a calibration kernel within the run, more than", Figure::Share(protocol::MOST_MOVEMENT)),
            ("difference of the A/A control beyond its interval, more than", Figure::Share(protocol::CONTROL_SLACK)),
        ],
    };
    let constants = std::iter::once(run).chain(constants()).collect();
    let measured = TABLES.into_iter().map(|(first, words)| table(TRENDS, first, words)).collect();
    Method { sensitivities: sensitivities(), constants, measured }
}

/// The table of a Markdown text of which the first columns have these names.
fn table(text: &str, first: &str, [name, heading, caption]: [&'static str; 3]) -> MeasuredTable {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    let heads = lines.next().map_or_else(Vec::new, cells);
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    MeasuredTable { name, heading, caption, heads, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_document_are_found_whole() {
        let method = method();
        let [found, by_sensitivity, nothing] = &method.measured[..] else { panic!("three tables are shown") };
        assert_eq!((found.heads.len(), found.rows.len()), (12, 15));
        assert_eq!((by_sensitivity.heads.len(), by_sensitivity.rows.len()), (6, 3));
        assert_eq!((nothing.heads.len(), nothing.rows.len()), (7, 15));
        for (table, heading) in [
            (found, "How often changes are found"),
            (by_sensitivity, "How often changes are found, by sensitivity"),
            (nothing, "How often a change is reported where there is none"),
        ] {
            assert_eq!(table.heading, heading);
            assert!(
                table.rows.iter().all(|row| row.len() == table.heads.len() && row.iter().all(|cell| !cell.is_empty()))
            );
        }
        assert_eq!(found.rows[14][0], "all");
        let names: Vec<&str> = method.sensitivities.iter().map(|one| one.name).collect();
        for table in [by_sensitivity, nothing] {
            assert!(table.rows.iter().all(|row| names.contains(&row[0].as_str())));
        }
    }

    #[test]
    fn the_default_was_counted_within_its_budget() {
        let method = method();
        let default = method.sensitivities.iter().find(|one| one.name == "balanced").unwrap();
        let nothing = &method.measured[2];
        let rate = nothing.heads.iter().position(|head| head == "in 1,000 points").unwrap();
        let counted = nothing.rows.iter().filter(|row| row[0] == default.name);
        let rates: Vec<f64> = counted.map(|row| row[rate].parse().unwrap()).collect();
        assert_eq!(rates.len(), 5);
        assert!(rates.iter().all(|rate| (0.001..=default.budget).contains(rate)), "{rates:?}");
    }
}
