//! Calibration kernels: plain loops on the host; on a device a copy, which shows its peak memory bandwidth, and an empty
//! launch.

use std::hint::black_box;
use std::rc::Rc;

use crate::gpu::device::Device;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::operation::copy;
use crate::gpu::program::Dtype;
use crate::gpu::{DeviceError, timer};
use crate::memory::{self, Buffer};
use crate::parity;
use crate::workload::{Calibration, LANES, Prepared, STEPS, Tiling};
use sprag_base::stats::random::SplitMix64;

pub fn prepare(kernel: Calibration, seed: u64) -> Result<Prepared, String> {
    if kernel.is_on_device() {
        return prepare_on_device(kernel, seed).map_err(|error| error.reason());
    }
    let (call, peak_bytes) = memory::peak(|| call(kernel, seed));
    Ok(Prepared { parity: parity::unchecked(), peak_bytes, call, meter: None })
}

fn call(kernel: Calibration, seed: u64) -> Box<dyn FnMut()> {
    let mut random = SplitMix64::new(seed);
    let mut array = |bytes: usize| Buffer::with(bytes / size_of::<f32>(), |_| random.uniform() as f32);
    match kernel {
        // Only the device calls its kernels.
        Calibration::DeviceCopy { .. } | Calibration::DeviceLaunch { .. } => Box::new(|| ()),
        Calibration::MultiplyAdd => {
            let mut lanes = [1.0_f32; LANES];
            Box::new(move || multiply_add(black_box(&mut lanes)))
        }
        Calibration::Copy { bytes } => {
            let (source, mut target) = (array(bytes), array(bytes));
            Box::new(move || black_box(&mut target[..]).copy_from_slice(black_box(&source)))
        }
        Calibration::Gather(tiling) => {
            let (map, mut tiles) = (array(tiling.map), array(tiling.bytes));
            Box::new(move || gather(tiling, black_box(&map), black_box(&mut tiles)))
        }
        Calibration::Scatter(tiling) => {
            let (mut map, tiles) = (array(tiling.map), array(tiling.bytes));
            Box::new(move || scatter(tiling, black_box(&mut map), black_box(&tiles)))
        }
        Calibration::Triad { bytes } => {
            let (b, c, mut a) = (array(bytes), array(bytes), array(bytes));
            Box::new(move || triad(black_box(&mut a), black_box(&b), black_box(&c)))
        }
    }
}

/// Contracts towards a fixed point, so values stay ordinary numbers.
#[inline(never)]
fn multiply_add(lanes: &mut [f32; LANES]) {
    for _ in 0..STEPS {
        for lane in lanes.iter_mut() {
            *lane = *lane * 0.999 + 0.001;
        }
    }
}

#[inline(never)]
fn triad(a: &mut [f32], b: &[f32], c: &[f32]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + 3.0 * c;
    }
}

/// Where the tiles of a calibration kernel begin, at even distances on the grid of the map. No division a tile, which on
/// some CPUs takes longer than to copy it.
#[inline(always)]
fn places(tiling: Tiling, side: usize, pixels: usize, tiles: usize) -> impl Iterator<Item = usize> {
    let (step, columns) = (pixels / (side * side) / tiles, tiling.width / side);
    let (mut row, mut column) = (0, 0);
    (0..tiles).map(move |_| {
        let place = (row * tiling.width + column) * side;
        column += step;
        while column >= columns {
            (row, column) = (row + 1, column - columns);
        }
        place
    })
}

/// The compiler moves a row of a side that it knows in a few moves.
#[inline(never)]
fn gather(tiling: Tiling, map: &[f32], tiles: &mut [f32]) {
    #[inline(always)]
    fn run(tiling: Tiling, side: usize, map: &[f32], tiles: &mut [f32]) {
        let places = places(tiling, side, map.len(), tiles.len() / (side * side));
        for (tile, place) in tiles.chunks_exact_mut(side * side).zip(places) {
            for (index, row) in tile.chunks_exact_mut(side).enumerate() {
                row.copy_from_slice(&map[place + index * tiling.width..][..side]);
            }
        }
    }
    match tiling.side {
        8 => run(tiling, 8, map, tiles),
        16 => run(tiling, 16, map, tiles),
        side => run(tiling, side, map, tiles),
    }
}

#[inline(never)]
fn scatter(tiling: Tiling, map: &mut [f32], tiles: &[f32]) {
    #[inline(always)]
    fn run(tiling: Tiling, side: usize, map: &mut [f32], tiles: &[f32]) {
        let places = places(tiling, side, map.len(), tiles.len() / (side * side));
        for (tile, place) in tiles.chunks_exact(side * side).zip(places) {
            for (index, row) in tile.chunks_exact(side).enumerate() {
                map[place + index * tiling.width..][..side].copy_from_slice(row);
            }
        }
    }
    match tiling.side {
        8 => run(tiling, 8, map, tiles),
        side => run(tiling, side, map, tiles),
    }
}

/// No benchmark uses the memory of this set.
const SET: u32 = 1 << 16;

/// Makes a calibration kernel ready on the device that this thread has opened.
fn prepare_on_device(calibration: Calibration, seed: u64) -> Result<Prepared, DeviceError> {
    let (program, track) = match calibration {
        Calibration::DeviceCopy { bytes, track } => (copy::plain_copy((bytes / Dtype::F32.bytes()).max(1)), track),
        Calibration::DeviceLaunch { track } => (copy::empty_program(), track),
        other => return Err(DeviceError::Program(format!("`{}` is none of a device", other.word()))),
    };
    let device = Device::of_this_thread(None)?;
    let bytes = program.bytes();
    let sets = u32::try_from(track.sets(bytes, device.cache_bytes)).unwrap_or(u32::MAX);
    let instance = |set| Instance::new(&device, program.clone(), Supply::of_set(seed, SET + set)).map(Rc::new);
    let instances = (0..sets).map(instance).collect::<Result<Vec<_>, _>>()?;
    timer::prepared(&device, instances, track, parity::unchecked(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compute_what_they_say() {
        let mut lanes = [0.0; LANES];
        multiply_add(&mut lanes);
        // From 0 towards 1: 1 - 0.999^4000 = 0.9817.
        assert!(lanes.iter().all(|lane| (lane - 0.9817).abs() < 1e-3), "{}", lanes[0]);
        let mut a = [0.0; 2];
        triad(&mut a, &[1.0, 2.0], &[10.0, 20.0]);
        assert_eq!(a, [31.0, 62.0]);
        for kernel in [Calibration::MultiplyAdd, Calibration::Copy { bytes: 64 }, Calibration::Triad { bytes: 64 }] {
            (prepare(kernel, 1).expect("the host runs it").call)();
        }
        for side in [2, 8, 16] {
            // Every second of six tiles, in two rows of the grid.
            let tiling = Tiling { bytes: 12 * side * side, map: 24 * side * side, width: 3 * side, side };
            let map: Vec<f32> = (0..6 * side * side).map(|pixel| pixel as f32).collect();
            let (mut tiles, mut merged) = (vec![-1.0; 3 * side * side], vec![-1.0; map.len()]);
            gather(tiling, &map, &mut tiles);
            scatter(tiling, &mut merged, &tiles);
            for (pixel, (got, value)) in merged.iter().zip(&map).enumerate() {
                let tile = pixel / (tiling.width * side) * 3 + pixel % tiling.width / side;
                let is_copied = tile.is_multiple_of(2);
                assert_eq!(*got, if is_copied { *value } else { -1.0 }, "side {side}, pixel {pixel}");
            }
            assert_eq!(tiles[side], map[tiling.width]);
        }
    }
}
