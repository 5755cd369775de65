// Compares any two commits, on the page that lets a reader choose them; app.js comes before it.
"use strict";

// ---- The values.

const chunkOf = (data, number) => Math.floor(number / data.chunk);

// The values of a series at a commit, in the order in which they were first measured.
const pointsAt = (data, series, number) => {
  const chunk = data.chunks.get(chunkOf(data, number));
  chunk.places ??= new Map(chunk.groups.map((group) => [group.suite + "\n" + group.machine, group]));
  const offset = number - chunk.number * data.chunk;
  const group = chunk.places.get(series.suite + "\n" + series.machine);
  if (!group || !Object.hasOwn(group.series, series.id)) return [];
  const [exponent, medians, step, down, up] = group.series[series.id];
  const points = [];
  const real = (whole) => Number(`${whole}e${exponent}`);
  for (let column = group.at.indexOf(offset); column >= 0 && group.at[column] === offset; column += 1) {
    const median = medians[column], lower = down?.[column] ?? null;
    if (median === null) continue;
    const spread = lower === null ? null : [real(median - step * lower), real(median + step * up[column])];
    points.push({ number, environment: chunk.environments[group.environment[column]], value: real(median), spread });
  }
  return points;
};

// The same, or for a commit that was not measured those of the nearest before it that has some.
const pointsFor = (data, series, number) => {
  if (number < data.commits.length) return pointsAt(data, series, number);
  const nearest = measuredAt(data, number);
  for (let at = nearest; at >= 0 && at > nearest - data.chunk; at -= 1) {
    const points = pointsAt(data, series, at);
    if (points.length) return points;
  }
  return [];
};

// ---- The verdicts. src/report/compare/ gives them, for each pair of places that points of a series may lie in; here they are
// looked up.

const isReached = ([number, ...before], point) =>
  point.number > number || (point.number === number && !before.includes(point.environment));

const outcomeFrom = ([kind, mark, reason, before, after, relative, low, high, times]) =>
  ({ kind, mark, reason, before, after, relative, interval: low === null ? null : [low, high], times });

const verdictOf = ({ places, outcomes, table }, a, b) => {
  const placeOf = (point) => places.filter((spot) => isReached(spot, point)).length;
  const cell = table[placeOf(a)][placeOf(b)], apart = Math.abs(b.number - a.number);
  return outcomeFrom(outcomes[Array.isArray(cell) ? cell.findLast(([from]) => from <= apart)[1] : cell]);
};

// What is said of a series between two commits; null where it was measured at neither. Where no levels decide, it is one of four
// outcomes that hold for every series.
const outcomeOf = (data, series, numberA, numberB) => {
  const atA = pointsFor(data, series, numberA), atB = pointsFor(data, series, numberB);
  const asOf = [[numberA, atA], [numberB, atB]]
    .map(([number, [first]]) => (first && first.number !== measuredAt(data, number) ? first.number : null));
  const newest = { a: atA.at(-1), b: atB.at(-1), asOf }, [onlyB, onlyA, neitherBetween, apart] = data.words.unjudged.map(outcomeFrom);
  if (!newest.a || !newest.b) return newest.a ? { ...newest, ...onlyA } : newest.b ? { ...newest, ...onlyB } : null;
  const same = (b) => atA.find((a) => a.environment === b.environment);
  const b = atB.findLast(same), a = b && same(b);
  if (!b) return { ...newest, ...apart, reason: differences(data, newest) || apart.reason };
  // A measurement compared with itself says nothing of two commits.
  const isOne = numberA !== numberB && a.number === b.number && a.environment === b.environment;
  return { asOf, a, b, ...(isOne ? neitherBetween : verdictOf(series, a, b)) };
};

// ---- The table, as src/report/compare/words.rs and table.rs make it.

const nameOf = ([sha, , , tags]) => tags[0] ?? sha.slice(0, 7);

// The commit of a number: after those that were measured come those with a tag that were not.
const commitAt = (data, number) => data.commits[number] ?? data.tagged[number - data.commits.length];
const measuredAt = (data, number) => commitAt(data, number)[5] ?? number;
const calledAt = (data, number) => {
  const commit = commitAt(data, number), standIn = commit[5];
  return nameOf(commit) + (standIn === undefined ? "" : ` (as of ${data.commits[standIn][0].slice(0, 7)})`);
};

