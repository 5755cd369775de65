//! The machine of a run, and the facts that decide whether two runs may be compared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::patterns;
use sprag_base::digest;
use sprag_base::json;

/// The facts that the environment key covers. Load, steal and clocks, which move by themselves, stay out.
pub const KEY_FACTS: [&str; 10] = [
    "compiler", "cpu_features", "cpu_model", "flags", "gpu_driver", "libc", "microcode", "nvrtc", "os_release",
    "tensorrt",
];

/// The fact of the seconds that a run took.
pub const DURATION: &str = "duration_seconds";

/// The machine of a source that names none, and the class where it names no hardware.
pub const NO_MACHINE: &str = "imported";

/// A computer that runs suites, identified by name or by a digest of its hardware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Sixteen lower-case hexadecimal digits; file names have the first eight.
    #[schemars(extend("pattern" = patterns::DIGITS))]
    pub id: String,
    /// Its given name, or a short description of the hardware. Never a host name.
    pub name: String,
    /// CPU family and model, or GPU model: machines of one class may share a baseline.
    pub class: String,
}

impl Machine {
    pub fn named(name: &str, class: &str) -> Machine {
        Machine::identified(&format!("name:{name}"), name, class)
    }

    /// A machine identified by these facts of its hardware.
    pub fn from_hardware(hardware: &BTreeMap<String, String>, name: &str, class: &str) -> Machine {
        Machine::identified(&json::to_canonical(hardware), name, class)
    }

    fn identified(identity: &str, name: &str, class: &str) -> Machine {
        let id = digest::sha256_hex(identity.as_bytes())[..16].to_owned();
        Machine { id, name: name.to_owned(), class: class.to_owned() }
    }

    /// The eight digits in file names.
    pub fn short_id(&self) -> &str {
        self.id.get(..8).unwrap_or(&self.id)
    }
}

/// Facts recorded with a run, and the key by which a gate compares runs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Sixteen hexadecimal digits of the digest of the facts named in [`KEY_FACTS`].
    #[schemars(extend("pattern" = patterns::DIGITS))]
    pub key: String,
    /// All recorded facts by name; unavailable ones are absent.
    pub facts: BTreeMap<String, String>,
}

impl Environment {
    pub fn from_facts(facts: BTreeMap<String, String>) -> Environment {
        let key = Environment::key_of(&facts);
        Environment { key, facts }
    }

    pub fn key_of(facts: &BTreeMap<String, String>) -> String {
        let covered: BTreeMap<String, String> = KEY_FACTS
            .iter()
            .filter_map(|name| facts.get(*name).map(|value| ((*name).to_owned(), value.clone())))
            .collect();
        digest::sha256_hex(json::to_canonical(&covered).as_bytes())[..16].to_owned()
    }

    /// The facts of the key that differ; `none` means an absent value.
    pub fn differences(&self, other: &Environment) -> Vec<FactChange> {
        let text = |one: &Environment, name: &str| one.facts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let change = |name: &str| FactChange { fact: name.to_owned(), was: text(self, name), is: text(other, name) };
        KEY_FACTS.into_iter().map(change).filter(|change| change.was != change.is).collect()
    }
}

/// One fact that differs between two environments.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactChange {
    pub fact: String,
    pub was: String,
    pub is: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_key_ignores_what_moves_by_itself() {
        let quiet = Environment::from_facts(facts(&[("cpu_model", "X"), ("load_1m", "0.1")]));
        let busy = Environment::from_facts(facts(&[("cpu_model", "X"), ("load_1m", "9.9")]));
        let other = Environment::from_facts(facts(&[("cpu_model", "Y"), ("load_1m", "0.1")]));
        assert_eq!(quiet.key, busy.key);
        assert_ne!(quiet.key, other.key);
        let change = FactChange { fact: "cpu_model".into(), was: "X".into(), is: "Y".into() };
        assert_eq!(quiet.differences(&other), [change]);
    }

    #[test]
    fn a_machine_is_identified_by_name_or_by_hardware() {
        let named = Machine::named("bench-1", "AMD EPYC");
        assert_eq!((named.id.as_str(), named.short_id()), ("fefa3aac7bedca94", "fefa3aac"));
        assert_eq!(named, Machine::named("bench-1", "AMD EPYC"));
        let by_hardware = Machine::from_hardware(&facts(&[("vendor", "AMD")]), "amd", "AMD EPYC");
        assert_eq!(by_hardware.id, "9419c3bf003f2cf9");
        assert_ne!(named.id, by_hardware.id);
    }
}
