//! Writes a value as canonical JSON without making a [`Value`](serde_json::Value) of it first.

use std::fmt;

use serde::ser::{self, Impossible, Serialize};

use super::{write_float, write_string};

/// Why a value has no canonical text: it holds what JSON, or our files, do not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unwritable(String);

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(message: T) -> Unwritable {
        Unwritable(message.to_string())
    }
}

type Written = Result<(), Unwritable>;

/// The text so far.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
}

impl Writer {
    fn separate(&mut self, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.text.push(',');
        }
    }
}

fn unwritable<T>(what: &str) -> Result<T, Unwritable> {
    Err(Unwritable(format!("canonical JSON has no {what}")))
}

impl<'w> ser::Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = List<'w>;
    type SerializeTuple = List<'w>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Fields<'w>;
    type SerializeStruct = Fields<'w>;
    type SerializeStructVariant = Impossible<(), Unwritable>;

    fn serialize_bool(self, value: bool) -> Written {
        self.text.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Written {
        self.text.push_str(&value.to_string());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Written {
        self.text.push_str(&value.to_string());
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Written {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Written {
        if value.is_finite() {
            write_float(&mut self.text, value);
            return Ok(());
        }
        self.serialize_unit()
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        write_string(&mut self.text, value);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        unwritable("bytes")
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.text.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        unwritable("variants with content")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'w>, Unwritable> {
        self.text.push('[');
        Ok(List { writer: self, is_first: true })
    }

    fn serialize_tuple(self, length: usize) -> Result<List<'w>, Unwritable> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unwritable> {
        unwritable("tuples with a name")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        unwritable("variants with content")
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields<'w>, Unwritable> {
        self.text.push('{');
        let starts = Vec::with_capacity(length.unwrap_or_default());
        Ok(Fields { first: self.text.len(), writer: self, starts, is_sorted: true })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields<'w>, Unwritable> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        unwritable("variants with content")
    }
}

/// An array of which some is written.
pub(super) struct List<'w> {
    writer: &'w mut Writer,
    is_first: bool,
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.writer.separate(&mut self.is_first);
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Written {
        self.writer.text.push(']');
        Ok(())
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Written {
        ser::SerializeSeq::end(self)
    }
}

/// An object of which some fields are written, in the order in which they came.
pub(super) struct Fields<'w> {
    writer: &'w mut Writer,
    /// Where the text of the first field begins.
    first: usize,
    /// The key of each field, and where its text begins.
    starts: Vec<(Key, usize)>,
    is_sorted: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Name(&'static str),
    Text(String),
}

impl Key {
    fn text(&self) -> &str {
        match self {
            Key::Name(name) => name,
            Key::Text(text) => text,
        }
    }
}

impl Fields<'_> {
    fn begin(&mut self, key: Key) {
        let mut is_first = self.starts.is_empty();
        self.is_sorted &= self.starts.last().is_none_or(|(before, _)| before.text() < key.text());
        self.writer.separate(&mut is_first);
        let text = &mut self.writer.text;
        let start = text.len();
        match &key {
            // The names of fields are words of ours.
            Key::Name(name) => {
                text.push('"');
                text.push_str(name);
                text.push('"');
            }
            Key::Text(key) => write_string(text, key),
        }
        text.push(':');
        self.starts.push((key, start));
    }

    fn close(mut self) -> Written {
        if !self.is_sorted {
            self.sort();
        }
        self.writer.text.push('}');
        Ok(())
    }

    /// Puts the fields in order. Sorting by the bytes of UTF-8 is sorting by code point.
    fn sort(&mut self) {
        let text = self.writer.text.split_off(self.first);
        let starts = self.starts.iter().map(|(_, start)| start - self.first);
        let ends = starts.clone().skip(1).map(|next| next - 1).chain([text.len()]);
        let mut fields: Vec<(&str, &str)> = starts
            .zip(ends)
            .zip(&self.starts)
            .map(|((start, end), (key, _))| (key.text(), &text[start..end]))
            .collect();
        fields.sort_by(|a, b| a.0.cmp(b.0));
        for (place, (_, field)) in fields.iter().enumerate() {
            self.writer.separate(&mut (place == 0));
            self.writer.text.push_str(field);
        }
    }
}

impl ser::SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        match serde_json::to_value(key) {
            Ok(serde_json::Value::String(text)) => self.begin(Key::Text(text)),
            _ => return unwritable("keys but texts"),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Written {
        self.begin(Key::Name(key));
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Written {
        self.close()
    }
}