// The facts in which two environments differ; empty where none is known.
const differences = (data, { a, b }) => {
  const was = data.environments[a.environment], is = data.environments[b.environment], { noFact } = data.words;
  const differ = was && is ? data.facts.filter(([name]) => was[name] !== is[name]) : [];
  return differ.map(([name, label]) => `${label} ${was[name] ?? noFact} → ${is[name] ?? noFact}`).join("; ");
};

const reasonOf = (data, { reason, asOf }) => {
  const sides = asOf.map((number, side) => number !== null && `${"AB"[side]} as of ${nameOf(data.commits[number])}`);
  return [reason, ...sides].filter(Boolean).join("; ");
};

const rowOf = (data, { series, outcome, kind }) => {
  const scale = scaleOf(series.unit, outcome.before ?? outcome.after ?? outcome.a?.value ?? outcome.b?.value ?? 0);
  const level = (x) => (x === null ? NONE : quantity(scale, x));
  const [low, high] = outcome.interval ?? [0, 0], { relative } = outcome;
  const measured = (point) => {
    if (!point) return [NONE, ""];
    const spread = point.spread && `${value(scale, point.spread[0])} to ${value(scale, point.spread[1])}`;
    return [quantity(scale, point.value), spread ?? ""];
  };
  return {
    id: series.id, viewed: series.viewed,
    suite: series.suite,
    machine: series.machineName,
    name: series.benchmark,
    metric: series.metric,
    unit: series.unit,
    kind,
    mark: outcome.mark,
    reason: reasonOf(data, outcome),
    before: level(outcome.before),
    after: level(outcome.after),
    change: relative !== null ? percent(relative) : NONE,
    interval: low < high ? `${signed(low)} to ${signed(high)}` : "",
    shows: series.shows === null ? NONE : percent(Math.abs(series.shows)).replace(/^\+/, ""),
    times: outcome.times,
    measured_before: measured(outcome.a),
    measured_after: measured(outcome.b),
    figures: [outcome.before, outcome.after, relative, ...(low < high ? [low, high] : [null, null]), outcome.a?.value, outcome.b?.value, series.shows]
      .map((figure) => (Number.isFinite(figure) ? power(figure, 4) : "")),
    drawn: relative === null ? null : { ends: [relative, ...(outcome.interval ?? [relative, relative])], shows: Math.abs(series.shows ?? 0) },
    places: null,
  };
};

const countsOf = (judged) => {
  const counts = [judged.length, 0, 0, 0, 0];
  const place = { worse: 1, better: 2, same: 3 };
  for (const { kind } of judged) counts[place[kind] ?? 4] += 1;
  return counts;
};

// A sentence of the data with its gaps filled.
const filled = (sentence, ...texts) => sentence.split("{}").reduce((all, words, i) => all + texts[i - 1] + words);

const headlineOf = (judged, { nothing, noVerdict, noChange, unchanged }, words) => {
  const [all, worse, better, same, none] = countsOf(judged);
  if (!all) return [["", "", nothing]];
  const pieces = [];
  if (worse) pieces.push(["worse", "▲", `${count(worse)} ${words[0]},`]);
  if (better) pieces.push(["better", "▼", `${count(better)} ${words[1]},`]);
  if (!worse && !better && !same) return [["", "", filled(noVerdict, count(none))]];
  if (!worse && !better) pieces.push(["", "", noChange]);
  pieces.push(["", "", filled(unchanged[Math.min(none, 1)], count(same), count(none))]);
  return pieces;
};

const byTexts = (a, b) => a.reduce((order, text, i) => order || byText(text, b[i]), 0);

const gathered = (judged, keyOf) => {
  const groups = new Map();
  for (const one of judged) {
    const key = keyOf(one), name = JSON.stringify(key);
    if (!groups.has(name)) groups.set(name, [key, []]);
    groups.get(name)[1].push(one);
  }
  return [...groups.values()].sort(([a], [b]) => byTexts(a, b));
};

// How small a change would have shown, from the first to the last.
const detectableOf = (judged, words) => {
  const all = judged.map(({ series }) => series.shows).sort((a, b) => a - b), [least, most] = [all[0], all.at(-1)].map((one) => percent(one).replace(/^\+/, ""));
  return !all.length || all.includes(null) ? "" : filled(words.detectable, least === most ? least : `${least} to ${most}`);
};

