//! Whole numbers as text of a fixed number of characters each, so that a value takes few bytes and is found without reading
//! those before it.
//!
//! The digits are the ninety printable characters of ASCII that need no escape in JSON or in a script in a page. The
//! largest number of a width says that there is none.

/// How many digits there are.
const BASE: i64 = 90;

/// The digits, in the order of their codes; `site/app.js` has the same.
const DIGITS: [u8; BASE as usize] = {
    let mut digits = [0; BASE as usize];
    let (mut code, mut place) = (b' ', 0);
    while code <= b'~' {
        if !matches!(code, b'"' | b'&' | b'<' | b'>' | b'\\') {
            digits[place] = code;
            place += 1;
        }
        code += 1;
    }
    digits
};

/// The most digits that a number of 64 bits takes.
const MOST: usize = 10;

/// How many characters each of the numbers takes, none of which is negative.
pub(crate) fn width(numbers: impl Iterator<Item = i64>) -> usize {
    let largest = numbers.max().unwrap_or(0);
    let mut width = 1;
    while BASE.pow(width) - 2 < largest {
        width += 1;
    }
    width as usize
}

/// The numbers in so many characters each, the most significant first.
pub(crate) fn text(numbers: impl Iterator<Item = Option<i64>>, width: usize) -> String {
    let none = BASE.pow(width as u32) - 1;
    let mut text = String::with_capacity(numbers.size_hint().0 * width);
    let mut places = [0; MOST];
    for number in numbers {
        let mut rest = number.unwrap_or(none);
        for place in places[..width].iter_mut().rev() {
            *place = DIGITS[(rest % BASE) as usize];
            rest /= BASE;
        }
        text.extend(places[..width].iter().map(|digit| char::from(*digit)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the script does.
    fn read(text: &str, width: usize) -> Vec<Option<i64>> {
        let place =
            |digit: &char| DIGITS.iter().position(|one| char::from(*one) == *digit).expect("it is a digit") as i64;
        let numbers = text.chars().collect::<Vec<_>>();
        let number = |part: &[char]| part.iter().fold(0, |number, digit| number * BASE + place(digit));
        let none = BASE.pow(width as u32) - 1;
        numbers.chunks(width).map(number).map(|number| (number != none).then_some(number)).collect()
    }

    #[test]
    fn what_is_packed_can_be_read() {
        assert!(DIGITS.is_sorted() && DIGITS[0] == b' ' && DIGITS[89] == b'~');
        for largest in [0, 1, 88, 89, 90, 8098, 8099, 8100, 999_999_999_999_999] {
            let numbers = [Some(0), None, Some(largest), Some(largest / 3), None];
            let width = width(numbers.into_iter().flatten());
            let text = text(numbers.into_iter(), width);
            assert_eq!(text.len(), width * numbers.len());
            assert_eq!(read(&text, width), numbers, "{largest}");
        }
        assert_eq!((width([88].into_iter()), width([89].into_iter()), width(std::iter::empty())), (1, 2, 1));
    }
}
