//! Event records for tests.

use super::{EventMember, EventRecord, EventStep};
use crate::event::{Direction, EventKind};

/// The event `e-` and the number in six digits, opened; two series on two machines.
pub fn opened(number: u32) -> EventRecord {
    let member = |series: &str, before, after| EventMember { series: series.to_owned(), before, after };
    EventRecord {
        event: format!("e-{number:06x}"),
        step: EventStep::Opened,
        time: "2026-05-04T03:02:01Z".parse().expect("the text is a time"),
        kind: EventKind::Change,
        direction: Direction::Worse,
        machines: vec!["0123456789abcdef".to_owned(), "123456789abcdef0".to_owned()],
        last_good: Some("a".repeat(40)),
        first_suspect: "b".repeat(40),
        last_suspect: "d".repeat(40),
        most_likely: "c".repeat(40),
        members: vec![
            member("cpu-infer-fast-time-0a1b2c3d", 1e-3, 1.25e-3),
            member("cpu-tile-pack-c-64-fast-time-00000000", 2e-6, 2.5e-6),
        ],
        chance: 0.01,
        reason: None,
    }
}

pub fn retracted(number: u32) -> EventRecord {
    EventRecord { step: EventStep::Retracted, reason: Some("the level came back".to_owned()), ..opened(number) }
}
