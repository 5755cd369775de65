//! A place in a JSON text that is laid out as canonical JSON is, without white space. What does not stand there as it is
//! asked for is absent: the general reader has to say what is there.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde_json::{Deserializer, StreamDeserializer};

/// The powers of ten that are floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Up to here every whole number is a float.
const MOST_WHOLE: u64 = 1 << f64::MANTISSA_DIGITS;

/// So many digits always make a number of 64 bits.
const MOST_DIGITS: i32 = 19;

/// A text, and how far it was read.
pub(super) struct Cursor<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn at_start(text: &'t str) -> Cursor<'t> {
        Cursor { text, place: 0 }
    }

    /// How many bytes were read.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Goes on behind these very characters and says so, if they are what follows.
    #[inline]
    pub(super) fn takes(&mut self, expected: &str) -> bool {
        let follows = self.rest().starts_with(expected.as_bytes());
        self.place += if follows { expected.len() } else { 0 };
        follows
    }

    /// As [`Cursor::takes`], where nothing else may follow.
    #[inline]
    pub(super) fn expect(&mut self, expected: &str) -> Option<()> {
        self.takes(expected).then_some(())
    }

    /// A string without escapes.
    pub(super) fn string(&mut self) -> Option<&'t str> {
        self.expect("\"")?;
        let start = self.place;
        let length = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
        self.place += length;
        self.expect("\"")?;
        self.text.get(start..start + length)
    }

    /// A value that is written as one word.
    pub(super) fn word<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let word: StrDeserializer<'t, Error> = self.string()?.into_deserializer();
        T::deserialize(word).ok()
    }

    /// A list, an object or a string.
    pub(super) fn value<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let text = self.text.get(self.place..).filter(|text| text.starts_with(['[', '{', '"']))?;
        let mut values: StreamDeserializer<'t, _, T> = Deserializer::from_str(text).into_iter();
        let value = values.next()?.ok()?;
        self.place += values.byte_offset();
        Some(value)
    }

    /// A whole number from 0 on.
    pub(super) fn whole(&mut self) -> Option<u64> {
        let text = self.number()?.text;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    }

    /// A number that a float can hold.
    pub(super) fn float(&mut self) -> Option<f64> {
        let number = self.number()?;
        number.exact().or_else(|| number.text.parse().ok()).filter(|number| number.is_finite())
    }

    /// A number, or `null`.
    pub(super) fn optional_float(&mut self) -> Option<Option<f64>> {
        if self.takes("null") { Some(None) } else { self.float().map(Some) }
    }

    /// A number, such as JSON has them.
    fn number(&mut self) -> Option<Number<'t>> {
        let start = self.place;
        let is_negative = self.takes("-");
        let (mut digits, mut exponent) = (Digits::default(), Some(0));
        if !self.takes("0") {
            self.digits(&mut digits)?;
        }
        if self.takes(".") {
            exponent = Some(-self.digits(&mut digits)?);
        }
        if self.takes("e") {
            let _sign = self.takes("-") || self.takes("+");
            self.digits(&mut Digits::default())?;
            exponent = None;
        }
        Some(Number { text: self.text.get(start..self.place)?, is_negative, digits, exponent })
    }

    /// Goes on behind at least one digit, and tells how many there were.
    fn digits(&mut self, digits: &mut Digits) -> Option<i32> {
        let before = digits.count;
        for byte in self.rest().iter().take_while(|byte| byte.is_ascii_digit()) {
            digits.number = digits.number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            digits.count += 1;
        }
        let count = digits.count - before;
        self.place += usize::try_from(count).ok()?;
        (count > 0).then_some(count)
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.place..).unwrap_or_default()
    }
}

/// A number as it is written.
struct Number<'t> {
    text: &'t str,
    is_negative: bool,
    /// Those before an exponent, the point left out.
    digits: Digits,
    /// The power of ten that they are multiplied by; absent where an exponent was written.
    exponent: Option<i32>,
}

/// Some digits of a number.
#[derive(Default)]
struct Digits {
    /// What they come to, where they are few.
    number: u64,
    count: i32,
}

impl Number<'_> {
    /// The float next to it, where one division gives that: both numbers must be floats themselves (Clinger, "How to read
    /// floating point numbers accurately", 1990). Most numbers of records are of this kind.
    fn exact(&self) -> Option<f64> {
        let power = *POWERS.get(usize::try_from(-self.exponent?).ok()?)?;
        let is_float = self.digits.count <= MOST_DIGITS && self.digits.number <= MOST_WHOLE;
        let number = self.digits.number as f64 / power;
        is_float.then_some(if self.is_negative { -number } else { number })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_number_is_read_as_any_reader_of_json_reads_it() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "7",
            "0.5",
            "12.25",
            "1e5",
            "1e-05",
            "1.5e+300",
            "5e-324",
            "1e-999",
            "9007199254740993",
            "18446744073709551616",
            "0.30000000000000004",
            "123456789012345678901234567890.5",
        ] {
            let read = Cursor::at_start(text).float().map(f64::to_bits);
            assert_eq!(read, serde_json::from_str(text).ok().map(f64::to_bits), "{text}");
            assert!(read.is_some(), "{text}");
        }
        for text in ["", "-", ".5", "+1", "1.", "1.e5", "1e", "1e+", "1e999", "-1e999", "NaN", "inf", "null"] {
            assert_eq!(Cursor::at_start(text).float(), None, "{text}");
            assert!(serde_json::from_str::<f64>(text).is_err(), "{text}");
        }
        // Of what is no number any more the next one to look has to say so.
        let mut cursor = Cursor::at_start("01");
        assert_eq!((cursor.float(), cursor.place()), (Some(0.0), 1));
        for (text, number) in [("18446744073709551615", Some(u64::MAX)), ("18446744073709551616", None), ("-1", None)] {
            assert_eq!(Cursor::at_start(text).whole(), number);
        }
        assert_eq!((Cursor::at_start("1.0").whole(), Cursor::at_start("1e2").whole()), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn a_number_is_read_to_the_same_bits(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,25})?(e[-+]?[0-9]{1,3})?") {
            let read = Cursor::at_start(&text).float().map(f64::to_bits);
            proptest::prop_assert_eq!(read, serde_json::from_str(&text).ok().map(f64::to_bits), "{}", text);
        }
    }

    #[test]
    fn strings_with_escapes_are_left_to_others() {
        let check = |text: &str, string: Option<&str>| assert_eq!(Cursor::at_start(text).string(), string, "{text}");
        check("\"\"", Some(""));
        check("\"é, {a}\",", Some("é, {a}"));
        check("\"a\\\"\"", None);
        check("\"a\nb\"", None);
        check("\"a", None);
        check("a\"", None);
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        let mut cursor = Cursor::at_start("{\"a\":[1,{}]}],");
        assert_eq!(cursor.value::<Value>().map(|value| value.to_string()).as_deref(), Some("{\"a\":[1,{}]}"));
        assert!(cursor.takes("],") && !cursor.takes(","));
        assert_eq!(Cursor::at_start(" {}").value::<Value>(), None);
        assert_eq!(Cursor::at_start("{\"a\"}").value::<Value>(), None);
    }
}
