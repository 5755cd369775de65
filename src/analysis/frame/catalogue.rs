//! The series that occur in the runs, each with a number, and what is known of them.

use std::collections::HashMap;

use polars::prelude::*;

use super::cells::{number_of, texts};
use super::change::{HIGHER, LOWER};
use super::decoded::Cell;
use sprag_model::benchmark::Benchmark;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::metric::{Better, Metric};
use sprag_model::sample::Role;
use sprag_model::series::Series;

/// Gives numbers to series. Runs are entered in their order, so what is entered last is the newest.
pub(super) struct Catalogue<'a> {
    cells: &'a [Cell],
    /// The number of the benchmark of each cell; equal benchmarks have one number.
    identities: Vec<usize>,
    places: Vec<Place<'a>>,
    place_numbers: HashMap<(&'a str, &'a str), usize>,
    benchmarks: Vec<Benchmarked<'a>>,
    benchmark_numbers: HashMap<(usize, usize), usize>,
    series: Vec<Entry<'a>>,
}

/// A suite on a machine. Its class may differ by suite: one computer bears a CPU and a GPU.
struct Place<'a> {
    suite: &'a str,
    machine: &'a Machine,
}

/// A benchmark of one version on one machine.
struct Benchmarked<'a> {
    benchmark: &'a Benchmark,
    place: usize,
    /// What it is there for, by the newest run.
    role: Role,
    /// The metric that a gate looks at, by the newest run; absent where it looks at none.
    judged: Option<&'a str>,
    /// The metrics it ever had, with the numbers of their series.
    metrics: Vec<(&'a str, u32)>,
}

struct Entry<'a> {
    benchmark: usize,
    metric: &'a Metric,
}

