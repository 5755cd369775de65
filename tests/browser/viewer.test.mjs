// A site in which only series that changed have a page: the page that shows the others, and the list, whose rows are made of data.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { browser, files, openIn, pages, text, trendOf } from "./site.mjs";

const VIEWER = "series/view.html";
const skip = pages.includes(VIEWER) ? false : "each series of this site has a page";

let chromium;
before(async () => (chromium = await browser()));
after(async () => chromium?.close());

/** What a file of data/ calls a function with. */
const calledWith = (file) => JSON.parse(text(file).replace(/^sprag\.\w+\(/, "").replace(/\);\n$/, ""));
const rest = files.filter((file) => /^data\/rest-\d+\.js$/.test(file)).map(calledWith);
const without = rest.flatMap(({ series }) => Object.keys(series)), own = rest.flatMap((file) => file.own);
const rows = "main tbody tr:visible:not(:has(th[colspan]))";
const open = (page, options) => openIn(chromium, page, options);

test("each series has a page, or is in a file and in the data of the list and the search", { skip }, () => {
  assert.ok(without.length > 150 && own.length > 0 && rest.length > 1);
  assert.ok(own.every((id) => pages.includes(`series/${id}.html`)) && without.every((id) => !pages.includes(`series/${id}.html`)));
  for (const file of ["data/list-series.js", "data/search.js"]) {
    const linked = [...text(file).matchAll(/"#([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(linked.sort(), [...without].sort(), file);
  }
});

test("the viewer draws a series as its page would, and walks over its runs", { skip }, async () => {
  const { series, words, flags } = rest.find((file) => Object.keys(file.series).length), [id, [numbers, chart]] = Object.entries(series)[0];
  const { context, tab, said } = await open(`${VIEWER}#${id}`);
  await tab.waitForSelector("svg[data-points] path.dots");
  const [headline, suite, machine, ...sentences] = numbers.map((one) => words[one]);
  assert.equal(await tab.locator("h1").textContent(), headline);
  assert.equal(await tab.locator(".lede").textContent(), sentences.join(" "));
  assert.match(await tab.locator(".crumb").textContent(), new RegExp(`Series / ${suite} / ${machine}$`));
  const runs = chart.places.flat().length > 1 ? await tab.evaluate(() => document.querySelector("svg[data-points] path.dots").getAttribute("d").match(/h0/g).length) : 1;
  assert.ok(runs > 30, `${runs} dots`);
  assert.ok(flags[chart.flags][2].every(([, words]) => words) && await tab.locator("svg[data-points] path.axis").count() > 0);
  assert.ok(await tab.locator(".key li").count() >= 3);
  await tab.locator("svg[data-points]").focus();
  await tab.keyboard.press("Home");
  await tab.waitForFunction(() => /^Commit [0-9a-f]{7}; Subject .*; Median .*; 95 % interval .* to /.test(document.querySelector("output.readout").textContent));
  const seen = new Set();
  for (let step = 0; step < 5; step += 1) {
    seen.add(await tab.locator("output.readout").textContent());
    await tab.keyboard.press("ArrowRight");
  }
  assert.equal(seen.size, 5);
  const drawn = () => tab.locator("svg[data-points] :not(.cross, .pointer)").evaluateAll((all) => all.map((one) => one.outerHTML).join());
  const printed = await drawn();
  await tab.getByRole("button", { name: "Change from the first level" }).click();
  assert.notEqual(await drawn(), printed);
  await tab.getByRole("button", { name: "Values", exact: true }).click();
  assert.equal(await drawn(), printed);
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.getByRole("button", { name: "Save as CSV" }).click()]);
  assert.equal(readFileSync(await download.path(), "utf8").trimEnd().split("\r\n").length, 1 + await tab.evaluate(() => sprag.data.commits.length));
  const found = await new AxeBuilder({ page: tab }).options({ preload: false }).analyze();
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`), []);
  assert.deepEqual(said, []);
  await context.close();
});

test("the viewer leads to a page where there is one, and says what to do where there is nothing", { skip }, async () => {
  const { context, tab, said } = await open(`${VIEWER}#${own[0]}`);
  await tab.waitForURL(new RegExp(`/series/${own[0]}\\.html$`));
  assert.ok(trendOf(`series/${own[0]}.html`).medians);
  assert.deepEqual(said, []);
  await context.close();
  for (const id of ["no-such-00000000", "constructor"]) {
    const none = await open(`${VIEWER}#${id}`);
    await none.tab.waitForFunction((id) => document.querySelector(".lede").textContent.startsWith(`No series has the id ${id}.`), id);
    assert.deepEqual(none.said, []);
    await none.tab.evaluate((id) => { location.hash = id; }, without[0]);
    await none.tab.waitForSelector("svg[data-points] path.dots");
    await none.context.close();
  }
  const plain = await open(`${VIEWER}#${without[0]}`, { javaScriptEnabled: false });
  assert.match(await plain.tab.locator("main").innerText(), /pages = "all" gives each a page/);
  await plain.context.close();
});

test("the list prints series with a page, and has the others once it is filtered or sorted", { skip }, async () => {
  const { context, tab, said } = await open("series/index.html");
  const links = () => tab.locator(`${rows} th a`).evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  const printed = await links();
  assert.ok(printed.length > 0 && printed.every((to) => own.includes(to.match(/series\/(.+)\.html$/)[1])));
  await tab.locator(".filter [name=find]").fill("kernel");
  await tab.waitForSelector(".more", { state: "attached" });
  assert.match((await tab.locator(".filter output").first().textContent()).replaceAll("\u202f", ""), new RegExp(`150 of ${own.length + without.length} rows`));
  const all = await links(), viewed = all.filter((to) => to.includes("view.html#"));
  assert.ok(viewed.length > 0 && viewed.every((to) => without.includes(to.split("#")[1])));
  await tab.locator(".sort", { hasText: "Benchmark" }).first().click();
  await tab.waitForSelector("th[aria-sort=ascending]");
  const names = await tab.locator(`${rows} th a`).allTextContents();
  assert.deepEqual(names, [...names].sort(new Intl.Collator("en", { numeric: true }).compare));
  assert.match(await tab.locator(".of-group").first().textContent(), /^suite-\d+: time in/);
  await tab.locator(`${rows} th a[href*="view.html#"]`).first().click();
  await tab.waitForSelector("svg[data-points] path.dots");
  await tab.keyboard.press("/");
  await tab.locator(".search input").fill(without[0]);
  await tab.locator('.search li a[href*="view.html#"]').first().click();
  await tab.waitForSelector("svg[data-points] path.dots");
  assert.deepEqual(said, []);
  await context.close();
});
