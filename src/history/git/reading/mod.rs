//! Reading a history: its listing, its records, its past, and the order in which runs entered it.

pub(super) mod known_folders;
pub(super) mod listing;
pub(super) mod load;
pub(super) mod events;
pub(super) mod past;
pub(super) mod entries;
pub(super) mod loose;
pub(super) mod packs;
pub(super) mod unpack;
pub(super) mod partial;
pub(super) mod notes;
