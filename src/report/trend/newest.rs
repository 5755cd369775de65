//! Newest points that lie apart: not a change, and not nothing.

use super::document::{Block, Grid, Room, Section, cell};
use super::{event, words};
use crate::gate::share;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use sprag_model::change_point::Level;
use sprag_model::trend::{ApartSeries, NewestApart, Trend};

/// The commits that are told of.
const MOST: usize = 8;

/// The newest points that lie apart, where there are any.
pub(super) fn section(trend: &Trend, room: &Room) -> Option<Section> {
    if trend.newest.is_empty() {
        return None;
    }
    let series: usize = trend.newest.iter().map(|one| one.series.len()).sum();
    let title = match series {
        1 => " the newest point of 1 series lies apart".to_owned(),
        many => format!(" the newest points of {} series lie apart", count(many)),
    };
    let mut blocks: Vec<Block> = trend.newest.iter().take(MOST).flat_map(|one| commit(one, room)).collect();
    let more = trend.newest.len().saturating_sub(MOST);
    if more > 0 {
        blocks.push(Block::Line(cell(format!("And {}.", counted(more, "more commit", "more commits")))));
    }
    let title = Phrase::default().mark(Mark::new(Tone::Doubt, "?", "Not a change yet:")).text(title);
    Some(Section { title, blocks })
}

fn commit(apart: &NewestApart, room: &Room) -> Vec<Block> {
    let head = head(apart);
    let more = apart.series.len().saturating_sub(room.members);
    let grid = Grid {
        label: "newest",
        heads: vec![("Change", true), ("Level → newest", true), ("Series", false)],
        rows: apart.series.iter().take(room.members).map(series).collect(),
        more: (more > 0).then(|| cell(format!("and {} more", count(more)))),
        ..Grid::default()
    };
    vec![Block::Line(head), Block::Grid(grid), event::command(&apart.command)]
}

/// Where they lie, and how many runs settle it.
pub(crate) fn head(apart: &NewestApart) -> Phrase {
    let settles = counted(apart.runs, "more run settles it", "more runs settle it");
    let head = Phrase::plain("On ").text(words::name(&apart.machine.name)).text(" at ");
    let by_hand = if apart.checkout { ", its newest commit checked out there" } else { "" };
    head.id(words::name(apart.commit.short())).text(format!(": {settles}{by_hand}."))
}

/// How far a value lies from its level.
pub(crate) fn change(apart: &ApartSeries) -> String {
    let Level { value: level, .. } = apart.level;
    let share = (apart.value / level - 1.0) * level.signum();
    if level == 0.0 { number::NONE.to_owned() } else { share::percent(share) }
}

fn series(apart: &ApartSeries) -> Vec<Phrase> {
    let Level { value: level, .. } = apart.level;
    let name = Phrase::default().id(words::name(&apart.benchmark));
    vec![
        cell(change(apart)),
        cell(words::values(&apart.metric, level, apart.value)),
        name.text(format!(" {}, {}", words::name(&apart.metric.name), words::way(&apart.metric, apart.worse))),
    ]
}
