// The chart of a series, as src/report/chart/ draws it: here from other sides, and run by run. Comes after app.js, whose
// functions it uses, on the pages that have such a chart. Only adds, as that does.
"use strict";

// The runs that the data of a chart tells of: place, median, and a commit where it is named.
// Places that follow each other by one, or by a third number, are the first and the last of them.
const placesOf = ([first, last, step = 1]) => Array.from({ length: (last - first) / step + 1 }, (_, i) => first + i * step);
const runsOf = ({ places, medians: [power, packed, step, ...far], commits = [] }) => {
  const medians = numbersOf(packed), [down, up] = far.map(numbersOf), scaled = (digits) => Number(`${digits}e${power}`);
  const endsOf = (i) => (down && down[i] !== null ? [medians[i] - step * down[i], medians[i] + step * up[i]].map(scaled) : null);
  return places.flatMap((one) => (Array.isArray(one) ? placesOf(one) : [one])).map((place, i) => ({ place, value: scaled(medians[i]), commit: commits[i], ends: endsOf(i) }));
};

// Round numbers between two others, and how many decimals they need.
const ticksOf = (low, high) => {
  const span = high - low, power = 10 ** Math.floor(Math.log10(span / 5)), ticks = [];
  if (!(span > 0 && span < Infinity)) return [[], 0];
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => span / one <= 7) ?? 10 * power;
  for (let k = Math.ceil(low / step); k * step <= high && ticks.length < 9; k += 1) ticks.push(k * step);
  return [ticks, Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (Math.abs(step / power - 2.5) < 1e-6))];
};

// The same for an axis of logarithms: powers of ten with 2 and 5 times them, where these are enough.
const logTicksOf = (low, high) => {
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k += 1) {
    ticks.push(...[1, 2, 5].map((one) => Number(`${one}e${k}`)).filter((tick) => tick >= low && tick <= high));
  }
  return ticks.length < 3 ? ticksOf(low, high) : [ticks, null];
};

const extentOf = (values) => values.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, -Infinity]);
const medianOf = (values) => {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

// The range to show of values in their order, as src/report/chart/axis.rs has it: one far from its neighbours does not widen
// it, a level that holds for two runs does. An axis of logarithms shows all.
const rangeOf = (shown, also, isLog) => {
  const values = shown.length ? shown : also.length ? also : [0, 1], [least, most] = extentOf(values);
  if (isLog) {
    const [low, high] = extentOf([least, most, ...also]), more = Math.max((high / low) ** 0.08, 1.02);
    return [low / more, high * more];
  }
  const smooth = values.map((_, i) => medianOf(values.slice(Math.max(0, i - 1), i + 2)));
  const scatter = values.map((one, i) => Math.abs(one - smooth[i])).sort((a, b) => a - b);
  const margin = 1.5 * scatter[Math.floor(scatter.length * 0.8)], [from, to] = extentOf([...smooth, values.at(-1)]);
  let low = Math.max(from - margin, least), high = Math.min(to + margin, most);
  const reach = 1.5 * Math.max(high - low, 0.04 * Math.abs(low)), [floor, ceiling] = [low - reach, high + reach];
  for (const one of also) if (one >= floor && one <= ceiling) [low, high] = extentOf([low, high, one]);
  const middle = (low + high) / 2, half = Math.max((high - low) / 2, 0.02 * Math.abs(middle), 1e-300) * 1.16;
  return [middle - half, middle + half];
};

// The size of text, in units of the picture; and so many releases may be near each other, as src/report/chart/trend_chart.rs has it.
const SIZE = 12, MANY_FLAGS = 40;

const MODES = [["", "Values"], ["log", "Logarithms"], ["relative", "Change from the first level"]];

// What makes elements of a picture, and keeps them in their order.
const drawer = (namespace, made) => (tag, kind, attributes, text) => {
  const one = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries({ class: kind, ...attributes })) if (value) one.setAttribute(name, value);
  if (text) one.append(text);
  made.push(one);
  return one;
};

// The value of a line or a ramp at a place.
const along = ([from, to, before, after], place) => (to > from ? before + (after - before) * (place - from) / (to - from) : after);

