//! Integer expressions of the sizes of a shape and of constants, such as `ceil_div(n, BLOCK)`.
//!
//! From the loosest to the tightest: `||`, `&&`, comparisons (1 where they hold, else 0), `+ -`, `* / %`, a sign, and
//! parentheses or one of the functions `ceil_div`, `min` and `max`. Numbers have 64 bits; what exceeds them is an error.

use std::collections::BTreeMap;
use std::fmt;

use sprag_base::text::is_unsafe;

pub type Names = BTreeMap<String, i64>;

#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    /// In characters, from 0.
    at: usize,
    fault: String,
}

/// Parentheses and signs within each other.
const MOST_DEPTH: usize = 50;

/// Binary operators, the loosest first.
const OPERATORS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

const FUNCTIONS: [&str; 3] = ["ceil_div", "min", "max"];

#[derive(Clone, Debug, PartialEq)]
struct Node {
    at: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(i64),
    Name(String),
    Negated(Box<Node>),
    /// An operator or a function, and its operands.
    Operation(&'static str, Box<[Node; 2]>),
}

impl ExpressionError {
    /// The text with a mark below the place.
    pub fn pointed(&self) -> String {
        format!("{}\n    {}\n    {}^", self.fault, self.text, " ".repeat(self.at))
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, character {}: {}", self.text, self.at + 1, self.fault)
    }
}

/// Of the text: a sum of thousands of terms would be as deep a tree.
const MOST_BYTES: usize = 1000;

impl Expression {
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        if text.len() > MOST_BYTES {
            let (at, fault) = (0, format!("it has {} bytes, at most {MOST_BYTES} are allowed", text.len()));
            return Err(ExpressionError { text: text.chars().take(60).collect(), at, fault });
        }
        let mut parser = Parser { characters: text.chars().collect(), at: 0, depth: 0 };
        parser.skip_space();
        let root = parser.binary(0).and_then(|root| match parser.characters.get(parser.at) {
            None => Ok(root),
            Some(other) => Err((parser.at, format!("`{other}` is not expected here"))),
        });
        let text = text.replace(is_unsafe, " ");
        match root {
            Ok(root) => Ok(Expression { text, root }),
            Err((at, fault)) => Err(ExpressionError { text, at, fault }),
        }
    }

    /// The first name that is not one of these.
    pub fn unknown_name(&self, names: &[&str]) -> Option<ExpressionError> {
        let (at, name) = self.root.names().into_iter().find(|(_, name)| !names.contains(name))?;
        let defined = names.join("`, `");
        let defined = if names.is_empty() { "no name is defined".to_owned() } else { format!("there is `{defined}`") };
        Some(ExpressionError { text: self.text.clone(), at, fault: format!("there is no `{name}` ({defined})") })
    }

    pub fn uses(&self, name: &str) -> bool {
        self.root.names().into_iter().any(|(_, used)| used == name)
    }

    pub fn value(&self, names: &Names) -> Result<i64, ExpressionError> {
        self.root.value(names).map_err(|(at, fault)| ExpressionError { text: self.text.clone(), at, fault })
    }
}

type Fault = (usize, String);

impl Node {
    fn names(&self) -> Vec<(usize, &str)> {
        match &self.kind {
            Kind::Number(_) => Vec::new(),
            Kind::Name(name) => vec![(self.at, name)],
            Kind::Negated(inner) => inner.names(),
            Kind::Operation(_, operands) => operands.iter().flat_map(Node::names).collect(),
        }
    }

