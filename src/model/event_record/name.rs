//! The path of an event record, by which its content is vouched for.

use sprag_base::digest::is_hex;

/// Where event records lie in the history's tree.
pub const EVENT_ROOT: &str = "history/v1/_events";

/// The parts of `history/v1/_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`.
///
/// The step may be any word, as a later version may know more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventName<'a> {
    /// Four digits of the year.
    pub year: &'a str,
    /// Two digits of the month.
    pub month: &'a str,
    /// The event, such as `e-7c1f03`.
    pub event: &'a str,
    /// What became of it then, such as `opened`.
    pub step: &'a str,
    /// The first sixteen digits of the digest of the content.
    pub digest: &'a str,
}

impl<'a> EventName<'a> {
    /// The parts of a path.
    ///
    /// # Errors
    /// Says, as a fragment that reads after the path, that it is not the name of an event record.
    pub fn parse(path: &'a str) -> Result<EventName<'a>, String> {
        parts(path).ok_or_else(|| "is not named `_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`".to_owned())
    }

    /// The path that has these parts.
    pub fn path(&self) -> String {
        let EventName { year, month, event, step, digest } = self;
        format!("{EVENT_ROOT}/{year}/{month}/{event}-{step}-{digest}.json")
    }

    /// The first part that is another one in the content, as a fragment that reads after the path.
    pub(super) fn difference(&self, content: &EventName<'_>) -> Option<String> {
        let parts = [
            ("year", self.year, content.year),
            ("month", self.month, content.month),
            ("event", self.event, content.event),
            ("step", self.step, content.step),
            ("digest", self.digest, content.digest),
        ];
        let (part, named, held) = parts.into_iter().find(|(_, named, held)| named != held)?;
        Some(format!("bears the {part} `{named}` in its path, but its content has `{held}`"))
    }
}

fn parts(path: &str) -> Option<EventName<'_>> {
    let inside = path.strip_prefix(EVENT_ROOT)?.strip_prefix('/')?;
    let [year, month, file] = inside.split('/').collect::<Vec<_>>()[..] else { return None };
    let (rest, digest) = file.strip_suffix(".json")?.rsplit_once('-')?;
    let (event, step) = rest.rsplit_once('-')?;
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    let is_step = (1..=20).contains(&step.len()) && step.bytes().all(|b| b.is_ascii_lowercase());
    let fine = digits(year, 4) && digits(month, 2) && is_event(event) && is_step && is_hex(digest, 16..=16);
    fine.then_some(EventName { year, month, event, step, digest })
}

/// Whether a text is `e-` and 6 to 16 digits.
pub(super) fn is_event(text: &str) -> bool {
    text.strip_prefix("e-").is_some_and(|digits| is_hex(digits, 6..=16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_parts_or_is_none() {
        const NAME: &str = "history/v1/_events/2026/05/e-7c1f03-opened-0123456789abcdef.json";
        let name = EventName::parse(NAME).expect("it is a name");
        let expected =
            EventName { year: "2026", month: "05", event: "e-7c1f03", step: "opened", digest: "0123456789abcdef" };
        assert_eq!((name, name.path()), (expected, NAME.to_owned()));
        assert!(EventName::parse(&NAME.replace("opened", "merged")).is_ok(), "of a later version");
        for (from, to) in [
            ("v1", "v2"),
            ("_events", "events"),
            ("2026", "26"),
            ("2026", "２０２６"),
            ("/05", "/5"),
            ("/05", ""),
            ("/05", "/05/06"),
            ("e-7c1f03", "7c1f03"),
            ("e-7c1f03", "e-7c1f0"),
            ("e-7c1f03", "e-7C1F03"),
            ("e-7c1f03", "e-0123456789abcdef0"),
            ("-opened", ""),
            ("opened", "Opened"),
            ("opened", ""),
            ("abcdef.", "abcde."),
            ("abcdef.", "ABCDEF."),
            (".json", ".txt"),
        ] {
            let wrong = NAME.replace(from, to);
            let error = EventName::parse(&wrong).expect_err(&wrong);
            assert!(error.starts_with("is not named `_events/"), "{error}");
        }
    }
}
