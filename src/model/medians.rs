//! The medians of the worker processes of a run, in memory shared with other runs.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A slice of shared numbers: a history has a million short lists, which would take twice the memory on their own.
#[derive(Clone)]
pub struct Medians {
    all: Arc<[f64]>,
    start: u32,
    length: u32,
}

impl Medians {
    /// Absent where the range is not within the numbers, or a bound exceeds 32 bits.
    pub fn new(all: &Arc<[f64]>, range: Range<usize>) -> Option<Medians> {
        all.get(range.clone())?;
        let start = u32::try_from(range.start).ok()?;
        Some(Medians { all: Arc::clone(all), start, length: u32::try_from(range.len()).ok()? })
    }
}

impl Deref for Medians {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        let start = self.start as usize;
        &self.all[start..start + self.length as usize]
    }
}

impl<T: Into<Arc<[f64]>>> From<T> for Medians {
    fn from(numbers: T) -> Medians {
        let all = numbers.into();
        let length = u32::try_from(all.len()).expect("a run has fewer than four billion processes");
        Medians { all, start: 0, length }
    }
}

impl FromIterator<f64> for Medians {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Medians {
        numbers.into_iter().collect::<Arc<[f64]>>().into()
    }
}

impl PartialEq for Medians {
    fn eq(&self, other: &Medians) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Medians {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_numbers_of_its_range() {
        let all: Arc<[f64]> = [1.0, 2.0, 3.0].into();
        let check = |range: Range<usize>, expected: Option<&[f64]>| {
            assert_eq!(Medians::new(&all, range).as_deref(), expected);
        };
        check(0..3, Some(&[1.0, 2.0, 3.0]));
        check(1..2, Some(&[2.0]));
        check(3..3, Some(&[]));
        check(2..4, None);
        assert_eq!(Medians::new(&all, 1..3), Some([2.0, 3.0].into()));
    }
}
