//! What the host does in each call of the whole path before the device can begin: it chooses the tiles, and hands their
//! ids over.

use super::super::DeviceError;
use super::super::instance::Instance;
use super::super::operation::{Operation, ff_path};
use super::super::program::{Content, Program};
use super::Selected;

/// The choice of tiles, and where their ids go.
pub(super) struct Choosing<'a> {
    shape: &'a ff_path::Shape,
    /// The places of the ids of each level that has any.
    places: Vec<usize>,
}

impl<'a> Choosing<'a> {
    /// The choice of an operation; `None` where it makes none.
    pub(super) fn from_operation(operation: &'a Operation, program: &Program) -> Option<Choosing<'a>> {
        let shape = operation.selection()?;
        let holds_ids = |place: &usize| matches!(program.buffers[*place].content, Content::Integers(_));
        Some(Choosing { shape, places: (0..program.buffers.len()).filter(holds_ids).collect() })
    }

    /// Chooses, and hands the ids to the device. They are handed over in each call: that they are the same as in the last
    /// one is chance, and no caller can count on it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(super) fn choose(&self, instance: &Instance) -> Result<(), DeviceError> {
        let selection = self.shape.select().map_err(DeviceError::Program)?;
        let lists = [selection.l0, selection.l1];
        for (place, ids) in self.places.iter().zip(lists.iter().filter(|ids| !ids.is_empty())) {
            let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            instance.buffer(*place).upload(&bytes)?;
        }
        Ok(())
    }
}

/// What each call of the operation chooses; nothing where it makes no choice.
pub(super) fn selected(operation: &Operation) -> Selected {
    let Some(shape) = operation.selection() else { return Selected::default() };
    let selection = shape.selection();
    Selected {
        level_0: selection.l0.len() as u64,
        level_1: selection.l1.len() as u64,
        budget_b1_spent: selection.spent_b1,
        budget_b2_spent: selection.spent_b2,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::operation::Form;
    use super::super::super::program::Dtype;
    use super::super::super::settings::{Budgets, Settings};
    use super::super::Subject;
    use super::*;

    #[test]
    fn the_ids_of_both_levels_have_their_places() {
        let check = |b1: f64, b2: f64, expected: &[usize], selected_tiles: [u64; 2]| {
            let settings = Settings { budgets: Budgets { b1, b2, total: 32.0 }, ..Settings::FIXED };
            let operation = Subject::EndToEnd.operation(&settings).expect("the sizes can be");
            let program = operation.program(Dtype::F16, Form::Reference);
            let choosing = Choosing::from_operation(&operation, &program).expect("the path chooses");
            let lengths: Vec<usize> = choosing.places.iter().map(|place| program.buffers[*place].count).collect();
            assert_eq!(lengths, expected, "{b1} {b2}");
            let selected = selected(&operation);
            assert_eq!([selected.level_0, selected.level_1], selected_tiles);
        };
        check(16.0, 8.0, &[20, 32], [20, 32]);
        check(16.0, 0.0, &[20], [20, 0]);
        check(0.0, 8.0, &[], [0, 0]);
    }

    #[test]
    fn the_published_profile_spends_what_the_seed_spends() {
        let operation = Subject::EndToEnd.operation(&Settings::FIXED).expect("the sizes can be");
        let selected = selected(&operation);
        assert_eq!((selected.budget_b1_spent, selected.budget_b2_spent), (16.000000000000004, 8.0));
        let pack = Subject::TilePack.operation(&Settings::FIXED).expect("the sizes can be");
        let program = pack.program(Dtype::F16, Form::Reference);
        assert!(Choosing::from_operation(&pack, &program).is_none(), "its ids are given");
    }
}