// The picture as a file of its own: of pixels, and with the colours and sizes that the style sheet gives it.
const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight"];
const pixelsOf = (svg) => {
  const { x, y, width, height } = svg.viewBox.baseVal, canvas = element("canvas", { width: 2 * width, height: 2 * height }), pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(svg).getPropertyValue("--paper");
  pen.fillRect(0, 0, 2 * width, 2 * height);
  for (const one of svg.querySelectorAll("path:not(.cross), circle, text:not(.pointer)")) {
    const style = getComputedStyle(one), at = (name) => Number(one.getAttribute(name)), [right, down] = (one.parentNode.dataset.at ?? "0 0").split(" ");
    pen.setTransform(2, 0, 0, 2, 2 * (right - x), 2 * (down - y));
    const [fill, stroke, wide, dashes, cap, join, weight, size, family, anchor] = [...["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
      "stroke-linejoin", "font-weight", "font-size", "font-family"], "text-anchor"].map((name) => style.getPropertyValue(name));
    [pen.fillStyle, pen.strokeStyle, pen.lineWidth, pen.lineCap, pen.lineJoin] = [fill, stroke, parseFloat(wide), cap, join];
    pen.setLineDash(dashes === "none" ? [] : dashes.split(/[ ,]+/).map(parseFloat));
    if (one.localName === "text") {
      [pen.font, pen.textAlign] = [`${weight} ${size} ${family}`, { middle: "center", end: "right" }[anchor] ?? "left"];
      if (stroke !== "none") pen.strokeText(one.textContent, at("x"), at("y"));
      pen.fillText(one.textContent, at("x"), at("y"));
      continue;
    }
    // A canvas draws no dot of no length.
    const shape = new Path2D(one.localName === "path" ? one.getAttribute("d").replace(/h0(?![.\d])/g, "h.01") : undefined);
    if (one.localName === "circle") shape.arc(at("cx"), at("cy"), at("r"), 0, 2 * Math.PI);
    if (fill !== "none") pen.fill(shape);
    if (stroke !== "none") pen.stroke(shape);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};
// What `act` makes of the picture while a title is above it and its key below it.
const captioned = (svg, title, key, act) => {
  const before = svg.getAttribute("viewBox"), { width, height } = svg.viewBox.baseVal, made = [], draw = drawer(svg.namespaceURI, made);
  draw("text", "strong", { x: SIZE, y: -SIZE }, title);
  let at = SIZE, base = height + SIZE;
  for (const item of key) {
    const text = item.textContent.trim(), wide = 60 + text.length * SIZE * 0.55, sign = item.querySelector("svg");
    if (!sign) continue;
    if (at + wide > width) [at, base] = [SIZE, base + 20];
    draw("g", "", { "data-at": `${at} ${base - 10}`, transform: `translate(${at} ${base - 10})` }).append(...sign.cloneNode(true).childNodes);
    draw("text", "", { x: at + 34, y: base }, text);
    at += wide;
  }
  svg.append(...made);
  svg.setAttribute("viewBox", `0 -32 ${width} ${base + 48}`);
  try { return act(svg); } finally {
    svg.setAttribute("viewBox", before);
    made.forEach((one) => one.remove());
  }
};
const pictureOf = (svg) => {
  const copy = svg.cloneNode(true), copies = copy.querySelectorAll("*");
  svg.querySelectorAll("*").forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of STYLED) copies[i].setAttribute(name, style.getPropertyValue(name));
  });
  for (const hair of copy.querySelectorAll(".cross, .pointer")) hair.remove();
  const { x, y, width, height } = svg.viewBox.baseVal, ground = document.createElementNS(svg.namespaceURI, "rect");
  for (const [name, part] of Object.entries({ x, y, width, height, fill: getComputedStyle(svg).getPropertyValue("--paper") })) ground.setAttribute(name, part);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
};

