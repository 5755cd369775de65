//! The Merkle tree over a growing list, as RFC 6962 (section 2.1) defines it, on SHA-256.
//!
//! The hash of a leaf is `H(0x00 || data)`, that of a node `H(0x01 || left || right)`; a list of n > 1 is split at the
//! largest power of two below n; the root of the empty list is the hash of nothing. An inclusion proof shows that a datum is
//! at a place of the list, a consistency proof that an earlier list is a prefix of a later one. Verification follows sections
//! 2.1.3.2 and 2.1.4.2 of RFC 9162, which describe the same tree.
//!
//! Keep both the root and the length elsewhere: a proof does not fix the length, as lists of different length can give a
//! place a path of the same shape.

use sprag_base::digest::Digest;

/// A list that only grows, with the hashes of all its full subtrees.
#[derive(Clone, Debug, Default)]
pub struct MerkleTree {
    /// At height h the hashes of the subtrees over 2^h leaves each, from the left; height 0 holds the leaves.
    levels: Vec<Vec<Digest>>,
}

impl MerkleTree {
    pub fn from_leaves(data: impl IntoIterator<Item = Digest>) -> MerkleTree {
        let mut tree = MerkleTree::default();
        data.into_iter().for_each(|datum| tree.push(datum));
        tree
    }

    pub fn push(&mut self, datum: Digest) {
        let mut hash = leaf_hash(&datum.0);
        for height in 0.. {
            if self.levels.len() == height {
                self.levels.push(Vec::new());
            }
            self.levels[height].push(hash);
            let [.., left, right] = &self.levels[height][..] else { return };
            if !self.levels[height].len().is_multiple_of(2) {
                return;
            }
            hash = node_hash(left, right);
        }
    }

