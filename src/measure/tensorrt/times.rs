//! The file of `--exportTimes`: a list of one object a call, in milliseconds.
//!
//! It holds the whole trace, the warm-up included, and prints six digits, so late points in time have lost their
//! microseconds: the time of a call is read off `computeMs` and never off two points. Keys that come and go with the
//! version, such as `endToEndMs` of 8.x, are passed over.

use serde::Deserialize;

use super::arguments::TimingSettings;

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "startComputeMs")]
    start: f64,
    #[serde(rename = "computeMs")]
    compute: f64,
}

/// The longest time of a call that is believed: beyond it lies damage.
const LONGEST_MILLISECONDS: f64 = 1e8;

/// The seconds of the calls that count.
pub(super) fn seconds(bytes: &[u8], settings: TimingSettings) -> Result<Vec<f64>, String> {
    let entries: Vec<Entry> = serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    let counts = |entry: &&Entry| entry.start >= f64::from(settings.warmup_milliseconds);
    let mut seconds = Vec::new();
    for entry in &entries {
        let fine = entry.compute > 0.0 && entry.compute <= LONGEST_MILLISECONDS;
        if !fine || !(0.0..=f64::MAX).contains(&entry.start) {
            return Err(format!("hold a call of {} ms from {} ms on, which cannot be", entry.compute, entry.start));
        }
    }
    for entry in entries.iter().filter(counts).skip(settings.skipped_calls as usize) {
        seconds.push(entry.compute * 1e-3);
    }
    if seconds.is_empty() {
        return Err(format!("hold no call after the warm-up, and {} within it", entries.len()));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::describe;

    const SETTINGS: TimingSettings =
        TimingSettings { warmup_milliseconds: 0, skipped_calls: 0, iterations: 1, duration_seconds: 0 };

    const GOLDEN: &[u8] = include_bytes!("../../../fixtures/golden/formats/trtexec/times.json");

    #[test]
    fn a_recorded_file_gives_the_known_figures() {
        let expected = include_bytes!("../../../fixtures/golden/formats/trtexec/expected.json");
        let rows: serde_json::Value = serde_json::from_slice(expected).expect("the rows are JSON");
        let row = &rows[0];
        assert_eq!(row["metric"], "gpu_compute");
        let times = seconds(GOLDEN, SETTINGS).expect("the file is fine");
        assert_eq!(Some(times.len() as u64), row["n"].as_u64());
        let close = |value: Option<f64>, name: &str| {
            let expected = row[name].as_f64().expect("a number");
            assert!(value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-12), "{name}: {value:?}");
        };
        close(describe::median(&times), "p50");
        close(describe::quantile(&times, 0.95), "p95");
        close(times.iter().copied().reduce(f64::max), "max");
        // Three calls begin within the first millisecond.
        let later = |warmup_milliseconds, skipped_calls| {
            seconds(GOLDEN, TimingSettings { warmup_milliseconds, skipped_calls, ..SETTINGS }).map(|times| times.len())
        };
        assert_eq!((later(1, 0), later(1, 2), later(0, 11)), (Ok(9), Ok(7), Ok(1)));
        assert_eq!(later(500, 0), Err("hold no call after the warm-up, and 12 within it".to_owned()));
        assert!(later(0, 12).is_err());
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let check = |text: &str, words: &str| {
            let error = seconds(text.as_bytes(), SETTINGS).expect_err("the times are faulty");
            assert!(error.contains(words), "{text}: {error}");
        };
        let entry = |start: &str, compute: &str| format!("[{{\"startComputeMs\": {start}, \"computeMs\": {compute}}}]");
        assert_eq!(seconds(entry("0", "2").as_bytes(), SETTINGS), Ok(vec![0.002]));
        let other = "[{\"endToEndMs\": [], \"startComputeMs\": 1e0, \"new\": {\"a\": null}, \"computeMs\": 2}]";
        assert_eq!(seconds(other.as_bytes(), SETTINGS), Ok(vec![0.002]));
        check(&entry("0", "NaN"), "cannot be read");
        check(&entry("0", "null"), "cannot be read");
        check(&entry("0", "\"2\""), "cannot be read");
        check(&entry("0", "1e999"), "cannot be read");
        check(&entry("0", "-1"), "a call of -1 ms");
        check(&entry("0", "0"), "a call of 0 ms");
        check(&entry("0", "1e9"), "which cannot be");
        check(&entry("-1", "1"), "from -1 ms on");
        check("[{\"computeMs\": 1}]", "startComputeMs");
        check("[]", "hold no call");
        check("", "cannot be read");
        check("{}", "cannot be read");
        check(&String::from_utf8_lossy(&GOLDEN[..GOLDEN.len() / 2]), "cannot be read");
        assert!(seconds(b"\xff\xfe[", SETTINGS).is_err());
        assert!(seconds("[".repeat(100_000).as_bytes(), SETTINGS).is_err());
    }
}
