// What the pages of the demonstration tell: events first and in one line each, sentences as titles, and no page against another.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, openIn, pages, text } from "./site.mjs";

let chromium;
before(async () => (chromium = await browser()));
after(async () => chromium?.close());

/** What a function of the window gives on a page. */
async function on(page, work, options) {
  const { context, tab } = await openIn(chromium, page, options);
  const result = await tab.evaluate(work);
  await context.close();
  return result;
}

const events = pages.filter((page) => page.startsWith("events/e-"));
const series = pages.filter((page) => page.startsWith("series/") && !/(index|view)\.html$/.test(page));

test("a sparkline of an event has the rise of the event, in its colour", async () => {
  for (const [page, rows] of [["index.html", "#events ~ section tbody tr"], ["events/index.html", "main tbody tr"]]) {
    const drawn = await on(page, `[...document.querySelectorAll("${rows}")].filter((row) => row.querySelector("a[href*='e-']") && row.querySelector(".spark"))
      .map((row) => [row.innerText, row.querySelector(".spark .rise")?.getAttribute("class") ?? ""])`);
    assert.ok(drawn.length >= events.length, `${page}: ${drawn.length} sparklines`);
    assert.deepEqual(drawn.filter(([, rise]) => !/worse|better|doubt|env/.test(rise)), [], page);
  }
});

test("the digest shows its events, its grid and its seven ways within 1,550 px", async () => {
  const { height, ways, lines } = await on("index.html", () => ({
    height: document.documentElement.scrollHeight,
    ways: document.querySelectorAll("header nav a").length,
    lines: [...document.querySelectorAll("#events ~ section tbody tr")].slice(0, 5).map((row) => row.offsetHeight),
  }));
  assert.ok(height <= 1550, `${height} px`);
  assert.equal(ways, 7);
  assert.ok(lines.every((line) => line < 40), `rows of ${lines} px`);
});

test("a title says what happened, with its size and since when", () => {
  assert.ok(events.length > 0);
  for (const page of events) assert.match(text(page), /<h1>.*(slower|faster|worse|better|drift|modes|Environment).* since \d/, page);
  const titles = series.map((page) => text(page).match(/<h1>.*<\/h1>/)[0]);
  assert.ok(titles.some((title) => /[\d.]+.%.(slower|faster).* since \d/.test(title)), `${titles}`);
  assert.deepEqual(titles.filter((title) => /no baseline/.test(title)), []);
});

test("an event of a change leads to both of its sides compared, and its commands are copied", async () => {
  for (const page of events) {
    const { compared, copies, commands } = await on(page, () => ({
      compared: document.querySelectorAll("main a[href*='compare/']").length,
      copies: document.querySelectorAll("pre button").length,
      commands: document.querySelectorAll("pre").length,
    }));
    assert.ok(compared > 0, `${page} compares nothing`);
    assert.equal(copies, commands, page);
  }
});

test("the digest, the events and the coverage give the same counts, and no drift has two sizes", () => {
  const [digest, list, coverage] = ["index.html", "events/index.html", "coverage.html"].map(text);
  const examined = (html) => html.match(/(\d+) of (\d+) series (?:is|are) examined|All of (\d+) series/).slice(1).filter(Boolean).at(-1);
  assert.equal(examined(digest), examined(list));
  assert.equal(examined(digest), examined(coverage));
  const size = /[+\u2212][\d.]+\u202f%/;
  for (const page of events.filter((one) => /drift/.test(text(one).match(/<h1>.*<\/h1>/)[0]))) {
    const id = page.slice("events/".length, -".html".length);
    const sizes = [digest, list, ...series.map(text)].flatMap((html) => html.match(/<tr[^>]*>.*?<\/tr>/gs) ?? [])
      .filter((row) => row.includes(`${id}.html`)).map((row) => row.match(/<td[^>]*push[^>]*>.*?<\/td>/s)?.[0].match(size)?.[0]).filter(Boolean);
    assert.ok(sizes.length >= 3, `${id}: ${sizes}`);
    assert.equal(new Set(sizes).size, 1, `${id}: ${sizes}`);
  }
});

test("a kernel of the matrix leads to its series, and tables of one column stand side by side", async () => {
  for (const page of pages.filter((one) => one.startsWith("matrix/"))) {
    const { names, links, tops } = await on(page, () => ({
      names: document.querySelectorAll(".heat tbody th").length,
      links: document.querySelectorAll(".heat tbody th a").length,
      tops: [...document.querySelectorAll(".heatbox")].map((box) => box.getBoundingClientRect().top),
    }));
    assert.equal(names, links, page);
    assert.ok(tops.length < 2 || new Set(tops).size < tops.length, `${page}: ${tops}`);
  }
});

test("pages have an icon, what other sites show of them, and feeds that name themselves", () => {
  for (const page of ["index.html", events[0], series[0]]) {
    const head = text(page).split("</head>")[0];
    for (const part of ['rel="icon"', 'property="og:title"', 'property="og:description"', 'property="og:type"']) assert.ok(head.includes(part), `${page}: ${part}`);
  }
  assert.match(text("events/feed.atom"), /<link rel="self"/);
  assert.match(text("events/feed.atom"), /<id>[^<]*e-[0-9a-f]+/);
  assert.match(text("404.html"), /<style>|rel="stylesheet"/);
});
