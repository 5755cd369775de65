// Lists: filters and orders over all their rows, pages where there are many, and a search over the whole site.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, files, openIn, pages, text } from "./site.mjs";

let chromium;
before(async () => (chromium = await browser()));
after(async () => chromium?.close());

const open = (page, options) => openIn(chromium, page, options);
const rows = "main tbody tr:visible:not(:has(th[colspan]))";
const isLong = (name) => files.includes(`data/list-${name}.js`) && `the list of ${name} has several pages`;
const choose = (tab, name, value) => tab.locator(`.filter [name=${name}]`).selectOption(value);

for (const [page, kinds] of [["series/index.html", ["suite", "machine", "change", "verdict", "size"]], ["runs/index.html", ["suite", "machine", "verdict"]],
  ["commits/index.html", ["suite", "machine", "verdict"]]]) {
  test(`${page} is filtered by ${kinds.join(", ")}, which stay in the address`, async () => {
    const { context, tab, said } = await open(page);
    await tab.waitForFunction(() => document.querySelector(".filter").hidden === false);
    const all = await tab.locator(rows).count();
    for (const kind of kinds.filter((kind) => kind !== "size")) {
      const words = await tab.locator(`.filter [name=${kind}] option`).allTextContents();
      // What all rows have in common is no choice.
      if (words.length < 3) {
        assert.ok(await tab.locator(`.filter label:has([name=${kind}])`).isHidden(), kind);
        continue;
      }
      await choose(tab, kind, words.at(-1));
      await tab.waitForFunction((all) => document.querySelectorAll("main tbody tr").length < all, all + 1);
      const cells = await tab.locator(rows).allTextContents();
      assert.ok(cells.length > 0, `${kind} ${words.at(-1)}`);
      assert.equal(new URL(await tab.evaluate(() => location.href)).searchParams.get(kind), words.at(-1));
      await choose(tab, kind, "");
    }
    if (kinds.includes("size")) {
      // The newest change or that against the baseline.
      const shown = () => tab.locator(rows).evaluateAll((all) => all.map((row) => {
        const places = [...row.closest("table").tHead.rows[0].cells].flatMap((head, i) => (head.dataset.by === "size" ? [i] : []));
        return Math.max(...places.map((place) => Math.abs(parseFloat(row.cells[place].textContent.replace(/^[^-+\d\u2212x]+/, "").replace("\u2212", "-").replace("x", "1e4")) || 0)));
      }));
      const fitting = (await shown()).filter((one) => one >= 2).length;
      await tab.locator(".filter [name=size]").fill("2");
      const sizes = await shown();
      assert.ok(sizes.length >= fitting && sizes.length <= all && sizes.every((one) => one >= 2), sizes.join());
    }
    assert.deepEqual(said, []);
    await context.close();
  });
}

test("a column without units is sorted over the groups of all suites, each row with the name of its own, and a third press brings the first order back", { skip: isLong("series") }, async () => {
  const { context, tab, said } = await open("series/index.html");
  const names = () => tab.locator(`section:has(> h2) >> nth=0`).locator("tbody tr:not(:has(th[colspan])) th").allTextContents();
  const heads = await tab.locator("main table").first().locator("th[colspan]").count(), first = await names(), button = tab.locator("section:has(> h2) >> nth=0").locator(".sort", { hasText: "Against baseline" });
  await button.click();
  await button.click();
  const table = tab.locator("main table").first(), sizes = await table.locator("td:nth-child(8)").allTextContents();
  const figures = sizes.map((one) => parseFloat(one.replace("\u2212", "-"))).filter(Number.isFinite);
  assert.deepEqual(figures, [...figures].sort((a, b) => b - a));
  assert.equal(await table.locator("th[colspan]").count(), 0);
  assert.match(await table.locator(".of-group").first().textContent(), /^[\w-]+: .*(is better|control)/);
  assert.equal(await table.locator("tbody tr").count(), await tab.locator("main tbody tr:not(:has(th[colspan]))").count(), "no row is in another table");
  assert.equal(await tab.locator("main table:visible").count(), 1);
  await tab.locator("main table").first().locator(".sort", { hasText: "Newest" }).first().click();
  assert.equal(await table.locator("th[colspan]").count(), heads, "figures of several units are sorted within their groups");
  await button.click();
  for (let press = 0; press < 2; press += 1) await button.click();
  assert.deepEqual((await names()).map((one) => one.split(" ")[0]), first.map((one) => one.split(" ")[0]));
  assert.ok(await tab.locator("main table:visible").count() > 1);
  assert.deepEqual(said, []);
  await context.close();
});