const bannersOf = (data, judged) => {
  const differ = judged.filter(({ kind }) => kind === "environment");
  const [of, facts] = data.words.different;
  return gathered(differ, ({ series, outcome }) => [series.machineName, outcome.reason])
    .map(([[machine, reason], { length }]) => [filled(of, machine), filled(facts, reason, count(length), length === 1 ? "gets" : "get")]);
};

// The changes on one scale, as src/report/compare/words.rs has it.
const SPANS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
const drawOn = (rows) => {
  const sizes = rows.map(({ drawn }) => Math.max(...drawn.ends.map(Math.abs))).sort((a, b) => a - b);
  if (!sizes.length) return "";
  const usual = sizes[Math.floor(0.9 * (sizes.length - 1))], span = SPANS.find((one) => one >= usual) ?? 1;
  const place = (x) => Math.floor(550 + 500 * Math.min(1, Math.max(-1, x / span)) + 0.5);
  for (const row of rows) {
    const [change, low, high] = row.drawn.ends;
    row.places = [place(row.drawn.shows), place(low), place(change), place(high), Math.sign(change) * (Math.abs(change) > span)];
  }
  return `±${span * 100}${NARROW}%`;
};

const capital = (word) => word[0].toUpperCase() + word.slice(1);

function table(data, a, b) {
  const all = data.series
    .map((series) => ({ series, outcome: outcomeOf(data, series, a, b) }))
    .filter(({ outcome }) => outcome);
  for (const one of all) one.kind = one.outcome.kind;
  const kernels = all.filter(({ series }) => !series.auxiliary), auxiliary = all.filter(({ series }) => series.auxiliary);
  const words = kernels.map(({ series }) => series.words).reduce((all, one) => (all[0] === one[0] ? all : data.words.mixed), kernels[0]?.series.words ?? data.words.mixed);
  const size = ({ kind, outcome }) =>
    (kind === "worse" || kind === "better" ? Math.abs(outcome.relative ?? Number.MAX_VALUE) : 0);
  const groups = data.words.groups.map(([kind, heading], i) => {
    const rows = kernels.filter((one) => one.kind === kind).sort((one, other) => size(other) - size(one));
    return { heading: heading || capital(words[i]), detectable: kind === "same" ? detectableOf(rows, data.words) : "", rows: rows.map((one) => rowOf(data, one)) };
  });
  groups.push({ heading: data.words.auxiliary, detectable: "", rows: auxiliary.map((one) => rowOf(data, one)) });
  const rows = groups.flatMap((group) => group.rows), scale = drawOn(rows.filter((row) => row.drawn));
  for (const row of rows) delete row.drawn;
  return {
    headline: headlineOf(kernels, data.words, words),
    words,
    banners: bannersOf(data, kernels),
    summary: gathered(kernels, ({ series }) => [series.suite, series.dtype ?? "", series.machineName, series.machine])
      .map(([[suite, dtype, machine], judged], i) => {
        const [mean, interval] = data.averages[`${a} ${b}`]?.[i] ?? [NONE, ""];
        return { suite: dtype ? `${suite}, ${dtype}` : suite, machine, counts: countsOf(judged), mean, interval };
      }),
    hasMeans: `${a} ${b}` in data.averages,
    scale,
    groups: groups.filter(({ rows }) => rows.length),
  };
}

// ---- The same as Markdown, as src/report/compare/export.rs writes it, and as CSV.

