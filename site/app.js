// Only adds: every page is complete without it. It fetches nothing, and shows text of others as text.
"use strict";

// ---- Figures, as src/report/number.rs and src/model/unit.rs set them.

const NARROW = "\u202f", NONE = "–";
const UNITS = {
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  B: [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"], [1, "B"]],
  "1/s": [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "1/s"]],
  "1": [[1, ""]],
};

// A number that lies halfway goes to the even digit.
const even = (short, long, decimals) => {
  const [digits, power = ""] = long.split("e");
  const end = digits.indexOf(".") + 1 + decimals;
  const kept = digits.slice(0, decimals ? end : end - 1);
  return /^50*$/.test(digits.slice(end)) && "02468".includes(kept.at(-1)) ? kept + (power && "e" + power) : short;
};
const fixed = (x, decimals) => {
  const short = x.toFixed(decimals);
  return Number.isInteger(x * 10 ** decimals * 2) ? even(short, x.toFixed(decimals + 30), decimals) : short;
};
const power = (x) => even(x.toExponential(3), x.toExponential(33), 3).replace("e+", "e");
const thousands = (digits) => digits.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, NARROW));
const isZero = (digits) => /^[0.]*$/.test(digits);
const typeset = (x, plain) => (x < 0 && !isZero(plain) ? "\u2212" : "") + thousands(plain);

const count = (n) => thousands(String(n));
const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
const scaleOf = (unit, typical) => UNITS[unit].find(([factor]) => Math.abs(typical) >= factor) ?? UNITS[unit].at(-1);
const value = ([factor], x) => {
  const shown = x / factor, size = Math.abs(shown);
  if (!Number.isFinite(shown)) return NONE;
  if (shown === 0) return "0";
  const magnitude = Math.floor(Math.log10(size));
  const plain = size >= 1e-6 && size < 1e9 && magnitude >= -4 && magnitude < 7;
  return typeset(shown, plain ? fixed(size, Math.min(12, Math.max(0, 3 - magnitude))) : power(size));
};
const quantity = (scale, x) => value(scale, x) + (scale[1] && NARROW + scale[1]);
const signed = (change) => {
  const percent = change * 100, size = Math.abs(percent);
  const digits = thousands(fixed(size, size < 99.95 ? 1 : 0));
  return isZero(digits) ? digits : (percent < 0 ? "\u2212" : "+") + digits;
};
const percent = (change) => (Number.isFinite(change) ? signed(change) + NARROW + "%" : NONE);

// ---- What the files of data/ call, and the values in them.

const sprag = {
  data: { commits: [], environments: {}, chunk: 50, series: [], chunks: new Map() },
  commits(told) { Object.assign(this.data, told); },
  series(told) { this.data.series = told; },
  chunk(told) { this.data.chunks.set(told.number, told); },
  table: (a, b) => table(sprag.data, a, b),
};

const chunkOf = (data, number) => Math.floor(number / data.chunk);

// One of the numbers that src/report/compare/packed.rs packs, so many characters each and less the least; null where there
// is none.
const DIGITS = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).filter((one) => !"\"&<>\\".includes(one));
const packed = (text = "", least, width, place) => {
  const number = [...text.slice(place * width, (place + 1) * width)].reduce((sum, one) => sum * 90 + DIGITS.indexOf(one), 0);
  return !text || number === 90 ** width - 1 ? null : least + number;
};

// The values of a series at a commit, in the order in which they were first measured.
const pointsAt = (data, series, number) => {
  const chunk = data.chunks.get(chunkOf(data, number));
  chunk.places ??= new Map(chunk.groups.map((group) => [group.suite + "\n" + group.machine, group]));
  const offset = number - chunk.number * data.chunk;
  const group = chunk.places.get(series.suite + "\n" + series.machine);
  if (!group || !Object.hasOwn(group.series, series.id)) return [];
  const [exponent, least, width, medians, ...ends] = group.series[series.id], [low, size, down, up] = ends;
  const points = [];
  const real = (whole) => Number(`${whole}e${exponent}`);
  for (let column = group.at.indexOf(offset); column >= 0 && group.at[column] === offset; column += 1) {
    const median = packed(medians, least, width, column), lower = packed(down, low, size, column);
    if (median === null) continue;
    const spread = lower === null ? null : [real(median - lower), real(median + packed(up, low, size, column))];
    points.push({ number, environment: chunk.environments[group.environment[column]], value: real(median), spread });
  }
  return points;
};

