//! The colours of the style sheet against the contrast that WCAG 2.2 asks for (success criteria 1.4.3 and 1.4.11).

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../site/style.css");

const TEXT: f64 = 4.5;

/// What lines and marks need.
const MARK: f64 = 3.0;

fn tokens(part: &str) -> BTreeMap<&str, &str> {
    let block = part.split(":root {").nth(1).and_then(|rest| rest.split('}').next()).expect("a block of tokens");
    let pairs = block.split(';').filter_map(|pair| pair.split_once(':'));
    pairs.map(|(name, value)| (name.trim(), value.trim())).filter(|(_, value)| value.starts_with('#')).collect()
}

fn with(media: &str) -> BTreeMap<&'static str, &'static str> {
    let mut all = tokens(STYLE);
    all.extend(tokens(STYLE.split(media).nth(1).expect("the style sheet has this theme")));
    all
}

fn luminance(color: &str) -> f64 {
    let digits = color.trim_start_matches('#');
    let digits = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).expect("a colour has six digits")) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

fn ratio(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn the_formula_agrees_with_published_values() {
    assert!((ratio("#fff", "#000000") - 21.0).abs() < 1e-9);
    // The grey that tools cite as the lightest that passes on white.
    assert!((ratio("#767676", "#ffffff") - 4.54).abs() < 0.01);
}

#[test]
fn every_theme_can_be_read() {
    let (dark, print) = (with("@media (prefers-color-scheme: dark)"), with("@page"));
    for (name, theme) in [("light", tokens(STYLE)), ("dark", dark), ("print", print)] {
        let check = |front: &str, back: &str, least: f64| {
            let (Some(a), Some(b)) = (theme.get(front), theme.get(back)) else {
                panic!("{name} lacks {front} or {back}")
            };
            let ratio = ratio(a, b);
            assert!(ratio >= least, "{name}: {front} on {back} is {ratio:.2}, not {least}");
        };
        for text in ["--ink", "--ink-2", "--link", "--worse", "--better", "--env", "--doubt"] {
            check(text, "--paper", TEXT);
            check(text, "--sunk", TEXT);
        }
        for tint in ["worse", "better"] {
            for step in 1..=3 {
                check("--ink", &format!("--{tint}-{step}"), TEXT);
            }
            check(&format!("--{tint}"), &format!("--{tint}-1"), TEXT);
        }
        for tint in ["--worse-1", "--better-1", "--env-1", "--doubt-1"] {
            check("--ink", tint, TEXT);
            check("--ink-2", tint, TEXT);
            check("--link", tint, TEXT);
        }
        check("--ink-2", "--band", TEXT);
        // The number of a change, on the disc of its colour.
        for disc in ["--worse", "--better", "--env", "--doubt"] {
            check("--paper", disc, TEXT);
        }
        for mark in ["--dot", "--rule-2", "--level", "--env", "--ink-2", "--worse", "--better", "--doubt"] {
            check(mark, "--paper", MARK);
        }
        for mark in ["--dot", "--level", "--ink-2", "--worse", "--better", "--env", "--doubt"] {
            check(mark, "--band", MARK);
        }
    }
}
