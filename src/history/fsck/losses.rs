//! What earlier commits had and the tip has not, or has with other content.
//!
//! Of several contents that a record ever had, its name vouches for one; of what lies aside of the runs, the first
//! counts. What was set aside is not lost.

use std::collections::{BTreeMap, HashMap, HashSet};

use git2::Oid;

use crate::error::FETCH_ALL;
use crate::layout::Kind;
use crate::objects::partial::Promises;
use crate::reading::entries::{Digests, vouches};
use crate::reading::past::{Appearance, Past, reason};
use sprag_model::fsck::{Finding, FindingKind};

/// What was found, and what there is to be done.
#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) findings: Vec<Finding>,
    /// Contents to be brought back to their paths.
    pub(crate) restore: Vec<(String, Oid)>,
    /// Contents that no commit should have lost, and that are no records: they are to be set aside.
    pub(crate) set_aside: Vec<(String, Oid)>,
    /// Paths whose content now differs from what it was, and is to be set aside.
    pub(crate) replaced: Vec<(String, Oid)>,
    /// Paths that had a content which is not here, as in a partial clone.
    pub(crate) absent: Vec<String>,
}

/// Holds the contents of the tip, by path, against all that was ever there.
pub(crate) fn compare(
    past: &Past,
    present: &HashMap<String, Oid>,
    set_aside: &HashSet<Oid>,
    digests: &mut Digests<'_>,
    promises: &Promises<'_>,
) -> Losses {
    let mut of_path: BTreeMap<&str, Vec<&Appearance>> = BTreeMap::new();
    for file in &past.files {
        of_path.entry(&file.path).or_default().push(file);
    }
    let mut losses = Losses::default();
    for (path, contents) in of_path {
        let now = present.get(path);
        // The common case, and the only one in which nothing need be read.
        if contents.len() == 1 && now == Some(&contents[0].blob) {
            continue;
        }
        let right = match contents[0].kind {
            Kind::Auxiliary => Some(contents[0]),
            Kind::Run | Kind::Event => losses.vouched(&contents, now, set_aside, digests, promises),
        };
        match (right, now) {
            (Some(right), Some(now)) if right.blob == *now => {}
            (Some(right), _) if set_aside.contains(&right.blob) => {}
            (Some(right), now) => losses.report(past, right, now, digests, promises),
            (None, Some(_)) => {}
            (None, None) if contents.iter().any(|file| promises.cover(file.blob)) => {
                if !contents.iter().any(|file| set_aside.contains(&file.blob)) {
                    losses.gone(past, contents[contents.len() - 1]);
                }
            }
            (None, None) => losses.removed(past, contents[contents.len() - 1], set_aside),
        }
    }
    losses
}

impl Losses {
    /// The content that the name of a record vouches for.
    fn vouched<'p>(
        &mut self,
        contents: &[&'p Appearance],
        now: Option<&Oid>,
        set_aside: &HashSet<Oid>,
        digests: &mut Digests<'_>,
        promises: &Promises<'_>,
    ) -> Option<&'p Appearance> {
        contents.iter().copied().find(|file| match digests.get(file.blob) {
            Ok(digest) => vouches(&file.path, digest.as_ref()),
            Err(_) if promises.cover(file.blob) => {
                self.absent.push(file.path.clone());
                false
            }
            Err(error) => {
                // What the tip has is told where the tip is read.
                if now != Some(&file.blob) && !set_aside.contains(&file.blob) {
                    let what = format!("had a content that cannot be read: {}", reason(&error));
                    let advice = format!("fetch the object {} from a repository that has it", file.blob);
                    self.findings.push(Finding::at(FindingKind::Unreadable, &file.path, what).advise(advice));
                }
                false
            }
        })
    }

    fn report(
        &mut self,
        past: &Past,
        right: &Appearance,
        now: Option<&Oid>,
        digests: &mut Digests<'_>,
        promises: &Promises<'_>,
    ) {
        let (commit, _) = past.commits[right.commit];
        let (kind, what) = match now {
            None => (FindingKind::Lost, format!("is gone; the commit {commit} had it")),
            Some(_) => (FindingKind::Changed, format!("was changed since the commit {commit}")),
        };
        let repair = "run `sprag history fsck --repair` to bring it back";
        // What cannot be read cannot be brought back either.
        if digests.get(right.blob).is_err() {
            let fetch = match promises.cover(right.blob) {
                true => FETCH_ALL.to_owned(),
                false => format!("fetch the object {} from a repository that has it", right.blob),
            };
            self.findings.push(Finding::at(kind, &right.path, what).advise(format!("{fetch}; then {repair}")));
            return;
        }
        self.findings.push(Finding::at(kind, &right.path, what).advise(repair));
        self.restore.push((right.path.clone(), right.blob));
        self.replaced.extend(now.map(|now| (right.path.clone(), *now)));
    }

    /// A file that is gone, and whose content is not here, as in a partial clone.
    fn gone(&mut self, past: &Past, last: &Appearance) {
        let (commit, _) = past.commits[last.commit];
        let what = format!("is gone; the commit {commit} had it, and its content is not here");
        let advice = format!("{FETCH_ALL}; then run `sprag history fsck --repair` to bring it back");
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
    }

    /// Something that was no record, and was removed rather than set aside.
    fn removed(&mut self, past: &Past, last: &Appearance, set_aside: &HashSet<Oid>) {
        if set_aside.contains(&last.blob) {
            return;
        }
        let (commit, _) = past.commits[last.commit];
        let what = format!("was a damaged file and is gone; the commit {commit} had it");
        let advice = "run `sprag history fsck --repair` to keep it among what was set aside";
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
        self.set_aside.push((last.path.clone(), last.blob));
    }
}