const MEANT = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "\\": "&#92;", "@": "&#64;&#8203;", "#": "\\#&#8203;" };
const isWord = (character) => /[\p{Alphabetic}\p{N}]/u.test(character ?? "");
const plain = (words) => [...words].reduce((escaped, one, i, all) => {
  if (one === "_" && isWord(all[i - 1]) && isWord(all[i + 1])) return escaped + one;
  if (one === ":" && all[i + 1] === "/") return `${escaped}&#58;`;
  if (one === "." && escaped.endsWith("www")) return `${escaped}&#46;`;
  return escaped + (MEANT[one] ?? ("*_`[]~$".includes(one) ? `\\${one}` : one));
}, "");
const code = (name) => {
  if (!name.trim()) return "<code></code>";
  if (!/[|`\\<>]/.test(name)) return `\`${name}\``;
  return `<code>${name.replace(/[!-/:-@[-`{-~]/g, (one) => `&#${one.charCodeAt()};`)}</code>`;
};

const REPORTED = ["worse", "better", "doubt"];

function markdown(data, a, b) {
  const { headline, banners, summary, words, groups } = table(data, a, b), lines = [];
  const line = (cells) => lines.push(`| ${cells.join(" | ")} |`);
  const head = (cells, texts) => { line(cells); line(cells.map((_, i) => (i < texts ? "---" : "--:"))); };
  const side = ([sha, day, subject, tags, , standIn]) => code(sha.slice(0, 12)) + (tags.length ? ` ${plain(tags.join(", "))}` : "")
    + (subject && `, “${plain(subject)}”`) + `, ${day}` + (standIn === undefined ? "" : data.words.unmeasured);
  lines.push(`# ${plain(calledAt(data, a))} to ${plain(calledAt(data, b))}`, "");
  lines.push(`**${headline.map(([, glyph, text]) => `${glyph} ${text}`.trim()).join(" ")}**`, "", `- A: ${side(commitAt(data, a))}`, `- B: ${side(commitAt(data, b))}`, "");
  for (const [strong, text] of banners) lines.push(`**${plain(strong)}** ${plain(text)}`, "");
  if (summary.length) {
    head(["Suite", "Machine", "Series", ...words.map(capital), "No change", "No verdict", "Mean", `95${NARROW}% limits`], 2);
    for (const one of summary) line([plain(one.suite), plain(one.machine), ...one.counts.map(count), one.mean, one.interval]);
    lines.push("", data.words.limits, "");
  }
  const isReported = ({ heading, rows }) => REPORTED.includes(rows[0].kind) && heading !== data.words.auxiliary;
  for (const { heading, rows } of groups.filter(isReported)) {
    lines.push(`## ${heading} (${count(rows.length)})`, "");
    head(["Series", "Machine", "Verdict", "Level at A", "Level at B", "Change", `95${NARROW}% interval`, "Detectable"], 3);
    for (const row of rows.slice(0, 60)) {
      const verdict = `${row.mark[1]} ${row.mark[2]}`;
      line([`${code(row.name)} ${plain(row.metric)}`, plain(row.machine), row.reason ? `${verdict}: ${plain(row.reason)}` : verdict,
        row.before, row.after, row.change, row.interval, `${row.shows} ${row.times}`.trimEnd()]);
    }
    lines.push("");
    if (rows.length > 60) lines.push(`And ${count(rows.length - 60)} more.`, "");
  }
  lines.push(groups.filter((group) => !isReported(group)).map(({ heading, rows, detectable }) => `${heading}: ${count(rows.length)}${detectable && `, ${detectable}`}.`).join(" "));
  return `${lines.map((text) => text.trimEnd()).join("\n")}\n`;
}

function csv(data, a, b) {
  const heads = ["id", "suite", "benchmark", "metric", "unit", "machine", "verdict", "reason", "level_a", "level_b", "change",
    "change_low", "change_high", "measured_a", "measured_b", "could_see"];
  const rows = table(data, a, b).groups.flatMap((group) => group.rows)
    .map((row) => [...[row.id, row.suite, row.name, row.metric, row.unit, row.machine, row.mark[2], row.reason].map(field), ...row.figures]);
  return [heads, ...rows].map((cells) => `${cells.join(",")}\n`).join("");
}

Object.assign(sprag, {
  table: (a, b) => table(sprag.data, a, b),
  markdown: (a, b) => markdown(sprag.data, a, b),
  csv: (a, b) => csv(sprag.data, a, b),
});

// ---- The page.

const piece = ([tone, glyph, words]) =>
  (tone ? element("span", { class: `v ${tone}` }, element("i", { "aria-hidden": "true" }, glyph), words) : words);
const spaced = (pieces) => pieces.flatMap((one, i) => (i ? [" ", piece(one)] : [piece(one)]));
const cells = (tag, list) => list.map(([text, kind]) => element(tag, { class: kind, ...(tag === "th" && { scope: "col" }) }, text));
const scrolled = (label, made) => {
  const box = element("section", { class: "scroll", "aria-label": label }, made);
  makeStops([box]);
  return box;
};

const below = (text, kind) => (text ? [" ", element("span", { class: `${kind} below`.trim() }, text)] : []);

