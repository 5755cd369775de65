//! All series by what the join asks of them, so that each cluster looks at those that concern it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::series_changes::SeriesChanges;

/// What is the same on every machine: suite, benchmark, variant and metric.
type Measured<'a> = (&'a str, &'a str, &'a str, &'a str);

pub(super) struct SeriesIndex<'a> {
    of_machine: BTreeMap<&'a str, Vec<usize>>,
    of_measured: HashMap<Measured<'a>, Vec<usize>>,
    /// Of each series the number of its benchmark on its machine; none for controls and calibration kernels.
    benchmarks: Vec<Option<usize>>,
}

fn measured<'a>(analysed: &SeriesChanges<'a>) -> Measured<'a> {
    let series = analysed.series;
    (&series.suite, &series.benchmark, &series.variant, &series.metric.name)
}

impl<'a> SeriesIndex<'a> {
    pub(super) fn new(all: &[SeriesChanges<'a>]) -> SeriesIndex<'a> {
        let mut index =
            SeriesIndex { of_machine: BTreeMap::new(), of_measured: HashMap::new(), benchmarks: Vec::new() };
        let mut numbers: HashMap<(&str, &str), usize> = HashMap::new();
        for (number, analysed) in all.iter().enumerate() {
            let series = analysed.series;
            index.of_machine.entry(&series.machine).or_default().push(number);
            index.of_measured.entry(measured(analysed)).or_default().push(number);
            let next = numbers.len();
            let of = || *numbers.entry((&series.machine, &series.benchmark)).or_insert(next);
            index.benchmarks.push((!series.is_auxiliary()).then(of));
        }
        index
    }

    /// The series of these machines, in order.
    pub(super) fn of_machines(&self, machines: &BTreeSet<String>) -> Vec<usize> {
        let of_machines = machines.iter().filter_map(|machine| self.of_machine.get(machine.as_str()));
        let mut numbers: Vec<usize> = of_machines.flatten().copied().collect();
        if machines.len() > 1 {
            numbers.sort_unstable();
        }
        numbers
    }

    /// The series that measure the same as one, on any machine, in order.
    pub(super) fn like(&self, analysed: &SeriesChanges<'a>) -> &[usize] {
        self.of_measured.get(&measured(analysed)).map_or(&[], Vec::as_slice)
    }

    /// How many benchmarks series are of.
    pub(super) fn count_benchmarks(&self, series: &[usize]) -> usize {
        let mut seen = vec![false; self.benchmarks.len()];
        let benchmarks = series.iter().filter_map(|number| self.benchmarks[*number]);
        benchmarks.filter(|benchmark| !std::mem::replace(&mut seen[*benchmark], true)).count()
    }
}
