//! HTML in fewer bytes: without the end tags and quotes that it does not ask for. A reader's browser makes the same page of it.
//! And where it can be seen what is text, long names are told where they may break (`breaks.rs`).
//!
//! It is for what our own templates wrote, which is well formed: each end tag that goes is one that the standard lets be left
//! out where templates have it, as after a cell, a row or an item of a list (HTML Living Standard, 13.1.2.4).

use super::breaks;
use sprag_model::page::Page;

/// The elements whose end tags go.
const IMPLIED: [&[u8]; 8] = [b"td", b"th", b"tr", b"thead", b"tbody", b"li", b"dt", b"dd"];

/// The elements whose content is taken over as it is.
const VERBATIM: [&[u8]; 2] = [b"script", b"style"];

/// The elements in which no name breaks: what is no HTML within, and titles, which hold text alone.
const UNBROKEN: [&[u8]; 3] = [b"svg", b"title", b"textarea"];

/// A page as a site has it: HTML in fewer bytes, what is none as it is.
pub fn page(page: Page) -> Page {
    if !page.path.ends_with(".html") {
        return page;
    }
    let bytes = match page.path.split_once('/') {
        Some((folder, _)) => lean(&page.bytes, format!("../{folder}/").as_bytes()),
        None => lean(&page.bytes, b""),
    };
    Page { bytes, ..page }
}

/// Leaves out what HTML does not ask for, and of links within the folder of the page the way out of it and back: `own`.
fn lean(html: &[u8], own: &[u8]) -> Vec<u8> {
    let mut lean = Vec::with_capacity(html.len());
    let mut rest = html;
    let mut unbroken = 0_usize;
    while let Some(begin) = rest.iter().position(|byte| *byte == b'<') {
        match unbroken {
            0 => breaks::write(&rest[..begin], &mut lean),
            _ => lean.extend_from_slice(&rest[..begin]),
        }
        rest = &rest[begin..];
        let end = end_of_tag(rest);
        let (tag, after) = rest.split_at(end);
        rest = after;
        match tag {
            [b'<', b'/', name @ .., b'>'] if UNBROKEN.contains(&name) => unbroken = unbroken.saturating_sub(1),
            [b'<', first, ..]
                if first.is_ascii_alphabetic() && UNBROKEN.contains(&name_of(tag)) && !tag.ends_with(b"/>") =>
            {
                unbroken += 1
            }
            _ => {}
        }
        match tag {
            [b'<', b'/', name @ .., b'>'] if IMPLIED.contains(&name) => {}
            [b'<', first, ..] if first.is_ascii_alphabetic() => {
                let name = name_of(tag);
                start_tag(tag, name.len() + 1, own, &mut lean);
                if VERBATIM.contains(&name) {
                    let closed = find(rest, &[b"</", name].concat()).unwrap_or(rest.len());
                    lean.extend_from_slice(&rest[..closed]);
                    rest = &rest[closed..];
                }
            }
            _ => lean.extend_from_slice(tag),
        }
    }
    lean.extend_from_slice(rest);
    lean
}

/// How long a tag is, which is what a text begins with. A quoted value may hold its last character.
fn end_of_tag(text: &[u8]) -> usize {
    let mut is_quoted = false;
    for (place, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'>' if !is_quoted => return place + 1,
            _ => {}
        }
    }
    text.len()
}

