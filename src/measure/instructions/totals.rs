//! The totals of a file of Callgrind: one number of instructions a dump (Callgrind manual, "Callgrind Format
//! Specification"). A file holds one part a dump, each with the event names, what triggered it, and its totals.

/// What a dump by request is triggered by, before the name that was given.
const TRIGGER: &str = "desc: Trigger: Client Request:";

/// The event that counts instructions: reads by the processor's fetch.
const EVENT: &str = "Ir";

/// The instructions of each dump that the program itself asked for, by the name it gave, in the order of the file.
///
/// # Errors
/// Names the line that cannot be, or what the file ends without.
pub(super) fn requested(text: &str) -> Result<Vec<(String, u64)>, String> {
    let mut found = Vec::new();
    let (mut name, mut column): (Option<String>, Option<usize>) = (None, None);
    for (number, line) in text.lines().enumerate() {
        let fault = |what: &str| format!("line {} of the counts {what}", number + 1);
        if line.starts_with("part:") {
            if let Some(name) = &name {
                return Err(fault(&format!("begins a part before `{name}` has totals")));
            }
        } else if let Some(rest) = line.strip_prefix(TRIGGER) {
            name = Some(rest.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("events:") {
            column = rest.split_whitespace().position(|event| event == EVENT);
        } else if let Some(rest) = line.strip_prefix("totals:") {
            // Dumps of other triggers, such as the end of the program, are not ours.
            let Some(name) = name.take() else { continue };
            let column = column.ok_or_else(|| fault(&format!("has totals without the event `{EVENT}`")))?;
            let value = rest.split_whitespace().nth(column).and_then(|value| value.parse().ok());
            found.push((name, value.ok_or_else(|| fault("has no number of instructions"))?));
        }
    }
    match name {
        Some(name) => Err(format!("the counts end before `{name}` has totals")),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PARTS: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd:  x\npart: 1\n\n\
        desc: Trigger: Client Request: first\n\npositions: line\nevents: Ir\nsummary: 12\n\nfn=(1) x\n0 12\n\ntotals: 12\n\
        part: 2\ndesc: Trigger: Client Request: second\nevents: Dr Ir\ntotals: 3 14\n\
        part: 3\ndesc: Trigger: Program termination\nevents: Ir\ntotals: 5\n";

    #[test]
    fn each_requested_dump_has_its_total() {
        let expected = vec![("first".to_owned(), 12), ("second".to_owned(), 14)];
        assert_eq!(requested(TWO_PARTS), Ok(expected));
        assert_eq!(requested(""), Ok(Vec::new()));
    }

    #[test]
    fn a_file_of_callgrind_itself_is_read() {
        // This one was dumped at the end of the program; asked for by request, its total is what its summary says.
        let golden = include_str!("../../../fixtures/golden/formats/callgrind/callgrind.tilessm_scan.out");
        assert_eq!(requested(golden), Ok(Vec::new()));
        let asked = golden.replace("Trigger: Program termination", "Trigger: Client Request: tilessm_scan");
        assert_eq!(requested(&asked), Ok(vec![("tilessm_scan".to_owned(), 21201)]));
    }

    #[test]
    fn what_is_cut_short_or_garbled_is_named() {
        let check = |text: &str, words: &str| {
            let error = requested(text).expect_err("the counts are damaged");
            assert!(error.contains(words), "{error}");
        };
        let cut = TWO_PARTS.find("totals: 12").expect("it is there");
        check(&TWO_PARTS[..cut], "the counts end before `first` has totals");
        check(&TWO_PARTS.replace("totals: 12\n", ""), "line 17 of the counts begins a part before `first`");
        check(&TWO_PARTS.replace("totals: 12", "totals: many"), "line 17 of the counts has no number");
        check(&TWO_PARTS.replace("totals: 12", "totals: 99999999999999999999"), "has no number");
        check(&TWO_PARTS.replace("totals: 3 14", "totals: 3"), "has no number");
        check(&TWO_PARTS.replace("events: Ir", "events: Dr"), "totals without the event `Ir`");
    }
}