// What a chart shows of a part of its places, in a mode: elements to put in place of those of the page.
function drawTrend(namespace, trend, runs, [left, right, top, bottom], [first, last], mode, commitOf, other, measured) {
  const made = [], draw = drawer(namespace, made), { factor, symbol } = trend;
  const path = (kind, d) => draw("path", kind, { d });
  const words = (text, x, y, anchor, kind) => draw("text", kind, { x, y, "text-anchor": anchor }, text);
  const shown = (...places) => places.some((place) => place >= first && place <= last);
  const inside = runs.filter(({ place }) => shown(place));
  const lines = trend.lines.filter((line) => line[0] <= last && line[1] >= first);
  const part = (line) => [Math.max(line[0], first), Math.min(line[1], last)].map((place) => [place, along(line, place)]);
  const band = measured.filter(({ place }) => shown(place));
  const over = (other?.runs ?? []).filter(({ place }) => shown(place)).map((run) => (mode === "relative" ? { ...run, value: run.value / other.first * firstLevel(trend, runs) } : run));
  const also = [...lines.flatMap((line) => part(line).map(([, value]) => value)), trend.baseline, trend.limit, ...usualEnds(band)].filter((value) => value !== null && (mode !== "log" || value > 0));
  const ranges = [inside, over].filter((all) => all.length).map((all) => rangeOf(all.map(({ value }) => value), all === over ? [] : also, mode === "log"));
  const [low, high] = ranges.length ? extentOf(ranges.flat()) : rangeOf([], also, mode === "log");
  const reference = firstLevel(trend, runs), clamp = (x, a, b) => Math.min(b, Math.max(a, x));
  const scale = { log: Math.log10, relative: (v) => (v / reference - 1) * 100 }[mode] ?? ((v) => v / factor);
  const back = mode === "relative" ? (tick) => (tick / 100 + 1) * reference : (tick) => tick * factor;
  const x = (place) => Math.round(10 * (left + (clamp(place, first, last) - first) / (last - first) * (right - left))) / 10;
  const y = (value) => {
    const share = (scale(clamp(value, low, high)) - scale(low)) / (scale(high) - scale(low));
    return Math.round(10 * (bottom - share * (bottom - top))) / 10;
  };
  const [ticks, decimals] = mode === "log" ? logTicksOf(low / factor, high / factor)
    : mode === "relative" ? ticksOf(scale(low), scale(high)) : ticksOf(low / factor, high / factor);
  const steps = runs.slice(1).map((one, i) => one.place - runs[i].place).filter((step) => step > 0).sort((a, b) => a - b);
  const widest = Math.max(4, 3 * steps[steps.length >> 1]);
  inside.slice(1).forEach((one, i) => {
    if (one.place - inside[i].place > widest) path("gap", `M${x(inside[i].place)} ${top}H${x(one.place)}V${bottom}H${x(inside[i].place)}Z`);
  });
  let highest = bottom;
  for (const tick of ticks) {
    const at = y(back(tick)), digits = decimals === null ? String(tick) : fixed(Math.abs(tick), decimals);
    highest = Math.min(highest, at);
    path("grid", `M${left} ${at}H${right}`);
    const sign = isZero(digits) ? "" : tick < 0 ? "\u2212" : mode === "relative" ? "+" : "";
    words(sign + digits, left - 8, at + 4, "end");
  }
  words(mode === "relative" ? "%" : symbol, left - 8, highest - SIZE * 1.2, "end");
  // A narrow window shows the axis next to the rest, by this name.
  draw("g", "", { id: "trend-y" }).append(...made.filter(({ localName }) => localName === "text"));
  for (const [flags, kind, label, base] of [[trend.environments, "envl", "halo env", 44], [trend.releases, "rel", "halo strong", 26]]) {
    // Of many only those with a label's room are drawn.
    const closest = flags.length > MANY_FLAGS ? 90 : 5;
    let free = Infinity, drawn = Infinity;
    for (const [place, text] of [...flags].reverse()) {
      if (!shown(place)) continue;
      const at = x(place), wide = text.length * SIZE * 0.58, isLeft = at + wide + 4 > Math.min(right, free);
      if (drawn - at < closest) continue;
      drawn = at;
      path(kind, `M${at} ${base - 10}V${bottom}`);
      if (isLeft && at - wide < left) continue;
      if (isLeft && at > free) continue;
      words(text, isLeft ? at - 4 : at + 4, base, isLeft ? "end" : "", label);
      free = isLeft ? at - wide - 4 : at;
    }
  }
  const marks = [["base", trend.baseline, () => `baseline ${quantity([factor, symbol], trend.baseline)}`],
    ["limit", trend.limit, () => `limit ${percent(trend.limit / trend.baseline - 1)}`]];
  const fixedLines = marks.filter(([, value]) => value !== null && value >= low && value <= high);
  for (const [kind, value] of fixedLines) path(kind, `M${left} ${y(value)}H${right}`);
  for (const [a, b] of trend.suspects) if (shown(a, b)) path("suspect", `M${x(a)} ${top}H${x(b)}V${bottom}H${x(a)}Z`);
  const turned = trend.turns.filter(([, , from, to]) => from === to).map(([, , from]) => from);
  const parts = band.reduce((all, one) => {
    const last = all.at(-1)?.at(-1), isApart = !last || one.place - last.place > widest || turned.some((turn) => last.place < turn && turn <= one.place);
    if (isApart) all.push([one]); else all.at(-1).push(one);
    return all;
  }, []);
  for (const one of parts) {
    const [below, above] = [0, 1].map((side) => one.map(({ place, ends }) => `${x(place)} ${y(ends[side])}`));
    path(one.length > 1 ? "band" : "whisker", one.length > 1 ? `M${above.join("L")}L${below.reverse().join("L")}Z` : `M${above[0]}L${below[0]}`);
  }
  const cut = band.filter(({ ends: [from, to] }) => to >= low && from <= high).flatMap(({ place, ends: [from, to] }) => [...(to > high ? [[x(place), top]] : []), ...(from < low ? [[x(place), bottom]] : [])]);
  if (cut.length) path("cut", cut.map(([at, edge]) => `M${at - 3} ${edge}H${at + 3}`).join(""));
  const fits = ({ value }) => value >= low && value <= high;
  const beyond = (one, side) => {
    const commit = commitOf(one), at = commit ? ` at ${commit[0].slice(0, 7)}` : "";
    return `${quantity([factor, symbol], one.value)}${at}, ${side} the scale`;
  };
  path(inside.length > 150 ? "dots many" : "dots", inside.filter(fits).map((one) => `M${x(one.place)} ${y(one.value)}h0`).join("") || "M0 0");
  for (const one of inside.filter((run) => !fits(run))) {
    const at = x(one.place), edge = one.value > high ? [top, top + 7] : [bottom - 1, bottom - 8];
    path("out", `M${at - 4} ${edge[1]}L${at} ${edge[0]}L${at + 4} ${edge[1]}Z`)
      .append(draw("title", "", {}, beyond(one, one.value > high ? "above" : "below")));
  }
  if (over.length) {
    path("other trace", over.map((one, i) => `${i ? "L" : "M"}${x(one.place)} ${y(one.value)}`).join(""));
    path("other", over.map((one) => `M${x(one.place)} ${y(one.value)}h0`).join(""));
  }
  // Puts words at the first of several places (an end of theirs, and their base) where they cover the fewest dots and no other words.
  const dots = [...inside.filter(fits), ...over].map((one) => [x(one.place), y(one.value)]), placed = [];
  const label = (text, kind, places) => {
    const wide = text.length * SIZE * 0.6, beginOf = ([at, , isLeft]) => (isLeft ? at - wide : at);
    const cost = (one) => {
      const begin = beginOf(one), end = begin + wide, base = one[1];
      return dots.filter(([at, down]) => at > begin - 4 && at < end + 4 && down > base - SIZE - 2 && down < base + 5).length
        + 100 * placed.filter(([from, to, other]) => from < end && to > begin && Math.abs(other - base) < SIZE + 3).length
        + 1000 * (begin < left || end > right + 70 || base < top + SIZE || base > bottom - 4);
    };
    const best = places.reduce((best, one) => (cost(one) < cost(best) ? one : best));
    placed.push([beginOf(best), beginOf(best) + wide, best[1]]);
    words(text, best[0], best[1], best[2] ? "end" : "", kind);
  };
  for (const line of lines) {
    const [[begin, before], [end, after]] = part(line);
    if (line.length > 4) for (const level of line.slice(4)) path("level mode", `M${x(begin)} ${y(level)}H${x(end)}`);
    else path(line[2] === line[3] ? "level" : "rise doubt", `M${x(begin)} ${y(before)}L${x(end)} ${y(after)}`);
  }
  for (const [number, tone, from, to, before, after, text] of trend.turns) {
    if (from > last || to < first) continue;
    // Of a drift that reaches beyond what is shown, the part within.
    const ends = from === to ? [[from, before], [to, after]] : part([from, to, before, after]);
    const [[begin, a], [end, b]] = ends.map(([place, value]) => [x(place), y(value)]), at = (begin + end) / 2, middle = (a + b) / 2;
    if (from === to) path(`rise ${tone}`, `M${begin} ${a}L${end} ${b}`);
    draw("circle", `badge ${tone}`, { cx: at, cy: middle, r: 8.5 });
    words(String(number), at, middle + 4, "middle", "in");
    placed.push([at - 9, at + 9, middle + 4]);
    const [above, below] = [Math.min(a, b) - 6, Math.max(a, b) + SIZE + 6];
    label(text, `halo ${tone}${tone === "env" ? " strong" : ""}`, [above, below, middle + 4, above - 16, below + 16].flatMap((base) => [[at + 13, base], [at - 13, base, true]]));
  }
  // Names of both lines outwards, so that neither covers the other.
  const highestLine = Math.max(...fixedLines.map(([, value]) => value));
  for (const [, value, name] of fixedLines) {
    const bases = [y(value) - 5, y(value) + SIZE + 2];
    label(name(), "halo", (value === highestLine ? bases : bases.reverse()).flatMap((base) => [[left + 8, base], [(left + right) / 2, base], [right - 8, base, true]]));
  }
  if (over.length) {
    const [end, down] = [x(over.at(-1).place), y(over.at(-1).value)];
    label(other.name, "halo other", [-8, SIZE + 8, -24, SIZE + 24].map((up) => [end, down + up, true]));
  }
  const now = lines.at(-1);
  if (now && now[1] <= last) {
    const text = now.length > 4 ? "2 modes" : mode === "relative" ? percent(now[3] / reference - 1) : quantity([factor, symbol], now[3]);
    words(text, right + 8, y(now[3]) + 1, "", "halo strong");
    words("now", right + 8, y(now[3]) + 16);
  }
  path("axis", `M${left} ${bottom}H${right}`);
  let free = 0;
  // A part may be too short for two months to begin in it: then the days of its first and its last run say when it was.
  const months = trend.dates.filter(([place]) => shown(place)), edges = months.length < 2 ? [inside[0], inside.at(-1)] : [];
  const days = edges.filter(Boolean).map((one) => [one.place, commitOf(one)?.[1]]).filter(([, text]) => text);
  for (const [place, text] of days.length ? days : months) {
    const at = x(place), half = text.length * SIZE * 0.29;
    if (at - half < free || at + half > right + 60) continue;
    path("axis", `M${at} ${bottom}V${bottom + 5}`);
    words(text, at, bottom + (22), "middle");
    free = at + half + SIZE;
  }
  // With where a value lies, for the label at the pointer.
  return Object.assign(made.filter((one) => !one.parentNode), { y });
}

