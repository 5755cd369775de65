//! What folders of records were seen to hold. A tree never changes, and its id is the digest of all that it lists: what was read
//! of it once holds for ever. Most folders are months that are over.

use std::collections::HashMap;

use crate::layout::Entry;

/// TreeLookup by the id of their tree: such as hold plain files that are named like records, and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderCache(HashMap<String, Folder>);

#[derive(Clone, Debug, PartialEq)]
struct Folder {
    path: String,
    files: Vec<Entry>,
}

impl FolderCache {
    /// The files of a folder, which is then known no more.
    pub(crate) fn take(&mut self, id: &str, path: &str) -> Option<Vec<Entry>> {
        (self.0.get(id)?.path == path).then(|| self.0.remove(id))?.map(|folder| folder.files)
    }

    /// Takes note of a folder.
    pub(crate) fn insert(&mut self, id: String, path: String, files: Vec<Entry>) {
        self.0.insert(id, Folder { path, files });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The folders, to be kept: a line with id and path, then one for each file with the id of its content and its name.
    pub fn to_text(&self) -> String {
        let mut folders: Vec<_> = self.0.iter().collect();
        folders.sort_by_key(|(_, folder)| &folder.path);
        let mut text = String::new();
        for (id, Folder { path, files }) in folders {
            text.extend([id, " ", path, "\n"]);
            for file in files {
                text.extend([" ", &file.blob, " ", &file.path[path.len() + 1..], "\n"]);
            }
        }
        text
    }

    /// What was kept; absent where the text is none of ours.
    pub fn from_text(text: &str) -> Option<FolderCache> {
        let mut folders = HashMap::new();
        let mut lines = text.split_terminator('\n').peekable();
        while let Some(line) = lines.next() {
            let (id, path) = line.split_once(' ').filter(|(id, _)| !id.is_empty())?;
            let mut files = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
                let (blob, name) = line[1..].split_once(' ')?;
                files.push(Entry { path: [path, "/", name].concat(), blob: blob.to_owned() });
            }
            folders.insert(id.to_owned(), Folder { path: path.to_owned(), files });
        }
        Some(FolderCache(folders))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_back() {
        let entry = |path: &str, blob: &str| Entry { path: path.to_owned(), blob: blob.to_owned() };
        let mut known = FolderCache::default();
        known.insert("t1".to_owned(), "a/b".to_owned(), vec![entry("a/b/one two", "b1"), entry("a/b/c", "b2")]);
        known.insert("t2".to_owned(), "a/empty folder".to_owned(), Vec::new());
        let text = known.to_text();
        assert_eq!(text, "t1 a/b\n b1 one two\n b2 c\nt2 a/empty folder\n");
        let mut read = FolderCache::from_text(&text).expect("text of ours");
        assert_eq!((read.len(), &read), (2, &known));
        assert_eq!(read.take("t1", "a"), None, "another place");
        assert_eq!(read.take("t3", "a/b"), None);
        assert_eq!(read.take("t1", "a/b").map(|files| files.len()), Some(2));
        assert_eq!(read.take("t1", "a/b"), None, "it was taken");
        assert!(FolderCache::from_text("").is_some_and(|none| none.is_empty()));
        for wrong in ["t1", " b1 c", "t1 a\n b1"] {
            assert_eq!(FolderCache::from_text(wrong), None, "{wrong}");
        }
    }
}
