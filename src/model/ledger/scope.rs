//! The series that an acceptance covers.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Whether it covers only series that the event moved.
    pub of_event: bool,
    /// A part of `benchmark metric`; empty fits all.
    pub part: &'a str,
    /// The name or the id of the machine; absent for any.
    pub machine: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub benchmark: &'a str,
    pub metric: &'a str,
    pub machine: &'a str,
    pub machine_name: &'a str,
}

impl<'a> Scope<'a> {
    pub const EVENT: &'static str = "event";

    /// Reads `event` or a part of `benchmark metric`, each with or without ` on MACHINE`; absent where the text names neither.
    pub fn parse(text: &'a str) -> Option<Scope<'a>> {
        let text = text.trim();
        let (part, machine) = match text.strip_prefix("on ") {
            Some(machine) => ("", Some(machine.trim())),
            None => match text.rsplit_once(" on ") {
                Some((part, machine)) => (part.trim(), Some(machine.trim())),
                None => (text, None),
            },
        };
        match (part, machine) {
            ("" | "on", None) => None,
            (Self::EVENT, machine) => Some(Scope { of_event: true, part: "", machine }),
            (part, machine) => Some(Scope { of_event: false, part, machine }),
        }
    }

    /// Whether it covers a series; `is_member` says whether the event moved that series.
    pub fn has(&self, subject: Subject<'_>, is_member: bool) -> bool {
        let name = format!("{} {}", subject.benchmark, subject.metric);
        let is_meant = |machine: &str| machine == subject.machine_name || machine == subject.machine;
        (is_member || !self.of_event) && name.contains(self.part) && self.machine.is_none_or(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_the_event_or_parts_of_names() {
        let scope = |of_event, part, machine| Some(Scope { of_event, part, machine });
        assert_eq!(Scope::parse("event"), scope(true, "", None));
        assert_eq!(Scope::parse("event on ci-box"), scope(true, "", Some("ci-box")));
        assert_eq!(Scope::parse(" cpu/copy "), scope(false, "cpu/copy", None));
        assert_eq!(Scope::parse("cpu/a on b on ci-box"), scope(false, "cpu/a on b", Some("ci-box")));
        assert_eq!(Scope::parse("on ci box"), scope(false, "", Some("ci box")));
        assert!(["", "  ", "on", "on "].iter().all(|text| Scope::parse(text).is_none()));
        let subject =
            Subject { benchmark: "cpu/copy{n=3} @fast", metric: "ratio", machine: "0a1b", machine_name: "ci-box" };
        let fits = |text: &str, is_member| Scope::parse(text).is_some_and(|scope| scope.has(subject, is_member));
        assert!(["copy", "@fast ratio", "on ci-box", "cpu/ on 0a1b"].iter().all(|text| fits(text, false)));
        let others = ["scan", "@fast time", "on ci", "copy on other", "event on other"];
        assert!(others.iter().all(|text| !fits(text, true)));
        assert!(fits("event", true) && fits("event on ci-box", true));
        assert!(!fits("event", false) && !fits("event on ci-box", false));
    }
}