// ---- The rule, as src/report/compare/mod.rs says it in words and rule.rs in Rust.

const isReached = ([number, ...before], point) =>
  point.number > number || (point.number === number && !before.includes(point.environment));

const levelsOf = ({ changes }, point) => {
  const reached = (which) => changes.filter((step) => isReached(step[which], point)).length;
  const open = changes.find((step) => isReached(step[1], point) && !isReached(step[2], point));
  return { least: reached(2), likely: reached(0), most: reached(1), open: open ? open[0][0] : null };
};

const turned = ([change, lower, upper]) =>
  (lower > -1 ? [change, upper, lower].map((one) => 1 / (1 + one) - 1) : null);

// How two levels stand to each other; null where one of them drifts.
const between = (series, from, to) => {
  const a = series.levels[from], b = series.levels[to];
  if (!a || !b) return null;
  if (from === to) return { sign: 0, relative: null, interval: null };
  const sign = b[0] > a[0] ? 1 : -1;
  if (Math.abs(from - to) === 1) {
    const forth = series.changes[Math.min(from, to)][3];
    const told = from < to ? forth : forth && turned(forth);
    return { sign, relative: told ? told[0] : null, interval: told ? [told[1], told[2]] : null };
  }
  const relative = a[0] > 0 ? b[0] / a[0] - 1 : null;
  const counts = relative === null || Math.abs(relative) >= series.least;
  const clear = b[0] > a[0] ? b[0] - a[0] > Math.hypot(a[2] - a[0], b[0] - b[1])
    : a[0] - b[0] > Math.hypot(a[0] - a[1], b[2] - b[0]);
  let interval = null;
  if (a[1] > 0 && b[1] > 0) {
    const ratio = Math.log(b[0] / a[0]);
    const down = Math.hypot(Math.log(b[0] / b[1]), Math.log(a[2] / a[0]));
    const up = Math.hypot(Math.log(b[2] / b[0]), Math.log(a[0] / a[1]));
    interval = [Math.expm1(ratio - down), Math.expm1(ratio + up)];
  }
  return { sign: clear && counts ? sign : 0, relative, interval };
};

// Judges a series between two commits; null where it was measured at neither.
const judge = (data, series, numberA, numberB) => {
  const atA = pointsAt(data, series, numberA), atB = pointsAt(data, series, numberB);
  const outcome = { a: atA.at(-1), b: atB.at(-1), before: null, after: null, relative: null, interval: null };
  const say = (verdict, more) => Object.assign(outcome, { verdict }, more);
  if (!outcome.a && !outcome.b) return null;
  if (!outcome.a) return say("missing", { side: "A" });
  if (!outcome.b) return say("missing", { side: "B" });
  const same = (b) => atA.find((a) => a.environment === b.environment);
  const b = atB.findLast(same);
  if (!b) return say("environment");
  Object.assign(outcome, { a: same(b), b });
  if (!series.levels.length) return say("short");
  const ofA = levelsOf(series, outcome.a), ofB = levelsOf(series, b);
  const likely = between(series, ofA.likely, ofB.likely);
  if (!likely) return say("drift");
  let open = null;
  for (let from = ofA.least; from <= ofA.most; from += 1) {
    for (let to = ofB.least; to <= ofB.most; to += 1) {
      const judged = between(series, from, to);
      if (!judged) return say("drift");
      if (judged.sign !== likely.sign) open ??= ofA.open ?? ofB.open;
    }
  }
  Object.assign(outcome, likely, { before: series.levels[ofA.likely][0], after: series.levels[ofB.likely][0] });
  const low = Math.min(ofA.likely, ofB.likely), steps = Math.abs(ofA.likely - ofB.likely);
  if (open !== null) return say("open", { number: open });
  if (likely.sign === 0) return say("same", { cameBack: steps > 0 });
  return say("changed", { steps, number: series.changes[low][0][0] });
};

// ---- The table, as src/report/compare/words.rs and table.rs make it.

const nameOf = ([sha, , , tags]) => tags[0] ?? sha.slice(0, 7);

const wordOf = (series, bad) => {
  if (series.unit === "s" || series.unit === "1/s" || series.metric === "ratio") return bad ? "slower" : "faster";
  if (series.unit === "B") return bad === series.lower ? "larger" : "smaller";
  return bad ? "worse" : "better";
};

