// How the values that processes measured at a chosen commit lie others its level, drawn as src/report/chart/spread.rs draws
// those of the newest one. Comes with chart.js, in which the commit is chosen. Only adds, as that does.
"use strict";

// The values of a level that are shown, and how far from the middle half a value widens the axis, as the page has it.
const LEVEL = 30, FAR = 3;
const SPREAD = { width: 440, left: 66, right: 404, rows: [40, 94], step: 4, near: 4.5 };

// The first quartile, the median and the third, and both ends.
const quartersOf = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  const [low, high] = half ? [sorted.slice(0, half), sorted.slice(-half)] : [sorted, sorted];
  return { lowest: sorted[0], first: medianOf(low), median: medianOf(sorted), third: medianOf(high), highest: sorted.at(-1) };
};

// Dots at those coordinates, each moved up or down until it is clear of those near it.
const swarmOf = (all) => {
  const placed = [];
  for (const x of all.sort((a, b) => a - b)) {
    const near = placed.filter((dot) => x - dot[0] < SPREAD.near).map((dot) => dot[1]);
    const free = [0, 1, -1, 2, -2, 3, -3, 4, -4].map((one) => one * SPREAD.step)
      .find((up) => near.every((other) => Math.abs(other - up) >= SPREAD.step));
    placed.push([x, free ?? 0]);
  }
  return placed;
};

// Rows of values by name, as elements to put in place of those of the page.
function drawSpread(namespace, { factor, symbol }, sides) {
  const made = [], draw = drawer(namespace, made), { left, right, rows } = SPREAD;
  const usual = sides.flatMap(([, values]) => {
    const { first, third } = quartersOf(values), reach = FAR * (third - first);
    return values.filter((one) => one >= first - reach && one <= third + reach);
  });
  const [least, most] = extentOf(usual), margin = Math.max(0.06 * (most - least), 0.01 * Math.abs(least)) || factor;
  const [low, high] = [least - margin, most + margin], tenth = (x) => Math.round(10 * x) / 10;
  const across = (one) => left + (one - low) / (high - low) * (right - left), x = (one) => tenth(across(one));
  const words = (text, at, y, anchor, kind) => draw("text", kind, { x: Math.round(at), y, "text-anchor": anchor }, text);
  const [ticks, decimals] = ticksOf(low / factor, high / factor);
  for (const tick of ticks) draw("path", "grid", { d: `M${x(tick * factor)} 8V124` });
  for (const tick of ticks) {
    const digits = fixed(Math.abs(tick), decimals);
    words((tick < 0 && !isZero(digits) ? "\u2212" : "") + digits, x(tick * factor), 140, "middle");
  }
  words(symbol, SPREAD.width, 140, "end");
  sides.forEach(([name, values], i) => {
    const row = rows[i], { first, median, third } = quartersOf(values), inside = values.filter((one) => one >= low && one <= high);
    words(name, 0, row + 4, "", "halo strong");
    draw("path", "band", { d: `M${tenth(x(first))} ${row - 15}H${tenth(x(third))}V${row + 15}H${tenth(x(first))}Z` });
    draw("path", "dots many", { d: swarmOf(inside.map(across)).map(([at, up]) => `M${tenth(at)} ${row + up}h0`).join("") });
    for (const [edge, way, outside] of [[left - 4, -1, values.filter((one) => one < low)], [right + 4, 1, values.filter((one) => one > high)]]) {
      if (!outside.length) continue;
      const farthest = quantity([factor, symbol], extentOf(outside)[way > 0 ? 1 : 0]);
      draw("path", "out", { d: `M${edge} ${row - 4}L${edge + 7 * way} ${row}L${edge} ${row + 4}Z` })
        .append(draw("title", "", {}, `${counted(outside.length, "point", "points")} outside the scale, to ${farthest}`));
    }
    draw("path", "level", { d: `M${x(median)} ${row - 18}V${row + 18}` });
  });
  return made.filter((one) => !one.parentNode);
}

// What to compare a run with, and what that is: others of its level, those before it first; within a drift what came before in it.
// Runs that were not fitted belong to no level, and are compared with that of their place.
const othersOf = (trend, runs, at, isOf) => {
  const { place } = runs[at], holds = ([from, to]) => from <= place && place <= to, isFlat = ([, , a, b]) => a === b;
  const line = trend.lines.find((one) => holds(one) && isFlat(one)) ?? trend.lines.find(holds);
  const isLevel = Boolean(line) && isFlat(line), apart = new Set(trend.processes.apart);
  const fitted = runs.filter((run, i) => !isOf(i) && !apart.has(i) && (!line || (run.place >= line[0] && run.place <= line[1])));
  const before = fitted.filter((run) => run.place < place).slice(-LEVEL), after = isLevel ? fitted.filter((run) => run.place > place).slice(0, LEVEL) : [];
  const isBefore = before.length > 1 || !after.length, values = (isBefore ? before : after).map((run) => run.value);
  const which = isLevel ? `of ${apart.has(at) ? "the" : "its"} level ${isBefore ? "before" : "after"} it` : line ? "before it in its drift" : "before it";
  return { values, name: isLevel ? "level" : "before", said: `${counted(values.length, "run", "runs")} ${which}` };
};

