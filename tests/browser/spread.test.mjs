// How values lie at a commit that is chosen in the chart of a series: drawn by the script as the page draws the newest one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, openIn, pages, runs, text, trendOf } from "./site.mjs";

let chromium;
before(async () => (chromium = await browser()));
after(async () => chromium?.close());

/** Pages of series with such a picture, that with the most runs first. */
const drawn = pages.filter((page) => page.startsWith("series/") && text(page).includes("id=\"spread\""))
  .sort((a, b) => runs(trendOf(b)) - runs(trendOf(a)));

const part = (tab) => tab.locator("section[aria-labelledby=spread]");
const press = (tab, name) => part(tab).getByRole("button", { name, exact: true }).click();
const state = (tab) => part(tab).evaluate((one) => ({
  title: one.querySelector("h2").textContent,
  note: one.querySelector(".note").textContent,
  picture: one.querySelector("svg").innerHTML,
  label: one.querySelector("svg").getAttribute("aria-label"),
  rows: [...one.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
}));
/** The place of a table among those of the page, by its caption. */
const tableOf = (caption) => {
  const place = text(drawn[0]).split("<table").slice(1).findIndex((table) => table.includes(`<caption class="sr">${caption}<`));
  assert.ok(place >= 0, caption);
  return place;
};
const chosen = (tab) => new URL(tab.url()).searchParams.get("commit");

test("buttons choose a run, the address keeps it, and the newest comes back as it was printed", async () => {
  const page = drawn[0];
  const { context, tab, said } = await openIn(chromium, page);
  const printed = await state(tab);
  assert.equal(await part(tab).getByRole("button", { name: "Later", exact: true }).isDisabled(), true);
  await press(tab, "Earlier");
  await tab.waitForURL(/commit=[0-9a-f]{12}/);
  const before = await state(tab), commit = chosen(tab);
  assert.equal(before.title, `At ${commit.slice(0, 7)}`);
  assert.match(before.note, new RegExp(`^What \\d+ processes measured at ${commit.slice(0, 7)}, and \\d+ runs `));
  assert.ok(before.label.startsWith(before.note) && /Medians: level .*, chosen /.test(before.label), before.label);
  assert.notEqual(before.picture, printed.picture);
  assert.ok(!/NaN|Infinity|undefined|style=/.test(before.picture));
  assert.deepEqual(before.rows.map(([name]) => name), printed.rows.map(([name]) => name));
  assert.equal(before.rows[0][2], "Chosen");
  // The row of that run in the table of points has the median of its processes.
  const row = await tab.locator("#point-rows tbody tr", { hasText: commit.slice(0, 7) }).first().locator("td").allTextContents();
  const number = (words) => Number(words.replaceAll("\u202f", ""));
  const median = before.rows.find(([name]) => name === "Median")[2], [low, high] = row[2].split(" to ").map(number);
  assert.ok(number(median) >= low && number(median) <= high, `${median} in ${row[2]}`);
  const again = await openIn(chromium, `${page}?commit=${commit}`);
  await again.tab.waitForFunction((words) => document.getElementById("spread").textContent === words, before.title);
  assert.deepEqual(await state(again.tab), before, "another reader sees the same");
  await again.context.close();
  await press(tab, "Newest");
  await tab.waitForURL((url) => !url.searchParams.has("commit"));
  assert.deepEqual(await state(tab), printed);
  assert.deepEqual(said, []);
  await context.close();
});

test("a click and a walk in the chart choose, and a run that is too old says so", async () => {
  const { context, tab, said } = await openIn(chromium, drawn[0]);
  const svg = tab.locator("svg[data-points]:visible"), box = await svg.boundingBox();
  await svg.click({ position: { x: box.width * 0.1, y: box.height / 2 } });
  await tab.waitForURL(/commit=/);
  const old = await state(tab);
  const held = trendOf(drawn[0]).processes.values[1].match(/-/g).length;
  assert.ok(held <= 50 && held < runs(trendOf(drawn[0])), "there are runs before those");
  assert.match(old.note, /is an earlier one\. Shown are \d+ runs of its level (before|after) it\.$/);
  assert.deepEqual(old.rows.slice(2).map((row) => row[2]), Array(5).fill("–"));
  await svg.press("End");
  await tab.waitForURL((url) => !url.searchParams.has("commit"));
  await svg.press("ArrowLeft");
  await tab.waitForURL(/commit=/);
  assert.match((await state(tab)).note, /^What \d+ processes measured at /);
  // Pointing alone chooses nothing.
  const before = chosen(tab);
  await svg.hover({ position: { x: box.width * 0.3, y: box.height / 2 } });
  assert.equal(chosen(tab), before);
  assert.deepEqual(said, []);
  await context.close();
});

test("the script draws the newest run as the page does", async () => {
  for (const page of drawn.slice(0, 6)) {
    const { context, tab } = await openIn(chromium, page);
    const { mine, own } = await tab.evaluate(() => {
      const trend = JSON.parse(document.querySelector("figure.trend script").textContent), runs = runsOf(trend);
      const section = document.getElementById("spread").closest("section"), svg = section.querySelector("svg");
      const boxes = () => [...svg.querySelectorAll("path.band, path.level, path.grid, path.dots")]
        .map((one) => [one.getAttribute("class"), one.getBBox()]).map(([kind, { x, y, width, height }]) => [kind, x, y, width, height]);
      const own = { boxes: boxes(), texts: [...svg.querySelectorAll("text")].map((one) => one.textContent) };
      own.figures = [...section.querySelectorAll("tbody tr")].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent));
      const lists = trend.processes ? listsOf(trend.processes) : [], level = othersOf(trend, runs, runs.length - 1, (i) => i === runs.length - 1).values;
      svg.replaceChildren(...drawSpread(svg.namespaceURI, trend, [["level", level], ["newest", lists.at(-1)]]));
      const mine = { boxes: boxes(), texts: [...svg.querySelectorAll("text")].map((one) => one.textContent) };
      const quarters = [level, lists.at(-1)].map(quartersOf);
      mine.figures = [[level.length, lists.at(-1).length].map(count),
        ...["lowest", "first", "median", "third", "highest"].map((name) => quarters.map((one) => value([trend.factor], one[name])))];
      return { mine, own };
    });
    assert.deepEqual([...mine.texts].sort(), [...own.texts].sort(), page);
    // Lines of the grid come as one path or as several.
    const sorted = ({ boxes }) => boxes.filter(([kind]) => kind !== "grid");
    assert.equal(sorted(mine).length, sorted(own).length, page);
    sorted(mine).forEach(([kind, ...box], i) => {
      const [expected, ...other] = sorted(own)[i];
      assert.equal(kind, expected, page);
      // The page's data come in steps: a dot that two others just leave room for may stand a row farther out.
      const apart = kind.startsWith("dots") ? [1, 4, 1, 4] : [1, 1, 1, 1];
      box.forEach((one, side) => assert.ok(Math.abs(one - other[side]) <= apart[side], `${page}: ${kind} ${box} is ${other} of the page`));
    });
    // Values of the page's data come in steps, so that the last digit may differ.
    const digits = (words) => Number(words.replace(/[\u202f.]/g, ""));
    mine.figures.flat().forEach((one, i) => assert.ok(Math.abs(digits(one) - digits(own.figures.flat()[i])) <= 5, `${page}: ${mine.figures} ${own.figures}`));
    await context.close();
  }
});