const kindOf = (series, outcome) => {
  const up = (outcome.after ?? -Infinity) > (outcome.before ?? -Infinity);
  const kinds = { same: "same", short: "doubt", drift: "doubt", open: "doubt", environment: "environment", missing: "missing" };
  return [kinds[outcome.verdict] ?? (up === series.lower ? "worse" : "better"), up];
};

const markOf = (series, kind, up) => ({
  worse: ["worse", up ? "▲" : "▼", wordOf(series, true)],
  better: ["better", up ? "▲" : "▼", wordOf(series, false)],
  doubt: ["doubt", "?", "inconclusive"],
  same: ["same", "=", "no change"],
  environment: ["env", "≠", "not comparable"],
  missing: ["same", "–", "missing"],
})[kind];

const differences = (data, { a, b }) => {
  const was = data.environments[a.environment], is = data.environments[b.environment];
  const names = was && is ? [...new Set([...Object.keys(was), ...Object.keys(is)])].sort() : [];
  const differ = names.filter((name) => was[name] !== is[name])
    .map((name) => `${name.replaceAll("_", " ")} ${was[name] ?? "none"} → ${is[name] ?? "none"}`);
  return differ.join("; ") || "the environment differs";
};

const reasonOf = (data, outcome) => {
  const commit = () => nameOf(data.commits[outcome.number]);
  switch (outcome.verdict) {
    case "changed": return outcome.steps === 1 ? `changed at ${commit()}` : `${count(outcome.steps)} changes between`;
    case "same": return outcome.cameBack ? "changed between and came back" : "";
    case "short": return "too few points for a level";
    case "drift": return "its level drifts";
    case "open": return `may lie on either side of the change at ${commit()}`;
    case "environment": return differences(data, outcome);
    default: return `not measured at ${outcome.side}`;
  }
};

const rowOf = (data, { series, outcome, kind, up }) => {
  const scale = scaleOf(series.unit, outcome.before ?? outcome.after ?? outcome.a?.value ?? outcome.b?.value ?? 0);
  const level = (x) => (x === null ? NONE : quantity(scale, x));
  const changed = outcome.verdict === "changed" || outcome.verdict === "open" || outcome.cameBack === true;
  const [low, high] = (changed && outcome.interval) || [0, 0];
  const measured = (point) => {
    if (!point) return [NONE, ""];
    const spread = point.spread && `${value(scale, point.spread[0])} to ${value(scale, point.spread[1])}`;
    return [quantity(scale, point.value), spread ?? ""];
  };
  return {
    id: series.id,
    suite: series.suite,
    machine: series.machineName,
    name: series.benchmark,
    metric: series.metric,
    kind,
    mark: markOf(series, kind, up),
    reason: reasonOf(data, outcome),
    before: level(outcome.before),
    after: level(outcome.after),
    change: changed && outcome.relative !== null ? percent(outcome.relative) : NONE,
    interval: low < high ? `${signed(low)} to ${signed(high)}` : "",
    shows: series.shows === null ? NONE : percent(Math.abs(series.shows)).replace(/^\+/, ""),
    measured_before: measured(outcome.a),
    measured_after: measured(outcome.b),
  };
};

const countsOf = (judged) => {
  const counts = [judged.length, 0, 0, 0, 0];
  const place = { worse: 1, better: 2, same: 3 };
  for (const { kind } of judged) counts[place[kind] ?? 4] += 1;
  return counts;
};

const headlineOf = (judged, words) => {
  const [all, worse, better, same, none] = countsOf(judged);
  if (!all) return [["", "", "Nothing was measured at either commit"]];
  const pieces = [];
  if (worse) pieces.push(["worse", "▲", `${count(worse)} ${words[0]},`]);
  if (better) pieces.push(["better", "▼", `${count(better)} ${words[1]},`]);
  if (!worse && !better) pieces.push(["", "", "No change told:"]);
  pieces.push(["", "", `${count(same)} unchanged, ${count(none)} without verdict`]);
  return pieces;
};