    pub fn len(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn root(&self) -> Digest {
        self.range(0, self.len())
    }

    /// The root over the first `size` data; absent where there are fewer.
    pub fn root_of(&self, size: usize) -> Option<Digest> {
        (size <= self.len()).then(|| self.range(0, size))
    }

    /// The length of the shortest prefix with this root.
    pub fn size_of(&self, root: &Digest) -> Option<usize> {
        (0..=self.len()).find(|&size| self.range(0, size) == *root)
    }

    /// The path of hashes from the datum at `index` to the root over the first `size`; absent where it lies beyond them.
    pub fn inclusion(&self, index: usize, size: usize) -> Option<Vec<Digest>> {
        if index >= size || size > self.len() {
            return None;
        }
        let mut path = Vec::new();
        let (mut first, mut end) = (0, size);
        while end - first > 1 {
            let middle = first + split(end - first);
            if index < middle {
                path.push(self.range(middle, end));
                end = middle;
            } else {
                path.push(self.range(first, middle));
                first = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// The proof that the first `old` data are a prefix of the first `new`; absent where there are fewer.
    pub fn consistency(&self, old: usize, new: usize) -> Option<Vec<Digest>> {
        if old > new || new > self.len() {
            return None;
        }
        let mut path = Vec::new();
        if old == 0 || old == new {
            return Some(path);
        }
        let (mut first, mut end) = (0, new);
        // Whether the current subtree has the earlier root, which the verifier knows.
        let mut is_old_root = true;
        while old != end {
            let middle = first + split(end - first);
            if old <= middle {
                path.push(self.range(middle, end));
                end = middle;
            } else {
                path.push(self.range(first, middle));
                first = middle;
                is_old_root = false;
            }
        }
        if !is_old_root {
            path.push(self.range(first, end));
        }
        path.reverse();
        Some(path)
    }

    /// The root over the data from `first` to before `end`. The left part of a split is a full subtree with a stored hash.
    fn range(&self, first: usize, end: usize) -> Digest {
        let size = end - first;
        if size == 0 {
            return Digest::from_parts(&[]);
        }
        if size.is_power_of_two() {
            let height = size.trailing_zeros() as usize;
            return self.levels[height][first >> height];
        }
        let middle = first + split(size);
        node_hash(&self.range(first, middle), &self.range(middle, end))
    }
}

fn leaf_hash(data: &[u8]) -> Digest {
    Digest::from_parts(&[&[0], data])
}

fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Digest::from_parts(&[&[1], &left.0, &right.0])
}

/// Whether `path` shows that `datum` is at `index` of a list of `size` data with that root.
pub fn verify_inclusion(root: &Digest, size: u64, index: u64, datum: &Digest, path: &[Digest]) -> bool {
    if index >= size {
        return false;
    }
    let mut hash = leaf_hash(&datum.0);
    let is_complete = climb(index, size - 1, path, |sibling, is_left| {
        hash = if is_left { node_hash(sibling, &hash) } else { node_hash(&hash, sibling) };
    });
    is_complete && hash == *root
}

/// Calls `visit` with each sibling from a node to the root, and whether it is the left one. Whether the path has its length.
fn climb(mut node: u64, mut last: u64, path: &[Digest], mut visit: impl FnMut(&Digest, bool)) -> bool {
    for sibling in path {
        if last == 0 {
            return false;
        }
        let is_left = node % 2 == 1 || node == last;
        visit(sibling, is_left);
        // A node without a sibling rises until it has one.
        while is_left && node.is_multiple_of(2) && node != 0 {
            (node, last) = (node >> 1, last >> 1);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0
}

/// A root and the number of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedRoot {
    pub root: Digest,
    pub size: u64,
}

/// Whether `path` shows that the list of `old` is a prefix of the list of `new`.
pub fn verify_consistency(old: SizedRoot, new: SizedRoot, path: &[Digest]) -> bool {
    if old.size == 0 {
        return path.is_empty() && old.root == Digest::from_parts(&[]) && (new.size > 0 || new.root == old.root);
    }
    if old.size >= new.size {
        return old == new && path.is_empty();
    }
    let (mut node, mut last) = (old.size - 1, new.size - 1);
    while node % 2 == 1 {
        (node, last) = (node >> 1, last >> 1);
    }
    // An earlier list that is one full subtree starts at its own root; else the path begins with its last subtree.
    let (start, rest) = match path.split_first() {
        _ if old.size.is_power_of_two() => (old.root, path),
        Some((first, rest)) => (*first, rest),
        None => return false,
    };
    let (mut old_hash, mut new_hash) = (start, start);
    let is_complete = climb(node, last, rest, |sibling, is_left| {
        if is_left {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
    });
    is_complete && old_hash == old.root && new_hash == new.root
}

/// Where a list of more than one is split: the largest power of two below its length.
fn split(size: usize) -> usize {
    1 << (size - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(leaves: &[Digest]) -> Digest {
        match leaves {
            [] => Digest::from_parts(&[]),
            [only] => *only,
            several => {
                let mut middle = 1;
                while middle * 2 < several.len() {
                    middle *= 2;
                }
                node_hash(&naive(&several[..middle]), &naive(&several[middle..]))
            }
        }
    }

    fn data(count: usize) -> Vec<Digest> {
        (0..count).map(|number| Digest::from_parts(&[&number.to_be_bytes()])).collect()
    }

    fn flip(digest: &Digest, bit: usize) -> Digest {
        let mut flipped = *digest;
        flipped.0[bit / 8] ^= 1 << (bit % 8);
        flipped
    }

    #[test]
    fn the_definition_agrees_with_the_published_vectors() {
        // The leaves and roots of the tests of the reference implementation of RFC 6962 (google/certificate-transparency).
        let leaves: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let hashes: Vec<Digest> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
        for (size, root) in roots.iter().enumerate() {
            assert_eq!(naive(&hashes[..size]).to_string(), *root, "{size}");
        }
        let data = data(130);
        let leaves: Vec<Digest> = data.iter().map(|datum| leaf_hash(&datum.0)).collect();
        let tree = MerkleTree::from_leaves(data);
        for size in 0..=130 {
            assert_eq!(tree.root_of(size), Some(naive(&leaves[..size])), "{size}");
            assert_eq!(tree.size_of(&naive(&leaves[..size])), Some(size));
        }
        assert_eq!(tree.root_of(131), None);
        assert_eq!(tree.size_of(&leaf_hash(b"x")), None);
    }

    #[test]
    fn every_earlier_list_is_proven() {
        let tree = MerkleTree::from_leaves(data(70));
        let sized = |size: usize| SizedRoot { root: tree.root_of(size).unwrap(), size: size as u64 };
        for new in 0..=70 {
            for old in 0..=new {
                let path = tree.consistency(old, new).unwrap();
                let check = |from: SizedRoot, to: SizedRoot, path: &[Digest], expected: bool| {
                    assert_eq!(
                        verify_consistency(from, to, path),
                        expected,
                        "{old} of {new}: {from:?} {to:?} {path:?}"
                    );
                };
                check(sized(old), sized(new), &path, true);
                check(sized(old), sized(new), &[&path[..], &[sized(new).root]].concat(), false);
                if let Some((_, short)) = path.split_last() {
                    check(sized(old), sized(new), short, false);
                }
                if old > 0 {
                    check(SizedRoot { size: old as u64 - 1, ..sized(old) }, sized(new), &path, false);
                    check(SizedRoot { root: flip(&sized(old).root, old), ..sized(old) }, sized(new), &path, false);
                    check(sized(old), SizedRoot { root: flip(&sized(new).root, new), ..sized(new) }, &path, false);
                }
                for place in 0..path.len() {
                    let mut wrong = path.clone();
                    wrong[place] = flip(&wrong[place], 7 * place + new);
                    check(sized(old), sized(new), &wrong, false);
                }
            }
        }
        assert_eq!(tree.consistency(3, 71), None);
        assert_eq!(tree.consistency(4, 3), None);
    }

    proptest::proptest! {
        #[test]
        fn no_altered_proof_verifies(
            size in 1usize..200, index in 0usize..200, other in 0usize..300, bit in 0usize..256, place in 0usize..8
        ) {
            let index = index % size;
            let data = data(size);
            let tree = MerkleTree::from_leaves(data.iter().copied());
            let (root, path) = (tree.root(), tree.inclusion(index, size).unwrap());
            let (sized, at) = (size as u64, index as u64);
            proptest::prop_assert!(verify_inclusion(&root, sized, at, &data[index], &path));
            proptest::prop_assert!(!verify_inclusion(&flip(&root, bit), sized, at, &data[index], &path));
            proptest::prop_assert!(!verify_inclusion(&root, sized, at, &flip(&data[index], bit), &path));
            if !path.is_empty() {
                let mut wrong = path.clone();
                let place = place % wrong.len();
                wrong[place] = flip(&wrong[place], bit);
                proptest::prop_assert!(!verify_inclusion(&root, sized, at, &data[index], &wrong));
            }
            if other != index {
                proptest::prop_assert!(!verify_inclusion(&root, sized, other as u64, &data[index], &path));
            }
        }
    }
}