function summaryTable({ summary, words, hasMeans }) {
  const heads = [["Suite", ""], ["Machine", ""], ["Series", "n opt2"], [capital(words[0]), "n"], [capital(words[1]), "n"],
    ["No change", "n opt2"], ["No verdict", "n"], ...(hasMeans ? [["Mean", "n"]] : [])];
  const tinted = (n, tone) => (n ? element("b", { class: tone }, count(n)) : "0");
  const rows = summary.map(({ suite, machine, counts, mean, interval }) => element("tr", {}, element("th", { scope: "row" }, suite),
    ...cells("td", [[machine, "any"], [count(counts[0]), "n opt2"], [tinted(counts[1], "worse"), "n"],
      [tinted(counts[2], "better"), "n"], [count(counts[3]), "n opt2"], [count(counts[4]), "n"]]), ...(hasMeans ? [element("td", { class: "n" }, mean, ...below(interval, "ci"))] : [])));
  return element("table", {}, element("caption", { class: "sr" }, `Counts${hasMeans ? " and geometric mean" : ""} by suite, element type and machine`),
    element("thead", {}, element("tr", {}, ...cells("th", heads))), element("tbody", {}, ...rows));
}

let svgSpace;
const SVG = () => (svgSpace ??= new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI);

// The interval of a change, as src/report/chart/bar.rs draws it.
function rangeOfRow({ places, kind }) {
  const [band, low, change, high, beyond] = places.map((place, i) => (i < 4 ? place / 10 : place));
  const draw = (tag, attributes) => {
    const made = document.createElementNS(SVG(), tag);
    for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
    return made;
  };
  const end = `end ${REPORTED.indexOf(kind) < 2 ? kind : ""}`.trim(), base = change - 6 * beyond;
  const svg = draw("svg", { class: "range", width: 110, height: 16, viewBox: "0 0 110 16", "aria-hidden": true });
  svg.append(draw("path", { class: "band", d: `M${110 - band} 1H${band}V15H${110 - band}Z` }), draw("path", { class: "axis", d: "M55 0V16" }),
    draw("path", { class: "base", d: `M${low} 8H${high}` }),
    beyond ? draw("path", { class: end, d: `M${base} 4L${change} 8L${base} 12Z` }) : draw("circle", { class: end, cx: change, cy: 8, r: 3.5 }));
  return svg;
}

// The rows that are shown at once; a row is made when it is first shown.
const AT_ONCE = 150;

function rowsTable({ groups, scale }) {
  const heads = [["Series", ""], ["Machine", ""], ["Verdict", ""], ["Level at A", "n"], ["Level at B", "n"],
    [`Change, 95${NARROW}% interval`, "n"], ...(scale ? [[scale, "opt2"]] : []), ["Detectable", "n opt2"], ["Measured at A", "n opt"], ["Measured at B", "n opt"]];
  const head = element("tr", {}, ...cells("th", heads));
  for (const place of scale ? [3, 4, 6, 8, 9] : [3, 4, 7, 8]) head.cells[place].dataset.mixed = "";
  ["machine", "verdict", , , "size"].forEach((by, i) => { head.cells[i + 1].dataset.by = by; });
  const measured = ([figure, spread]) =>
    element("td", { class: "n opt q" }, figure, ...below(spread, ""));
  const made = (one, of) => {
    const verdict = element("td", { class: "verdict" }, piece(one.mark));
    if (one.reason) verdict.append(" ", element("span", { class: "q why" }, one.reason));
    const tint = one.kind === "worse" || one.kind === "better";
    const isChanged = one.change !== NONE;
    const change = element("td", { class: isChanged ? "n push" : "n opt2" }, tint ? element("b", { class: one.mark[0] }, one.change) : one.change);
    change.append(...below(one.interval, "ci"));
    const link = element("a", { href: `../series/${one.viewed ? "view.html#" : ""}${encodeURIComponent(one.id)}${one.viewed ? "" : ".html"}` }, element("span", { class: "id" }, one.name));
    return element("tr", { "data-suite": one.suite, "data-machine": one.machine },
      element("th", { scope: "row", class: "full" }, link, " ", element("span", { class: "q" }, one.metric), ...(of ? [element("span", { class: "q why of-group" }, of)] : [])),
      element("td", { class: "place" }, one.machine), verdict,
      ...cells("td", [[one.before, isChanged ? "n from" : "n opt2"], [one.after, "n"]]), change,
      ...(scale ? [element("td", { class: "g opt2" }, ...(one.places ? [rangeOfRow(one)] : []))] : []),
      element("td", one.times ? { class: "n", "data-is": "detectable" } : { class: "n opt2" }, one.shows, ...below(one.times, "q")), measured(one.measured_before), measured(one.measured_after));
  };
  const rowOfData = (one) => {
    const words = [`${one.name} ${one.metric}`, one.machine, one.mark[2], one.before, one.after, one.change, ...(scale ? [""] : []), one.shows, one.measured_before[0], one.measured_after[0]];
    return {
      dataset: { suite: one.suite, machine: one.machine },
      words: (column) => (column === undefined ? [...words, one.reason, one.interval].join(" ") : words[column]),
      make() { return made(one, this.of); },
    };
  };
  const bodies = groups.map(({ heading, rows, detectable }) => element("tbody", { class: "group" },
    element("tr", {}, element("th", { scope: "rowgroup", colspan: String(head.cells.length) }, `${heading} `,
      element("span", { class: "q" }, `(${count(rows.length)})`), ...(detectable ? [" ", element("span", { class: "q" }, detectable)] : [])))));
  const table = element("table", { class: "cards compared" },
    element("caption", { class: "sr" }, "Series between the two commits, by verdict"), element("thead", {}, head), ...bodies);
  modelOf(table).groups.forEach((one, i) => { one.rows = one.printed = groups[i].rows.map(rowOfData); });
  return table;
}

