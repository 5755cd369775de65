//! A case of a shape sweep: the shapes of the inputs of an engine for one measurement.
//!
//! Its text has `name=sizes` pieces, separated by `;` or `,`, with sizes separated by `x` or blanks, such as
//! `image=1x3x128x128;centers=1024x2`.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeCaseError {
    #[error("a shape case is empty")]
    Empty,
    #[error("a shape case names no tensor")]
    NoPiece,
    #[error("the shape `{0}` has no `=`")]
    NoEquals(String),
    #[error("the shape `{0}` names no tensor before its `=`")]
    NoName(String),
    #[error("the shape `{0}` has no sizes")]
    NoSizes(String),
    #[error("the shape `{piece}` has the size `{size}`, which is not a whole number")]
    NoNumber { piece: String, size: String },
    #[error("the shape `{0}` has a size that is not above zero")]
    NotPositive(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorShape {
    pub name: String,
    /// At least one, each above zero.
    pub sizes: Vec<u64>,
}

impl TensorShape {
    /// Such as `1x3x128x128`.
    pub fn sizes_text(&self) -> String {
        joined(&self.sizes, "x")
    }

    /// Such as `image=1x3x128x128`.
    pub fn text(&self) -> String {
        format!("{}={}", self.name, self.sizes_text())
    }
}

/// The default case has no shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShapeCase {
    /// One entry an input.
    pub shapes: Vec<TensorShape>,
}

impl ShapeCase {
    /// ```
    /// let case = sprag_model::shape_case::ShapeCase::parse("image=1x3x64x64, centers=1024x2")?;
    /// assert_eq!(case.label(2), "case_002_1_3_64_64");
    /// assert_eq!(case.specs(), ["image=1x3x64x64", "centers=1024x2"]);
    /// # Ok::<(), sprag_model::shape_case::ShapeCaseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<ShapeCase, ShapeCaseError> {
        if text.trim().is_empty() {
            return Err(ShapeCaseError::Empty);
        }
        let pieces = text.split([';', ',']).map(str::trim).filter(|piece| !piece.is_empty());
        let shapes = pieces.map(piece).collect::<Result<Vec<TensorShape>, ShapeCaseError>>()?;
        if shapes.is_empty() { Err(ShapeCaseError::NoPiece) } else { Ok(ShapeCase { shapes }) }
    }

    /// The name of the `number`-th case of a sweep; that of the default case is `default`.
    pub fn label(&self, number: usize) -> String {
        match self.shapes.first() {
            Some(first) => format!("case_{number:03}_{}", joined(&first.sizes, "_")),
            None => "default".to_owned(),
        }
    }

    pub fn specs(&self) -> Vec<String> {
        self.shapes.iter().map(TensorShape::text).collect()
    }

    /// The first size of the first input.
    pub fn batch(&self) -> Option<u64> {
        self.shapes.first()?.sizes.first().copied()
    }
}

fn piece(text: &str) -> Result<TensorShape, ShapeCaseError> {
    let Some((name, sizes)) = text.split_once('=') else { return Err(ShapeCaseError::NoEquals(text.to_owned())) };
    let name = name.trim();
    if name.is_empty() {
        return Err(ShapeCaseError::NoName(text.to_owned()));
    }
    let words = sizes.split(|c: char| c == 'x' || c.is_whitespace()).filter(|word| !word.is_empty());
    let sizes = words.map(|word| size(text, word)).collect::<Result<Vec<u64>, ShapeCaseError>>()?;
    if sizes.is_empty() {
        return Err(ShapeCaseError::NoSizes(text.to_owned()));
    }
    Ok(TensorShape { name: name.to_owned(), sizes })
}

/// Reads an integer as Python does: with an optional sign, and with `_` between two digits.
fn size(piece: &str, word: &str) -> Result<u64, ShapeCaseError> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let is_number = digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let fault = || ShapeCaseError::NoNumber { piece: piece.to_owned(), size: word.to_owned() };
    if !is_number {
        return Err(fault());
    }
    let number: u64 = digits.replace('_', "").parse().map_err(|_| fault())?;
    if word.starts_with('-') || number == 0 {
        return Err(ShapeCaseError::NotPositive(piece.to_owned()));
    }
    // Engines count in signed numbers.
    if i64::try_from(number).is_err() { Err(fault()) } else { Ok(number) }
}

fn joined(sizes: &[u64], separator: &str) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<String>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_piece_by_piece() {
        let check = |text: &str, specs: &[&str], label: &str| {
            let case = ShapeCase::parse(text).expect("the case is fine");
            assert_eq!(case.specs(), specs);
            assert_eq!(case.label(7), label);
        };
        check("input=1x3x128x128", &["input=1x3x128x128"], "case_007_1_3_128_128");
        check(" a=2 ;; b = 3 4 ,", &["a=2", "b=3x4"], "case_007_2");
        check("a=1_0x+2", &["a=10x2"], "case_007_10_2");
        check("a=xx5x", &["a=5"], "case_007_5");
        assert_eq!(ShapeCase::default().label(0), "default");
        assert_eq!(ShapeCase::parse("a=8x3;b=2").map(|case| case.batch()), Ok(Some(8)));
        assert_eq!(ShapeCase::default().batch(), None);
    }

    #[test]
    fn a_fault_names_its_piece() {
        for (text, words) in [
            ("", "is empty"),
            (" \t", "is empty"),
            (";,", "names no tensor"),
            ("a=1;image:1x2", "`image:1x2` has no `=`"),
            ("=1x2", "`=1x2` names no tensor"),
            ("a= ", "`a=` has no sizes"),
            ("a=x", "`a=x` has no sizes"),
            ("a=1x0", "`a=1x0` has a size that is not above zero"),
            ("a=-3", "not above zero"),
            ("a=1X2", "the size `1X2`"),
            ("a=b=1", "the size `b=1`"),
            ("a=1.5", "the size `1.5`"),
            ("a=1__0", "the size `1__0`"),
            ("a=99999999999999999999", "is not a whole number"),
            ("a=9223372036854775808", "is not a whole number"),
        ] {
            let error = ShapeCase::parse(text).expect_err("the case is faulty").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