const firstLevel = (trend, runs) => trend.lines[0]?.[2] ?? runs[0].value;

// The runs as CSV, oldest first, with the columns, units and line ends of the other exports as far as the page knows them; a
// commit by its whole name where that is known.
const csvOfRuns = (id, { symbol }, runs, commits) => {
  const unit = Object.keys(UNITS).find((one) => UNITS[one].some(([, name]) => name === symbol)) ?? symbol;
  const isoOf = (words) => {
    const [day, month, year] = words.split(/\s/), number = MONTHS.indexOf(month) + 1;
    return number ? [year, String(number).padStart(2, "0"), day.padStart(2, "0")].join("-") : words;
  };
  const rows = runs.map((run, i) => {
    const [sha, day = "", , tags = []] = commits[i];
    return [...[id, sha, isoOf(day), tags.join(" ")].map(field), run.value, field(unit)];
  });
  return [["series_id", "commit", "commit_day", "tags", "value", "unit"], ...rows].map((cells) => `${cells.join(",")}\r\n`).join("");
};

// What was measured of a series, with its intervals, as far as the data by which any two commits are compared are there.
const measuredOf = (id) => {
  const { data } = sprag;
  const found = [...data.chunks.values()].flatMap(({ number, groups }) => groups.filter(({ series }) => series[id]).flatMap(({ at, series }) => {
    const [power, medians, step = 0, down, up] = series[id], scaled = (digits) => Number(`${digits}e${power}`);
    return at.map((one, i) => ({ i, place: data.commits[number * data.chunk + one][4] })).filter(({ i, place }) => medians[i] !== null && place !== null)
      .map(({ i, place }) => ({ place, value: scaled(medians[i]), ends: [[-1, down], [1, up]].map(([way, far]) => scaled(medians[i] + way * step * (far?.[i] ?? 0))) }));
  }));
  return found.sort((a, b) => a.place - b.place);
};
// Loads these data for the commits at some places, unless they come in more than so many files.
async function loadMeasured(isWanted, most) {
  const { data } = sprag, numbers = data.commits.flatMap(([, , , , place], i) => (isWanted(place) ? [Math.floor(i / data.chunk)] : []));
  const wanted = [...new Set(numbers)].filter((number) => !data.chunks.has(number));
  if (wanted.length <= most) await Promise.all(wanted.map((number) => load(`values-${number}.js`)));
}
const MOST_FILES = 4;