fn name_of(tag: &[u8]) -> &[u8] {
    let length = tag[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    &tag[1..=length]
}

/// Writes a start tag whose attributes begin behind `name`, without quotes around values that hold nothing that parts them from
/// what follows. The value before `/>` keeps its quotes, as the stroke would be of it.
fn start_tag(tag: &[u8], name: usize, own: &[u8], lean: &mut Vec<u8>) {
    let mut rest = tag;
    let mut copied = name;
    while let Some(open) = find(&rest[copied..], b"=\"").map(|place| copied + place + 1) {
        let Some(close) = rest[open + 1..].iter().position(|byte| *byte == b'"').map(|place| open + 1 + place) else {
            break;
        };
        let value = &rest[open + 1..close];
        let is_link = rest[..open].ends_with(b" href=") && !own.is_empty();
        let value = value.strip_prefix(own).filter(|within| is_link && !within.is_empty()).unwrap_or(value);
        lean.extend_from_slice(&rest[..open]);
        let is_plain = !value.is_empty() && value.iter().all(|byte| is_plain(*byte));
        if is_plain && rest.get(close + 1) != Some(&b'/') {
            lean.extend_from_slice(value);
        } else {
            lean.push(b'"');
            lean.extend_from_slice(value);
            lean.push(b'"');
        }
        rest = &rest[close + 1..];
        copied = 0;
    }
    lean.extend_from_slice(rest);
}

/// Whether a byte can stand in a value without quotes, and is no part of a character reference.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'=<>`&".contains(&byte)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        assert_eq!(String::from_utf8(lean(html.as_bytes(), b"../week/")).as_deref(), Ok(expected), "{html}");
    }

    #[test]
    fn what_html_does_not_ask_for_goes() {
        check(
            "<table class=\"cards\"><thead><tr><th scope=\"col\">A</th></tr></thead>\n<tbody>\n<tr><td class=\"n opt\">1</td></tr>\n</tbody></table>",
            "<table class=cards><thead><tr><th scope=col>A\n<tbody>\n<tr><td class=\"n opt\">1\n</table>",
        );
        check("<ul><li>a</li>\n<li>b</li></ul>", "<ul><li>a\n<li>b</ul>");
        check("<dl><div><dt>a</dt><dd>b</dd></div></dl>", "<dl><div><dt>a<dd>b</div></dl>");
        check("<a href=\"../commits/38c8.html#run-1\">x</a>", "<a href=../commits/38c8.html#run-1>x</a>");
    }

    #[test]
    fn links_within_a_folder_do_not_leave_it() {
        check("<a href=\"../week/index.html\">x</a>", "<a href=index.html>x</a>");
        check("<a href=\"../week/index.html?a=1\">x</a>", "<a href=\"index.html?a=1\">x</a>");
        check("<a title=\"../week/a\" href=\"../week/\">x</a>", "<a title=../week/a href=../week/>x</a>");
        check("<a href=\"../weeks/a\">x</a>", "<a href=../weeks/a>x</a>");
    }

    #[test]
    fn a_long_name_is_told_where_it_may_break() {
        check(
            "<svg></svg><td title=\"tile_gather_scatter_rows{n=4096}\">tile_gather_scatter_rows{n=4096}</td>",
            "<svg></svg><td title=\"tile_gather_scatter_rows{n=4096}\">tile_gather_<wbr>scatter_<wbr>rows{n=4096}",
        );
    }

    #[test]
    fn what_html_asks_for_stays() {
        for same in [
            "<!DOCTYPE html>\n<p>a &lt; b</p>",
            "<meta name=description content=\"a > b\">",
            "<a href=\"x?a=1\">x</a>",
            "<a href=\"x?a&amp;b\">x</a>",
            "<i title=\"\" lang=\"a b\">'\"</i>",
            "<svg><path d=\"M0\"/><text x=1 y=\"2\"/></svg>",
            "<script src=a.js defer></script>",
            "<script type=application/json>{\"a\":\"</td><p class=\\\"x\\\">\"}</script>",
            "<p hidden>x = \"y\"</p>",
            "<title>tile_gather_scatter_rows{n=4096,dtype=bf16}</title>",
            "<svg><title>tile_gather_scatter_rows{n=4096,dtype=bf16}</title><text>tile_gather_scatter_rows{n=4096}</text></svg>",
            "a < b",
            "",
        ] {
            check(same, same);
        }
        check(
            "<script type=\"application/json\">{\"a\":\"b\"}</script>",
            "<script type=application/json>{\"a\":\"b\"}</script>",
        );
        check("<b class=\"x\" id=\"é\"/>", "<b class=x id=\"é\"/>");
    }
}
