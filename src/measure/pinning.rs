//! Which processors a thread may run on, and pinning it to one.

/// Pins this thread to one processor; whether the system permitted it.
pub fn pin(processor: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        let processor = processor as usize;
        let mut set = rustix::thread::CpuSet::new();
        if processor >= rustix::thread::CpuSet::MAX_CPU {
            return false;
        }
        set.set(processor);
        rustix::thread::sched_setaffinity(None, &set).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = processor;
        false
    }
}

/// The processors that this thread may run on, in order; none where the system does not report them.
pub fn allowed() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    {
        let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        all.filter(|processor| set.is_set(*processor)).filter_map(|processor| u32::try_from(processor).ok()).collect()
    }
    #[cfg(not(target_os = "linux"))]
    {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_on_its_processor_and_an_absent_one_is_refused() {
        std::thread::spawn(|| {
            let allowed_before = allowed();
            if let Some(last) = allowed_before.last()
                && pin(*last)
            {
                assert_eq!(allowed(), [*last]);
            }
            assert!(!pin(u32::MAX));
        })
        .join()
        .expect("the thread ends by itself");
    }
}
