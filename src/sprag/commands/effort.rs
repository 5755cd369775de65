//! How much time measuring may take: from the options of a command to a protocol.

use crate::cli::EffortArgs;
use sprag_measure::pinning;
use sprag_measure::suite::{Effort, Extent};
use sprag_pipeline::{Advice, Result, refuse};

/// The shortest time that allows a worker process to start, check its kernels and time each of them once.
const SHORTEST_BUDGET: f64 = 1.0;

/// The longest time: more is a slip of the keyboard.
const LONGEST_BUDGET: f64 = 86_400.0;

pub(super) fn from_args(args: &EffortArgs) -> Result<Effort, Advice> {
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
            return refuse(
                format!("there is no processor {pin} to keep workers on"),
                format!("this process may run on {}", list.join(", ")),
            );
        }
    }
    Ok(Effort { extent, pin: args.pin })
}

/// Seconds from a text such as `60s`, `10m`, `1h` or `90`.
fn budget(text: &str) -> Result<f64, Advice> {
    let refuse = |why: String| {
        Advice::new(
            format!("`--budget {}` {why}", text.escape_debug()),
            "give seconds, minutes or hours, such as `60s`, `10m` or `1h`",
        )
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
        return Err(refuse(format!("is out of range: {range} is allowed")));
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
    fn options_become_an_effort() {
        let args = |quick, rigorous, budget: Option<&str>| EffortArgs {
            quick,
            rigorous,
            budget: budget.map(str::to_owned),
            pin: None,
        };
        let check = |args: EffortArgs, expected: Extent| {
            assert_eq!(from_args(&args).ok(), Some(Effort { extent: expected, pin: None }));
        };
        check(args(false, false, None), Extent::Ordinary);
        check(args(true, false, None), Extent::Quick);
        check(args(false, true, None), Extent::Rigorous);
        check(args(false, false, Some("10s")), Extent::Budget(10.0));
        let absent = EffortArgs { pin: Some(u32::MAX), ..args(false, false, None) };
        assert!(pinning::allowed().is_empty() || from_args(&absent).is_err());
    }
}