// Texts in the order of their code points, as Rust has it.
const byText = (a, b) => {
  const [x, y] = [[...a], [...b]];
  const place = x.findIndex((c, i) => c !== y[i]);
  return place < 0 ? x.length - y.length : place >= y.length ? 1 : x[place].codePointAt(0) - y[place].codePointAt(0);
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

const bannersOf = (data, judged) => {
  const differ = judged.filter(({ kind }) => kind === "environment");
  return gathered(differ, ({ series, outcome }) => [series.machineName, differences(data, outcome)])
    .map(([[machine, facts], { length }]) => [
      `Environments differ on ${machine}:`,
      `${facts}. ${counted(length, "series", "series")} of it ${length === 1 ? "gets" : "get"} no verdict.`,
    ]);
};

const meanOf = (judged) => {
  const logs = judged.filter(({ series, kind }) => series.judged && ["worse", "better", "same"].includes(kind))
    .map(({ series, outcome, kind }) => {
      const change = kind === "same" ? 0 : outcome.relative ?? NaN;
      return (series.lower ? 1 : -1) * Math.log(1 + change);
    })
    .filter(Number.isFinite);
  return logs.length ? percent(Math.expm1(logs.reduce((sum, log) => sum + log, 0) / logs.length)) : NONE;
};

const capital = (word) => word[0].toUpperCase() + word.slice(1);

function table(data, a, b) {
  const all = data.series
    .map((series) => ({ series, outcome: judge(data, series, a, b) }))
    .filter(({ outcome }) => outcome);
  for (const one of all) [one.kind, one.up] = kindOf(one.series, one.outcome);
  const kernels = all.filter(({ series }) => !series.beside), beside = all.filter(({ series }) => series.beside);
  const isSpeed = kernels.every(({ series }) => wordOf(series, true) === "slower");
  const words = isSpeed ? ["slower", "faster"] : ["worse", "better"];
  const size = ({ kind, outcome }) =>
    (kind === "worse" || kind === "better" ? Math.abs(outcome.relative ?? Number.MAX_VALUE) : 0);
  const headings = [["worse", capital(words[0])], ["better", capital(words[1])], ["doubt", "Inconclusive"],
    ["same", "No change"], ["environment", "Not comparable"], ["missing", "Missing"]];
  const groups = headings.map(([kind, heading]) => {
    const rows = kernels.filter((one) => one.kind === kind).sort((one, other) => size(other) - size(one));
    return { heading, rows: rows.map((one) => rowOf(data, one)) };
  });
  groups.push({ heading: "Controls and calibration", rows: beside.map((one) => rowOf(data, one)) });
  return {
    headline: headlineOf(kernels, words),
    words,
    banners: bannersOf(data, kernels),
    summary: gathered(kernels, ({ series }) => [series.suite, series.machineName, series.machine])
      .map(([[suite, machine], judged]) => ({ suite, machine, counts: countsOf(judged), mean: meanOf(judged) })),
    groups: groups.filter(({ rows }) => rows.length),
  };
}

// ---- The page. What follows needs one.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
  made.append(...children);
  return made;
};

// What a reader chose stands in the address, so that it can be passed on.
const address = {
  get: (name) => new URL(location.href).searchParams.get(name) ?? "",
  set(name, text) {
    const url = new URL(location.href);
    if (text) url.searchParams.set(name, text); else url.searchParams.delete(name);
    try { history.replaceState(null, "", url); } catch { /* A page from a folder may not; the choice holds all the same. */ }
  },
};

function showStale() {
  const { newest, everyDays } = document.body.dataset, banner = document.getElementById("stale");
  const age = (Date.now() - Date.parse(newest)) / 864e5;
  if (!banner || !(age > Number(everyDays) + 1)) return;
  banner.append(element("b", {}, "Stale."),
    ` The newest run is ${count(Math.floor(age))} days old; one is due every ${counted(Number(everyDays), "day", "days")}.`);
  banner.hidden = false;
}

const bodyRows = (of) => [...of.querySelectorAll("tbody > tr")].filter((row) => !row.querySelector("th[colspan]"));

// What a row is of: it says so, or its section and its cell do.
const suiteOf = (row) => row.dataset.suite ?? row.closest("section:not(.scroll)").querySelector("h2").textContent;
const machineOf = (row) => row.dataset.machine ?? row.querySelector(".place").textContent;

