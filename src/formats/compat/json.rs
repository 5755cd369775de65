//! JSON as Python reads it: like any other, and with the words `NaN`, `Infinity` and `-Infinity` for numbers.
//!
//! The seed's reports and baselines may hold them, and what they mean there is part of how they compare. A number too
//! large for a float is an infinity; of a key that comes twice the last value counts. What is refused beyond Python's own
//! reader: nesting deeper than a hundred levels, and a lone half of a surrogate pair.

/// How deep lists and objects may lie in one another.
const DEEPEST: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, which may be no finite one.
    Number(f64),
    /// A whole number that 64 bits cannot hold, as the nearest float: Python has it, and the arrays of NumPy do not.
    Long(f64),
    Text(String),
    List(Vec<Json>),
    /// The fields of an object in their order, each name once.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// Where and why it cannot be read.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader { text, offset: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        if reader.offset < text.len() { Err(reader.fault(JsonFault::More)) } else { Ok(value) }
    }

    /// The field of that name, where this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The fields, where this is an object.
    pub fn fields(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A number as Python's `isinstance(value, (int, float))` sees one: a flag counts as 1 or 0.
    pub fn plain_number(&self) -> Option<f64> {
        match self {
            Json::Number(number) | Json::Long(number) => Some(*number),
            Json::Flag(flag) => Some(f64::from(u8::from(*flag))),
            _ => None,
        }
    }

    /// A number as Python's `float(value)` makes one: text that reads as a number is one, too.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Json::Text(text) => number_of_text(text),
            other => other.plain_number(),
        }
    }
}

/// The number that Python's `float` reads from a text: blanks around it, a sign, `_` between two digits, and the words
/// for what is not finite in any case.
fn number_of_text(text: &str) -> Option<f64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    let fine = |place: usize| bytes[place] != b'_' || (place > 0 && is_digit(place - 1) && is_digit(place + 1));
    if !(0..bytes.len()).all(fine) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Why a text is no JSON, and where, as an offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not JSON: {fault} at byte {offset}")]
pub struct JsonError {
    pub fault: JsonFault,
    pub offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    #[error("more text after the value")]
    More,
    /// No value where one must be.
    #[error("a value is expected")]
    NoValue,
    /// The end of the text where a value must be.
    #[error("the text ends where a value is expected")]
    Ends,
    /// Two items of a list without a comma.
    #[error("a list goes on without `,` or `]`")]
    List,
    /// Two fields of an object without a comma.
    #[error("an object goes on without `,` or `}}`")]
    Object,
    /// No name where the name of a field must be.
    #[error("a string is expected")]
    NoName,
    #[error("a name is followed by no `:`")]
    NoColon,
    #[error("the string does not end")]
    Unterminated,
    #[error("the string holds a control character")]
    Control,
    #[error("the string holds an escape that there is not")]
    Escape,
    /// `\u` without four digits after it.
    #[error("the string holds `\\u` without four digits")]
    Unicode,
    #[error("the string holds half of a character")]
    Half,
    /// Lists and objects in one another without end.
    #[error("it is nested too deep")]
    Deep,
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl Reader<'_> {
    fn fault(&self, fault: JsonFault) -> JsonError {
        JsonError { fault, offset: self.offset }
    }

