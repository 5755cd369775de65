//! Least-squares fits of a ramp: a flat course that climbs or falls evenly and is flat again, with or without a step.
//!
//! With the completed share `r(t)` of the ramp, 0 before it and 1 after it, the model is `level + size * r(t)`, or
//! `level + size * r(t) + step * [t >= place]`. From running sums each ramp is fitted in constant time. The best ramp is
//! searched on a grid that is refined around the best one.

/// Into how many parts the first grid divides the series.
const GRID: usize = 16;

/// The running sums of a series.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Of the values before each place.
    pub(super) values: Vec<f64>,
    /// Of the values times their places.
    pub(super) moments: Vec<f64>,
    pub(super) squares: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The residual squares, and the price of the ramp.
    pub cost: f64,
    /// The first value of the ramp.
    pub begin: usize,
    /// The first value after it.
    pub end: usize,
    /// The height of the ramp.
    pub size: f64,
    pub step: Option<f64>,
}

impl Sums {
    /// A centred series avoids cancellation.
    pub fn new(series: &[f64]) -> Sums {
        let (mut values, mut moments, mut squares) = (vec![0.0], vec![0.0], vec![0.0]);
        for (place, value) in series.iter().enumerate() {
            values.push(values[place] + value);
            moments.push(moments[place] + value * place as f64);
            squares.push(squares[place] + value * value);
        }
        Sums { values, moments, squares }
    }

    fn count(&self) -> usize {
        self.values.len() - 1
    }

    fn total(&self) -> f64 {
        self.values[self.count()]
    }

    /// The residual squares of the means between `cuts`.
    pub fn flat(&self, cuts: &[usize]) -> f64 {
        let ends = cuts.iter().copied().chain([self.count()]);
        let begins = std::iter::once(0).chain(cuts.iter().copied());
        let explained = begins.zip(ends).map(|(begin, end)| {
            let sum = self.values[end] - self.values[begin];
            sum * sum / (end - begin) as f64
        });
        (self.squares[self.count()] - explained.sum::<f64>()).max(0.0)
    }

    /// The sums of `r(t)`, of its square, and of its product with the values, from a place on.
    fn of_ramp(&self, begin: usize, end: usize, from: usize) -> (f64, f64, f64) {
        let width = (end - begin) as f64;
        let first = from.clamp(begin, end);
        let flat = end.max(from);
        let after = (self.count() - flat) as f64;
        let skipped = (first - begin) as f64;
        // The share of the value at place t is (t - begin + 1/2) / width.
        let squares = |count: f64| count * (count * count / 3.0 - 1.0 / 12.0);
        let products =
            self.moments[end] - self.moments[first] - (begin as f64 - 0.5) * (self.values[end] - self.values[first]);
        (
            (width * width - skipped * skipped) / 2.0 / width + after,
            (squares(width) - squares(skipped)) / (width * width) + after,
            products / width + self.total() - self.values[flat],
        )
    }

    fn course(&self, begin: usize, end: usize, step: Option<usize>) -> Course {
        let count = self.count() as f64;
        let total = self.total();
        let (shares, squares, products) = self.of_ramp(begin, end, 0);
        let (of_ramp, with_ramp) = (squares - shares * shares / count, products - shares * total / count);
        let all = self.squares[self.count()] - total * total / count;
        let size = with_ramp / of_ramp;
        let plain = Course { cost: all - size * with_ramp, begin, end, size, step: None };
        let Some(place) = step else { return plain };
        let behind = count - place as f64;
        let of_step = behind - behind * behind / count;
        let with_step = total - self.values[place] - behind * total / count;
        let both = self.of_ramp(begin, end, place).0 - behind * shares / count;
        let determinant = of_ramp * of_step - both * both;
        // A step in a narrow ramp is not distinguishable from the ramp.
        if determinant <= 1e-9 * of_ramp * of_step {
            return plain;
        }
        let size = (with_ramp * of_step - with_step * both) / determinant;
        let height = (with_step * of_ramp - with_ramp * both) / determinant;
        Course { cost: all - size * with_ramp - height * with_step, begin, end, size, step: Some(height) }
    }

    /// The least residual squares of a ramp of that width or more to the end. `None` for too short a series.
    pub fn going_on(&self, narrowest: usize) -> Option<f64> {
        let last = self.count().checked_sub(narrowest.max(2))?;
        (0..=last).map(|begin| self.course(begin, self.count(), None).cost).min_by(f64::total_cmp)
    }

