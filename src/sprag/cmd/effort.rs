//! How much time measuring may take: from the options of a command to a protocol.

use super::Advice;
use crate::cli::EffortArgs;
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_measure::pinning;
use sprag_measure::plan::Protocol;

/// The shortest time that allows a worker process to start, check its kernels and time each of them once.
const SHORTEST_BUDGET: f64 = 1.0;

/// The longest time: more is a slip of the keyboard.
const LONGEST_BUDGET: f64 = 86_400.0;

/// How much effort to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    /// How many worker processes.
    pub(super) extent: Extent,
    /// The processor that workers are kept on.
    pub(super) pin: Option<u32>,
}

/// How many worker processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// As many as the suite says, five where it says nothing.
    Ordinary,
    Quick,
    /// Fifteen, and never fewer than an ordinary one has.
    Rigorous,
    /// As many as fit that many seconds a suite.
    Budget(f64),
}

impl Effort {
    /// Reads the options.
    ///
    /// # Errors
    /// A time that is none, or so short or long that it cannot be meant; a processor that this machine lacks.
    pub(super) fn of(args: &EffortArgs) -> anyhow::Result<Effort> {
        let extent = match (args.quick, args.rigorous, &args.budget) {
            (true, _, _) => Extent::Quick,
            (_, true, _) => Extent::Rigorous,
            (_, _, Some(text)) => Extent::Budget(budget(text)?),
            _ => Extent::Ordinary,
        };
        if let Some(pin) = args.pin {
            let allowed = pinning::allowed();
            if !allowed.is_empty() && !allowed.contains(&pin) {
                let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
                return Err(Advice {
                    message: format!("there is no processor {pin} to keep workers on"),
                    hint: format!("this process may run on {}", list.join(", ")),
                }
                .into());
            }
        }
        Ok(Effort { extent, pin: args.pin })
    }

    /// The protocol, for a suite that wants that many processes.
    pub(super) fn protocol(&self, processes: u32) -> Protocol {
        let protocol = match self.extent {
            Extent::Ordinary => Protocol::ordinary(processes),
            Extent::Quick => Protocol::quick(),
            Extent::Rigorous => {
                Protocol { processes: Protocol::rigorous().processes.max(processes), ..Protocol::rigorous() }
            }
            Extent::Budget(seconds) => Protocol::within(seconds),
        };
        Protocol { pin: self.pin, ..protocol }
    }

    /// The protocol of a comparison, whose processes are pairs. One pair decides nothing, so a quick one takes three; an
    /// ordinary one takes twice the processes of a run: from ten pairs on 5 % are found where processes differ by 2 %, and
    /// one pair that the machine disturbed is left out.
    pub(super) fn protocol_of_pairs(&self, processes: u32) -> Protocol {
        let protocol = self.protocol(processes);
        let pairs = match self.extent {
            Extent::Quick => FEWEST_PAIRS as u32,
            Extent::Ordinary => (2 * protocol.processes).max(FEWEST_PAIRS as u32),
            Extent::Rigorous => Effort::rigorous_pairs(processes),
            Extent::Budget(_) => protocol.processes,
        };
        Protocol { processes: pairs, ..protocol }
    }

    /// How many pairs a rigorous comparison takes of a suite whose runs have so many processes.
    pub(super) fn rigorous_pairs(processes: u32) -> u32 {
        Protocol::rigorous().processes.max(2 * processes)
    }

    /// The word that records bear.
    pub(super) fn word(&self) -> &'static str {
        match self.extent {
            Extent::Ordinary => "ordinary",
            Extent::Quick => "quick",
            Extent::Rigorous => "rigorous",
            Extent::Budget(_) => "budget",
        }
    }
}

/// Seconds from a text such as `60s`, `10m`, `1h` or `90`.
fn budget(text: &str) -> anyhow::Result<f64> {
    let refuse = |why: String| Advice {
        message: format!("`--budget {}` {why}", text.escape_debug()),
        hint: "give seconds, minutes or hours, such as `60s`, `10m` or `1h`".to_owned(),
    };
    let trimmed = text.trim();
    let (number, factor) = match trimmed.char_indices().last() {
        Some((place, 's')) => (&trimmed[..place], 1.0),
        Some((place, 'm')) => (&trimmed[..place], 60.0),
        Some((place, 'h')) => (&trimmed[..place], 3600.0),
        _ => (trimmed, 1.0),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| refuse("is no time".to_owned()))? * factor;
    if !(SHORTEST_BUDGET..=LONGEST_BUDGET).contains(&seconds) {
        let range = format!("from {SHORTEST_BUDGET} s to {} h", LONGEST_BUDGET / 3600.0);
        return Err(refuse(format!("is out of range: {range} is allowed")).into());
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_time_in_range() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(budget(text).ok(), expected, "{text}");
        check("60s", Some(60.0));
        check("90", Some(90.0));
        check(" 1.5m ", Some(90.0));
        check("2h", Some(7200.0));
        check("0s", None);
        check("0.5s", None);
        check("-3s", None);
        check("25h", None);
        check("inf", None);
        check("NaNs", None);
        check("soon", None);
        check("", None);
        check("10µ", None);
    }

    #[test]
    fn options_become_a_protocol() {
        let args = |quick, rigorous, budget: Option<&str>| EffortArgs {
            quick,
            rigorous,
            budget: budget.map(str::to_owned),
            pin: None,
        };
        let processes = |args: EffortArgs| Effort::of(&args).expect("the options are fine").protocol(7).processes;
        assert_eq!(processes(args(false, false, None)), 7);
        assert_eq!(processes(args(true, false, None)), 1);
        assert_eq!(processes(args(false, true, None)), 15);
        assert_eq!(Effort::of(&args(false, true, None)).expect("it is fine").protocol(20).processes, 20);
        let pairs = |args: EffortArgs, processes: u32| {
            Effort::of(&args).expect("the options are fine").protocol_of_pairs(processes).processes
        };
        assert_eq!([pairs(args(true, false, None), 5), pairs(args(true, false, None), 50)], [3; 2]);
        assert_eq!([5, 50].map(|processes| pairs(args(false, false, None), processes)), [10, 100]);
        assert_eq!([5, 7, 8, 50].map(|processes| pairs(args(false, true, None), processes)), [15, 15, 16, 100]);
        let timed = Effort::of(&args(false, false, Some("10s"))).expect("ten seconds are fine").protocol(7);
        assert_eq!((timed.budget_seconds, timed.precision.is_some()), (Some(10.0), true));
        let absent = EffortArgs { pin: Some(u32::MAX), ..args(false, false, None) };
        assert!(pinning::allowed().is_empty() || Effort::of(&absent).is_err());
    }
}
