//! How long to measure: from options to a protocol.

use crate::cli::EffortArgs;
use sprag_measure::pinning;
use sprag_measure::suite::{Effort, Extent};
use sprag_pipeline::{Advice, Result, refuse};

/// A worker process must start, check its kernels and time each once.
const SHORTEST_BUDGET: f64 = 1.0;

/// More is a typing error.
const LONGEST_BUDGET: f64 = 86_400.0;

pub(super) fn from_args(args: &EffortArgs) -> Result<Effort, Advice> {
    let extent = match (args.quick, args.rigorous, &args.budget) {
        (true, _, _) => Extent::Quick,
        (_, true, _) => Extent::Rigorous,
        (_, _, Some(text)) => Extent::Budget(seconds("--budget", text, (SHORTEST_BUDGET, LONGEST_BUDGET))?),
        _ => Extent::Ordinary,
    };
    check_pin(args.pin)?;
    Ok(Effort { extent, pin: args.pin })
}

pub(super) fn check_pin(pin: Option<u32>) -> Result<(), Advice> {
    let allowed = pinning::allowed();
    match pin.filter(|pin| !allowed.is_empty() && !allowed.contains(pin)) {
        None => Ok(()),
        Some(pin) => {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            let message = format!("there is no processor {pin} to pin workers to");
            refuse(message, format!("this process may run on {}", list.join(", ")))
        }
    }
}

/// `60s`, `10m`, `1h`, `30d` or `90`.
pub(super) fn seconds(option: &str, text: &str, (least, most): (f64, f64)) -> Result<f64, Advice> {
    let fault = |why: String| {
        let message = format!("`{option} {}` {why}", text.escape_debug());
        Advice::new(message, "give seconds, minutes, hours or days, such as `60s`, `10m`, `1h` or `1d`")
    };
    let trimmed = text.trim();
    let (number, factor) = match trimmed.char_indices().last() {
        Some((place, 's')) => (&trimmed[..place], 1.0),
        Some((place, 'm')) => (&trimmed[..place], 60.0),
        Some((place, 'h')) => (&trimmed[..place], 3600.0),
        Some((place, 'd')) => (&trimmed[..place], 86_400.0),
        _ => (trimmed, 1.0),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| fault("is not a time".to_owned()))? * factor;
    if !(least..=most).contains(&seconds) {
        let range = format!("from {least} s to {} h", most / 3600.0);
        return Err(fault(format!("is out of range: {range} is allowed")));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_an_effort() {
        let budget = |text: &str| seconds("--budget", text, (SHORTEST_BUDGET, LONGEST_BUDGET));
        for (text, expected) in [("60s", 60.0), ("90", 90.0), (" 1.5m ", 90.0), ("2h", 7200.0), ("1d", 86_400.0)] {
            assert_eq!(budget(text).ok(), Some(expected), "{text}");
        }
        for wrong in ["0s", "0.5s", "-3s", "25h", "inf", "NaNs", "soon", "", "10µ"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
        let args = EffortArgs { quick: false, rigorous: false, budget: None, pin: None };
        for (args, extent) in [
            (args.clone(), Extent::Ordinary),
            (EffortArgs { quick: true, ..args.clone() }, Extent::Quick),
            (EffortArgs { rigorous: true, ..args.clone() }, Extent::Rigorous),
            (EffortArgs { budget: Some("10s".to_owned()), ..args.clone() }, Extent::Budget(10.0)),
        ] {
            assert_eq!(from_args(&args).ok(), Some(Effort { extent, pin: None }));
        }
        assert!(pinning::allowed().is_empty() || from_args(&EffortArgs { pin: Some(u32::MAX), ..args }).is_err());
    }
}