    fn rest(&self) -> &str {
        &self.text[self.offset..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.offset += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Passes over the word, where the text goes on with it.
    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.offset += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.blanks();
        if depth > DEEPEST {
            return Err(self.fault(JsonFault::Deep));
        }
        let words = [
            ("null", Json::Null),
            ("true", Json::Flag(true)),
            ("false", Json::Flag(false)),
            ("NaN", Json::Number(f64::NAN)),
            ("Infinity", Json::Number(f64::INFINITY)),
            ("-Infinity", Json::Number(f64::NEG_INFINITY)),
        ];
        match self.rest().as_bytes().first() {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'[') => self.list(depth),
            Some(b'{') => self.object(depth),
            None => Err(self.fault(JsonFault::Ends)),
            Some(_) => match words.into_iter().find(|(word, _)| self.take(word)) {
                Some((_, value)) => Ok(value),
                None => self.number(),
            },
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        self.offset += 1;
        self.blanks();
        if self.take("]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take("]") {
                return Ok(Json::List(items));
            }
            if !self.take(",") {
                return Err(self.fault(JsonFault::List));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let mut names = std::collections::BTreeMap::new();
        let mut fields: Vec<(String, Json)> = Vec::new();
        self.offset += 1;
        self.blanks();
        if self.take("}") {
            return Ok(Json::Object(fields));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            if !self.take(":") {
                return Err(self.fault(JsonFault::NoColon));
            }
            let value = self.value(depth + 1)?;
            match names.get(&name) {
                Some(place) => fields[*place] = (name, value),
                None => {
                    names.insert(name.clone(), fields.len());
                    fields.push((name, value));
                }
            }
            self.blanks();
            if self.take("}") {
                return Ok(Json::Object(fields));
            }
            if !self.take(",") {
                return Err(self.fault(JsonFault::Object));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let rest = self.rest();
        if !rest.starts_with('"') {
            return Err(self.fault(JsonFault::NoName));
        }
        let at = |fault: JsonFault, place: usize| JsonError { fault, offset: self.offset + place };
        let bytes = rest.as_bytes();
        let mut end = 1;
        loop {
            end += match (bytes.get(end), bytes.get(end + 1)) {
                (None, _) | (Some(b'\\'), None) => return Err(at(JsonFault::Unterminated, 0)),
                (Some(b'"'), _) => break,
                (Some(..0x20), _) => return Err(at(JsonFault::Control, end)),
                (Some(b'\\'), Some(b'u')) => {
                    let digits = bytes.get(end + 2..end + 6).is_some_and(|all| all.iter().all(u8::is_ascii_hexdigit));
                    // Python takes digits at the very end of the text for too few.
                    if !digits || bytes.len() == end + 6 {
                        return Err(at(JsonFault::Unicode, end + 1));
                    }
                    6
                }
                (Some(b'\\'), Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => 2,
                (Some(b'\\'), Some(_)) => return Err(at(JsonFault::Escape, end)),
                (Some(_), _) => 1,
            };
        }
        // What stands between the quotes is read as any other JSON reads it.
        let text = serde_json::from_str(&rest[..=end]).map_err(|_| self.fault(JsonFault::Half))?;
        self.offset += end + 1;
        Ok(text)
    }

    /// A number is what can be read as one from here on, whatever follows.
    fn number(&mut self) -> Result<Json, JsonError> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = usize::from(bytes.first() == Some(&b'-'));
        let mut end = match bytes.get(sign) {
            Some(b'0') => sign + 1,
            _ => sign + digits(sign),
        };
        if end == sign {
            return Err(self.fault(JsonFault::NoValue));
        }
        let whole = end;
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + signed);
            end += if exponent > 0 { 1 + signed + exponent } else { 0 };
        }
        let word = &self.rest()[..end];
        let number = word.parse().expect("Rust reads every number of JSON");
        let is_long = whole == end && word.parse::<i64>().is_err() && word.parse::<u64>().is_err();
        self.offset += end;
        Ok(if is_long { Json::Long(number) } else { Json::Number(number) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_readers_take_is_read_alike() {
        let check = |text: &str| {
            let theirs: serde_json::Value = serde_json::from_str(text).expect("the text is JSON");
            assert_eq!(like(&theirs), Json::parse(text).expect("the text is JSON"), "{text}");
        };
        check(
            r#" {"a": [1, -2.5e-3, 0.1, 1E+2, true, false, null], "b": {}, "": [], "é\n\"\\": "\u00e9\ud83d\ude00"} "#,
        );
        check("0");
        check("-0.0");
        check(include_str!("../../../fixtures/golden/apex-x/perf_compare.json"));
    }

    fn like(value: &serde_json::Value) -> Json {
        use serde_json::Value;
        match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Flag(*flag),
            Value::Number(number) => Json::Number(number.as_f64().expect("a float")),
            Value::String(text) => Json::Text(text.clone()),
            Value::Array(items) => Json::List(items.iter().map(like).collect()),
            Value::Object(fields) => Json::Object(fields.iter().map(|(name, one)| (name.clone(), like(one))).collect()),
        }
    }

    #[test]
    fn the_words_of_python_are_numbers() {
        let value = Json::parse(r#"{"a": NaN, "b": [-Infinity, Infinity, 1e999], "c": "NaN", "a": 1}"#);
        let value = value.expect("Python reads it");
        assert_eq!(value.get("a"), Some(&Json::Number(1.0)), "the last of a name counts");
        let infinite = [f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY].map(Json::Number);
        assert_eq!(value.get("b"), Some(&Json::List(infinite.to_vec())));
        assert_eq!(value.get("c"), Some(&Json::Text("NaN".to_owned())));
        let long = Json::parse("[18446744073709551615, 18446744073709551616, -9223372036854775809, 1e30]");
        let expected =
            [Json::Number(2f64.powi(64)), Json::Long(2f64.powi(64)), Json::Long(-2f64.powi(63)), Json::Number(1e30)];
        assert_eq!(long, Ok(Json::List(expected.to_vec())));
        assert!(Json::parse("NaN").is_ok_and(|nan| nan.plain_number().is_some_and(f64::is_nan)));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        let check = |text: &str, offset: usize| match Json::parse(text) {
            Err(error) => assert_eq!(error.offset, offset, "{text}: {error}"),
            Ok(value) => panic!("{text} is read as {value:?}"),
        };
        check("", 0);
        check("[1,]", 3);
        check("[1 2]", 3);
        check("{\"a\" 1}", 5);
        check("{a: 1}", 1);
        check("{\"a\": 1", 7);
        check("\"ab", 0);
        check("\"\\ud800\"", 0);
        check("\"\\q\"", 1);
        check("\"a\n\"", 2);
        check("[\"\\u12\"]", 3);
        check("[\"\\u1234", 3);
        check("[\"\\\"]", 1);
        check("nan", 0);
        check("01", 1);
        check("1.", 1);
        check("1e+", 1);
        check("[2.5.6]", 4);
        check(".5", 0);
        check("+1", 0);
        check("--1", 0);
        check("1 x", 2);
        check(&"[".repeat(200_000), DEEPEST + 1);
        check("é", 0);
    }

    #[test]
    fn numbers_are_made_as_python_makes_them() {
        let check = |text: &str, expected: Option<f64>| {
            assert_eq!(Json::Text(text.to_owned()).as_number(), expected, "{text}");
        };
        check(" 1.25\n", Some(1.25));
        check("1_000.5", Some(1000.5));
        check("+.5e1", Some(5.0));
        check("-inf", Some(f64::NEG_INFINITY));
        check("Infinity", Some(f64::INFINITY));
        check("1__0", None);
        check("_1", None);
        check("", None);
        check("1.2.3", None);
        check("0x1", None);
        assert!(Json::Text("nan".to_owned()).as_number().is_some_and(f64::is_nan));
        assert_eq!(Json::Flag(true).as_number(), Some(1.0));
        assert_eq!(Json::List(Vec::new()).as_number(), None);
        assert_eq!(Json::Text("1".to_owned()).plain_number(), None);
    }
}
