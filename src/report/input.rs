//! What the site is made of.

use chrono::NaiveDate;

use sprag_model::analysis::Analysis;
use sprag_model::calibration::Reruns;
use sprag_model::commit::CommitLine;
use sprag_model::head::RunHead;
use sprag_model::ledger::Ledger;
use sprag_model::movers::WeekMovers;
use sprag_model::release::Released;
use sprag_model::run::RecordedRun;
use sprag_model::trend::Trend;

#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub analysis: &'a Analysis,
    /// What changed over the history, as of the newest run.
    pub trend: &'a Trend,
    pub line: &'a CommitLine,
    pub heads: &'a [RunHead],
    /// What moved in the newest [`crate::WEEKS`] weeks, newest first.
    pub movers: &'a [WeekMovers],
    /// The newest run of each suite on each machine as a whole.
    pub newest: &'a [RecordedRun],
    /// What is accepted and waived.
    pub ledger: &'a Ledger,
    /// The day on which that is read.
    pub today: NaiveDate,
    pub releases: &'a Released,
    /// What the rule of the gate said where a commit was measured again.
    pub reruns: &'a [Reruns],
}