// The values of each run, which end with none.
const listsOf = ({ values: [power, packed] }) => numbersOf(packed).reduce((all, one) => {
  if (one === null) all.push([]); else all.at(-1).push(Number(`${one}e${power}`));
  return all;
}, [[]]).slice(0, -1);

// The section below a chart; what it returns shows one of the runs, by its name, and says whether that is what the page was printed
// with. `choose` is called with the run that a button asks for.
function makeSpread(trend, runs, choose) {
  const section = document.getElementById("spread")?.closest("section"), lists = trend.processes ? listsOf(trend.processes) : [];
  if (!section || !lists.length) return (at) => at === runs.length - 1;
  const title = section.querySelector("h2"), note = section.querySelector(".note"), svg = section.querySelector("svg");
  const table = section.querySelector("table"), cells = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const [, ofLevel, ofRun] = table.tHead.rows[0].cells, around = table.closest(".scroll");
  const texts = [title, note, ofLevel, ofRun, ...cells.flat()], printed = texts.map((one) => one.textContent);
  const labels = [svg, around].map((one) => one.getAttribute("aria-label")), picture = [...svg.childNodes], first = runs.length - lists.length;
  // Runs that make one measurement are shown together, as the page shows those of the newest. Of older ones it tells no group.
  const { groups } = trend.processes, groupOf = (i) => groups[i - first] ?? `at ${runs[i].place}`;
  const newest = runs.findLastIndex((_, i) => groupOf(i) === trend.processes.newest);
  let shown = newest;
  const isElsewhere = (i) => groupOf(i) !== groupOf(shown);
  const before = () => runs.findLastIndex((_, i) => i < shown && isElsewhere(i)), after = () => runs.findIndex((_, i) => i > shown && isElsewhere(i));
  const button = (text, which) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", () => choose(which()));
    return made;
  };
  const buttons = [button("Earlier", before), button("Later", after), button("Newest", () => newest)], [earlier, later, last] = buttons;
  note.before(element("div", { class: "filter tools" }, ...buttons, element("span", {}, "A click in the chart chooses a run, too.")));
  const update = () => {
    const focused = document.activeElement;
    earlier.disabled = before() < 0;
    later.disabled = after() < 0;
    last.disabled = groupOf(shown) === trend.processes.newest;
    // A button that can be pressed no more passes the focus on.
    if (buttons.includes(focused) && focused.disabled) buttons.find((one) => !one.disabled)?.focus();
  };
  update();
  return (at, name) => {
    shown = at;
    update();
    if (last.disabled) {
      texts.forEach((one, i) => { one.textContent = printed[i]; });
      svg.replaceChildren(...picture);
      [svg, around].forEach((one, i) => one.setAttribute("aria-label", labels[i]));
      return true;
    }
    const isOf = (i) => groupOf(i) === groupOf(at), values = runs.flatMap((_, i) => (isOf(i) ? lists[i - first] ?? [] : []));
    const others = othersOf(trend, runs, at, isOf), sides = [[others.name, others.values], ["chosen", values]].filter(([, all]) => all.length);
    const drawn = sides.length ? drawSpread(svg.namespaceURI, trend, sides) : [];
    title.textContent = `At ${name}`;
    [ofLevel.textContent, ofRun.textContent] = [others.name === "level" ? "Level" : "Before", "Chosen"];
    note.textContent = values.length ? `What ${counted(values.length, "process", "processes")} measured at ${name}, and ${others.said}.`
      : at < first ? `The page has the values of each process for the newest ${count(lists.length)} runs only; ${name} is an earlier one. Shown are ${others.said}.`
        : `The values of each process at ${name} are unknown. Shown are ${others.said}.`;
    svg.replaceChildren(...drawn);
    const medians = sides.map(([side, all]) => `${side} ${quantity([trend.factor, trend.symbol], quartersOf(all).median)}`).join(", ");
    svg.setAttribute("aria-label", medians ? `${note.textContent} Medians: ${medians}` : note.textContent);
    around.setAttribute("aria-label", `Values at ${name}, table`);
    const figures = [others.values, values].map((all) => {
      const { lowest, first: low, median, third, highest } = all.length ? quartersOf(all) : {};
      return [count(all.length), ...[lowest, low, median, third, highest].map((one) => (one === undefined ? NONE : value([trend.factor], one)))];
    });
    cells.forEach(([a, b], i) => { [a.textContent, b.textContent] = [figures[0][i], figures[1][i]]; });
    return false;
  };
}
