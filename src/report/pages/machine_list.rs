//! The list of machines.

use std::collections::BTreeSet;

use askama::Template;

use super::frame::{Frame, Part};
use super::html::page;
use crate::ReportError;
use crate::catalog::{Catalog, MachineRuns};
use crate::date;
use crate::link;
use crate::number::{self, count, counted};
use sprag_model::page::Page;

#[derive(Template)]
#[template(path = "machine_list.html")]
struct MachineListPage {
    frame: Frame,
    headline: String,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    page: String,
    class: String,
    suites: String,
    runs: String,
    environments: String,
    newest: String,
}

/// The page that lists all machines, the one that ran last first.
pub(crate) fn machine_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let headline = counted(catalog.machines.len(), "machine", "machines");
    let frame = Frame::new(catalog, link::MACHINE_LIST, Part::Machines, "Machines".to_owned(), headline.clone());
    let mut machines: Vec<&MachineRuns<'_>> = catalog.machines.values().collect();
    machines.sort_by_key(|one| (one.runs.first().map(|run| std::cmp::Reverse(run.timestamp)), &one.machine.id));
    let rows = machines.into_iter().map(row).collect();
    page(link::MACHINE_LIST.to_owned(), &MachineListPage { frame, headline, rows })
}

fn row(one: &MachineRuns<'_>) -> Row {
    let suites: BTreeSet<&str> = one.runs.iter().map(|run| run.suite.as_str()).collect();
    let environments: BTreeSet<&str> = one.runs.iter().map(|run| run.environment.key.as_str()).collect();
    Row {
        name: one.machine.name.clone(),
        page: link::machine(&one.machine.id),
        class: one.machine.class.clone(),
        suites: suites.into_iter().collect::<Vec<_>>().join(", "),
        runs: count(one.runs.len()),
        environments: count(environments.len()),
        newest: one.runs.first().map_or_else(|| number::NONE.to_owned(), |run| date::moment(run.timestamp)),
    }
}
