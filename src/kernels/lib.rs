//! The CPU kernels that Sprag times and that every other implementation is checked against.
//!
//! Each kernel has a plain `reference` form, written straight from its definition, and where it is timed a `fast`
//! form proven equal to it: bit for bit where values are only moved, within the stated tolerance elsewhere. All are
//! functions over slices in row-major order that write into slices the caller provides; what they need besides is a
//! scratch value that grows once and is reused. Nothing here reads a clock, a file or a device.
//!
//! Layouts: maps `[B,C,H,W]`, packed tiles `[B,K,C,t,t]`, tokens `[B,K,C]`; the tile grid is `H/t` by `W/t` and tile
//! id = `row * grid width + column`.

pub mod element;
pub mod shape;

mod exponential;
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

/// Why a kernel refused its input. Kernels over slices check before they write, so a refusal leaves outputs untouched.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A slice does not hold as many elements as its shape says.
    #[error("`{what}` holds {got} elements, its shape asks for {expected}")]
    Length {
        what: &'static str,
        /// Elements that the shape asks for.
        expected: usize,
        got: usize,
    },
    /// A per-sample list cannot be cut into one row a sample.
    #[error("`{what}` holds {got} elements, which {batch} samples cannot share equally")]
    Rows { what: &'static str, batch: usize, got: usize },
    /// A shape has an axis of length zero, or a grid more tiles than 32 bits count.
    #[error("`{what}` has an axis of length zero or too many elements")]
    Empty { what: &'static str },
    /// A batch has another size than the kernel handles.
    #[error("`{what}` has a batch of {got}, only {expected} is handled")]
    Batch { what: &'static str, expected: usize, got: usize },
    /// The side of a tile is zero or does not divide the map.
    #[error("tile size {tile_size} does not divide a map of {height} by {width}")]
    TileSize { tile_size: usize, height: usize, width: usize },
    /// The tile sizes of two levels of the quadtree do not halve.
    #[error("tile size {child} is not half of tile size {parent}")]
    TileHalving {
        /// The side of the coarse tile in pixels.
        parent: usize,
        /// The side of the fine tile in pixels.
        child: usize,
    },
    /// A tile id lies outside the grid.
    #[error("tile {index} is outside a grid of {tiles} tiles")]
    TileIndex { index: u32, tiles: u32 },
    /// A tile does not lie inside the map.
    #[error("a tile of {tile_size} at row {y}, column {x} leaves a map of {height} by {width}")]
    Origin {
        /// Row of the upper left pixel.
        y: u32,
        /// Column of the upper left pixel.
        x: u32,
        tile_size: usize,
        height: usize,
        width: usize,
    },
    /// A tile is named twice in a row that must name each once.
    #[error("tile {index} occurs twice in row {row}")]
    DuplicateTile { row: usize, index: u32 },
    /// A name of an order of tiles is unknown.
    #[error("unknown order mode `{0}`")]
    OrderMode(String),
    /// A name of a way to resolve overlaps is unknown.
    #[error("unknown overlap mode `{0}`")]
    OverlapMode(String),
    /// A name of a way to merge two directions is unknown.
    #[error("unknown merge mode `{0}`")]
    MergeMode(String),
    /// A blend factor lies outside [0, 1].
    #[error("blend factor {0} is outside [0, 1]")]
    BlendAlpha(f64),
    /// Levels were neither given nor declared to be in order already.
    #[error("levels are needed unless the tiles are declared to be in order")]
    LevelsNeeded,
    /// The levels spread so far that level and position do not fit a 32-bit key.
    #[error("levels spread over {spread} with {tiles} tiles, which a 32-bit key cannot hold")]
    LevelSpread {
        /// Largest level less smallest.
        spread: i64,
        tiles: usize,
    },
    #[error("`{what}` is not finite at position {position}")]
    NotFinite {
        what: &'static str,
        /// Linear position, 0 for a scalar.
        position: usize,
    },
    #[error("`{what}` is {value}, a budget is finite and not negative")]
    Budget { what: &'static str, value: f64 },
    /// A point lies outside the square of a Hilbert curve, or its side is no power of two.
    #[error("column {x}, row {y} is not on a Hilbert curve of side {side}")]
    HilbertPoint { side: u32, x: u32, y: u32 },
    /// A named parameter tensor is absent.
    #[error("parameter `{0}` is absent")]
    ParameterMissing(String),
    /// A named parameter tensor has the wrong number of elements.
    #[error("parameter `{name}` holds {got} elements, its shape asks for {expected}")]
    ParameterLength {
        name: String,
        /// Elements that its shape asks for.
        expected: usize,
        got: usize,
    },
}
