//! Recorded launches and the points in time between them.

use std::rc::Rc;

use cudarc::driver::{result, sys};

use super::context::{Context, checked};
use crate::gpu::DeviceError;

/// Launches that were recorded once and are replayed as one.
pub struct Graph {
    context: Rc<Context>,
    raw: sys::CUgraphExec,
}

/// A point on the stream whose time is taken.
pub struct Event {
    context: Rc<Context>,
    raw: sys::CUevent,
}

impl Context {
    /// Records what `work` puts on the stream, without running it.
    ///
    /// # Errors
    /// As `work`, or when the driver refuses.
    #[expect(unsafe_code, reason = "the driver's functions take handles that only the caller can vouch for")]
    pub fn capture(self: &Rc<Context>, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<Graph, DeviceError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is ours and does not capture yet.
        checked("cuStreamBeginCapture", unsafe { result::stream::begin_capture(self.stream, mode) })?;
        let done = work();
        // SAFETY: capturing has begun; it must end also where `work` failed.
        let graph = unsafe { result::stream::end_capture(self.stream) };
        done?;
        let graph = checked("cuStreamEndCapture", graph)?;
        // SAFETY: the graph was just made; the executable form does not need it any more.
        let raw = unsafe {
            let raw = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            checked("cuGraphDestroy", result::graph::destroy(graph))?;
            checked("cuGraphInstantiateWithFlags", raw)?
        };
        Ok(Graph { context: self.clone(), raw })
    }

    /// An event that takes the time.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn event(self: &Rc<Context>) -> Result<Event, DeviceError> {
        // The default flags: others switch timing off.
        let raw = checked("cuEventCreate", result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(Event { context: self.clone(), raw })
    }
}

impl Graph {
    /// Puts all its launches on the stream.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "the driver's function takes handles that only the caller can vouch for")]
    pub fn launch(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuGraphLaunch", unsafe { result::graph::launch(self.raw, self.context.stream) })
    }

    /// Hands it to the device ahead of its first launch.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "the driver's function takes handles that only the caller can vouch for")]
    pub fn upload(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuGraphUpload", unsafe { result::graph::upload(self.raw, self.context.stream) })
    }
}

impl Event {
    /// Takes the time when the stream gets here.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "the driver's function takes handles that only the caller can vouch for")]
    pub fn record(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuEventRecord", unsafe { result::event::record(self.raw, self.context.stream) })
    }

    /// Seconds from this point to a later one, after waiting for both. They are told to about half a microsecond.
    ///
    /// # Errors
    /// What went wrong on the device, or when the driver refuses.
    #[expect(unsafe_code, reason = "the driver's functions take handles that only the caller can vouch for")]
    pub fn seconds_to(&self, later: &Event) -> Result<f64, DeviceError> {
        // SAFETY: both were made to take the time, and are alive.
        unsafe {
            checked("cuEventSynchronize", result::event::synchronize(later.raw))?;
            Ok(f64::from(checked("cuEventElapsedTime", result::event::elapsed(self.raw, later.raw))?) * 1e-3)
        }
    }
}

impl Drop for Graph {
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        // SAFETY: nobody launches it any more; a launch that is under way keeps what it needs.
        // A driver that has failed has nothing left to give back, so its answer does not matter.
        let _ = unsafe { result::graph::exec_destroy(self.raw) };
    }
}

impl Drop for Event {
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        debug_assert!(Rc::strong_count(&self.context) > 0);
        // SAFETY: nobody records or reads it any more.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}