    /// The cheapest course with a ramp of that width or more, and a step at that place. `None` for too short a series.
    pub fn best(&self, narrowest: usize, step: Option<usize>, price: impl Fn(usize) -> f64) -> Option<Course> {
        let count = self.count();
        if narrowest == 0 || count < narrowest + 2 {
            return None;
        }
        let mut grid = (count / GRID).max(1);
        let prices: Vec<f64> = (0..=count).map(price).collect();
        let fitted = |begin: usize, end: usize| {
            let course = self.course(begin, end, step);
            Course { cost: course.cost + prices[end - begin], ..course }
        };
        let mut best = fitted(0, count);
        let mut take = |begin: usize, end: usize| {
            let course = fitted(begin, end);
            if course.cost < best.cost {
                best = course;
            }
            (best.begin, best.end)
        };
        for begin in (0..=count - narrowest).step_by(grid) {
            (begin + narrowest..=count).step_by(grid).chain([count]).for_each(|end| {
                take(begin, end);
            });
        }
        while grid > 1 {
            grid = grid.div_ceil(2);
            let (begin, end) = take(0, count);
            let near = |place: usize| (0..=4).filter_map(move |steps| (place + steps * grid).checked_sub(2 * grid));
            for begin in near(begin) {
                near(end).filter(|end| *end <= count && *end >= begin + narrowest).for_each(|end| {
                    take(begin, end);
                });
            }
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The completed share of a ramp.
    fn share(place: usize, (begin, end): (usize, usize)) -> f64 {
        ((place as f64 + 0.5 - begin as f64) / (end - begin) as f64).clamp(0.0, 1.0)
    }

    /// A course with a little noise.
    fn series(count: usize, ramp: (usize, usize), size: f64, step: (usize, f64)) -> Vec<f64> {
        let value = |place: usize| {
            let noise = if place.is_multiple_of(2) { 0.01 } else { -0.01 };
            size * share(place, ramp) + if place >= step.0 { step.1 } else { 0.0 } + noise
        };
        (0..count).map(value).collect()
    }

    fn squares_about_mean(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum()
    }

    /// The residual squares of a course with a step at `place`.
    fn residual_squares(values: &[f64], course: &Course, place: usize) -> f64 {
        let fitted = |at: usize| {
            let step = if at >= place { course.step.unwrap_or(0.0) } else { 0.0 };
            course.size * share(at, (course.begin, course.end)) + step
        };
        let residuals = values.iter().enumerate().map(|(at, value)| value - fitted(at));
        squares_about_mean(&residuals.collect::<Vec<f64>>())
    }

    /// The least residual squares by the normal equations, solved by elimination.
    fn least_squares(values: &[f64], ramp: (usize, usize), step: Option<usize>) -> f64 {
        let columns =
            |place: usize| [1.0, share(place, ramp), if step.is_some_and(|step| place >= step) { 1.0 } else { 0.0 }];
        let size = if step.is_some() { 3 } else { 2 };
        let mut rows = vec![vec![0.0; size + 1]; size];
        for (place, value) in values.iter().enumerate() {
            let x = columns(place);
            for (row, line) in rows.iter_mut().enumerate() {
                (0..size).for_each(|column| line[column] += x[row] * x[column]);
                line[size] += x[row] * value;
            }
        }
        for pivot in 0..size {
            let line = rows[pivot].clone();
            for (_, other) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
                let factor = other[pivot] / line[pivot];
                other.iter_mut().zip(&line).for_each(|(a, b)| *a -= factor * b);
            }
        }
        let solved: Vec<f64> = (0..size).map(|row| rows[row][size] / rows[row][row]).collect();
        let fitted = |place: usize| columns(place).iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>();
        values.iter().enumerate().map(|(place, value)| (value - fitted(place)).powi(2)).sum()
    }

    #[test]
    fn a_course_has_the_least_squares() {
        let values = series(30, (5, 20), 2.0, (12, 1.0));
        let sums = Sums::new(&values);
        for (begin, end) in [(0, 30), (5, 20), (3, 4), (28, 30)] {
            for place in [None, Some(2), Some(12), Some(25)] {
                let course = sums.course(begin, end, place);
                let squares = residual_squares(&values, &course, place.unwrap_or(0));
                assert!((course.cost - squares).abs() < 1e-9, "{place:?} {course:?} {squares}");
                let least = least_squares(&values, (begin, end), place.filter(|_| course.step.is_some()));
                assert!((course.cost - least).abs() < 1e-9, "{place:?} {course:?} {least}");
            }
        }
        let expected = squares_about_mean(&values[..10]) + squares_about_mean(&values[10..]);
        assert!((sums.flat(&[10]) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_ramp_to_the_end_is_the_best_of_all() {
        for (end, begin) in [(30, 12), (45, 20), (30, 28)] {
            let values = series(end, (begin, end), 3.0, (5, 0.4));
            let least = Sums::new(&values).going_on(4).unwrap();
            let all = (0..=end - 4).map(|begin| least_squares(&values, (begin, end), None));
            assert!((least - all.fold(f64::INFINITY, f64::min)).abs() < 1e-8, "{begin} to {end}: {least}");
        }
        assert_eq!((Sums::new(&[1.0; 4]).going_on(5), Sums::new(&[]).going_on(0)), (None, None));
    }

    #[test]
    fn the_ramp_is_located() {
        let check = |count: usize, ramp: (usize, usize)| {
            let best =
                Sums::new(&series(count, ramp, 3.0, (0, 0.0))).best(10, None, |_| 0.0).expect("it is long enough");
            let near = |actual: usize, expected: usize| actual.abs_diff(expected) <= 2;
            assert!(near(best.begin, ramp.0) && near(best.end, ramp.1), "{best:?} {ramp:?}");
            assert!((best.size - 3.0).abs() < 0.1, "{best:?}");
        };
        check(40, (10, 30));
        check(200, (20, 190));
        check(500, (0, 500));
        let both =
            Sums::new(&series(200, (20, 180), 3.0, (90, -2.0))).best(10, Some(90), |_| 0.0).expect("it is long enough");
        assert!(both.step.is_some_and(|step| (step + 2.0).abs() < 0.05), "{both:?}");
        // Where every width but one is too dear, that one is taken.
        let only = |width: usize| if width == 64 { 0.0 } else { 1e6 };
        let dear = Sums::new(&series(128, (20, 100), 3.0, (0, 0.0))).best(10, None, only).expect("it is long enough");
        assert_eq!(dear.end - dear.begin, 64, "{dear:?}");
        assert_eq!(Sums::new(&[1.0; 11]).best(10, None, |_| 0.0), None);
    }
}
