//! What is written when a signal ends this process: where its work stopped, and how to go on.

/// From now on an interrupt, or a request to end, writes these words to standard error, and ends the process as usual.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no handlers of signals")]
pub fn say_on_interrupt(words: String) {
    use std::sync::atomic::{AtomicPtr, Ordering};

    static WORDS: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

    extern "C" fn end(signal: libc::c_int) {
        let words = WORDS.load(Ordering::Acquire);
        // SAFETY: `words` is null or was leaked, and nothing writes to it. The functions may be called by a handler of
        // signals (POSIX.1-2024, 2.4.3), and the bytes are those of the text.
        unsafe {
            if let Some(words) = words.as_ref() {
                libc::write(2, words.as_ptr().cast(), words.len());
            }
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }

    // The handler may be reading the words before, so they remain.
    let before = WORDS.swap(Box::leak(Box::new(words)), Ordering::AcqRel);
    if before.is_null() {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: the handler has the type that is asked for, and calls only what handlers may call.
            unsafe {
                // As under `nohup`.
                if libc::signal(signal, end as *const () as libc::sighandler_t) == libc::SIG_IGN {
                    libc::signal(signal, libc::SIG_IGN);
                }
            }
        }
    }
}

#[cfg(not(unix))]
pub fn say_on_interrupt(_words: String) {}
