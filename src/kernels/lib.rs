//! The CPU kernels that Sprag times and that every other implementation is checked against.
//!
//! Each kernel has a plain form, written straight from its definition, and where it is timed fast forms proven equal to
//! it: bit for bit where values are only moved, within the stated tolerance elsewhere. All are
//! functions over slices in row-major order that write into slices the caller provides; what they need besides is a
//! scratch value that grows once and is reused. Nothing here reads a clock, a file or a device.
//!
//! Layouts: maps `[B,C,H,W]`, packed tiles `[B,K,C,t,t]`, tokens `[B,K,C]`; the tile grid is `H/t` by `W/t` and tile
//! id = `row * grid width + column`.

pub mod element;
pub mod shape;

mod stream;
mod wide;

pub mod ordering;
pub mod quadtree;
pub mod selection;

pub mod ff;
pub mod fused;
pub mod fusion;
pub mod infer;
pub mod scan;
pub mod tile;

use thiserror::Error;

/// How a kernel is computed. All forms give the same result, bit for bit or within the tolerance that the kernel states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<C> {
    /// Plain code, written straight from the definition.
    Reference,
    /// Tuned code on the calling thread.
    Fast(C),
    /// Tuned code, shared out among the threads of the current rayon pool.
    Parallel(C),
}

impl Form<()> {
    /// The same form in the configuration that a kernel uses untuned: the first of its candidates.
    pub fn untuned<C: Copy>(self, candidates: &[C]) -> Form<C> {
        self.map(|()| candidates[0])
    }
}

impl<C> Form<C> {
    /// The same form with another configuration.
    pub(crate) fn map<D>(self, config: impl FnOnce(C) -> D) -> Form<D> {
        match self {
            Form::Reference => Form::Reference,
            Form::Fast(old) => Form::Fast(config(old)),
            Form::Parallel(old) => Form::Parallel(config(old)),
        }
    }
}

/// Why a kernel refused its input. Kernels over slices check before they write, so a refusal leaves outputs untouched.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum KernelError {
    #[error("`{what}` holds {got} elements, its shape asks for {expected}")]
    Length { what: &'static str, expected: usize, got: usize },
    #[error("`{what}` holds {got} elements, which {batch} samples cannot share equally")]
    Rows { what: &'static str, batch: usize, got: usize },
    #[error("`{what}` has an axis of length zero or too many elements")]
    Empty { what: &'static str },
    #[error("`{what}` has a batch of {got}, only {expected} is handled")]
    Batch { what: &'static str, expected: usize, got: usize },
    #[error("tile size {tile_size} does not divide a map of {height} by {width}")]
    TileSize { tile_size: usize, height: usize, width: usize },
    #[error("tile size {child} is not half of tile size {parent}")]
    TileHalving { parent: usize, child: usize },
    #[error("tile {index} is outside a grid of {tiles} tiles")]
    TileIndex { index: u32, tiles: u32 },
    #[error("a tile of {tile_size} at row {y}, column {x} leaves a map of {height} by {width}")]
    Origin { y: u32, x: u32, tile_size: usize, height: usize, width: usize },
    #[error("tile {index} occurs twice in row {row}")]
    DuplicateTile { row: usize, index: u32 },
    #[error("unknown order mode `{0}`")]
    OrderMode(String),
    #[error("unknown overlap mode `{0}`")]
    OverlapMode(String),
    #[error("unknown merge mode `{0}`")]
    MergeMode(String),
    #[error("blend factor {0} is outside [0, 1]")]
    BlendAlpha(f64),
    #[error("levels are needed unless the tiles are declared to be in order")]
    LevelsNeeded,
    #[error("levels spread over {spread} with {tiles} tiles, which a 32-bit key cannot hold")]
    LevelSpread { spread: i64, tiles: usize },
    #[error("`{what}` is not finite at position {position}")]
    NotFinite { what: &'static str, position: usize },
    #[error("`{what}` is {value}, a budget is finite and not negative")]
    Budget { what: &'static str, value: f64 },
    #[error("column {x}, row {y} is not on a Hilbert curve of side {side}")]
    HilbertPoint { side: u32, x: u32, y: u32 },
    #[error("parameter `{0}` is absent")]
    ParameterMissing(String),
    #[error("parameter `{name}` holds {got} elements, its shape asks for {expected}")]
    ParameterLength { name: String, expected: usize, got: usize },
}

#[cfg(test)]
mod testing {
    use super::Form;

    /// Checks the fast and the parallel form at each configuration, the latter in a pool of three threads.
    pub(crate) fn check_forms<C: Copy + Send + Sync>(configs: &[C], check: impl Fn(Form<C>) + Sync) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for &config in configs {
            check(Form::Fast(config));
            pool.install(|| check(Form::Parallel(config)));
        }
    }

    /// Numbers between -0.5 and 0.5 that depend on `offset`.
    pub(crate) fn values(count: usize, offset: usize) -> Vec<f32> {
        (offset..offset + count).map(|position| (position as f32 * 0.618).fract() - 0.5).collect()
    }

    pub(crate) fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }
}
