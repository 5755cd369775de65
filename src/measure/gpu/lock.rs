//! One suite at a time on a device: two would time each other.
//!
//! The lock is a file in the system's folder for temporary files, named after the device and held by the kernel, so that
//! it goes with the process however that ends. It keeps out other runs of Sprag, nobody else.

use std::fs::File;

/// The device is this process's own, as far as Sprag goes, while this lives.
#[derive(Debug)]
pub struct DeviceLock {
    /// Absent where the system has no place for it or no such locks.
    _file: Option<File>,
}

/// Takes the lock of a device, by what tells it from others; `wait` hears once that another run holds it, and then waits.
pub fn acquire(device: &str, wait: impl FnOnce()) -> DeviceLock {
    let name: String = device.chars().filter(char::is_ascii_alphanumeric).collect();
    let path = std::env::temp_dir().join(format!("sprag-gpu-{name}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(path).ok();
    let Some(file) = file else { return DeviceLock { _file: None } };
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            wait();
            // Who cannot wait measures all the same.
            let _ = file.lock();
        }
        Err(std::fs::TryLockError::Error(_)) => {}
    }
    DeviceLock { _file: Some(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_for_the_first() {
        let name = format!("test{}", std::process::id());
        let first = acquire(&name, || panic!("nobody holds it"));
        let (sender, waits) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || drop(acquire(&name, || sender.send(()).expect("it is awaited"))));
        waits.recv().expect("it waits");
        drop(first);
        second.join().expect("it goes on");
    }
}
