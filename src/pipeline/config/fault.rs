//! A value that cannot be, and where it stands.

/// What is wrong with a value, and by which keys it is found.
pub struct Fault {
    /// The keys from the root of the file to the value; of a list the place, from 0.
    pub keys: Vec<String>,
    pub message: String,
}

impl Fault {
    /// A fault of the value under those keys.
    pub fn new(keys: &[&str], message: String) -> Fault {
        Fault { keys: keys.iter().map(|key| (*key).to_owned()).collect(), message }
    }
}