// Filters by text, suite and machine over the rows of some tables.
function makeFilter(box, tables) {
  const fields = [...box.querySelectorAll("[name]")], found = box.querySelector("output");
  const rows = tables.flatMap(bodyRows);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const show = () => {
    const [find, suite, machine] = ["find", "suite", "machine"].map((name) => fields.find((one) => one.name === name).value);
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      row.hidden = !((!suite || suiteOf(row) === suite) && (!machine || machineOf(row) === machine)
        && words.every((word) => texts.get(row).includes(word)));
      seen += !row.hidden;
    }
    for (const body of tables.flatMap((one) => [...one.tBodies])) body.hidden = bodyRows(body.parentNode)
      .filter((row) => row.parentNode === body).every((row) => row.hidden);
    for (const one of tables) {
      const around = one.closest("section:not(.scroll)");
      if (tables.length > 1) around.hidden = [...one.tBodies].every((body) => body.hidden);
    }
    found.textContent = seen === rows.length ? "" : `${count(seen)} of ${counted(rows.length, "row", "rows")}`;
  };
  for (const field of fields) {
    if (field.localName === "select") {
      const known = [...new Set(rows.map(field.name === "suite" ? suiteOf : machineOf))].sort(byText);
      field.replaceChildren(field.options[0], ...known.map((text) => element("option", { value: text }, text)));
    }
    field.value = address.get(field.name);
    if (field.selectedIndex === -1) field.value = "";
    field.oninput = () => { address.set(field.name, field.value); show(); };
  }
  box.hidden = false;
  show();
}

const order = new Intl.Collator("en", { numeric: true });
const numberOf = (text) => {
  const figure = text.replace(/[\u202f\s]/g, "").replace("\u2212", "-").match(/^[+-]?\d[\d.]*(e-?\d+)?/);
  return figure ? Number(figure[0]) : null;
};

// Buttons in the heads of a table sort its rows within their groups. A column of mixed units cannot be sorted by figures.
function makeSortable(sorted) {
  const heads = [...sorted.querySelectorAll("thead th")];
  if (bodyRows(sorted).length < 3 || sorted.matches(".heat")) return;
  heads.forEach((head, column) => {
    if (!head.textContent.trim() || "mixed" in head.dataset || head.querySelector(".sr, svg")) return;
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of sorted.tBodies) {
        const keyed = bodyRows(sorted).filter((row) => row.parentNode === body)
          .map((row) => { const text = row.cells[column]?.textContent.trim() ?? ""; return { row, text, figure: numberOf(text) }; });
        const figures = head.classList.contains("n");
        keyed.sort((x, y) => {
          // What has no figure stands last, either way.
          if (figures && (x.figure === null || y.figure === null)) return (x.figure === null) - (y.figure === null);
          return (down ? -1 : 1) * (figures ? x.figure - y.figure : order.compare(x.text, y.text));
        });
        body.append(...keyed.map(({ row }) => row));
      }
    });
  });
}

// A hair line and one line of text over the commits of a trend: by pointer, or by arrow keys when the chart has the focus.
// The picture says which places lie at the edges of its area (data-places) and where these edges are (data-area: left, right,
// top, bottom); the rows of the table that data-points names say what is at their place (data-place).
function makeChart(figure) {
  const charts = [...figure.querySelectorAll("svg[data-points]")];
  const listed = charts.length && document.getElementById(charts[0].dataset.points);
  if (!listed) return;
  const heads = [...listed.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const said = (row) => [...row.cells].map((cell, i) => [heads[i], cell.textContent.trim()])
    .filter(([, text]) => text && text !== NONE).map(([head, text]) => `${head} ${text}`).join("; ");
  const points = [...listed.querySelectorAll("tr[data-place]")].map((row) => ({ place: Number(row.dataset.place), row }))
    .sort((a, b) => a.place - b.place);
  const readout = element("output", { class: "readout q", "aria-live": "polite" });
  figure.append(readout);
  for (const svg of charts) {
    const [first, last] = svg.dataset.places.split(" ").map(Number), { width } = svg.viewBox.baseVal;
    const [left, right, top, bottom] = svg.dataset.area.split(" ").map(Number);
    const inside = points.filter(({ place }) => place >= first && place <= last);
    if (!inside.length) continue;
    const line = document.createElementNS(svg.namespaceURI, "path");
    line.setAttribute("class", "cross");
    svg.append(line);
    let at = inside.length - 1;
    const show = (next) => {
      at = Math.max(0, Math.min(inside.length - 1, next));
      line.setAttribute("d", `M${left + (inside[at].place - first) / (last - first) * (right - left)} ${top}V${bottom}`);
      readout.textContent = said(inside[at].row);
    };
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("focus", () => show(at));
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) * width / box.width - left) / (right - left);
      const place = first + share * (last - first);
      const far = (k) => Math.abs(inside[k].place - place);
      show(inside.reduce((best, _, k) => (far(k) < far(best) ? k : best), 0));
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(at + step);
    });
  }
}

