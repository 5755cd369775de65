//! Tests that take more than one file of this module: appending, loading back, and being cut short.

mod appending;
mod broken;
mod configured;
mod events;
mod checkouts;
mod interruption;
mod opening;
mod packed;
mod quarantine;
mod racing;
mod syncing;
