//! One heavy path: pack, scan, modulate, refine, unpack, gate.

use super::super::KernelError;
use super::super::fusion;
use super::super::ordering::{OrderMode, order};
use super::super::scan::{self, DEFAULT_CLAMP, Direction, Merge, ScanShape};
use super::super::shape::{Grid, MapShape};
use super::super::tile::unpack_priority::{self, PriorityRule};
use super::super::tile::{Overlap, Placement, Tiles, pack};
use super::parameters::PathParameters;
use super::{film, refine};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Reference,
    Fast,
}

/// A path over the tiles of one level.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    pub(super) shape: MapShape,
    pub(super) tile_size: usize,
    pub(super) parameters: &'a PathParameters,
    /// Boundary and uncertainty, `[B,1,H,W]`.
    pub(super) proxies: (&'a [f32], &'a [f32]),
    pub(super) form: Form,
}

pub(super) struct Results<'a> {
    /// `[B,C,H,W]`.
    pub(super) fused: &'a mut [f32],
    /// `[B,1,H,W]`.
    pub(super) alpha: &'a mut [f32],
    /// `[B,C,H,W]`.
    pub(super) detail: &'a mut [f32],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    heavy: Vec<f32>,
    indices: Vec<u32>,
    packed: Vec<f32>,
    priority_map: Vec<i8>,
    tokens: Vec<f32>,
    mixed: Vec<f32>,
    final_state: Vec<f32>,
    scan: scan::Scratch<f32>,
    film: film::Scratch,
    refine: refine::Scratch,
}

impl Path<'_> {
    /// Runs the path on `input`, `[B,C,H,W]`, with a list of tiles a sample.
    pub(super) fn run(
        &self,
        input: &[f32],
        rows: &[&[u32]],
        results: Results<'_>,
        workspace: &mut Workspace,
    ) -> Result<(), KernelError> {
        workspace.heavy.resize(input.len(), 0.0);
        // Taken out so that the samples may be written while the rest of the workspace is lent.
        let mut heavy = std::mem::take(&mut workspace.heavy);
        let elements = self.shape.channels * self.shape.plane();
        let samples = input.chunks_exact(elements).zip(heavy.chunks_exact_mut(elements));
        for ((input, heavy), tiles) in samples.zip(rows) {
            self.compute(input, tiles, heavy, workspace)?;
        }
        let (boundary, uncertainty) = self.proxies;
        let inputs = fusion::FusionInputs { base: input, detail: &heavy, boundary, uncertainty };
        let gate = &self.parameters.gate;
        match self.form {
            Form::Reference => fusion::reference(&inputs, self.shape, gate, results.alpha, results.fused)?,
            Form::Fast => fusion::fast(&inputs, self.shape, gate, results.alpha, results.fused)?,
        }
        for (detail, (&fused, &input)) in results.detail.iter_mut().zip(results.fused.iter().zip(input)) {
            *detail = fused - input;
        }
        workspace.heavy = heavy;
        Ok(())
    }

    /// The heavy map of one sample, `[C,H,W]`, before the gate.
    fn compute(
        &self,
        input: &[f32],
        tiles: &[u32],
        heavy: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), KernelError> {
        if tiles.is_empty() {
            heavy.copy_from_slice(input);
            return Ok(());
        }
        let shape = MapShape { batch: 1, ..self.shape };
        let side = self.tile_size;
        let pixels = side * side;
        let Workspace { indices, packed, priority_map, tokens, mixed, final_state, .. } = workspace;
        indices.clear();
        indices.extend_from_slice(tiles);
        order(indices, Grid::of_map(shape, side)?, OrderMode::Hilbert)?;
        packed.resize(tiles.len() * shape.channels * pixels, 0.0);
        match self.form {
            Form::Reference => pack::reference(input, shape, side, indices, packed)?,
            Form::Fast => pack::fast(input, shape, side, indices, packed)?,
        }

        tokens.clear();
        tokens.extend(packed.chunks_exact(pixels).map(|plane| plane.iter().sum::<f32>() / pixels as f32));
        mixed.resize(tokens.len(), 0.0);
        let scan_shape = ScanShape { batch: 1, steps: tiles.len(), channels: shape.channels };
        let direction = Direction::Bidirectional {
            forward: self.parameters.forward.view(),
            backward: self.parameters.backward.view(),
            merge: Merge::Gated(Some(&self.parameters.merge_gate)),
        };
        final_state.resize(direction.final_states(scan_shape), 0.0);
        let inputs = scan::ScanInputs { tokens, shape: scan_shape, init_state: None, clamp: DEFAULT_CLAMP };
        match self.form {
            Form::Reference => scan::reference(&inputs, &direction, mixed, final_state, &mut workspace.scan)?,
            Form::Fast => scan::fast(&inputs, &direction, mixed, final_state, &mut workspace.scan)?,
        }

        let tokens = mixed.chunks_exact(shape.channels);
        for (tile, token) in packed.chunks_exact_mut(shape.channels * pixels).zip(tokens) {
            film::modulate(tile, token, &self.parameters.film, &mut workspace.film);
            refine::refine(tile, side, &self.parameters.refine, &mut workspace.refine);
        }

        priority_map.clear();
        priority_map.resize(shape.pixels(), 0);
        let tiles = Tiles { packed: packed.as_slice(), placement: Placement::Indices(indices), tile_size: side };
        let rule = PriorityRule { level_priority: 1, overlap: Overlap::Override };
        match self.form {
            Form::Reference => unpack_priority::reference(input, shape, &tiles, rule, heavy, priority_map),
            Form::Fast => unpack_priority::fast(input, shape, &tiles, rule, heavy, priority_map),
        }
    }
}
