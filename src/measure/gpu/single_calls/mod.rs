//! Single calls on the device, timed as the seed, Apex-X, does: some to warm up and then those that count, each launched
//! and waited for inside of its time, by the host's clock, one operation after the other in one fresh process.
//!
//! It serves the seed's own report and nothing else. Of a kernel that takes microseconds such a call shows the launch and
//! the wait more than the kernel; the tracks of the suite tell them apart. Each form is checked on poisoned outputs before
//! it is timed. Where the tuned form cannot run or is wrong, the plain one is timed in its place, and the answer says so.

mod subject;
mod plan;
mod choosing;
mod series;

pub use self::plan::{
    CALLS_VERSION, CallsAnswer, CallsPlan, CallsTimes, OperationCalls, Outcome, Selected, Series, Tuned, measure,
};
pub use self::series::follow;
pub use self::subject::Subject;
