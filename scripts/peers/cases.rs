//! Our kernels and those written with ndarray, each checked against our reference before it is timed.

use std::io::BufRead;
use std::sync::Mutex;

use ndarray::{ArrayView1, ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, ArrayViewMut4, Axis, Zip, s};
use rayon::{ThreadPool, ThreadPoolBuilder};
use sprag_kernels::Form;
use sprag_kernels::fused::{self, Affine, FusedChoice};
use sprag_kernels::fusion::{self, Mix};
use sprag_kernels::scan::{self, DEFAULT_CLAMP, Recurrence, ScanOrder, ScanShape};
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::{Overlap, Placement, Tiles, pack, unpack_levels};

use crate::timing::{Buffer, Random, Timed, copy, triad};

const SHAPE: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };
const TILE: usize = 8;
const TILES: usize = 32;
const PACKED: usize = TILES * 128 * TILE * TILE;
const SCAN: ScanShape = ScanShape { batch: 1, steps: 256, channels: 128 };

/// One case: its name, the kernel and what it is held against.
type Case<'a> = (String, Timed<'a>, Timed<'a>);

/// Inputs and outputs of all cases; outputs are shared, since only one case runs at a time.
struct Data {
    base: Buffer,
    detail: Buffer,
    boundary: Buffer,
    uncertainty: Buffer,
    tiles: Buffer,
    tokens: Buffer,
    lists: [Vec<f32>; 4],
    ids: Vec<u32>,
    levels: Vec<i32>,
    map: Mutex<Buffer>,
    alpha: Mutex<Buffer>,
    packed: Mutex<Buffer>,
    y: Mutex<Buffer>,
    copies: [(Buffer, Mutex<Buffer>); 3],
}

/// Times a round of all cases for each line of standard input.
pub fn work(seed: u64) {
    let data = data(&mut Random(seed));
    let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let mut cases = Vec::new();
    packs(&data, &pool, &mut cases);
    unpacks(&data, &pool, &mut cases);
    fuseds(&data, &pool, &mut cases);
    fusions(&data, &pool, &mut cases);
    scans(&data, &pool, &mut cases);
    for (round, _) in std::io::stdin().lock().lines().enumerate() {
        for (name, kernel, reference) in &mut cases {
            let (ours, other);
            if round % 2 == 0 {
                ours = kernel.block();
                other = reference.block();
            } else {
                other = reference.block();
                ours = kernel.block();
            }
            println!("{name}\t{}", ours / other);
        }
        println!("end");
    }
}

fn data(random: &mut Random) -> Data {
    let mut ids: Vec<u32> = (0..256).collect();
    for place in 0..TILES {
        let other = place + (random.next() % (256 - place as u64)) as usize;
        ids.swap(place, other);
    }
    ids.truncate(TILES);
    ids.sort_unstable();
    let mut list = |low, high| (0..SCAN.channels).map(|_| random.between(low, high)).collect::<Vec<f32>>();
    let lists = [list(0.1, 0.9), list(0.05, 1.55), list(0.05, 1.55), list(-0.1, 0.1)];
    let levels = (0..TILES).map(|_| (random.next() % 4) as i32).collect();
    let mut buffer = |length| Buffer::random(length, random);
    let (elements, pixels) = (SHAPE.elements(), SHAPE.pixels());
    Data {
        base: buffer(elements),
        detail: buffer(elements),
        boundary: buffer(pixels),
        uncertainty: buffer(pixels),
        tiles: buffer(PACKED),
        tokens: buffer(SCAN.elements()),
        lists,
        ids,
        levels,
        map: Mutex::new(buffer(elements)),
        alpha: Mutex::new(buffer(pixels)),
        packed: Mutex::new(buffer(PACKED)),
        y: Mutex::new(buffer(SCAN.elements())),
        copies: [PACKED, elements, SCAN.elements()].map(|length| (buffer(length), Mutex::new(buffer(length)))),
    }
}

impl Data {
    fn copy(&self, which: usize) -> Timed<'_> {
        let (from, to) = &self.copies[which];
        Timed::new(|| copy(from, &mut to.lock().unwrap()))
    }

    fn triad(&self) -> Timed<'_> {
        Timed::new(|| triad(&self.base, &self.detail, &mut self.copies[1].1.lock().unwrap()))
    }

    fn corners(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ids.iter().map(|&id| (id as usize / 16 * TILE, id as usize % 16 * TILE))
    }
}

fn volume(values: &[f32]) -> ArrayView3<'_, f32> {
    ArrayView3::from_shape((128, 128, 128), values).expect("a map")
}