// ---- Any two commits.

const piece = ([tone, glyph, words]) =>
  (tone ? element("span", { class: `v ${tone}` }, element("i", { "aria-hidden": "true" }, glyph), words) : words);
const spaced = (pieces) => pieces.flatMap((one, i) => (i ? [" ", piece(one)] : [piece(one)]));
const cells = (tag, list) => list.map(([text, kind]) => element(tag, { class: kind, ...(tag === "th" && { scope: "col" }) }, text));
const scrolled = (label, made) => element("section", { class: "scroll", tabindex: "0", "aria-label": label }, made);

function summaryTable({ summary, words }) {
  const heads = [["Suite", ""], ["Machine", ""], ["Series", "n opt2"], [capital(words[0]), "n"], [capital(words[1]), "n"],
    ["No change", "n opt2"], ["No verdict", "n"], ["Mean", "n"]];
  const tinted = (n, tone) => (n ? element("b", { class: tone }, count(n)) : "0");
  const rows = summary.map(({ suite, machine, counts, mean }) => element("tr", {}, element("th", { scope: "row" }, suite),
    ...cells("td", [[machine, "any"], [count(counts[0]), "n opt2"], [tinted(counts[1], "worse"), "n"],
      [tinted(counts[2], "better"), "n"], [count(counts[3]), "n opt2"], [count(counts[4]), "n"], [mean, "n"]])));
  return element("table", {}, element("caption", { class: "sr" }, "Counts and geometric mean by suite and machine"),
    element("thead", {}, element("tr", {}, ...cells("th", heads))), element("tbody", {}, ...rows));
}

function rowsTable({ groups }) {
  const heads = [["Series", ""], ["Machine", ""], ["Verdict", ""], ["Level at A", "n"], ["Level at B", "n"],
    [`Change, 95${NARROW}% interval`, "n"], ["Could see", "n opt2"], ["Measured at A", "n opt"], ["Measured at B", "n opt"]];
  const head = element("tr", {}, ...cells("th", heads));
  for (const place of [3, 4, 7, 8]) head.cells[place].dataset.mixed = "";
  const measured = ([figure, spread]) =>
    element("td", { class: "n opt q" }, figure, ...(spread ? [" ", element("span", { class: "below" }, spread)] : []));
  const row = (one) => {
    const verdict = element("td", { class: "verdict" }, piece(one.mark));
    if (one.reason) verdict.append(" ", element("span", { class: "q why" }, one.reason));
    const tint = one.kind === "worse" || one.kind === "better";
    const isChanged = one.change !== NONE;
    const change = element("td", { class: isChanged ? "n push" : "n opt2" }, tint ? element("b", { class: one.mark[0] }, one.change) : one.change);
    if (one.interval) change.append(" ", element("span", { class: "ci below" }, one.interval));
    const link = element("a", { href: `../series/${encodeURIComponent(one.id)}.html` }, element("span", { class: "id" }, one.name));
    return element("tr", { "data-suite": one.suite, "data-machine": one.machine },
      element("th", { scope: "row", class: "full" }, link, " ", element("span", { class: "q" }, one.metric)),
      element("td", { class: "place" }, one.machine), verdict,
      ...cells("td", [[one.before, isChanged ? "n from" : "n opt2"], [one.after, "n"]]), change,
      ...cells("td", [[one.shows, "n opt2"]]), measured(one.measured_before), measured(one.measured_after));
  };
  return element("table", { class: "cards" },
    element("caption", { class: "sr" }, "Series between the two commits, by what is said of them"), element("thead", {}, head),
    ...groups.map(({ heading, rows }) => element("tbody", { class: "group" },
      element("tr", {}, element("th", { scope: "rowgroup", colspan: "9" }, `${heading} `,
        element("span", { class: "q" }, `(${count(rows.length)})`))), ...rows.map(row))));
}

