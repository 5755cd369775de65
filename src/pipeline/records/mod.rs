//! What `sprag history` does: records finished runs; lists, shares, checks and proves what is recorded.

mod incoming;
mod add;
mod log;
mod prove;
mod fsck;
mod sync;

pub use add::add;
pub use fsck::fsck;
pub use log::{LogOptions, log};
pub use prove::{Claim, check_proof, prove, root};
pub use sync::{cache, sync};