// How many commits were measured between two.
const betweenOf = (data, a, b) => {
  const [first, last] = [a, b].sort((x, y) => measuredAt(data, x) - measuredAt(data, y));
  return measuredAt(data, last) + (last >= data.commits.length) - measuredAt(data, first) - 1;
};

function sideOf(letter, [sha, day, subject, tags, , standIn]) {
  const made = element("p", {}, element("b", {}, letter), " ", element("span", { class: "id" }, sha.slice(0, 12)));
  if (tags.length) made.append(" ", element("b", {}, tags.join(", ")));
  made.append(element("br"), element("span", { class: "q" }, (subject && `“${subject}”, `) + day + (standIn === undefined ? "" : sprag.data.words.unmeasured)));
  return made;
}

// Buttons that take a comparison along.
function exported(a, b) {
  const { data } = sprag, name = [a, b].map((number) => commitAt(data, number)[0].slice(0, 12)).join("-");
  const said = element("output", { class: "q", "aria-live": "polite" });
  const button = (text, act) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  };
  const copy = async () => {
    try { await navigator.clipboard.writeText(sprag.markdown(a, b)); said.textContent = "Copied."; } catch { said.textContent = "The browser does not allow it; save it instead."; }
  };
  return element("p", { class: "filter tools" }, button("Copy as Markdown", copy),
    button("Save as Markdown", () => save(sprag.markdown(a, b), "text/markdown", `${name}.md`)),
    button("Save as CSV", () => save(sprag.csv(a, b), "text/csv", `${name}.csv`)), said);
}

// The commit that is meant where several begin as what was written.
const SEVERAL = "several";

