//! Values that TOML allows and we do not.

use super::fault::Fault;
use super::settings::Config;

impl Config {
    /// The first value that TOML allows and we do not.
    pub fn fault(&self) -> Option<Fault> {
        let fault = |keys: &[&str], message: String| Some(Fault::new(keys, message));
        if let Some(fault) = self.rules.fault().or_else(|| self.trend.fault()) {
            return Some(fault);
        }
        if !(1..=366).contains(&self.schedule.every_days) {
            let message = format!("`schedule.every_days` is {}, from 1 to 366 is allowed", self.schedule.every_days);
            return fault(&["schedule", "every_days"], message);
        }
        if self.project.name.trim().is_empty() {
            return fault(&["project", "name"], "`project.name` is empty".to_owned());
        }
        if self.machine.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            let message = "`machine.name` is empty; leave it out to know the machine by its hardware";
            return fault(&["machine", "name"], message.to_owned());
        }
        for (name, suite) in &self.suites {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            if name.is_empty() || name.len() > 50 || name.starts_with(['-', '_']) || !name.chars().all(fine) {
                let message = format!(
                    "the suite `{}` must be named with lower-case letters, digits, `-` and `_`, as it names a folder",
                    name.escape_debug()
                );
                return fault(&["suites", name], message);
            }
            if is_device(name) {
                let message = format!("the suite `{name}` cannot be named so: Windows keeps that name for a device");
                return fault(&["suites", name], message);
            }
            if let Some(fault) = suite.fault(name) {
                return Some(fault);
            }
        }
        None
    }
}

/// Whether Windows takes a folder of that name for a device. Records of such a suite could not be read back.
fn is_device(name: &str) -> bool {
    let numbered = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    matches!(name, "con" | "nul" | "aux" | "prn") || numbered.is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']))
}