fn volume_mut(values: &mut [f32]) -> ArrayViewMut3<'_, f32> {
    ArrayViewMut3::from_shape((128, 128, 128), values).expect("a map")
}

fn packs<'a>(data: &'a Data, pool: &'a ThreadPool, cases: &mut Vec<Case<'a>>) {
    let mut expected = vec![0.0; PACKED];
    pack::run(Form::Reference, &data.base[..], SHAPE, TILE, &data.ids, &mut expected).expect("a good call");
    let mut case = |name: &str, call: Box<dyn Fn(&mut [f32]) + 'a>| {
        data.packed.lock().unwrap().fill(f32::NAN);
        call(&mut data.packed.lock().unwrap());
        assert!(data.packed.lock().unwrap()[..] == expected[..], "{name}");
        let timed = Timed::new(move || call(&mut data.packed.lock().unwrap()));
        cases.push((format!("pack/{name}"), timed, data.copy(0)));
    };
    for &config in pack::CANDIDATES {
        let call = move |packed: &mut [f32]| {
            pack::run(Form::Fast(config), &data.base[..], SHAPE, TILE, &data.ids, packed).expect("a good call");
        };
        case(&ours(config == pack::CANDIDATES[0], &config.name()), Box::new(call));
    }
    let config = pack::CANDIDATES[0];
    case(
        "ours, 2 threads",
        Box::new(move |packed| {
            pool.install(|| pack::run(Form::Parallel(config), &data.base[..], SHAPE, TILE, &data.ids, packed))
                .expect("a good call");
        }),
    );
    case(
        "ndarray: slices",
        Box::new(move |packed| {
            let map = volume(&data.base);
            let mut packed = ArrayViewMut4::from_shape((TILES, 128, TILE, TILE), packed).expect("tiles");
            for ((y, x), mut tile) in data.corners().zip(packed.outer_iter_mut()) {
                tile.assign(&map.slice(s![.., y..y + TILE, x..x + TILE]));
            }
        }),
    );
}

/// The name of a form of ours: the usual one, or a candidate of the tuner.
fn ours(is_usual: bool, config: &str) -> String {
    if is_usual { "ours, 1 thread".to_owned() } else { format!("ours, 1 thread, `{config}`") }
}

fn unpacks<'a>(data: &'a Data, pool: &'a ThreadPool, cases: &mut Vec<Case<'a>>) {
    let tiles = Tiles { packed: &data.tiles[..], placement: Placement::Indices(&data.ids), tile_size: TILE };
    let rule = unpack_levels::LevelsRule {
        levels: Some(&data.levels),
        assume_priority_sorted: false,
        overlap: Overlap::Override,
    };
    let mut expected = vec![0.0; SHAPE.elements()];
    unpack_levels::run(
        Form::Reference,
        Some(&data.base[..]),
        SHAPE,
        &tiles,
        rule,
        &mut expected,
        &mut Default::default(),
    )
    .expect("good");
    let mut case = |kernel: &str, name: &str, mut call: Box<dyn FnMut(&mut [f32]) + 'a>| {
        data.map.lock().unwrap().copy_from_slice(&data.base);
        call(&mut data.map.lock().unwrap());
        assert!(data.map.lock().unwrap()[..] == expected[..], "{kernel}, {name}");
        let timed = Timed::new(move || call(&mut data.map.lock().unwrap()));
        cases.push((format!("{kernel}/{name}"), timed, data.copy(usize::from(kernel == "unpack with copy"))));
    };
    for &config in unpack_levels::CANDIDATES {
        let name = ours(config == unpack_levels::CANDIDATES[0], &config.name());
        let mut scratch = unpack_levels::UnpackScratch::default();
        case(
            "unpack in place",
            &name,
            Box::new(move |map| {
                unpack_levels::run(Form::Fast(config), None, SHAPE, &tiles, rule, map, &mut scratch)
                    .expect("a good call");
            }),
        );
        let mut scratch = unpack_levels::UnpackScratch::default();
        case(
            "unpack with copy",
            &name,
            Box::new(move |map| {
                unpack_levels::run(Form::Fast(config), Some(&data.base[..]), SHAPE, &tiles, rule, map, &mut scratch)
                    .expect("a good call");
            }),
        );
    }
    let config = unpack_levels::CANDIDATES[0];
    let mut scratch = unpack_levels::UnpackScratch::default();
    case(
        "unpack in place",
        "ours, 2 threads",
        Box::new(move |map| {
            let call = || unpack_levels::run(Form::Parallel(config), None, SHAPE, &tiles, rule, map, &mut scratch);
            pool.install(call).expect("a good call");
        }),
    );
    let mut scratch = unpack_levels::UnpackScratch::default();
    case(
        "unpack with copy",
        "ours, 2 threads",
        Box::new(move |map| {
            let call = || {
                unpack_levels::run(Form::Parallel(config), Some(&data.base[..]), SHAPE, &tiles, rule, map, &mut scratch)
            };
            pool.install(call).expect("a good call");
        }),
    );
    let assign = move |map: &mut [f32]| {
        let mut map = volume_mut(map);
        for ((y, x), tile) in data.corners().zip(data.tiles.chunks_exact(128 * TILE * TILE)) {
            let tile = ArrayView3::from_shape((128, TILE, TILE), tile).expect("a tile");
            map.slice_mut(s![.., y..y + TILE, x..x + TILE]).assign(&tile);
        }
    };
    case("unpack in place", "ndarray: slices", Box::new(assign));
    case(
        "unpack with copy",
        "ndarray: assign, slices",
        Box::new(move |map| {
            volume_mut(map).assign(&volume(&data.base));
            assign(map);
        }),
    );
}

