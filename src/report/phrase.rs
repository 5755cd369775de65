//! A sentence with names, figures and links in it.

use super::mark::Mark;
use super::text::{capital, shortened};

/// The longest reason, in characters: a compiler's output can have pages.
const REASON: usize = 300;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phrase {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Strong(String),
    /// Something a reader may paste: a commit, a benchmark, a path, a command.
    Id(String),
    /// Words that lead to a page; `is_name` where a reader may paste them.
    Link {
        /// The path in the site, with a fragment where that helps.
        to: String,
        words: String,
        is_name: bool,
    },
    /// A link out of the site.
    Outside {
        url: String,
        words: String,
    },
    Mark(Mark),
}

impl Phrase {
    pub fn plain(words: impl Into<String>) -> Phrase {
        Phrase::default().text(words)
    }

    pub fn code(name: impl Into<String>) -> Phrase {
        Phrase::default().id(name)
    }

    pub fn linked(to: impl Into<String>, words: impl Into<String>) -> Phrase {
        Phrase::default().link(to, words)
    }

    /// A name that leads to a page where there is one.
    pub fn page_name(to: Option<String>, name: impl Into<String>) -> Phrase {
        Phrase::default().name(to, name)
    }

    /// A sentence in which words in backticks are names; where these do not pair, it stays as it is.
    pub fn quoted(words: &str) -> Phrase {
        let parts: Vec<&str> = words.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return Phrase::plain(words);
        }
        let part = |phrase: Phrase, (place, part): (usize, &str)| match (part.is_empty(), place.is_multiple_of(2)) {
            (true, _) => phrase,
            (false, true) => phrase.text(part),
            (false, false) => phrase.id(part),
        };
        parts.into_iter().enumerate().fold(Phrase::default(), part)
    }

    /// A reason of others: cut where it is very long, without a full stop; words in backticks are names.
    pub fn reason(reason: &str) -> Phrase {
        Phrase::quoted(shortened(reason, REASON).trim_end_matches('.'))
    }

    /// A sentence as a title.
    pub fn without_stop(mut self) -> Phrase {
        if let Some(Part::Text(words) | Part::Mark(Mark { word: words, .. })) = self.parts.last_mut() {
            words.truncate(words.trim_end_matches('.').len());
        }
        self
    }

    pub fn text(mut self, words: impl Into<String>) -> Phrase {
        self.parts.push(Part::Text(words.into()));
        self
    }

    pub fn strong(mut self, words: impl Into<String>) -> Phrase {
        self.parts.push(Part::Strong(words.into()));
        self
    }

    pub fn id(mut self, name: impl Into<String>) -> Phrase {
        self.parts.push(Part::Id(name.into()));
        self
    }

    pub fn link(mut self, to: impl Into<String>, words: impl Into<String>) -> Phrase {
        self.parts.push(Part::Link { to: to.into(), words: words.into(), is_name: false });
        self
    }

    /// Nothing where there is no such page.
    pub fn outside(mut self, url: Option<String>, words: &str) -> Phrase {
        self.parts.extend(url.map(|url| Part::Outside { url, words: words.to_owned() }));
        self
    }

    pub fn name(mut self, to: Option<String>, name: impl Into<String>) -> Phrase {
        let words = name.into();
        self.parts.push(match to {
            Some(to) => Part::Link { to, words, is_name: true },
            None => Part::Id(words),
        });
        self
    }

    pub fn to(self, to: Option<String>, words: impl Into<String>) -> Phrase {
        match to {
            Some(to) => self.link(to, words),
            None => self.text(words),
        }
    }

    pub fn mark(mut self, mark: Mark) -> Phrase {
        self.parts.push(Part::Mark(mark));
        self
    }

    /// The sentence with a capital at its begin, unless it begins with a name, a link or a state.
    pub fn begun(mut self) -> Phrase {
        if let Some(Part::Text(words)) = self.parts.first_mut() {
            *words = capital(words);
        }
        self
    }

    pub fn join(mut self, rest: Phrase) -> Phrase {
        self.parts.extend(rest.parts);
        self
    }

    pub fn then(mut self, other: Phrase) -> Phrase {
        if !self.parts.is_empty() && !other.parts.is_empty() {
            self.parts.push(Part::Text(" ".to_owned()));
        }
        self.parts.extend(other.parts);
        self
    }

    pub fn words(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(words)
                | Part::Strong(words)
                | Part::Id(words)
                | Part::Link { words, .. }
                | Part::Outside { words, .. } => words.as_str(),
                Part::Mark(mark) => mark.word.as_str(),
            })
            .collect()
    }
}

impl From<&str> for Phrase {
    fn from(words: &str) -> Phrase {
        String::from(words).into()
    }
}

impl From<Mark> for Phrase {
    fn from(mark: Mark) -> Phrase {
        Phrase::default().mark(mark)
    }
}

impl From<String> for Phrase {
    fn from(words: String) -> Phrase {
        if words.is_empty() { Phrase::default() } else { Phrase::plain(words) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub question: &'static str,
    pub answer: Phrase,
    pub note: Phrase,
}

impl Fact {
    pub fn new(question: &'static str, answer: impl Into<Phrase>, note: impl Into<Phrase>) -> Fact {
        Fact { question, answer: answer.into(), note: note.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_backticks_are_names() {
        let check = |words: &str, expected: Phrase| assert_eq!(Phrase::quoted(words), expected, "{words}");
        check("there is no `a.json`", Phrase::plain("there is no ").id("a.json"));
        check("`a` is `b`", Phrase::code("a").text(" is ").id("b"));
        check("one ` alone", Phrase::plain("one ` alone"));
        check("", Phrase::default());
    }
}
