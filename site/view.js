// A series without a page of its own, from the data of about a hundred of them. Comes after chart.js, whose functions it uses.
"use strict";

sprag.rest = (read) => { sprag.data.rest = read; };

// The number of the file of a series, as src/report/pages/viewer.rs has it.
const fileOf = (id, files) => [...id].reduce((sum, one) => (sum * 31 + one.charCodeAt(0)) % 65521, 7) % files;

// What the key explains: class and path of a mark, and its words.
const KEY = [["level", "M0 6H26", "fitted level"], ["level mode", "M0 3H26M0 9H26", "its two modes"], ["rise doubt", "M0 10 26 2", "drift"],
  ["dots", "M4 7h0M13 4h0M22 8h0"], ["band", "M0 1h26v10h-26Z"], ["cut", "M10 3h6", "goes on beyond the scale"], ["suspect", "M8 0h10v12h-10Z", "suspects of an open event"], ["base", "M0 6H26", "baseline"],
  ["limit", "M0 6H26", "limit"], ["rel", "M13 0V12", "release"], ["envl", "M13 0V12", "environment changed"], ["gap", "M0 0h26v12h-26Z", "no runs"],
  ["out", "M9 10 13 3 17 10Z", "outside the scale"]];

function drawSeries(figure, id, [numbers, chart], { words, flags }) {
  const [headline, suite, machine, ...sentences] = numbers.map((one) => words[one]), [releases, environments, dates] = flags[chart.flags];
  const trend = { lines: [], turns: [], suspects: [], baseline: null, limit: null, ...chart, releases, environments, dates };
  const runs = runsOf(trend), svg = figure.querySelector("svg[data-points]"), { several } = trend, isPooled = several > 1;
  document.querySelector("main .crumb").append(` / ${suite} / ${machine}`);
  document.querySelector("main h1").textContent = headline;
  document.querySelector("main .lede").textContent = sentences.join(" ");
  document.title = headline + document.title.slice(document.title.lastIndexOf(" – "));
  if (!runs.length) return;
  const [first, last] = [runs[0], runs.at(-1)].map(({ place }) => place), margin = Math.max(0.5, 0.01 * (last - first)), ends = [first - margin, last + margin];
  svg.dataset.places = ends.join(" ");
  svg.setAttribute("aria-label", `Trend of ${headline}`);
  const drawn = drawTrend(svg.namespaceURI, trend, runs, svg.dataset.area.split(" ").map(Number), ends, "", () => null, null, runs.filter((run) => run.ends));
  svg.replaceChildren(...drawn);
  const median = isPooled ? `median of up to ${count(several)} runs` : "median of a run", spread = isPooled ? "lowest to highest of them, of one its 95 % interval" : "its 95 % interval";
  for (const [kind, d, text = kind === "dots" ? median : spread] of KEY) {
    if (![...svg.querySelectorAll("path")].some((path) => path.getAttribute("class").split(" many")[0] === kind)) continue;
    const sign = document.createElementNS(svg.namespaceURI, "svg"), path = document.createElementNS(svg.namespaceURI, "path");
    for (const [name, value] of [["viewBox", "0 0 26 12"], ["aria-hidden", "true"]]) sign.setAttribute(name, value);
    for (const [name, value] of [["class", kind], ["d", d]]) path.setAttribute(name, value);
    sign.append(path);
    figure.querySelector(".key").append(element("li", {}, sign, text));
  }
  figure.hidden = false;
  // A file of values would have those of several runs as one.
  if (isPooled) [...figure.querySelectorAll("button")].find((one) => one.textContent === "Save as CSV").remove();
  makeChart(figure, [], { id, trend, y: drawn.y, heads: ["Commit", "", isPooled ? `Median of up to ${count(several)} runs` : "Median", isPooled ? "Lowest to highest" : "95 % interval"] });
}

async function showSeries(figure) {
  const id = decodeURIComponent(location.hash.slice(1)), lede = document.querySelector("main .lede"), { data } = sprag;
  if (!id) return;
  try { await load(`rest-${fileOf(id, Number(figure.dataset.files))}.js`); } catch (error) { lede.textContent = error.message; return; }
  if (data.rest.own.includes(id)) location.replace(`${id}.html`);
  else if (Object.hasOwn(data.rest.series, id)) drawSeries(figure, id, data.rest.series[id], data.rest);
  else lede.textContent = `No series has the id ${id}. It may no longer be recorded, or was renamed; the list of series has all.`;
}

document.addEventListener("DOMContentLoaded", () => {
  const figure = document.querySelector("figure[data-files]");
  showSeries(figure).finally(() => figure.removeAttribute("aria-busy"));
});
addEventListener("hashchange", () => location.reload());