function sideOf(letter, [sha, day, subject, tags]) {
  const made = element("p", {}, element("b", {}, letter), " ", element("span", { class: "id" }, sha.slice(0, 12)));
  if (tags.length) made.append(" ", element("b", {}, tags.join(", ")));
  made.append(element("br"), element("span", { class: "q" }, (subject && `“${subject}”, `) + day));
  return made;
}

function makeCompare(box) {
  const { data } = sprag, [form, filter] = box.querySelectorAll(".filter");
  const field = (name) => form.querySelector(`[name=${name}]`);
  const said = form.querySelector("output"), result = document.getElementById("result");
  const rows = document.getElementById("result-rows"), newest = data.commits.length - 1;
  if (newest < 1) return;
  const numberOfCommit = (text) => {
    const word = text.trim().split(/\s/)[0], like = ([sha, , , tags]) => tags.includes(text.trim()) || sha === word;
    const whole = data.commits.findIndex(like);
    if (whole >= 0) return whole;
    const begun = data.commits.flatMap(([sha], i) => (word.length >= 4 && sha.startsWith(word) ? [i] : []));
    return begun.length === 1 ? begun[0] : null;
  };
  const load = (number) => new Promise((resolve, reject) => {
    const chunk = chunkOf(data, number);
    if (data.chunks.has(chunk)) { resolve(); return; }
    const script = element("script", { src: `../data/values-${chunk}.js` });
    script.onload = resolve;
    script.onerror = () => reject(new Error(`data/values-${chunk}.js did not load`));
    document.head.append(script);
  });
  let asked = 0;
  const show = async () => {
    asked += 1;
    const mine = asked, [a, b] = ["a", "b"].map((name) => numberOfCommit(field(name).value));
    const unknown = a === null ? "A" : b === null ? "B" : null;
    said.textContent = unknown ? `${unknown} is no measured commit or tag.` : "";
    if (unknown) return;
    address.set("a", field("a").value.trim());
    address.set("b", field("b").value.trim());
    try { await load(a); await load(b); } catch (error) { said.textContent = error.message; return; }
    if (mine !== asked) return;
    const made = sprag.table(a, b), apart = Math.abs(a - b) - 1;
    result.replaceChildren(element("h2", {}, ...spaced(made.headline)),
      element("p", { class: "note" }, a === b ? "A and B are the same commit."
        : apart < 1 ? "No commit was measured between the two."
          : `${counted(apart, "commit", "commits")} were measured between the two.`),
      element("div", { class: "sides" }, sideOf("A", data.commits[a]), sideOf("B", data.commits[b])),
      ...made.banners.map(([strong, words]) => element("p", { class: "banner env" }, element("b", {}, strong), " ", words)));
    filter.hidden = true;
    rows.replaceChildren();
    if (!made.groups.length) return;
    result.append(scrolled("Summary by suite and machine, table", summaryTable(made)));
    const list = rowsTable(made);
    rows.append(scrolled("Compared series, table", list));
    makeFilter(filter, [list]);
    makeSortable(list);
  };
  const list = document.getElementById("commits");
  for (const [sha, day, subject, tags] of [...data.commits].reverse()) {
    const label = `${day} ${tags.length ? `${sha.slice(0, 12)} ` : ""}${subject}`;
    list.append(element("option", { value: tags[0] ?? sha.slice(0, 12), label }));
  }
  const written = ([sha, , , tags]) => tags[0] ?? sha.slice(0, 12);
  field("a").value = address.get("a") || written(data.commits[newest - 1]);
  field("b").value = address.get("b") || written(data.commits[newest]);
  for (const name of ["a", "b"]) field(name).addEventListener("change", show);
  field("swap").addEventListener("click", () => {
    [field("a").value, field("b").value] = [field("b").value, field("a").value];
    show();
  });
  box.hidden = false;
  show();
}

function start() {
  showStale();
  const tables = [...document.querySelectorAll("main table")];
  const compare = document.getElementById("compare"), filter = document.querySelector(".filter");
  const listed = tables.filter((one) => one.querySelector("td.place"));
  if (filter && !compare && listed.length) makeFilter(filter, listed);
  tables.forEach(makeSortable);
  document.querySelectorAll("figure.trend").forEach(makeChart);
  if (compare) makeCompare(compare);
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