impl<'a> Catalogue<'a> {
    /// A catalogue of what has these cells.
    pub(super) fn new(cells: &'a [Cell]) -> Catalogue<'a> {
        let mut known: HashMap<&Benchmark, usize> = HashMap::new();
        let identities = cells.iter().map(|cell| {
            let next = known.len();
            *known.entry(&cell.benchmark).or_insert(next)
        });
        Catalogue {
            identities: identities.collect(),
            cells,
            places: Vec::new(),
            place_numbers: HashMap::new(),
            benchmarks: Vec::new(),
            benchmark_numbers: HashMap::new(),
            series: Vec::new(),
        }
    }

    /// Enters a run with the cells of its values, and adds the numbers of their series to `numbers`, one a value.
    /// Gives its place: its suite on its machine.
    pub(super) fn enter(&mut self, run: &'a RunHead, cells: &[u32], numbers: &mut Vec<u32>) -> usize {
        let place = self.enter_place(run);
        let identities = &self.identities;
        // The values of one benchmark stand together.
        let measurements = cells.chunk_by(|a, b| identities[*a as usize] == identities[*b as usize]);
        let measurements: Vec<&[u32]> = measurements.collect();
        for cells in measurements {
            self.enter_measurement(place, cells, numbers);
        }
        place
    }

    fn enter_place(&mut self, run: &'a RunHead) -> usize {
        let place = Place { suite: &run.suite, machine: &run.machine };
        let number = *self.place_numbers.entry((&run.suite, &run.machine.id)).or_insert(self.places.len());
        match self.places.get_mut(number) {
            Some(known) => *known = place,
            None => self.places.push(place),
        }
        number
    }

    fn enter_measurement(&mut self, place: usize, cells: &[u32], numbers: &mut Vec<u32>) {
        let all: &'a [Cell] = self.cells;
        let first = &all[cells[0] as usize];
        let key = (place, self.identities[cells[0] as usize]);
        let number = *self.benchmark_numbers.entry(key).or_insert_with(|| {
            let benchmark = &first.benchmark;
            self.benchmarks.push(Benchmarked { benchmark, place, role: first.role, judged: None, metrics: Vec::new() });
            self.benchmarks.len() - 1
        });
        let benchmarked = &mut self.benchmarks[number];
        let metric = |cell: &u32| -> &'a Metric { &all[*cell as usize].metric };
        benchmarked.role = first.role;
        let names = cells.iter().map(|cell| metric(cell).name.as_str());
        benchmarked.judged = first.role.judged(names).map(|judged| metric(&cells[judged]).name.as_str());
        for metric in cells.iter().map(metric) {
            let known = benchmarked.metrics.iter().find(|(name, _)| *name == metric.name);
            let series = match known {
                Some(&(_, series)) => series,
                None => {
                    let series = number_of(self.series.len());
                    self.series.push(Entry { benchmark: number, metric });
                    benchmarked.metrics.push((&metric.name, series));
                    series
                }
            };
            self.series[series as usize].metric = metric;
            numbers.push(series);
        }
    }

    /// The place with that number: suite, and the machine as its newest run describes it.
    pub(super) fn place(&self, number: usize) -> (&'a str, &'a Machine) {
        (self.places[number].suite, self.places[number].machine)
    }

    /// The series as a frame, sorted by id and numbered anew, and the new number of each old one.
    pub(super) fn into_frame(self) -> PolarsResult<(DataFrame, Vec<u32>)> {
        let ids: Vec<String> = self.series.iter().map(|entry| self.id(entry)).collect();
        let mut sorted: Vec<usize> = (0..self.series.len()).collect();
        sorted.sort_by(|&a, &b| ids[a].cmp(&ids[b]));
        let mut new_numbers = vec![0; sorted.len()];
        for (new, &old) in sorted.iter().enumerate() {
            new_numbers[old] = number_of(new);
        }

        let entries = || sorted.iter().map(|&old| &self.series[old]);
        let of = |entry: &Entry<'a>| &self.benchmarks[entry.benchmark];
        let benchmark = |entry: &Entry<'a>| of(entry).benchmark;
        let place = |entry: &Entry<'a>| self.place(of(entry).place);
        let frame = DataFrame::new(
            sorted.len(),
            vec![
                Column::new("series".into(), (0..number_of(sorted.len())).collect::<Vec<u32>>()),
                texts("series_id", sorted.iter().map(|&old| ids[old].as_str())),
                texts("suite", entries().map(|entry| place(entry).0)),
                texts("benchmark", entries().map(|entry| benchmark(entry).id())),
                texts("name", entries().map(|entry| benchmark(entry).name.as_str())),
                texts("params", entries().map(|entry| benchmark(entry).params_text())),
                texts("variant", entries().map(|entry| benchmark(entry).variant.as_str())),
                Column::new("version".into(), entries().map(|entry| benchmark(entry).version).collect::<Vec<u32>>()),
                texts("role", entries().map(|entry| of(entry).role.word())),
                texts("metric", entries().map(|entry| entry.metric.name.as_str())),
                texts("unit", entries().map(|entry| entry.metric.unit.symbol())),
                texts("better", entries().map(|entry| word(entry.metric.better))),
                texts("machine", entries().map(|entry| place(entry).1.id.as_str())),
                texts("machine_name", entries().map(|entry| place(entry).1.name.as_str())),
                texts("machine_class", entries().map(|entry| place(entry).1.class.as_str())),
                Column::new(
                    "judged".into(),
                    entries().map(|entry| of(entry).judged == Some(entry.metric.name.as_str())).collect::<Vec<bool>>(),
                ),
            ],
        )?;
        Ok((frame, new_numbers))
    }

    fn id(&self, entry: &Entry<'a>) -> String {
        let Benchmarked { benchmark, place, .. } = self.benchmarks[entry.benchmark];
        Series::id_of(&benchmark.id(), benchmark.version, &entry.metric.name, &self.places[place].machine.id)
    }
}

fn word(better: Better) -> &'static str {
    match better {
        Better::Lower => LOWER,
        Better::Higher => HIGHER,
    }
}