// The ends that hold all intervals but the widest twentieth, as src/report/chart/trend.rs has it.
const usualEnds = (band) => {
  const [low, high] = [0, 1].map((side) => band.map(({ ends }) => ends[side]).sort((a, b) => a - b)), rank = Math.floor(band.length / 20);
  return band.length ? [low[rank], high.at(-1 - rank)] : [];
};

// Values that differ by more than this factor share no axis; their changes do.
const FAR_APART = 3;

// The rows of the table that tells of the newest runs.
const rowsOf = (figure) => [...document.getElementById(figure.querySelector("svg[data-points]")?.dataset.points)?.tBodies[0].rows ?? []];

// Modes, zoom, a hair line and one line of text over all runs of a trend: by pointer, by keys and by buttons.
// The picture says which places lie at the edges of its area (data-places) and where these edges are (data-area: left, right,
// top, bottom); the newest runs have a row in the table that data-points names, of any the data in the page tells.
// Of a series without a page of its own `given` has what is elsewhere in the page: id, trend, where a value lies, and words for the readout.
function makeChart(figure, rows, given) {
  const svg = figure.querySelector("svg[data-points]"), trend = given?.trend ?? JSON.parse(figure.querySelector("script").textContent);
  const listed = svg && document.getElementById(svg.dataset.points), runs = runsOf(trend), { data } = sprag;
  if (!(listed || given) || !runs.length) return;
  const heads = given?.heads ?? [...listed.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const whole = [runs[0].place, runs.at(-1).place], margin = Math.max(0.5, 0.01 * (whole[1] - whole[0]));
  const ends = [whole[0] - margin, whole[1] + margin], least = Math.min(ends[1] - ends[0], 4), reference = firstLevel(trend, runs);
  const usable = { "": true, log: runs.every(({ value }) => value > 0), relative: reference > 0 };
  const commitOf = ({ place, commit }) => data.commits
    .findIndex(([sha, , , , at]) => (commit === undefined ? at === place : commit && sha.startsWith(commit)));
  let at = runs.length - 1, mode = address.get("mode"), part = address.get("part").split("_").map(Number), asked = null;
  if (!MODES.some(([name]) => name === mode && usable[name])) mode = "";
  if (part.length !== 2 || !(part[1] - part[0] >= least * 0.99 && part[0] >= ends[0] && part[1] <= ends[1])) part = null;
  // The commits have names in a file that only those load who want to know.
  const named = () => (asked ??= data.commits.length ? Promise.resolve() : load("commits.js").catch(() => {}));
  const rowOf = (i) => {
    const row = rows[runs.length - 1 - i];
    return row && Number(row.dataset.place) === runs[i].place ? row : null;
  };
  const said = () => {
    const run = runs[at], row = rowOf(at);
    const commit = data.commits[commitOf(run)], change = mode === "relative" ? [["from the first level", percent(run.value / reference - 1)]] : [];
    const pairs = row ? [...row.cells].map((cell, i) => [heads[i], cell.textContent.trim()])
      : [[heads[0], commit ? [commit[0].slice(0, 7), ...commit[3]].join(" ") : run.commit ?? ""], [heads[2], value([trend.factor], run.value)]];
    pairs.splice(1, 0, ["Subject", commit?.[2]]);
    if (given && run.ends) pairs.push([heads[3], run.ends.map((end) => value([trend.factor], end)).join(" to ")]);
    return [...pairs, ...change].filter(([, text]) => text && text !== NONE).map(([head, text]) => `${head} ${text}`).join("; ");
  };
  const readout = figure.querySelector(".readout"), buttons = [...figure.querySelectorAll(".tools button")];
  // A page of few runs has no buttons for parts of them.
  const button = (text, act) => {
    const made = buttons.find((one) => one.textContent === text) ?? element("button");
    made.addEventListener("click", act);
    return made;
  };
  const modes = MODES.map(([name, text]) => button(text, () => { mode = name; change(); }));
  const back = button("Whole range", () => { part = null; change(); });
  const zoom = (factor, center, from = view) => {
    const span = Math.max(least, (from[1] - from[0]) * factor);
    const begin = Math.max(ends[0], Math.min(ends[1] - span, center - span * (center - from[0]) / (from[1] - from[0])));
    part = span >= ends[1] - ends[0] ? null : [begin, begin + span];
    change();
  };
  // Moves the part that is shown to one of its size that begins there.
  const move = (to) => {
    const span = part[1] - part[0], begin = Math.max(ends[0], Math.min(ends[1] - span, to));
    part = [begin, begin + span];
    change();
  };
  button("Zoom in", () => zoom(0.5, runs[at].place));
  button("Zoom out", () => zoom(2, runs[at].place));
  const series = given?.id ?? decodeURIComponent(location.pathname.split("/").at(-1)).replace(/\.html$/, ""), id = series.replace(/[^\w.-]/g, "_");
  // What has no name among the commits has one in the page, or in its table.
  const nameOf = (i) => runs[i].commit ?? rowOf(i)?.cells[0].querySelector("a, .id")?.textContent ?? "";
  button("Save as CSV", () => named().then(() => {
    const commits = runs.map((run, i) => data.commits[commitOf(run)] ?? [nameOf(i)]);
    save(csvOfRuns(id, trend, runs, commits), "text/csv", `${id}.csv`);
  }));
  const saved = (act) => {
    const title = heading.find((one) => one.localName === "title")?.textContent ?? svg.getAttribute("aria-label");
    const what = mode === "relative" ? "change from the first level, %" : trend.symbol && `in ${trend.symbol}`;
    const key = [...figure.querySelectorAll(".key li")].filter((one) => one.checkVisibility());
    return captioned(svg, [title, what].filter(Boolean).join(", "), key, act);
  };
  button("Save as SVG", () => save(saved(pictureOf), "image/svg+xml", `${id}.svg`));
  button("Save as PNG", () => saved(pixelsOf).then((pixels) => save(pixels, "image/png", `${id}.png`)));
  // Another series over this one.
  const over = document.querySelector("[name=over]");
  const overlay = async () => {
    const one = over.value, name = over.selectedOptions[0].textContent;
    address.set("over", one);
    other = null;
    try { if (one) { await named(); await loadMeasured(() => true, Infinity); other = { name, runs: measuredOf(one) }; } } catch (error) { readout.textContent = error.message; }
    if (other?.runs.length) {
      other.first = medianOf(other.runs.slice(0, 5).map(({ value }) => value));
      const ratio = medianOf(other.runs.map(({ value }) => value)) / medianOf(runs.map(({ value }) => value));
      if (!mode && usable.relative && other.first > 0 && !(ratio < FAR_APART && ratio > 1 / FAR_APART)) mode = "relative";
    }
    change();
  };
  over?.addEventListener("change", overlay);
  for (const one of document.querySelectorAll(".over, .trend .tools, .trend .readout")) one.hidden = false;
  const change = () => {
    modes.forEach((one, i) => { one.setAttribute("aria-pressed", MODES[i][0] === mode); one.disabled = !usable[MODES[i][0]]; });
    address.set("mode", mode);
    address.set("part", part ? part.map((place) => Math.round(place * 10) / 10).join("_") : "");
    back.disabled = !part;
    figure.classList.toggle("drawn", Boolean(mode || part || other));
    redraw();
    if (mode || part) named().then(() => (given || trend.commits ? null : loadMeasured((place) => place >= view[0] && place <= view[1], MOST_FILES).catch(() => {}))).then(redraw);
  };
  const show = (next) => {
    at = Math.max(0, Math.min(runs.length - 1, next));
    point();
    readout.textContent = said();
    named().then(() => { readout.textContent = said(); });
  };
  // A run that is chosen, not only pointed at, is shown below, too, and the address keeps its commit.
  const spread = makeSpread(trend, runs, (next) => choose(next));
  const choose = (next) => {
    show(next);
    const chosen = at;
    named().then(() => {
      const sha = data.commits[commitOf(runs[chosen])]?.[0] ?? nameOf(chosen);
      const isPrinted = spread(chosen, sha.slice(0, 7) || "this run");
      address.set("commit", isPrinted ? "" : sha.slice(0, 12));
    });
  };
  const area = svg.dataset.area.split(" ").map(Number), { width } = svg.viewBox.baseVal, [left, right, top, bottom] = area;
  const printed = [...svg.childNodes], heading = printed.filter((one) => one.localName === "title" || one.localName === "desc");
  const cross = document.createElementNS(svg.namespaceURI, "path"), own = svg.dataset.places.split(" ").map(Number);
  const label = document.createElementNS(svg.namespaceURI, "text");
  let from = null, other = null, taken = null, yOf = given?.y;
  if (!yOf) {
    const [low, high] = svg.dataset.values.split(" ").map(Number);
    yOf = (x) => bottom - (bottom - top) * (Math.min(high, Math.max(low, x)) - low) / (high - low);
  }
  const printedY = yOf, legend = element("li"), sample = document.createElementNS(svg.namespaceURI, "svg"), stroke = document.createElementNS(svg.namespaceURI, "path"), points = stroke.cloneNode();
  for (const [one, name, text] of [[sample, "viewBox", "0 0 26 12"], [sample, "aria-hidden", "true"], [stroke, "class", "other trace"], [stroke, "d", "M0 9 9 3 17 8 26 4"], [points, "class", "other"], [points, "d", "M9 3h0M17 8h0"]]) one.setAttribute(name, text);
  sample.append(stroke, points);
  const touches = new Map();
  label.setAttribute("class", "halo strong pointer");
  cross.setAttribute("class", "cross");
  let view = own;
  const redraw = () => {
    view = part ?? own;
    const drawn = mode || part || other ? drawTrend(svg.namespaceURI, trend, runs, area, view, mode, (run) => data.commits[commitOf(run)], other, given ? runs.filter((run) => run.ends) : trend.commits ? [] : measuredOf(series)) : null;
    yOf = drawn?.y ?? printedY;
    svg.replaceChildren(...(drawn ? [...heading, ...drawn] : printed), cross, label);
    legend.replaceChildren(sample, other?.name ?? "");
    if (other) figure.querySelector(".key")?.append(legend); else legend.remove();
    taken = null;
    if (cross.hasAttribute("d")) point();
  };
  const point = () => {
    const [first, last] = view, x = left + (runs[at].place - first) / (last - first) * (right - left);
    const isShown = x >= left && x <= right, isLeft = x > (left + right) / 2;
    cross.setAttribute("d", isShown ? `M${x} ${top}V${bottom}` : "");
    const line = trend.lines.findLast(([begin, end]) => begin <= runs[at].place && runs[at].place <= end);
    const level = line && along(line, runs[at].place);
    const change = level > 0 ? `, ${percent(runs[at].value / level - 1)} from its level` : "";
    label.textContent = isShown ? quantity([trend.factor, trend.symbol], runs[at].value) + change : "";
    if (label.textContent) clear(x, yOf(runs[at].value), isLeft);
  };
  // Puts the label next to its run, where it lies over no line and no other words; else where it does so least.
  const clear = (x, y, isLeft) => {
    const wide = label.getComputedTextLength(), ups = [-10, SIZE + 10, -26, SIZE + 26, -42, SIZE + 42].map((up) => Math.round(y + up));
    taken ??= [...svg.querySelectorAll("text:not(.pointer), circle, .level, .base, .limit, .rise")].map((one) => one.getBBox());
    const over = ([begin, base]) => taken.filter((one) => one.x < begin + wide + 3 && one.x + one.width > begin - 3 && one.y < base + 4 && one.y + one.height > base - SIZE).length;
    const places = ups.filter((up) => up >= top + SIZE && up <= bottom - 4)
      .flatMap((up) => [[x + 6, up], [x - 6 - wide, up]].sort(([a], [b]) => (isLeft ? a - b : b - a))).filter(([begin]) => begin >= left && begin + wide <= right);
    const best = places.reduce((best, one) => (over(one) < over(best) ? one : best), places[0] ?? [left, top + SIZE]);
    label.setAttribute("x", Math.round(best[0]));
    label.setAttribute("y", best[1]);
  };
  const leave = () => {
    cross.removeAttribute("d");
    label.replaceChildren();
  };
  const placeOf = (event) => {
    const box = svg.getBoundingClientRect(), share = ((event.clientX - box.left) * width / box.width - left) / (right - left);
    return view[0] + Math.max(0, Math.min(1, share)) * (view[1] - view[0]);
  };
  const nearest = (event) => {
    const place = placeOf(event), far = (k) => Math.abs(runs[k].place - place);
    show(runs.reduce((best, _, k) => (far(k) < far(best) ? k : best), 0));
    return place;
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("focus", () => show(at));
  svg.addEventListener("pointerdown", (event) => {
    const place = nearest(event);
    if (event.pointerType === "touch") touches.set(event.pointerId, event);
    svg.setPointerCapture(event.pointerId);
    from = event.button === 0 && touches.size < 2 ? { x: event.clientX, place, view: part && !event.shiftKey ? part : null } : null;
  });
  for (const kind of ["pointercancel", "pointerleave"]) svg.addEventListener(kind, (event) => {
    touches.delete(event.pointerId);
    from = null;
    // A finger leaves when it is lifted, and keys have no pointer.
    if (kind === "pointerleave" && event.pointerType !== "touch" && !svg.matches(":focus-visible")) leave();
  });
  svg.addEventListener("blur", leave);
  svg.addEventListener("pointerup", (event) => {
    touches.delete(event.pointerId);
    if (from?.view && Math.abs(event.clientX - from.x) > 8) { from = null; return; }
    const isPressed = Boolean(from), drawn = from && Math.abs(event.clientX - from.x) > 8 ? [from.place, placeOf(event)].sort((a, b) => a - b) : null;
    from = null;
    if (drawn) zoom(1, drawn[0], drawn[1] - drawn[0] > least ? drawn : [drawn[0], drawn[0] + least]);
    else if (isPressed) choose(at);
  });
  const apart = () => { const [a, b] = [...touches.values()].map(({ clientX }) => clientX); return Math.max(Math.abs(a - b), 20); };
  svg.addEventListener("pointermove", (event) => {
    if (touches.has(event.pointerId) && touches.size === 2) {
      // Two fingers zoom around what is between them.
      const before = apart(), sides = [...touches.values()];
      touches.set(event.pointerId, event);
      zoom(before / apart(), placeOf({ clientX: (sides[0].clientX + sides[1].clientX) / 2 }));
      return;
    }
    if (from?.view && Math.abs(event.clientX - from.x) > 8) {
      const [first, last] = from.view, moved = (from.x - event.clientX) * width / svg.clientWidth / (right - left) * (last - first);
      move(first + moved);
      return;
    }
    const place = nearest(event);
    const x = (one) => left + (one - view[0]) / (view[1] - view[0]) * (right - left);
    if (from) cross.setAttribute("d", `M${x(from.place)} ${top}V${bottom}H${x(place)}V${top}Z`);
  });
  // A pinch is a wheel with the control key. At the ends of the whole range the page scrolls.
  svg.addEventListener("wheel", (event) => {
    const delta = event.deltaX + event.deltaY;
    if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, placeOf(event));
    else if (part && (delta < 0 ? part[0] > ends[0] : part[1] < ends[1])) {
      move(part[0] + delta / svg.clientWidth * (part[1] - part[0]));
    } else return;
    event.preventDefault();
  }, { passive: false });
  svg.addEventListener("dblclick", () => { part = null; change(); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    const act = { "+": () => zoom(0.5, runs[at].place), "=": () => zoom(0.5, runs[at].place), "-": () => zoom(2, runs[at].place), 0: () => { part = null; change(); },
      Enter: () => named().then(() => {
        const [before, after] = [runs[at - 1], runs[at]].map((run) => run && data.commits[commitOf(run)]?.[0].slice(0, 12));
        if (before && after && before !== after) location.href = `../compare/index.html?a=${before}&b=${after}`;
      }) }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (step === undefined && !act)) return;
    event.preventDefault();
    if (act) { act(); return; }
    choose(at + step);
    cross.scrollIntoView({ block: "nearest", inline: "nearest" });
    const [first, last] = view, { place } = runs[at];
    // The part that is shown follows.
    if (place < first || place > last) {
      part ??= view;
      move(place - (last - first) / 2);
    }
  });
  change();
  if (over && address.get("over")) {
    over.value = address.get("over");
    if (over.value) overlay(); else over.selectedIndex = 0;
  }
  const wanted = address.get("commit");
  if (/^[0-9a-f]{7,40}$/.test(wanted)) {
    named().then(() => {
      // Of several runs of a commit one that was fitted.
      const apart = trend.processes?.apart ?? [], isWanted = (run, i) => {
        const sha = data.commits[commitOf(run)]?.[0] ?? nameOf(i);
        return sha && (sha.startsWith(wanted) || wanted.startsWith(sha));
      };
      const fitted = runs.findLastIndex((run, i) => !apart.includes(i) && isWanted(run, i)), found = fitted < 0 ? runs.findLastIndex(isWanted) : fitted;
      if (found >= 0) choose(found);
    });
  }
}

// The page is read by now, and the rows of its table are not yet sorted as the address says.
const charts = [...document.querySelectorAll("figure.trend:not([data-files])")].map((figure) => [figure, rowsOf(figure)]);
document.addEventListener("DOMContentLoaded", () => charts.forEach(([figure, rows]) => makeChart(figure, rows)));