const second = pages.find((page) => /^list\/\w+-2\.html$/.test(page));
test("a list of many rows has pages that lead to each other, and a filter over all of them", { skip: second ? false : "no list has several pages" }, async () => {
  const [, name] = second.match(/(\w+)-2/);
  const plain = await open(`${name}/index.html`, { javaScriptEnabled: false });
  assert.ok(await plain.tab.locator(rows).count() <= 150 && await plain.tab.locator("*").count() <= 6000);
  await plain.tab.locator(".pages a", { hasText: "2" }).click();
  assert.ok(plain.tab.url().endsWith(second) && await plain.tab.locator(rows).count() > 0);
  assert.equal(await plain.tab.locator(".pages a").first().getAttribute("href"), `../${name}/index.html`);
  await plain.context.close();
  assert.ok(files.includes(`data/list-${name}.js`));
  const total = pages.filter((page) => page === second || page === `${name}/index.html` || page.startsWith(`list/${name}-`))
    .reduce((sum, page) => sum + text(page).split("<tbody")[1].split("<tr").length - 1, 0);
  const { context, tab, said } = await open(second);
  await tab.locator(".filter [name=find]").fill("20");
  await tab.waitForSelector(".more", { state: "attached" });
  assert.equal(await tab.locator(".pages").count(), 0);
  await tab.locator(".filter [name=find]").fill("");
  assert.equal(await tab.locator(rows).count(), 150);
  while (await tab.locator(".more").isVisible()) await tab.locator(".more").click();
  assert.equal(await tab.locator(rows).count(), total);
  // A row that the script made is as the page has it.
  await tab.reload();
  const cells = (page) => page.evaluate(() => [...document.querySelectorAll("main tbody tr")].map((row) => row.outerHTML));
  const printed = (await cells(tab)).at(-1);
  await tab.locator(".filter [name=find]").fill("2");
  await tab.waitForSelector(".more", { state: "attached" });
  await tab.locator(".filter [name=find]").fill("");
  while (await tab.locator(".more").isVisible()) await tab.locator(".more").click();
  const made = (await cells(tab)).map((row) => row.replace(/href="[^"]*\/(runs|commits|compare|series|events)\//g, 'href="../$1/'));
  assert.ok(made.includes(printed), printed);
  await tab.locator(".sort").first().click();
  const address = await tab.evaluate(() => location.href);
  const again = await open("index.html");
  await again.tab.goto(address);
  await again.tab.waitForSelector("th[aria-sort=ascending]");
  assert.deepEqual([...said, ...again.said], []);
  await again.context.close();
  await context.close();
});

for (const page of ["index.html", "series/index.html"]) {
  test(`the key / on ${page} searches events, series and commits`, async () => {
    const { context, tab, said } = await open(page);
    const asked = [];
    tab.on("request", (request) => asked.push(request.url()));
    await tab.keyboard.press("/");
    await tab.waitForSelector("dialog.search[open]");
    for (const word of ["e-", "time", "20"]) {
      await tab.locator(".search input").fill(word);
      await tab.waitForSelector(".search li");
    }
    assert.equal(asked.filter((url) => url.endsWith("data/search.js")).length, 1, "the index is loaded once, when it is used");
    const series = text("series/index.html").match(/series\/([\w-]+)\.html">([^<]+)</)[2];
    await tab.locator(".search input").fill(series);
    await tab.locator(".search li", { hasText: "Series" }).first().waitFor();
    await tab.keyboard.press("ArrowDown");
    assert.equal(await tab.evaluate(() => document.activeElement.localName), "a");
    await tab.keyboard.press("ArrowUp");
    await tab.locator(".search input").fill("no such thing anywhere");
    assert.equal(await tab.locator(".search output").textContent(), "0 results");
    await tab.keyboard.press("Escape");
    assert.equal(await tab.locator("dialog[open]").count(), 0);
    await tab.getByRole("button", { name: "Search" }).click();
    await tab.locator(".search input").fill(series);
    await tab.keyboard.press("Enter");
    await tab.waitForURL(/(series|events)\/.+\.html/);
    assert.deepEqual(said, []);
    await context.close();
  });
}

test("a comparison is filtered by verdict and by the size of the change, too", async () => {
  const [first, last] = [0, -1].map((place) => text("data/commits.js").match(/\["[0-9a-f]{40}"/g).at(place).slice(2, 14));
  const { context, tab, said } = await open(`compare/index.html?a=${first}&b=${last}`);
  await tab.waitForSelector("#result-rows .sort");
  const cells = (place) => tab.locator(`#result-rows tbody tr:visible:not(:has(th[colspan])) > :nth-child(${place})`).allTextContents();
  const all = (await cells(1)).length;
  await tab.locator("#compare [name=verdict]").selectOption({ index: 1 });
  const verdict = await tab.locator("#compare [name=verdict]").inputValue(), verdicts = await cells(3);
  assert.ok(verdicts.length > 0 && verdicts.length <= all && verdicts.every((one) => one.includes(verdict)), `${verdict}: ${verdicts}`);
  await tab.locator("#compare [name=verdict]").selectOption("");
  await tab.locator("#compare [name=size]").fill("10");
  const sizes = (await cells(6)).map((one) => Math.abs(parseFloat(one.replace("\u2212", "-"))));
  assert.ok(sizes.length > 0 && sizes.length <= all && sizes.every((one) => one >= 10), sizes.join());
  assert.deepEqual(said, []);
  await context.close();
});

const hasAll = ["slower", "faster", "drift", "environment"].every((word) => text("events/index.html").includes(`data-change="${word}"`)) && !isLong("series");
test("series are filtered and sorted by their newest change, and events by what they are", { skip: hasAll ? false : "this site has no event of each kind, or several pages of series" }, async () => {
  const { context, tab, said } = await open("series/index.html");
  await choose(tab, "change", "slower");
  const slower = await tab.locator(rows).allTextContents();
  assert.ok(slower.length > 0 && slower.every((row) => /\+[\d.]+.%/.test(row)), slower.join("\n"));
  await choose(tab, "change", "");
  await tab.locator("main table").first().locator(".sort", { hasText: "Newest change" }).click();
  const sizes = (await tab.locator("main table").first().locator("td:nth-child(7)").allTextContents()).map((one) => parseFloat(one.replace("\u2212", "-").replace(/^[^-+\d]+/, ""))).filter(Number.isFinite);
  assert.ok(sizes.length > 2 && sizes.every((size, i) => i === 0 || sizes[i - 1] <= size), sizes.join());
  await context.close();
  const events = await open("events/index.html");
  const changes = await events.tab.locator("main tbody tr[data-suite]").evaluateAll((all) => all.map((row) => [row.dataset.change, row.querySelector("th i").textContent]));
  assert.ok(["slower", "faster", "drift", "environment"].every((word) => changes.some(([change]) => change === word)), changes.join());
  assert.ok(changes.every(([change, glyph]) => change !== "slower" || glyph === "▲"), changes.join());
  assert.deepEqual([...said, ...events.said], []);
  await events.context.close();
});

test("a comparison of a thousand series has few elements, shows more on demand, and sorts over all of them", async () => {
  const [first, last] = [0, -1].map((place) => text("data/commits.js").match(/\["[0-9a-f]{40}"/g).at(place).slice(2, 14));
  const { context, tab, said } = await open(`compare/index.html?a=${first}&b=${last}`);
  await tab.waitForSelector("#result-rows .sort");
  const few = await tab.evaluate(() => sprag.data.series.length);
  await tab.evaluate(() => {
    const { series, chunks } = sprag.data, own = [...series];
    for (let copy = 1; series.length < 1000; copy += 1) {
      series.push(...own.map((one) => ({ ...one, id: `${one.id}-${copy}` })));
      for (const { groups } of chunks.values()) for (const group of groups) for (const { id } of own) if (group.series[id]) group.series[`${id}-${copy}`] = group.series[id];
    }
    document.querySelector("#compare [name=a]").dispatchEvent(new Event("change"));
  });
  await tab.waitForSelector("#result-rows ~ .more:visible, #result-rows .more:visible");
  const shown = () => tab.locator("#result-rows tbody tr:visible:not(:has(th[colspan]))").count();
  assert.equal(await shown(), 150);
  assert.ok(await tab.locator("*").count() <= 6000, `${await tab.locator("*").count()} elements`);
  await tab.locator(".more").click();
  assert.equal(await shown(), 300);
  await tab.locator("#result-rows .sort", { hasText: "Detectable" }).click();
  assert.equal(await tab.locator("#result-rows .of-group").count(), await shown(), "each row names its group");
  await tab.locator("#compare [name=find]").fill(await tab.evaluate(() => sprag.data.series[0].benchmark));
  assert.ok(await shown() > 1000 / few / 2, "the filter finds rows that were not shown");
  assert.equal(await tab.locator(".more").count(), 1);
  assert.deepEqual(said, []);
  await context.close();
});