fn fuseds<'a>(data: &'a Data, pool: &'a ThreadPool, cases: &mut Vec<Case<'a>>) {
    let choice = FusedChoice { indices: &data.ids, tile_size: TILE, require_unique: true };
    let affine = Affine::default();
    let mut expected = vec![0.0; SHAPE.elements()];
    fused::run(Form::Reference, &data.base[..], SHAPE, &choice, &affine, &mut expected, &mut Default::default())
        .expect("good");
    let mut case = |name: &str, mut call: Box<dyn FnMut(&mut [f32]) + 'a>| {
        data.map.lock().unwrap().fill(f32::NAN);
        call(&mut data.map.lock().unwrap());
        assert!(data.map.lock().unwrap()[..] == expected[..], "{name}");
        let timed = Timed::new(move || call(&mut data.map.lock().unwrap()));
        cases.push((format!("fused pack-op-unpack/{name}"), timed, data.copy(1)));
    };
    for &config in fused::CANDIDATES {
        let mut scratch = fused::Scratch::default();
        case(
            &ours(config == fused::CANDIDATES[0], &config.name()),
            Box::new(move |map| {
                fused::run(Form::Fast(config), &data.base[..], SHAPE, &choice, &affine, map, &mut scratch)
                    .expect("a good call");
            }),
        );
    }
    let mut scratch = fused::Scratch::default();
    case(
        "ours, 2 threads",
        Box::new(move |map| {
            let config = fused::CANDIDATES[0];
            let call =
                || fused::run(Form::Parallel(config), &data.base[..], SHAPE, &choice, &affine, map, &mut scratch);
            pool.install(call).expect("a good call");
        }),
    );
    case(
        "ndarray: assign, slices",
        Box::new(move |map| {
            let (base, mut map) = (volume(&data.base), volume_mut(map));
            map.assign(&base);
            for (y, x) in data.corners() {
                map.slice_mut(s![.., y..y + TILE, x..x + TILE]).mapv_inplace(|x| x * x.max(0.0));
            }
        }),
    );
}

fn fusions<'a>(data: &'a Data, pool: &'a ThreadPool, cases: &mut Vec<Case<'a>>) {
    let inputs = fusion::FusionInputs {
        base: &data.base[..],
        detail: &data.detail[..],
        boundary: &data.boundary[..],
        uncertainty: &data.uncertainty[..],
    };
    let gate = Mix::default();
    let (mut alpha, mut expected) = (vec![0.0; SHAPE.pixels()], vec![0.0; SHAPE.elements()]);
    fusion::run(Form::Reference, &inputs, SHAPE, &gate, &mut alpha, &mut expected).expect("a good call");
    let mut case = |name: &str, call: Box<dyn Fn(&mut [f32], &mut [f32]) + 'a>| {
        data.map.lock().unwrap().fill(f32::NAN);
        call(&mut data.alpha.lock().unwrap(), &mut data.map.lock().unwrap());
        near(&data.map.lock().unwrap(), &expected, 2e-6, name);
        let timed = Timed::new(move || call(&mut data.alpha.lock().unwrap(), &mut data.map.lock().unwrap()));
        cases.push((format!("fusion/{name}"), timed, data.triad()));
    };
    for &config in fusion::CANDIDATES {
        case(
            &ours(config == fusion::CANDIDATES[0], &config.name()),
            Box::new(move |alpha, fused| {
                fusion::run(Form::Fast(config), &inputs, SHAPE, &gate, alpha, fused).expect("a good call");
            }),
        );
        let name = if config == fusion::CANDIDATES[0] { String::new() } else { format!(", `{}`", config.name()) };
        case(
            &format!("ours, 2 threads{name}"),
            Box::new(move |alpha, fused| {
                pool.install(|| fusion::run(Form::Parallel(config), &inputs, SHAPE, &gate, alpha, fused))
                    .expect("a good call");
            }),
        );
    }
    let weight = fusion::softplus(1.0);
    case(
        "ndarray: zip",
        Box::new(move |alpha, fused| {
            let view = |values| ArrayView2::from_shape((128, 128), values).expect("a plane");
            let mut alpha = ArrayViewMut2::from_shape((128, 128), alpha).expect("a plane");
            Zip::from(&mut alpha).and(view(&data.boundary)).and(view(&data.uncertainty)).for_each(|alpha, &p, &q| {
                *alpha = 1.0 / (1.0 + (-(weight * p + weight * q)).exp());
            });
            let (base, detail, mut fused) = (volume(&data.base), volume(&data.detail), volume_mut(fused));
            Zip::from(fused.outer_iter_mut()).and(base.outer_iter()).and(detail.outer_iter()).for_each(
                |fused, base, detail| {
                    Zip::from(fused).and(base).and(detail).and(&alpha).for_each(|fused, &base, &detail, &alpha| {
                        *fused = base + alpha * (detail - base);
                    });
                },
            );
        }),
    );
}

