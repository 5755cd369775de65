//! A column: one fact of a row.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use super::Row;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number of 32 bits, signed.
    Small,
    /// A whole number of 64 bits, signed.
    Integer,
    Number,
    /// A moment, to the microsecond, in UTC.
    Time,
    Flag,
    Numbers,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Absent,
    /// Of [`Kind::Text`].
    Text(Cow<'a, str>),
    /// Of [`Kind::Small`] or [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Number`]; finite.
    Number(f64),
    /// Of [`Kind::Time`].
    Time(DateTime<Utc>),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Numbers`]; finite.
    Numbers(&'a [f64]),
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub is_given: bool,
    pub meaning: &'static str,
    pub cell: for<'a> fn(&Row<'a>) -> Cell<'a>,
}

impl<'a> Cell<'a> {
    /// A text, where there is one.
    pub(super) fn text(text: Option<&'a str>) -> Cell<'a> {
        text.map_or(Cell::Absent, |text| Cell::Text(Cow::Borrowed(text)))
    }

    /// A text that had to be put together, where there is one.
    pub(super) fn owned(text: Option<String>) -> Cell<'a> {
        text.map_or(Cell::Absent, |text| Cell::Text(Cow::Owned(text)))
    }

    /// A number, where there is one.
    pub(super) fn number(number: Option<f64>) -> Cell<'a> {
        number.map_or(Cell::Absent, Cell::Number)
    }

    /// A whole number, where there is one that fits.
    pub(super) fn integer<T: TryInto<i64>>(number: Option<T>) -> Cell<'a> {
        number.and_then(|number| number.try_into().ok()).map_or(Cell::Absent, Cell::Integer)
    }
}
