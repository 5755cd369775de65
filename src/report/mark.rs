//! A state as a glyph, a word and a colour, always all three.

use crate::number;
use sprag_model::{Answer, AnswerKind, Comparison, Metric, Parity, ParityStatus, Quality, RunHead, RunStatus, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Worse,
    Better,
    Environment,
    Doubt,
    Plain,
}

impl Tone {
    pub fn class(self) -> &'static str {
        match self {
            Tone::Worse => "worse",
            Tone::Better => "better",
            Tone::Environment => "env",
            Tone::Doubt => "doubt",
            Tone::Plain => "same",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub tone: Tone,
    pub glyph: &'static str,
    pub word: String,
}

impl Mark {
    pub fn new(tone: Tone, glyph: &'static str, word: impl Into<String>) -> Mark {
        Mark { tone, glyph, word: word.into() }
    }

    pub fn class(&self) -> &'static str {
        self.tone.class()
    }

    /// The glyph, where there are two with a gap to the word.
    pub fn slot(&self) -> String {
        let gap = if self.glyph.chars().count() > 1 { "\u{a0}" } else { "" };
        format!("{}{gap}", self.glyph)
    }

    pub fn of_comparison(comparison: &Comparison) -> Mark {
        let tone = Mark::tone_of(&comparison.verdict);
        match &comparison.verdict {
            Verdict::Unchanged => Mark::new(tone, "=", "no change"),
            Verdict::Improved => Mark::new(tone, "▼", better_word(&comparison.metric)),
            Verdict::Regressed => Mark::new(tone, "▲", worse_word(&comparison.metric)),
            Verdict::Inconclusive(_) => Mark::new(tone, "?", "inconclusive"),
            Verdict::NotComparable(_) => Mark::new(tone, "≠", "not comparable"),
            Verdict::Missing => Mark::new(tone, "–", "missing"),
            Verdict::NoBaseline => Mark::new(tone, "○", "no baseline"),
        }
    }

    pub fn of_answer(answer: &Answer) -> Mark {
        match answer.kind {
            AnswerKind::Accepted => Mark::new(Tone::Doubt, "◆", "accepted"),
            AnswerKind::Exceeded => Mark::new(Tone::Worse, "▲", "more than accepted"),
            AnswerKind::BeyondScope => Mark::new(Tone::Worse, "▲", "beyond what is accepted"),
            AnswerKind::Expired => Mark::new(Tone::Worse, "●", "open again"),
            AnswerKind::NotYet => Mark::new(Tone::Worse, "●", "not accepted yet"),
        }
    }

    pub fn tone_of(verdict: &Verdict) -> Tone {
        match verdict {
            Verdict::Improved => Tone::Better,
            Verdict::Regressed | Verdict::Missing => Tone::Worse,
            Verdict::Inconclusive(_) => Tone::Doubt,
            Verdict::NotComparable(_) => Tone::Environment,
            Verdict::Unchanged | Verdict::NoBaseline => Tone::Plain,
        }
    }

    pub fn of_status(status: RunStatus) -> Mark {
        match status {
            RunStatus::Ok => Mark::new(Tone::Better, "✓", "ran"),
            RunStatus::Skipped => Mark::new(Tone::Doubt, "○", "skipped"),
            RunStatus::Failed => Mark::new(Tone::Worse, "✕", "failed"),
        }
    }

    pub fn of_quality(quality: &Quality) -> Mark {
        if quality.clean { Mark::new(Tone::Plain, "✓", "clean") } else { Mark::new(Tone::Doubt, "?", "rough") }
    }

    /// For a table: a run without values has no mark.
    pub fn of_run_quality(run: &RunHead) -> Mark {
        match run.status {
            RunStatus::Ok => Mark::of_quality(&run.quality),
            RunStatus::Skipped | RunStatus::Failed => Mark::new(Tone::Plain, number::NONE, ""),
        }
    }

    pub fn of_parity(parity: &Parity) -> Mark {
        match parity.status {
            ParityStatus::Reference => Mark::new(Tone::Plain, "✓", "is the reference"),
            ParityStatus::Exact => Mark::new(Tone::Better, "✓", "bit-equal"),
            ParityStatus::Within => Mark::new(Tone::Better, "✓", "within tolerance"),
            ParityStatus::Mismatch => Mark::new(Tone::Worse, "✕", "wrong"),
            ParityStatus::Unchecked => Mark::new(Tone::Doubt, "○", "not checked"),
        }
    }
}

/// The words for worse and better that fit all metrics: `slower` and `faster` where all are of speed.
pub fn words<'a>(mut metrics: impl Iterator<Item = &'a Metric>) -> [&'static str; 2] {
    if metrics.all(|metric| worse_word(metric) == "slower") { ["slower", "faster"] } else { ["worse", "better"] }
}

pub fn worse_word(metric: &Metric) -> &'static str {
    metric.word(true)
}

pub fn better_word(metric: &Metric) -> &'static str {
    metric.word(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Effect;

    fn mark(metric: Metric, change: f64, verdict: Verdict) -> Mark {
        let effect = Some(Effect { change, interval: None, detectable: None });
        Mark::of_comparison(&Comparison { effect, ..Comparison::bare("cpu/a @fast", metric, "tolerance", verdict) })
    }

    #[test]
    fn the_glyph_says_whether_it_got_worse() {
        let slower_rate = mark(Metric::throughput("tiles_per_s"), -0.1, Verdict::Regressed);
        assert_eq!(slower_rate, Mark::new(Tone::Worse, "▲", "slower"));
        assert_eq!(mark(Metric::time(), 0.1, Verdict::Regressed), Mark::new(Tone::Worse, "▲", "slower"));
        assert_eq!(mark(Metric::peak_memory(), -0.1, Verdict::Improved).word, "smaller");
        assert_eq!(mark(Metric::ratio(), -0.1, Verdict::Improved).word, "faster");
    }
}