fn scans<'a>(data: &'a Data, pool: &'a ThreadPool, cases: &mut Vec<Case<'a>>) {
    let [decay, input_gain, output_gain, state_bias] = &data.lists;
    let inputs = scan::ScanInputs { tokens: &data.tokens[..], shape: SCAN, init_state: None, clamp: DEFAULT_CLAMP };
    let direction = ScanOrder::Forward(Recurrence { decay, input_gain, output_gain, state_bias });
    let mut expected = vec![0.0; SCAN.elements()];
    let mut state = vec![0.0; SCAN.states()];
    scan::run(Form::Reference, &inputs, &direction, &mut expected, &mut state, &mut Default::default())
        .expect("a good call");
    let mut case = |name: &str, mut call: Box<dyn FnMut(&mut [f32]) + 'a>| {
        data.y.lock().unwrap().fill(f32::NAN);
        call(&mut data.y.lock().unwrap());
        near(&data.y.lock().unwrap(), &expected, 1e-5, name);
        let timed = Timed::new(move || call(&mut data.y.lock().unwrap()));
        cases.push((format!("scan/{name}"), timed, data.copy(2)));
    };
    for &config in scan::CANDIDATES {
        let (mut scratch, mut state) = (scan::Buffers::default(), state.clone());
        case(
            &ours(config == scan::CANDIDATES[0], &config.name()),
            Box::new(move |y| {
                scan::run(Form::Fast(config), &inputs, &direction, y, &mut state, &mut scratch).expect("a good call");
            }),
        );
    }
    let (mut scratch, mut final_state) = (scan::Buffers::default(), state.clone());
    case(
        "ours, 2 threads",
        Box::new(move |y| {
            let config = scan::CANDIDATES[0];
            pool.install(|| scan::run(Form::Parallel(config), &inputs, &direction, y, &mut final_state, &mut scratch))
                .expect("good");
        }),
    );
    let renewal: Vec<f32> = decay.iter().map(|decay| 1.0 - decay).collect();
    let mut state = state;
    case(
        "ndarray: rows, without clamping",
        Box::new(move |y| {
            let tokens = ArrayView2::from_shape((SCAN.steps, SCAN.channels), &data.tokens[..]).expect("tokens");
            let mut y = ArrayViewMut2::from_shape((SCAN.steps, SCAN.channels), y).expect("tokens");
            let list = |values: &'a [f32]| ArrayView1::from(values);
            state.fill(0.0);
            let mut folded = [0.0; SCAN.channels];
            for (token, mut y) in tokens.axis_iter(Axis(0)).zip(y.axis_iter_mut(Axis(0))) {
                Zip::from(&mut folded[..])
                    .and(token)
                    .and(list(input_gain))
                    .and(list(state_bias))
                    .and(&renewal[..])
                    .for_each(|folded, &x, &gain, &bias, &renewal| *folded = renewal * (gain * x + bias));
                Zip::from(&mut y)
                    .and(&mut state[..])
                    .and(&folded[..])
                    .and(list(decay))
                    .and(list(output_gain))
                    .for_each(|y, state, &folded, &decay, &gain| {
                        *state = decay * *state + folded;
                        *y = gain * *state;
                    });
            }
        }),
    );
}

fn near(got: &[f32], expected: &[f32], tolerance: f32, name: &str) {
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance * (1.0 + expected.abs()), "{name}: {got} for {expected}");
    }
}
