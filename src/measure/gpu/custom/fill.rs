//! The content that the host makes for a buffer.

use crate::gpu::custom::number::{Number, bits, decode, encode, of_npy};
use crate::gpu::program::{BufferSpec, Fill};
use sprag_base::files::read_bounded;
use sprag_base::stats::random::SplitMix64;

/// So many numbers are drawn, on one core, and then repeated. Caches go by addresses, not by content.
const MOST_DRAWN: usize = 1 << 20;

/// Beyond it a `.npy` file is not read.
const MOST_FILE_BYTES: usize = 16 << 30;

pub fn bytes(fill: &Fill, spec: &BufferSpec, seed: u64) -> Result<Vec<u8>, String> {
    let BufferSpec { name, data, count, .. } = spec;
    let mut random = SplitMix64::new(seed);
    let mut made = |count: usize, make: &mut dyn FnMut(&mut SplitMix64) -> Number| {
        encode(*data, (0..count).map(|_| make(&mut random))).ok_or_else(|| format!("`{name}` cannot hold its `fill`"))
    };
    let mut drawn = |draw: &mut dyn FnMut(&mut SplitMix64) -> Number| {
        let mut bytes = made((*count).min(MOST_DRAWN), draw)?;
        let size = count.saturating_mul(data.bytes());
        while bytes.len() < size {
            bytes.extend_from_within(..(size - bytes.len()).min(bytes.len()));
        }
        Ok(bytes)
    };
    match fill {
        Fill::Integer(value) => same(Number::Integer(i128::from(*value)), spec),
        Fill::Float(value) => same(Number::Float(*value), spec),
        Fill::Normal(deviation) => drawn(&mut |random| Number::Float(deviation * random.normal())),
        Fill::Uniform(low, high) => drawn(&mut |random| Number::Float(low + (high - low) * random.uniform())),
        Fill::Integers(low, high) => {
            let span = i128::from(*high) - i128::from(*low);
            if span <= 0 {
                return Err(format!("`{name}`: `high` is {high}, which is not above `low`, {low}"));
            }
            // Of so few values of 64 bits the bias is far below what a kernel shows.
            let draw = |random: &mut SplitMix64| i128::from(*low) + i128::from(random.next_u64()) % span;
            drawn(&mut |random| Number::Integer(draw(random)))
        }
        Fill::Iota => {
            let mut next = -1;
            let mut count = || {
                next += 1;
                if data.is_integer() { Number::Integer(next) } else { Number::Float(next as f64) }
            };
            made(spec.count, &mut |_| count())
        }
        Fill::File(path, shape) => {
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            let at = |fault: &dyn std::fmt::Display| format!("`{file_name}`, the content of `{name}`, {fault}");
            let file = read_bounded(path, MOST_FILE_BYTES).map_err(|error| at(&format!("cannot be read: {error}")))?;
            let (stored, bytes) = of_npy(*data, shape, &file).map_err(|fault| at(&fault))?;
            if stored == *data {
                return Ok(bytes);
            }
            encode(*data, decode(stored, &bytes)).ok_or_else(|| at(&"holds numbers that do not fit"))
        }
    }
}

fn same(number: Number, spec: &BufferSpec) -> Result<Vec<u8>, String> {
    let bits = bits(spec.data, number).ok_or_else(|| format!("`{}` cannot hold its `fill`", spec.name))?;
    Ok(bits.to_le_bytes()[..spec.data.bytes()].repeat(spec.count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::custom::number::to_npy;
    use crate::gpu::program::{Content, Data};

    fn filled(fill: Fill, data: Data, count: usize) -> Result<Vec<f64>, String> {
        let spec = BufferSpec { name: "x".into(), data, count, content: Content::Output, guard: 0 };
        let bytes = bytes(&fill, &spec, 7)?;
        Ok(decode(data, &bytes).map(Number::as_f64).collect())
    }

    #[test]
    fn every_content_is_made() {
        assert_eq!(filled(Fill::Integer(3), Data::U8, 2), Ok(vec![3.0, 3.0]));
        assert_eq!(filled(Fill::Float(0.5), Data::F64, 2), Ok(vec![0.5, 0.5]));
        assert_eq!(filled(Fill::Iota, Data::I32, 3), Ok(vec![0.0, 1.0, 2.0]));
        let drawn = filled(Fill::Integers(-2, 3), Data::I8, 1000).expect("they fit");
        assert!((-2..3).all(|value| drawn.contains(&f64::from(value))) && drawn.iter().all(|one| *one < 3.0));
        let drawn = filled(Fill::Uniform(2.0, 4.0), Data::F64, 1000).expect("they fit");
        assert!(drawn.iter().all(|one| (2.0..4.0).contains(one)) && drawn.iter().sum::<f64>() > 2800.0);
        let drawn = filled(Fill::Normal(1.0), Data::F64, 1000).expect("they fit");
        assert!((drawn.iter().map(|one| one * one).sum::<f64>() / 1000.0 - 1.0).abs() < 0.2);
        let large = filled(Fill::Integers(0, 100), Data::U8, 2 * MOST_DRAWN + 5).expect("they fit");
        assert_eq!(large[..5], large[2 * MOST_DRAWN..]);
        assert_eq!(
            filled(Fill::Integers(3, 3), Data::I8, 1),
            Err("`x`: `high` is 3, which is not above `low`, 3".into())
        );
        assert_eq!(filled(Fill::Integer(300), Data::U8, 1), Err("`x` cannot hold its `fill`".into()));
        assert_eq!(filled(Fill::Iota, Data::U8, 257), Err("`x` cannot hold its `fill`".into()));
    }

    #[test]
    fn a_file_fills_a_buffer_of_its_shape() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npy");
        let file = Fill::File(path.clone(), vec![2]);
        assert!(
            filled(file.clone(), Data::F32, 2).is_err_and(|fault| fault.contains("the content of `x`, cannot be read"))
        );
        std::fs::write(&path, to_npy(Data::F64, &[2], &[1.5_f64, 2.5].map(f64::to_le_bytes).concat())).expect("a file");
        assert_eq!(filled(file, Data::F32, 2), Ok(vec![1.5, 2.5]));
        let other = filled(Fill::File(path, vec![3]), Data::F32, 3);
        assert!(other.is_err_and(|fault| fault.ends_with("has the shape (2,), (3,) is needed")));
    }
}
