//! The long CSV, a table that any program can write: one number a row.
//!
//! ```text
//! suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params
//! cpu,sort,time,ms,lower,6a580d9,2026-11-20T10:00:00Z,box,12.5,n=1000;order=random
//! ```
//!
//! The first row names the columns, in any order; `params` may be left out, no other. `params` is `key=value` pairs joined
//! by `;`, or a JSON object of texts, numbers and booleans. `better` is `lower` or `higher`. `commit` is hexadecimal, seven
//! digits or more, or a name such as a tag that the repository knows; `commit_time` is RFC 3339 or seconds since 1970. `suite`, `unit`, `commit`, `commit_time`, `machine` and
//! `params` may be empty. `metric` is one word; where it is empty, the unit names it: `time`, `peak_memory`, a rate.
//!
//! Rows of the same suite, commit and machine make a run, wherever they stand. Rows that agree in benchmark, parameters
//! and metric too are samples of one observation, whose value is their median. Errors name a row by the
//! line that it begins on; the header is row 1.

mod row;
mod table;

pub(super) use table::{read, recognises};