test("without script the newest run is shown, and nothing to press", async () => {
  const { context, tab } = await openIn(chromium, drawn[0], { javaScriptEnabled: false });
  assert.equal(await part(tab).locator("h2").textContent(), "At the newest commit");
  assert.equal(await part(tab).locator("button").count(), 0);
  assert.ok(await part(tab).locator("svg .level").count());
  await context.close();
});

test("what the address sorts stays apart from what the chart reads", async () => {
  const figures = `${drawn[0]}?sort=${tableOf("Distribution of the values")}.1.down`, points = `${drawn[0]}?sort=${tableOf("Points of this series, newest first")}.2.up`;
  const plain = await openIn(chromium, drawn[0]), sorted = await openIn(chromium, figures);
  for (const { tab } of [plain, sorted]) await press(tab, "Earlier");
  for (const { tab } of [plain, sorted]) await tab.waitForURL(/commit=/);
  assert.deepEqual(await state(sorted.tab), await state(plain.tab));
  const rows = await openIn(chromium, points), readout = (tab) => tab.locator("output.readout").textContent();
  for (const { tab } of [plain, rows]) await tab.locator("svg[data-points]:visible").press("End");
  for (const { tab } of [plain, rows]) await tab.waitForFunction(() => document.querySelector("output.readout").textContent.includes("; Subject "));
  assert.equal(await readout(rows.tab), await readout(plain.tab), "the newest run, wherever its row is");
  for (const { context } of [plain, sorted, rows]) await context.close();
});

test("the focus stays on the buttons where one can be pressed no more", async () => {
  const { context, tab } = await openIn(chromium, drawn[0]);
  await press(tab, "Earlier");
  await tab.waitForURL(/commit=/);
  await press(tab, "Newest");
  await tab.waitForURL((url) => !url.searchParams.has("commit"));
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), "Earlier");
  await context.close();
});

test("runs that were not fitted are a measurement each and belong to no level, and values that are all zero are drawn", async () => {
  const { context, tab, said } = await openIn(chromium, drawn[0]);
  const { outcome, zero } = await tab.evaluate(() => {
    const runs = [0, 1, 2, 2, 2.5, 2.5, 3].map((place) => ({ place, value: 1 + place }));
    const trend = { lines: [[0, 3, 1, 1]], processes: { apart: [3, 4, 5] }, factor: 1, symbol: "s" };
    const outcome = [[6, [6]], [4, [4]]].map(([at, own]) => othersOf(trend, runs, at, (i) => own.includes(i)));
    const zero = drawSpread("http://www.w3.org/2000/svg", { factor: 1, symbol: "s" }, [["level", [0, 0]], ["chosen", [0]]]).length;
    const drift = { ...trend, lines: [[0, 1, 1, 1], [1, 3, 1, 2]] }, none = { ...trend, lines: [] };
    outcome.push(othersOf(drift, runs, 6, (i) => i === 6), othersOf(none, runs, 6, (i) => i === 6));
    return { outcome, zero };
  });
  assert.deepEqual(outcome.map(({ values }) => values), [[1, 2, 3], [1, 2, 3], [2, 3], [1, 2, 3]]);
  assert.deepEqual(outcome.map(({ name, said: words }) => `${name}: ${words}`), ["level: 3 runs of its level before it", "level: 3 runs of the level before it",
    "before: 2 runs before it in its drift", "before: 3 runs before it"]);
  assert.ok(zero > 8);
  assert.deepEqual(said, []);
  await context.close();
});