async function makeCompare(box) {
  if ("later" in box.dataset) {
    const output = box.querySelector("output"), asked = new Promise((done) => { box.addEventListener("focusin", done, { once: true }); });
    box.hidden = false;
    if (!address.get("a") && !address.get("b")) await asked;
    try { await Promise.all(["commits.js", "series.js"].map(load)); } catch (error) { output.textContent = error.message; return; }
  }
  const { data } = sprag, [form, filter] = box.querySelectorAll(".filter");
  const field = (name) => form.querySelector(`[name=${name}]`);
  const said = form.querySelector("output"), result = document.getElementById("result");
  const rows = document.getElementById("result-rows"), newest = data.commits.length - 1;
  if (newest < 1) {
    // The page says how many commits are known; here none came, as where a copy of the site lacks its data.
    box.replaceWith(element("p", { class: "note" }, newest < 0 ? "The data of this site could not be read." : "It takes two measured commits."));
    return;
  }
  const numberOfCommit = (text) => {
    const all = [...data.commits, ...data.tagged], whole = text.trim(), word = whole.split(/\s/)[0].toLowerCase();
    // Links of the site name commits by twelve digits, whatever tags there are.
    const isLink = /^[0-9a-f]{12,}$/.test(word);
    for (const like of [([sha]) => isLink && sha.startsWith(word), ([, , , tags]) => tags.includes(whole),
      ([, , , tags]) => tags.some((tag) => tag.toLowerCase() === whole.toLowerCase())]) {
      const found = all.findIndex(like);
      if (found >= 0) return found;
    }
    const begun = word ? all.flatMap(([sha], i) => (sha.startsWith(word) ? [i] : [])) : [];
    return begun.length > 1 ? SEVERAL : begun[0] ?? null;
  };
  // Of one that was not measured what counts may lie a chunk back.
  const loaded = (number) => {
    const last = measuredAt(data, number), first = number === last ? last : Math.max(0, last - data.chunk + 1);
    const chunks = [...new Set([first, last].map((at) => chunkOf(data, at)))].filter((chunk) => !data.chunks.has(chunk));
    return Promise.all(chunks.map((chunk) => load(`values-${chunk}.js`)));
  };
  let asked = 0;
  const show = async () => {
    asked += 1;
    const mine = asked, [a, b] = ["a", "b"].map((name) => numberOfCommit(field(name).value));
    for (const name of ["a", "b"]) address.set(name, field(name).value.trim());
    const unclear = [["A", a], ["B", b]].find(([, number]) => number === null || number === SEVERAL);
    said.textContent = !unclear ? "" : unclear[1] === SEVERAL ? `Several measured commits begin as ${unclear[0]} does: write more digits.`
      : `${unclear[0]} is not a measured commit or tag, and nothing was measured before it: choose one of the list of the field.`;
    if (unclear) {
      result.replaceChildren();
      rows.replaceChildren();
      filter.hidden = true;
      return;
    }
    try { for (const number of [a, b]) await loaded(number); } catch (error) { said.textContent = error.message; return; }
    if (mine !== asked) return;
    if (measuredAt(data, a) === measuredAt(data, b) && a !== b) {
      // What is compared with itself says nothing of the commits between.
      filter.hidden = true;
      rows.replaceChildren();
      result.replaceChildren(element("h2", {}, "Nothing was measured between the two"),
        element("div", { class: "sides" }, sideOf("A", commitAt(data, a)), sideOf("B", commitAt(data, b))));
      return;
    }
    const made = sprag.table(a, b), apart = betweenOf(data, a, b);
    result.replaceChildren(element("h2", {}, ...spaced(made.headline)),
      element("p", { class: "note" }, a === b ? "A and B are the same commit."
        : apart < 1 ? "No commit was measured between the two."
          : `${counted(apart, "commit was", "commits were")} measured between the two.`),
      element("div", { class: "sides" }, sideOf("A", commitAt(data, a)), sideOf("B", commitAt(data, b))),
      exported(a, b),
      ...made.banners.map(([strong, words]) => element("p", { class: "banner env" }, element("b", {}, strong), " ", words)));
    filter.hidden = true;
    rows.replaceChildren();
    if (!made.groups.length) return;
    const [ofMeans, ofRows] = [...document.getElementById("notes").children].map((note) => note.cloneNode(true));
    result.append(...(made.hasMeans ? [ofMeans] : []), scrolled("Summary by suite and machine, table", summaryTable(made)));
    const list = rowsTable(made);
    rows.append(ofRows, scrolled("Compared series, table", list));
    filter.hidden = false;
    makeFilter(filter, [list], AT_ONCE);
    makeSortable(list, 0);
  };
  const list = document.getElementById("commits");
  // A thousand choices cost a slow machine a third of a second, so they are made once a field is entered.
  const offer = () => {
    if (list.options.length) return;
    list.append(...[...data.tagged, ...data.commits].reverse().sort((x, y) => y[4] - x[4]).map(([sha, day, subject, tags]) =>
      element("option", { value: tags[0] ?? sha.slice(0, 12), label: `${day} ${tags.length ? `${sha.slice(0, 12)} ` : ""}${subject}` })));
  };
  form.addEventListener("focusin", offer);
  if (form.contains(document.activeElement)) offer();
  const written = ([sha, , , tags]) => tags[0] ?? sha.slice(0, 12);
  field("b").value = address.get("b") || field("b").value || written(data.commits[newest]);
  field("a").value = address.get("a") || field("a").value;
  if (!field("a").value) {
    // Without another it is the one measured before; before the first there is none, so it is the other side.
    const named = numberOfCommit(field("b").value), at = named === null || named === SEVERAL ? newest : named;
    if (at === 0) field("b").value = written(data.commits[1]);
    field("a").value = written(data.commits[Math.max(measuredAt(data, at) - 1, 0)]);
  }
  for (const name of ["a", "b"]) field(name).addEventListener("change", show);
  field("swap").addEventListener("click", () => {
    [field("a").value, field("b").value] = [field("b").value, field("a").value];
    show();
  });
  box.hidden = false;
  show();
}
