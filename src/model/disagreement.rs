//! Machines of one class that disagree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::NamedMachine;
use super::metric::Metric;
use sprag_base::number::{percent, short_percent};
use sprag_base::text::{decoded, printable};

/// Machines that differ by no more agree: the default tolerance of gates, and the least that shows on shared machines.
pub const LIMIT: f64 = 0.02;

/// A machine that measures a suite slower or faster than others of its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    pub suite: String,
    pub machine_class: String,
    pub machine: NamedMachine,
    /// The machines that it is compared with. Where it is one, either may be at fault, and the slower one is `machine`.
    pub others: Vec<NamedMachine>,
    pub metric: Metric,
    /// Whether a gate judges this metric.
    pub judged: bool,
    /// The name of the benchmark that differs; absent where those of the suite do in general.
    pub name: Option<String>,
    /// The number of series compared.
    pub series: usize,
    /// The median difference from the median of the others; positive is worse.
    pub change: f64,
    /// The newest sessions compared.
    pub sessions: usize,
    /// The number of them that differ by more than 2 % in that direction.
    pub beyond: usize,
    /// The benchmark that differs most in that direction.
    pub most: String,
    pub most_change: f64,
}

impl Disagreement {
    pub fn machines(&self) -> impl Iterator<Item = &NamedMachine> {
        self.others.iter().chain([&self.machine])
    }

    /// Such as `` `b` measures `cpu` 5.1 % slower than `a` of the same class, by more than 2 % in 19 of 20 sessions ``.
    pub fn sentence(&self) -> String {
        let safe = |text: &str| printable(&decoded(text));
        let size = |change: f64| percent(change.abs(), 1);
        let (machine, suite) = (safe(&self.machine.name), safe(&self.suite));
        let what = self.name.as_ref().map_or(format!("`{suite}`"), |name| format!("`{}` of `{suite}`", safe(name)));
        let others = match self.others.as_slice() {
            [other] => format!("`{}` of the same class", safe(&other.name)),
            others => format!("the {} others of its class", others.len()),
        };
        let most = match self.series {
            1 => String::new(),
            _ => format!("; most in `{}`, {}", safe(&self.most), size(self.most_change)),
        };
        let (change, word) = (size(self.change), self.metric.word(self.change > 0.0));
        let (limit, beyond, sessions) = (short_percent(LIMIT), self.beyond, self.sessions);
        format!(
            "`{machine}` measures {what} {change} {word} than {others}, by more than {limit} in {beyond} of {sessions} \
             sessions{most}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_machines_size_and_lead() {
        let named = |name: &str| NamedMachine { id: name.to_owned(), name: name.to_owned() };
        let pair = Disagreement {
            suite: "cpu".to_owned(),
            machine_class: "x".to_owned(),
            machine: named("b"),
            others: vec![named("a")],
            metric: Metric::time(),
            judged: true,
            name: None,
            series: 12,
            change: 0.051,
            sessions: 20,
            beyond: 19,
            most: "cpu/scan @fast".to_owned(),
            most_change: 0.09,
        };
        let expected = "`b` measures `cpu` 5.1 % slower than `a` of the same class, by more than 2 % in 19 of 20 sessions; \
                        most in `cpu/scan @fast`, 9.0 %";
        assert_eq!(pair.sentence(), expected);
        let of_three = Disagreement {
            others: vec![named("a"), named("c")],
            name: Some("scan".to_owned()),
            series: 1,
            change: -0.03,
            ..pair
        };
        let expected = "`b` measures `scan` of `cpu` 3.0 % faster than the 2 others of its class, by more than 2 % in 19 of 20 \
                        sessions";
        assert_eq!(of_three.sentence(), expected);
    }
}
