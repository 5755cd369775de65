//! Calibration kernels: plain loops on the host; on a device a copy, for the bandwidth, and an empty launch.

use std::hint::black_box;
use std::rc::Rc;

use crate::cpu::tile_ids;
use crate::gpu::device::Device;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::operation::copy;
use crate::gpu::program::Dtype;
use crate::gpu::{DeviceError, timer};
use crate::memory::{self, Buffer};
use crate::parity;
use crate::workload::{Calibrator, LANES, Prepared, STEPS, Tiling};
use sprag_base::stats::random::SplitMix64;

pub fn prepare(kernel: Calibrator, seed: u64) -> Result<Prepared, String> {
    if kernel.is_on_device() {
        return prepare_on_device(kernel, seed).map_err(|error| error.reason());
    }
    let (call, peak_bytes) = memory::peak(|| call(kernel, seed));
    Ok(Prepared { parity: parity::unchecked(), peak_bytes, call, meter: None })
}

fn call(kernel: Calibrator, seed: u64) -> Box<dyn FnMut()> {
    let mut random = SplitMix64::new(seed);
    let mut array = |bytes: usize| Buffer::with(bytes / size_of::<f32>(), |_| random.uniform() as f32);
    match kernel {
        // Only the device calls its kernels.
        Calibrator::DeviceCopy { .. } | Calibrator::DeviceLaunch { .. } => Box::new(|| ()),
        Calibrator::MultiplyAdd => {
            let mut lanes = [1.0_f32; LANES];
            Box::new(move || multiply_add(black_box(&mut lanes)))
        }
        Calibrator::Copy { bytes } => {
            let (source, mut target) = (array(bytes), array(bytes));
            Box::new(move || black_box(&mut target[..]).copy_from_slice(black_box(&source)))
        }
        Calibrator::Gather(tiling) => {
            let (map, mut tiles) = (array(tiling.map), array(tiling.bytes));
            let places = places(tiling, seed.wrapping_add(1));
            let gather = if tiling.side == 8 { gather::<8> } else { gather::<16> };
            Box::new(move || gather(tiling, &places, black_box(&map), black_box(&mut tiles)))
        }
        Calibrator::Scatter(tiling) => {
            let (mut map, tiles) = (array(tiling.map), array(tiling.bytes));
            let places = places(tiling, seed.wrapping_add(2));
            let scatter = if tiling.side == 8 { scatter::<8> } else { scatter::<16> };
            Box::new(move || scatter(tiling, &places, black_box(&mut map), black_box(&tiles)))
        }
        Calibrator::Triad { bytes } => {
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

/// Where the tiles of each plane begin, in rows of tiles. They are drawn as the CPU kernels draw theirs, from the same seed.
///
/// Other tiles give no lower bound: neighbours share lines and pairs of lines, which many CPUs fetch together. Nor does another
/// packed order: an Intel CPU delays loads that agree in their low 12 address bits with stores under way. On a Xeon (family 6,
/// model 207), tiles at even distances packed one after another took 1.5 times as long as the kernel, and so
/// did the kernel with all channels at once. Which of the two causes it was not measured.
fn places(tiling: Tiling, seed: u64) -> Vec<usize> {
    let Tiling { bytes, map, width, side } = tiling;
    let (columns, planes) = (width / side, map / size_of::<f32>() / (width * width));
    let tiles = bytes / size_of::<f32>() / (side * side) / planes;
    let ids = tile_ids((columns * columns) as u32, tiles, seed).into_iter().map(|id| id as usize);
    ids.map(|id| id / columns * width + id % columns).collect()
}

/// Calls `copy` with the first row of each tile in the map and its place in `[K,C,t,t]`, by two planes like the kernels.
#[inline(always)]
fn each_tile(tiling: Tiling, places: &[usize], mut copy: impl FnMut(usize, usize)) {
    let plane = tiling.width * tiling.width;
    let (channels, plane) = (tiling.map / size_of::<f32>() / plane, plane / tiling.side);
    for first in (0..channels).step_by(2) {
        for (tile, place) in places.iter().enumerate() {
            for channel in first..channels.min(first + 2) {
                copy(channel * plane + place, tile * channels + channel);
            }
        }
    }
}

/// The compiler moves a row of a side that it knows in a few moves.
#[inline(never)]
fn gather<const SIDE: usize>(tiling: Tiling, places: &[usize], map: &[f32], tiles: &mut [f32]) {
    let (rows, stride) = (map.as_chunks::<SIDE>().0, tiling.width / SIDE);
    let tiles = tiles.as_chunks_mut::<SIDE>().0.as_chunks_mut::<SIDE>().0;
    each_tile(tiling, places, |place, tile| {
        let rows = &rows[place..];
        for (index, row) in tiles[tile].iter_mut().enumerate() {
            *row = rows[index * stride];
        }
    });
}

#[inline(never)]
fn scatter<const SIDE: usize>(tiling: Tiling, places: &[usize], map: &mut [f32], tiles: &[f32]) {
    let (rows, stride) = (map.as_chunks_mut::<SIDE>().0, tiling.width / SIDE);
    let tiles = tiles.as_chunks::<SIDE>().0.as_chunks::<SIDE>().0;
    each_tile(tiling, places, |place, tile| {
        let rows = &mut rows[place..];
        for (index, row) in tiles[tile].iter().enumerate() {
            rows[index * stride] = *row;
        }
    });
}

/// No benchmark uses the memory of this set.
const SET: u32 = 1 << 16;

/// Makes a calibration kernel ready on the device that this thread has opened.
fn prepare_on_device(calibration: Calibrator, seed: u64) -> Result<Prepared, DeviceError> {
    let (program, track) = match calibration {
        Calibrator::DeviceCopy { bytes, track } => (copy::plain_copy((bytes / Dtype::F32.bytes()).max(1)), track),
        Calibrator::DeviceLaunch { track } => (copy::empty_program(), track),
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
        for kernel in [Calibrator::MultiplyAdd, Calibrator::Copy { bytes: 64 }, Calibrator::Triad { bytes: 64 }] {
            (prepare(kernel, 1).expect("the host runs it").call)();
        }
        tiles_are_copied::<8>();
        tiles_are_copied::<16>();
    }

    /// Four tiles of nine, in each of three planes.
    fn tiles_are_copied<const SIDE: usize>() {
        let (width, pixels) = (3 * SIDE, SIDE * SIDE);
        let tiling = Tiling { bytes: 4 * 12 * pixels, map: 4 * 27 * pixels, width, side: SIDE };
        let places = places(tiling, 1);
        assert_eq!(places.len(), 4);
        let map: Vec<f32> = (0..27 * pixels).map(|pixel| pixel as f32).collect();
        let (mut tiles, mut merged) = (vec![-1.0; 12 * pixels], vec![-1.0; map.len()]);
        gather::<SIDE>(tiling, &places, &map, &mut tiles);
        scatter::<SIDE>(tiling, &places, &mut merged, &tiles);
        for (pixel, (got, value)) in merged.iter().zip(&map).enumerate() {
            let row = pixel % (9 * pixels) / SIDE;
            let is_copied = places.contains(&(row / width * width + row % 3));
            assert_eq!(*got, if is_copied { *value } else { -1.0 }, "side {SIDE}, pixel {pixel}");
        }
        assert_eq!(tiles[pixels + SIDE], map[9 * pixels + places[0] * SIDE + width]);
    }
}