    fn value(&self, names: &Names) -> Result<i64, Fault> {
        let overflow = || (self.at, "the result exceeds 64 bits".to_owned());
        let (word, [a, b]) = match &self.kind {
            Kind::Number(number) => return Ok(*number),
            Kind::Name(name) => {
                return names.get(name).copied().ok_or_else(|| (self.at, format!("there is no `{name}`")));
            }
            Kind::Negated(inner) => return inner.value(names)?.checked_neg().ok_or_else(overflow),
            Kind::Operation(word, operands) => (*word, &**operands),
        };
        let (a, b) = (a.value(names)?, b.value(names)?);
        if b == 0 && ["/", "%", "ceil_div"].contains(&word) {
            return Err((self.at, "division by zero".to_owned()));
        }
        let result = match word {
            "||" => Some(i64::from(a != 0 || b != 0)),
            "&&" => Some(i64::from(a != 0 && b != 0)),
            "==" => Some(i64::from(a == b)),
            "!=" => Some(i64::from(a != b)),
            "<=" => Some(i64::from(a <= b)),
            ">=" => Some(i64::from(a >= b)),
            "<" => Some(i64::from(a < b)),
            ">" => Some(i64::from(a > b)),
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            "/" => a.checked_div(b),
            "%" => a.checked_rem(b),
            "min" => Some(a.min(b)),
            "max" => Some(a.max(b)),
            _ => a.checked_div(b).map(|quotient| quotient + i64::from(a % b != 0 && (a < 0) == (b < 0))),
        };
        result.ok_or_else(overflow)
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn binary(&mut self, level: usize) -> Result<Node, Fault> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let at = self.at;
            let Some(word) = operators.iter().find(|word| self.take(word)) else { return Ok(left) };
            let operands = Box::new([left, self.binary(level + 1)?]);
            left = Node { at, kind: Kind::Operation(word, operands) };
        }
    }

    fn unary(&mut self) -> Result<Node, Fault> {
        let at = self.at;
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err((at, format!("more than {MOST_DEPTH} parentheses or signs within each other")));
        }
        let kind = if self.take("-") {
            Kind::Negated(Box::new(self.unary()?))
        } else if self.take("(") {
            let inner = self.binary(0)?;
            self.expect(")")?;
            inner.kind
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(Node { at, kind })
    }

    /// A number, a name, or a call of a function.
    fn operand(&mut self) -> Result<Kind, Fault> {
        let at = self.at;
        let word: String =
            self.characters[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        self.at += word.len();
        self.skip_space();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.replace('_', "").parse();
            return number.map(Kind::Number).map_err(|_| (at, format!("`{word}` is not a number of 64 bits")));
        }
        if word.is_empty() {
            let here = self.characters.get(at).map_or("the end".to_owned(), |c| format!("`{c}`"));
            return Err((at, format!("a number, a name or `(` is expected, not {here}")));
        }
        if !self.take("(") {
            return Ok(Kind::Name(word));
        }
        let function = FUNCTIONS.iter().find(|one| **one == word);
        let function =
            function.ok_or_else(|| (at, format!("there is no function `{word}` ({})", FUNCTIONS.join(", "))))?;
        let first = self.binary(0)?;
        self.expect(",")?;
        let operands = Box::new([first, self.binary(0)?]);
        self.expect(")")?;
        Ok(Kind::Operation(function, operands))
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        if self.take(word) { Ok(()) } else { Err((self.at, format!("`{word}` is missing here"))) }
    }

    fn take(&mut self, word: &str) -> bool {
        let begins = word.chars().enumerate().all(|(place, c)| self.characters.get(self.at + place) == Some(&c));
        if begins {
            self.at += word.len();
            self.skip_space();
        }
        begins
    }

    fn skip_space(&mut self) {
        while self.characters.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        [("n", 1000), ("BLOCK", 256), ("zero", 0), ("most", i64::MAX)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    #[test]
    fn expressions_have_the_values_of_arithmetic() {
        for (text, expected) in [
            ("7", 7),
            (" n ", 1000),
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("100 / 7 / 2", 7),
            ("n % 256", 232),
            ("-n + 1_001", 1),
            ("2 * -3", -6),
            ("ceil_div(n, BLOCK)", 4),
            ("ceil_div(n, 250)", 4),
            ("ceil_div(0, 4)", 0),
            ("ceil_div(-7, 2)", -3),
            ("min(n, BLOCK) + max(1, 2)", 258),
            ("n >= 1000 && BLOCK < 256 || 3 == 3", 1),
            ("n != 1000", 0),
            ("4 * (BLOCK + 1) <= 1024", 0),
        ] {
            let value = Expression::parse(text).and_then(|one| one.value(&names()));
            assert_eq!(value, Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_fault_has_its_place() {
        for (text, at, words) in [
            ("", 0, "a number, a name or `(` is expected, not the end"),
            ("n +", 3, "not the end"),
            ("n n", 2, "`n` is not expected here"),
            ("(n", 2, "`)` is missing here"),
            ("min(1)", 5, "`,` is missing here"),
            ("floor(1, 2)", 0, "there is no function `floor` (ceil_div, min, max)"),
            ("1 + $", 4, "not `$`"),
            ("2n", 0, "`2n` is not a number"),
            ("99999999999999999999", 0, "is not a number of 64 bits"),
            ("n * most", 2, "the result exceeds 64 bits"),
            ("-(-most - 1)", 0, "the result exceeds 64 bits"),
            ("1 + n / zero", 6, "division by zero"),
            ("ceil_div(n, n - 1000)", 0, "division by zero"),
            ("n + m", 4, "there is no `m`"),
        ] {
            let error = Expression::parse(text).and_then(|one| one.value(&names())).expect_err(text);
            assert!(error.at == at && error.fault.contains(words), "{text}: {error:?}");
            let mark = error.pointed();
            assert!(mark.ends_with(&format!("\n    {}^", " ".repeat(at))), "{mark}");
        }
        let deep = "(".repeat(1000);
        assert!(Expression::parse(&deep).is_err_and(|error| error.fault.contains("within each other")));
        let unknown = Expression::parse("n * BLOK").ok().and_then(|one| one.unknown_name(&["n", "BLOCK"]));
        let text = unknown.expect("it is unknown").to_string();
        assert_eq!(text, "`n * BLOK`, character 5: there is no `BLOK` (there is `n`, `BLOCK`)");
    }
}
