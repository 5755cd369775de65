//! The nouns of Sprag: plain values that cross from one room to the next.
//!
//! Nothing here reads a file, a clock or a device. Whatever a room hands to another room is a type of
//! this module, so that the rooms need not know one another.

pub mod analysis;
pub mod autotune;
pub mod bands;
pub mod baseline;
pub mod benchmark;
pub mod change_point;
pub mod commit;
pub mod commit_cache;
pub mod merkle;
pub mod proof;
pub mod environment;
pub mod event;
pub mod event_record;
pub mod evidence;
pub mod flat;
pub mod foreign;
pub mod fsck;
pub mod gate;
pub mod calibration;
pub mod history_log;
pub mod ledger;
pub mod head;
pub mod imported;
pub mod method;
pub mod metric;
pub mod movers;
pub mod page;
pub mod record;
pub mod checklist;
pub mod release;
pub mod statement;
pub mod rollup;
pub mod rule;
pub mod run;
pub mod sample;
pub mod sample_gate;
pub mod schema;
pub mod paired;
pub mod medians;
pub mod series;
pub mod shape_case;
pub mod shard;
pub mod trend;
pub mod unit;
pub mod verdict;
