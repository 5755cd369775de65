// What the script adds: the chart of a series from other sides, all its runs by keyboard and pointer, any two commits with
// their drawn changes, what a reader takes along, and an address that keeps what was chosen.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { browser, files, longest, openIn, pages, runs, text, thorough, trendOf, url } from "./site.mjs";

let chromium;
before(async () => (chromium = await browser()));
after(async () => chromium?.close());

const open = (page, options) => openIn(chromium, page, options);

const chart = (tab) => tab.locator("svg[data-points]:visible");
const readout = (tab) => tab.locator("output.readout").textContent();
const press = (tab, name) => tab.getByRole("button", { name, exact: true }).click();

/** What the address says of a choice, once it says that, or anything where nothing is expected. The page knows before the browser tells. */
async function address(tab, name, expected) {
  const says = ([name, expected]) => {
    const value = new URLSearchParams(location.search).get(name);
    return expected === undefined ? value !== null : value === expected;
  };
  await tab.waitForFunction(says, [name, expected], { timeout: 10_000 });
  return tab.evaluate((name) => new URLSearchParams(location.search).get(name), name);
}

for (const javaScriptEnabled of [true, false]) {
  test(`a narrow window begins at the newest end of a trend, beside its axis, with${javaScriptEnabled ? "" : "out"} script`, async () => {
    const { context, tab } = await open(longest(), { viewport: { width: 390, height: 900 }, javaScriptEnabled });
    const isSeen = async (place, least) => {
      const box = await place.boundingBox();
      assert.ok(box && box.x >= least && box.x + box.width <= 390, `${JSON.stringify(box)} lies within the window`);
    };
    const axis = tab.locator("svg.scale"), newest = chart(tab).locator("text", { hasText: /^(now|newest)$/ });
    await isSeen(axis, 0);
    await isSeen(newest, 58);
    const ticks = await axis.evaluate((one) => one.getBBox().width);
    assert.ok(ticks > 10, `the axis has its figures: ${ticks}`);
    const left = await tab.locator(".pan > .scroll").evaluate((one) => { one.scrollLeft = -5000; return one.scrollLeft; });
    assert.ok(left < -500, `the rest is to the left: ${left}`);
    if (javaScriptEnabled) {
      await chart(tab).focus();
      await tab.keyboard.press("End");
      await isSeen(tab.locator("path.cross"), 58);
      await press(tab, "Logarithms");
      assert.ok((await axis.evaluate((one) => one.getBBox().width)) > 10, "the axis follows the mode");
    }
    await context.close();
  });
}

for (const width of [1280, 390]) {
  test(`the keyboard walks over every run of a series, at ${width} px`, async () => {
    const page = longest(), all = runs(trendOf(page));
    assert.ok(all > 50, `${all} runs are more than the table lists`);
    const { context, tab, said } = await open(page, { viewport: { width, height: 900 } });
    await chart(tab).focus();
    await tab.keyboard.press("Home");
    // The subjects of commits come from a file of their own, after the first words.
    await tab.waitForFunction(() => /^Commit [0-9a-f]{7}; Subject /.test(document.querySelector("output.readout").textContent));
    const seen = [await readout(tab)];
    for (let step = 1; step < all; step += 1) {
      await tab.keyboard.press("ArrowRight");
      seen.push(await readout(tab));
    }
    assert.equal(new Set(seen).size, all, "each run has its own words");
    await tab.keyboard.press("ArrowRight");
    assert.equal(await readout(tab), seen.at(-1), "there is nothing after the newest");
    const row = await tab.locator("#point-rows tbody tr").first().locator("td:nth-child(3)").textContent();
    assert.ok(seen.at(-1).includes(row) && seen[0].includes("Median"), `${row} is not in ${seen.at(-1)}`);
    assert.deepEqual(said, []);
    await context.close();
  });
}

test("modes and zoom change the chart and the address, and the address brings them back", async () => {
  const page = longest();
  const { context, tab, said } = await open(page);
  const printed = await chart(tab).innerHTML();
  for (const [name, mode] of [["Logarithms", "log"], ["Change from the first level", "relative"]]) {
    await press(tab, name);
    await address(tab, "mode", mode);
    assert.equal(await tab.getByRole("button", { name, exact: true }).getAttribute("aria-pressed"), "true");
    assert.notEqual(await chart(tab).innerHTML(), printed);
    assert.equal(await chart(tab).locator("[style]").count(), 0);
    assert.ok(!/NaN|Infinity|undefined/.test(await chart(tab).innerHTML()), name);
  }
  const all = (await chart(tab).locator("path.dots").getAttribute("d")).match(/h0/g).length;
  await chart(tab).focus();
  await tab.keyboard.press("+");
  await tab.keyboard.press("+");
  const few = (await chart(tab).locator("path.dots").getAttribute("d")).match(/h0/g).length;
  assert.ok(few < all / 2 && few > 0, `${few} of ${all}`);
  const part = await address(tab, "part");
  assert.match(part, /^-?[\d.]+_-?[\d.]+$/);
  const drawn = await chart(tab).innerHTML();
  const again = await open(`${page}?mode=relative&part=${part}`);
  const dots = await chart(again.tab).locator("path.dots").getAttribute("d");
  assert.equal(dots.match(/h0/g).length, few, "another reader sees the same part");
  await again.context.close();
  await tab.keyboard.press("-");
  assert.notEqual(await chart(tab).innerHTML(), drawn);
  await tab.keyboard.press("0");
  await address(tab, "part", null);
  await press(tab, "Values");
  await address(tab, "mode", null);
  assert.equal((await chart(tab).innerHTML()).replace(/<path class="cross".*$/, ""), printed.replace(/<path class="cross".*$/, ""));
  // Dragging zooms in; an address that means nothing changes nothing.
  const box = await chart(tab).boundingBox();
  await tab.mouse.move(box.x + box.width * 0.3, box.y + 150);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width * 0.6, box.y + 150, { steps: 4 });
  await tab.mouse.up();
  const chosen = await address(tab, "part"); // A part was chosen by dragging.
  await tab.mouse.wheel(0, 40);
  await tab.waitForFunction((chosen) => new URL(location).searchParams.get("part") !== chosen, chosen);
  const width = (part) => part.split("_").reduce((from, to) => to - from);
  assert.ok(Math.abs(width(await address(tab, "part")) - width(chosen)) < 0.01, "the wheel moves the part");
  await press(tab, "Whole range");
  await address(tab, "part", null);
  for (const odd of ["mode=<b>&part=1_2_3", "part=9_1", "part=nan_inf", "mode=constructor"]) {
    const strange = await open(`${page}?${odd}`);
    assert.equal(await strange.tab.locator("figure.drawn").count(), 0, odd);
    assert.deepEqual(strange.said, []);
    await strange.context.close();
  }
  assert.deepEqual(said, []);
  await context.close();
});

test("Enter leads from a run to its comparison with the one before", async () => {
  const { context, tab } = await open(longest());
  await chart(tab).focus();
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/compare\/index\.html\?a=[0-9a-f]{12}&b=[0-9a-f]{12}/);
  await tab.waitForSelector("#result h2");
  await context.close();
});

/** A page of two commits with a drawn change, and its commits. */
function pair(isWanted = () => true) {
  const page = pages.find((one) => /^compare\/[0-9a-f]+-/.test(one) && text(one).includes("class=\"range\"") && isWanted(one));
  return { page, commits: text(page).match(/\?a=([0-9a-f]+)&(?:amp;)?b=([0-9a-f]+)/).slice(1) };
}

/** The cells of the compared series, in an order that does not hang on the page. */
const cells = (tab, where) => tab.locator(`${where} table.compared tbody tr:not(:has(th[colspan]))`)
  .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim() + cell.querySelectorAll("svg *").length).join("|")).sort());

test("the script compares as the page of a pair does, and draws the same", async () => {
  const { page, commits } = pair();
  const printed = await open(page);
  const expected = await cells(printed.tab, "main");
  const places = (tab) => tab.locator("svg.range .end").evaluateAll((ends) => ends.map((end) => end.getAttribute("cx") ?? end.getAttribute("d")).sort());
  const { context, tab, said } = await open(`compare/index.html?a=${commits[0]}&b=${commits[1]}`);
  await tab.waitForSelector("#result-rows table");
  const made = await cells(tab, "#result-rows");
  assert.deepEqual(made.filter((row) => expected.includes(row)).length, expected.length);
  const [drawn, ends] = [await places(tab), await places(printed.tab)];
  assert.ok(ends.length > 0 && ends.every((end) => drawn.includes(end)), `${ends} are not all in ${drawn}`);
  // The mean and what would have shown are the page's.
  const means = (where) => where.locator("main table", { has: where.locator("th", { hasText: /^Mean/ }) }).first().locator("tr td:last-child").allTextContents();
  const shows = async (where) => (await where.locator("main").textContent()).match(/minimum detectable effect [\d.]+[^\d]+to [\d.]+/)?.[0];
  assert.ok((await means(tab)).length > 0);
  assert.deepEqual(await means(tab), await means(printed.tab));
  assert.ok(await shows(tab));
  assert.equal(await shows(tab), await shows(printed.tab));
  // Commits are offered once a field is entered.
  assert.equal(await tab.locator("#commits option").count(), 0);
  await tab.locator("#compare [name=a]").focus();
  assert.equal(await tab.locator("#commits option").count(), await tab.evaluate(() => sprag.data.commits.length + sprag.data.tagged.length));
  // Other pairs have none.
  await tab.getByRole("button", { name: "Swap" }).click();
  await tab.waitForFunction((a) => document.querySelector("#compare .sides .id").textContent !== a, commits[0]);
  assert.equal(await tab.locator("#result th", { hasText: /^Mean/ }).count(), 0);
  assert.deepEqual(said, []);
  await printed.context.close();
  await context.close();
});

test("without another a commit is compared with the one measured before", async () => {
  const { commits } = pair((page) => text(page).includes("No commit was measured between the two."));
  const { context, tab, said } = await open(`compare/index.html?b=${commits[1]}`);
  await tab.waitForSelector("#result h2");
  await address(tab, "a");
  assert.equal(await tab.locator("#result .sides .id").first().textContent(), commits[0]);
  assert.deepEqual(said, []);
  await context.close();
});

test("the first commit is compared with the next, and one that nobody knows is named", async () => {
  const first = await open("compare/index.html");
  const known = await first.tab.evaluate(() => sprag.data.commits.slice(0, 2).map(([sha]) => sha.slice(0, 12)));
  await first.context.close();
  const { context, tab } = await open(`compare/index.html?b=${known[0]}`);
  await tab.waitForSelector("#result h2");
  assert.deepEqual(await tab.locator("#result .sides .id").allTextContents(), known);
  await context.close();
  const odd = await open("compare/index.html?b=nobody");
  await odd.tab.waitForFunction(() => /B is not a measured commit or tag/.test(document.querySelector("#compare output").textContent));
  assert.equal(new URL(odd.tab.url()).searchParams.get("b"), "nobody", "the address keeps what was asked for");
  // With one digit each, some two of more than sixteen commits begin alike.
  const begun = await odd.tab.evaluate(() => {
    const firsts = sprag.data.commits.map(([sha]) => sha[0]);
    return firsts.find((one, i) => firsts.indexOf(one) !== i);
  });
  await odd.tab.locator("#compare [name=b]").fill(begun);
  await odd.tab.locator("#compare [name=b]").press("Tab");
  await odd.tab.waitForFunction(() => /Several measured commits begin as B does/.test(document.querySelector("#compare output").textContent));
  await address(odd.tab, "b", begun);
  // A tag whose commit was not measured has what was measured last before it, whichever way its letters are written.
  const given = await odd.tab.evaluate(() => {
    sprag.data.tagged.push(["f".repeat(40), "1\u202fMay 2026", "s", ["v-<later>"], 2.5, 2]);
    sprag.data.tagged.push(["e".repeat(40), "1\u202fMay 2026", "s", ["v-<again>"], 2.6, 2]);
    return sprag.data.commits[2][0].slice(0, 12);
  });
  await odd.tab.locator("#compare [name=a]").fill(given);
  await odd.tab.locator("#compare [name=b]").fill("V-<Later>");
  await odd.tab.locator("#compare [name=b]").press("Tab");
  await odd.tab.waitForSelector("#result h2");
  const side = odd.tab.locator("#result .sides p").nth(1);
  assert.equal(await side.locator(".id").textContent(), "f".repeat(12));
  assert.match(await side.textContent(), /v-<later>.*, not measured: each series as it was measured last before it$/);
  assert.match(await odd.tab.locator("#result h2").textContent(), /^Nothing was measured between the two$/);
  await odd.tab.locator("#compare [name=a]").fill(await odd.tab.evaluate(() => sprag.data.commits[1][0]));
  await odd.tab.locator("#compare [name=a]").press("Tab");
  await odd.tab.waitForSelector("#result-rows table");
  assert.match(await odd.tab.locator("#result .note").first().textContent(), /^1 commit was measured between the two\.$/);
  assert.match(await odd.tab.locator("#result-rows .note").textContent(), /× how many times/);
  // Without another, one that was not measured is held against what was measured before what stands for it.
  const tags = await odd.tab.evaluate(() => ({ named: sprag.data.tagged[0]?.[3][0], all: sprag.data.tagged.map(([, , , , , stands]) => stands), shas: sprag.data.commits.map(([sha]) => sha.slice(0, 12)) }));
  if (tags.named !== "v-<later>") {
    const alone = await open(`compare/index.html?b=${encodeURIComponent(tags.named)}`);
    await alone.tab.waitForSelector("#result h2");
    assert.equal(await alone.tab.locator("#result .sides .id").first().textContent(), tags.shas[tags.all[0] - 1]);
    assert.deepEqual(alone.said, []);
    await alone.context.close();
  }
  assert.deepEqual(odd.said, []);
  await odd.context.close();
});

test("where one commit was measured, or no data are there, a sentence says so and no empty window follows", async () => {
  for (const [fault, words] of [["/data/commits.js", /could not be read/], [null, /takes two measured commits/]]) {
    const context = await chromium.newContext({ viewport: { width: 1280, height: 900 } });
    const tab = await context.newPage();
    if (fault) await tab.route((asked) => asked.pathname.endsWith(fault), (route) => route.abort());
    else await tab.addInitScript(() => document.addEventListener("DOMContentLoaded", () => { sprag.data.commits.length = 1; }, true));
    await tab.goto(url("compare/index.html"));
    await tab.waitForFunction(() => !document.getElementById("compare"));
    assert.match(await tab.locator("main").innerText(), words);
    assert.ok((await tab.locator("main > section").first().boundingBox()).y < 900, "what follows is in view");
    await context.close();
  }
});

test("days are sorted by time, shares and units by what they are", async () => {
  const { context, tab } = await open("runs/index.html");
  const keys = await tab.evaluate(() => ["9 Sep 2023, 06:12", "10 Sep 2023, 00:12", "2 Jul 2026"].map(orderOf).sort(order.compare));
  assert.deepEqual(keys, ["2023-9-9, 06:12", "2023-9-10, 00:12", "2026-7-2"]);
  const texts = ["1 of 4\u202f000", "1 of 400", "2.901 G/s", "555.2 M/s", "4 KiB", "5 min", "\u2212386.5 \u00b5s", "\u2013"];
  const figures = await tab.evaluate((texts) => texts.map(numberOf), texts);
  assert.deepEqual(figures.slice(0, 6), [1 / 4000, 1 / 400, 2.901e9, 555.2e6, 4096, 5]);
  assert.ok(Math.abs(figures[6] + 386.5e-6) < 1e-12 && figures[7] === null, figures.join(" "));
  const times = async () => (await tab.locator("table").first().locator("tbody tr").allInnerTexts())
    .map((row) => Date.parse(row.match(/\d{1,2}\s[A-Z][a-z]{2}\s\d{4}/)?.[0].replace(/\s/g, " ")));
  await tab.getByRole("button", { name: /^Began/ }).first().click();
  const sorted = await times();
  assert.ok(sorted.length > 5 && sorted.every((time, i) => Number.isFinite(time) && (i === 0 || sorted[i - 1] <= time)), sorted.join(" "));
  await context.close();
});

test("a mode calls nothing an outlier that the printed chart shows, and a part that begins no month has days", async () => {
  const { context, tab } = await open("index.html");
  const drawn = pages.filter((page) => page.startsWith("series/") && text(page).includes("application/json"));
  for (const page of drawn.filter((_, place) => thorough || place % 8 === 0)) {
    const outside = [];
    for (const mode of ["", "?mode=relative"]) {
      await tab.goto(url(page) + mode);
      outside.push(await chart(tab).locator("path.out").count());
    }
    assert.ok(outside[1] <= outside[0], `${page}: ${outside}`);
  }
  await tab.goto(`${url(longest())}?part=2_5`);
  await tab.waitForFunction(() => /\d \w{3} \d{4}/.test(document.querySelector("svg[data-points]").textContent.replace(/\s/g, " ")));
  await context.close();
});

test("paper shows the columns that a narrow window leaves out", async () => {
  const { context, tab } = await open(pages.find((page) => /^week\/2/.test(page) && /\bopt"/.test(text(page))), { viewport: { width: 690, height: 900 } });
  const hidden = () => tab.evaluate(() => [...document.querySelectorAll("table th")].filter((head) => !head.getClientRects().length).length);
  assert.ok((await hidden()) > 0, "the window leaves some out");
  await tab.emulateMedia({ media: "print" });
  assert.equal(await hidden(), 0);
  await context.close();
});

test("a comparison goes along as Markdown and as CSV", async () => {
  const { page, commits } = pair((page) => files.includes(page.replace(".html", ".md")));
  const { context, tab, said } = await open(`compare/index.html?a=${commits[0]}&b=${commits[1]}`);
  await tab.waitForSelector("#result-rows table");
  const saved = async (name) => {
    const [download] = await Promise.all([tab.waitForEvent("download"), press(tab, name)]);
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };
  assert.deepEqual(await saved("Save as Markdown"), [`${commits.join("-")}.md`, text(page.replace(".html", ".md"))]);
  const [name, csv] = await saved("Save as CSV");
  assert.equal(name, `${commits.join("-")}.csv`);
  const lines = csv.trimEnd().split("\n"), rows = await tab.locator("#result-rows tbody tr:not(:has(th[colspan]))").count();
  assert.equal(lines.length, rows + 1);
  assert.ok(lines[0].startsWith("id,suite,benchmark,") && lines.every((line) => line.split(",").length >= 15));
  assert.deepEqual(said, []);
  await context.close();
});

for (const javaScriptEnabled of [true, false]) {
  test(`the values of a series go along as CSV, with${javaScriptEnabled ? "" : "out"} script`, async () => {
    const page = longest(), { factor } = trendOf(page);
    const { context, tab, said } = await open(page, { javaScriptEnabled });
    const button = tab.getByRole("button", { name: "Save as CSV", exact: true });
    assert.equal(await button.count(), javaScriptEnabled ? 1 : 0);
    if (javaScriptEnabled) {
      await tab.keyboard.press("Tab");
      await button.focus();
      assert.ok(await button.evaluate((one) => one.matches(":focus-visible") && parseFloat(getComputedStyle(one).outlineWidth) >= 2), "focus is seen");
      const [download] = await Promise.all([tab.waitForEvent("download"), tab.keyboard.press("Enter")]);
      const id = path.basename(page, ".html");
      assert.equal(download.suggestedFilename(), `${id}.csv`);
      const lines = readFileSync(await download.path(), "utf8").split("\r\n");
      assert.equal(lines.shift(), "series_id,commit,commit_day,tags,value,unit");
      assert.equal(lines.pop(), "", "the last line ends");
      assert.equal(lines.length, runs(trendOf(page)), "a line a run");
      const cells = lines.map((line) => line.split(","));
      for (const [series, commit, day, , value, unit] of cells) {
        assert.equal(series, id);
        assert.match(commit, /^[0-9a-f]{40}$/);
        assert.match(day, /^\d{4}-\d\d-\d\d$/);
        assert.ok(Number(value) > 0 && ["s", "B", "1/s", "1"].includes(unit), `${value} ${unit}`);
      }
      // The table lists the newest first, and rounds each by itself.
      const rows = await tab.locator("#point-rows tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      const newest = cells.reverse().slice(0, rows.length);
      rows.forEach((row, i) => {
        const shown = Number(row[2].replace("\u202f", "")), last = 10 ** -(row[2].split(".")[1] ?? "").length;
        const apart = Math.abs(Number(newest[i][4]) - shown * factor);
        assert.ok(apart <= last * factor / 2 * 1.001, `${newest[i][4]} is ${row[2]} of the table`);
      });
      rows.forEach((row, i) => assert.equal(newest[i][1].slice(0, 7), row[0].slice(0, 7)));
      await tab.emulateMedia({ media: "print" });
      assert.equal(await button.isVisible(), false, "paper has no button");
    }
    assert.deepEqual(said, []);
    await context.close();
  });
}

test("no cell of a CSV is taken for a formula", async () => {
  const { context, tab, said } = await open(longest());
  const written = await tab.evaluate(() => {
    const commits = [["=cmd()", "19\u202fMay 2026", "", ["+1", "a,b\""]], ["0a1b2c3"]];
    return csvOfRuns("-id", { symbol: "ms" }, [{ value: -1.5e-7 }, { value: 0.25 }], commits);
  });
  assert.equal(written, 'series_id,commit,commit_day,tags,value,unit\r\n\'-id,\'=cmd(),2026-05-19,"\'+1 a,b""",-1.5e-7,s\r\n\'-id,0a1b2c3,,,0.25,s\r\n');
  const guarded = (words) => tab.evaluate((words) => words.map(field), words);
  assert.deepEqual(await guarded(["=1", "+1", "-1", "@a", "\ta", " =1", "\uff1d1", "a=1", ""]),
    ["'=1", "'+1", "'-1", "'@a", "'\ta", "' =1", "'\uff1d1", "a=1", ""]);
  assert.deepEqual(said, []);
  await context.close();
});

test("filters and the order of a table stay in the address", async () => {
  const { commits } = pair();
  const { context, tab, said } = await open(`compare/index.html?a=${commits[0]}&b=${commits[1]}`);
  await tab.waitForSelector("#result-rows .sort");
  const shown = () => tab.locator("#result-rows tbody tr:visible:not(:has(th[colspan]))").count();
  const all = await shown(), machine = await tab.locator("#result-rows td.place").first().textContent();
  await tab.locator("#compare select[name=machine]").selectOption(machine);
  assert.ok(await shown() < all, "the filter hides rows");
  const heads = await tab.locator("#result-rows th[scope=rowgroup]:visible > .q").allTextContents();
  assert.ok(heads.some((head) => /^\(\d+ of \d+\)$/.test(head)), `a head tells how many of its rows are left: ${heads}`);
  assert.equal(heads.reduce((sum, head) => sum + Number(head.match(/\d+/)[0]), 0), await shown());
  await address(tab, "machine", machine);
  await tab.locator("#result-rows .sort", { hasText: "Detectable" }).click();
  assert.match(await address(tab, "sort"), /^0\.\d+\.up$/);
  await tab.locator("#result-rows .sort", { hasText: "Detectable" }).click();
  const names = () => tab.locator("#result-rows tbody tr:visible .id").allTextContents();
  const [before, chosen] = [await names(), await tab.evaluate(() => location.href)];
  await tab.goto("about:blank");
  await tab.goto(chosen);
  await tab.waitForSelector("#result-rows .sort");
  assert.deepEqual(await names(), before);
  assert.equal(await tab.locator("#result-rows th[aria-sort=descending]").count(), 1);
  assert.deepEqual(said, []);
  await context.close();
});

test("a command is copied, and selected where the browser refuses", async () => {
  const event = pages.find((page) => /^events\/e-/.test(page) && text(page).includes("sprag compare"));
  for (const refuses of [false, true]) {
    const { context, tab, said } = await openIn(chromium, event, { permissions: ["clipboard-read", "clipboard-write"] });
    if (refuses) await tab.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("refused")); });
    const blocks = tab.locator("main pre");
    assert.ok((await blocks.count()) >= 4, "compare, measure and show have a command each");
    for (let place = 0; place < (await blocks.count()); place += 1) {
      const command = (await blocks.nth(place).locator("code").textContent()).trim();
      await blocks.nth(place).getByRole("button", { name: "Copy" }).click();
      await blocks.nth(place).getByRole("button", { name: refuses ? "Selected" : "Copied" }).waitFor();
      const copied = await tab.evaluate(refuses ? () => getSelection().toString() : () => navigator.clipboard.readText());
      assert.equal(copied.trim(), command);
    }
    assert.deepEqual(said, []);
    await context.close();
  }
});

test("a table is a tab stop only while it scrolls", async () => {
  const matrix = pages.find((page) => page.startsWith("matrix/"));
  const { context, tab } = await open(matrix, { viewport: { width: 300, height: 900 } });
  const boxes = () => tab.evaluate(() => [...document.querySelectorAll("section.scroll:has(> table)")]
    .map((box) => [box.scrollWidth > box.clientWidth, box.hasAttribute("tabindex")]));
  const narrow = await boxes();
  assert.ok(narrow.some(([scrolls]) => scrolls), "some table is wider than a phone");
  assert.ok(narrow.every(([scrolls, stops]) => scrolls === stops));
  await tab.setViewportSize({ width: 2400, height: 900 });
  await tab.waitForFunction(() => !document.querySelector("section.scroll[tabindex]:has(> table)"));
  await context.close();
});

test("a release prints on two pages, failures first", async () => {
  const release = pages.find((page) => page.startsWith("release/") && text(page).includes("no-go"));
  const { context, tab } = await open(release);
  const statuses = await tab.locator("[aria-labelledby=items] td:nth-child(3)").allInnerTexts();
  assert.ok(statuses[0].includes("fail") && !statuses.at(-1).includes("fail"), statuses.join());
  const printed = await tab.pdf({ preferCSSPageSize: true });
  assert.ok(printed.toString("latin1").match(/\/Type\s*\/Page\b/g).length <= 2, "it fits two pages");
  await context.close();
});

test("the pointer has a label, and the chart is saved as a picture of its own", async () => {
  const fitted = pages.find((page) => /^series\/.*-/.test(page) && text(page).includes("application/json") && trendOf(page).lines.length > 1);
  const { context, tab, said } = await open(fitted);
  await tab.locator("section.scroll svg[data-points]").first().hover({ position: { x: 300, y: 120 } });
  assert.match(await tab.locator("svg .pointer").textContent(), /, [+\u2212]?\d.* from its level$/);
  await tab.locator("section.scroll svg[data-points]").first().click({ position: { x: 300, y: 120 } });
  assert.equal(await chart(tab).evaluate((svg) => getComputedStyle(svg).outlineStyle), "none", "a click draws no frame");
  const [download] = await Promise.all([tab.waitForEvent("download"), press(tab, "Save as SVG")]);
  const picture = readFileSync(await download.path(), "utf8");
  assert.ok(picture.startsWith("<svg") && picture.includes("stroke-width=") && !picture.includes("from its level"));
  assert.ok(/<text[^>]*>Trend of /.test(picture) && /<text[^>]*>fitted level</.test(picture), "with a title and a key that can be read");
  assert.equal(await chart(tab).getAttribute("viewBox"), "0 0 1184 350", "the page has them only once");
  await context.close();
  assert.deepEqual(said, []);
});

test("a wheel with the control key zooms, and sideways it moves the part", async () => {
  const { context, tab } = await open(longest());
  const box = await tab.locator("section.scroll svg[data-points]").first().boundingBox();
  await tab.mouse.move(box.x + box.width / 2, box.y + 100);
  await tab.keyboard.down("Control");
  await tab.mouse.wheel(0, -300);
  await tab.keyboard.up("Control");
  const before = await address(tab, "part");
  assert.match(before, /^[\d.]+_[\d.]+$/);
  await tab.mouse.wheel(120, 0);
  await tab.waitForFunction((before) => new URL(location.href).searchParams.get("part") !== before, before);
  await context.close();
});

test("once a part is shown, dragging moves it, and two fingers zoom", async () => {
  const { context, tab, said } = await open(longest(), { hasTouch: true });
  const box = await chart(tab).boundingBox(), x = (share) => box.x + box.width * share, y = box.y + 150;
  const drag = async (from, to) => {
    await tab.mouse.move(x(from), y);
    await tab.mouse.down();
    await tab.mouse.move(x(to), y, { steps: 4 });
    await tab.mouse.up();
  };
  await drag(0.4, 0.7);
  const chosen = (await address(tab, "part")).split("_").map(Number);
  await drag(0.5, 0.7);
  await tab.waitForFunction((before) => new URL(location.href).searchParams.get("part") !== before, chosen.join("_"));
  const moved = (await address(tab, "part")).split("_").map(Number);
  assert.ok(moved[0] < chosen[0] && Math.abs(moved[1] - moved[0] - chosen[1] + chosen[0]) < 0.2, `${chosen} to ${moved}`);
  const session = await context.newCDPSession(tab);
  const touch = (type, ...places) => session.send("Input.dispatchTouchEvent", { type, touchPoints: places.map((share, id) => ({ x: x(share), y, id })) });
  await touch("touchStart", 0.45, 0.55);
  for (const apart of [0.1, 0.15, 0.2]) await touch("touchMove", 0.5 - apart, 0.5 + apart);
  await touch("touchEnd");
  await tab.waitForFunction((before) => new URL(location.href).searchParams.get("part") !== before, moved.join("_"));
  const near = (await address(tab, "part")).split("_").map(Number);
  assert.ok(near[1] - near[0] < moved[1] - moved[0], `${moved} to ${near}`);
  assert.ok(!/NaN|Infinity/.test(await chart(tab).innerHTML()));
  assert.deepEqual(said, []);
  await context.close();
});

test("every view has the intervals, and a series lies over another", async () => {
  const page = pages.find((one) => /^series\/./.test(one) && text(one).includes("name=\"over\"") && text(one).includes("class=\"band\""));
  const { context, tab, said } = await open(`${page}?mode=relative`);
  await tab.waitForSelector("svg[data-points] path.band");
  const select = tab.locator("select[name=over]"), names = await select.locator("option").allTextContents();
  const first = await select.locator("option").nth(1).getAttribute("value");
  assert.ok(names.length > 1 && files.includes(`series/${first}.html`));
  await select.selectOption({ index: 1 });
  await tab.waitForSelector("svg[data-points] text.other");
  assert.equal(await tab.locator("svg[data-points] text.other").textContent(), names[1]);
  const drawn = await chart(tab).innerHTML();
  assert.ok(!/NaN|Infinity|undefined/.test(drawn) && (await tab.locator("svg[data-points] path.other:not(.trace)").getAttribute("d")).match(/h0/g).length > 3);
  assert.equal(await address(tab, "over"), first);
  const bases = await tab.locator("svg[data-points] text.halo:not(.pointer)").evaluateAll((all) => all.map((one) => Number(one.getAttribute("y"))));
  assert.ok(bases.every((base) => base < 320), `a label is on the axis of dates: ${bases.join()}`);
  assert.equal(await tab.locator(".key path.other:not(.trace)").count(), 1, "the key has its dots");
  const again = await open(`${page}?mode=relative&over=${first}`);
  await again.tab.waitForSelector("svg[data-points] text.other");
  await again.context.close();
  await select.selectOption("");
  await tab.waitForFunction(() => !document.querySelector("svg[data-points] .other"));
  assert.deepEqual([...said, ...again.said], []);
  await context.close();
});

test("the chart is saved as pixels, and has a page of its own for others to embed", async () => {
  const page = pages.find((one) => one.startsWith("series/") && text(one).includes("href=\"../chart/"));
  const { context, tab, said } = await open(page);
  const [download] = await Promise.all([tab.waitForEvent("download"), press(tab, "Save as PNG")]);
  const bytes = readFileSync(await download.path());
  assert.deepEqual([...bytes.subarray(1, 4)].map((one) => String.fromCharCode(one)).join(""), "PNG");
  assert.equal(bytes.readUInt32BE(16), 2368);
  assert.ok(bytes.readUInt32BE(20) >= 800, "a title is above it and a key below it");
  const dark = await tab.evaluate((base64) => new Promise((done, fail) => createImageBitmap(new Blob([Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))])).then((image) => {
    const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
    pen.drawImage(image, 0, 0);
    done([...pen.getImageData(0, 0, image.width, image.height).data].filter((one, i) => i % 4 === 0 && one < 60).length);
  }, fail)), bytes.toString("base64"));
  assert.ok(dark > 1000, `${dark} dark pixels`);
  await tab.locator("a", { hasText: "This chart alone" }).click();
  await tab.waitForURL(/\/chart\//);
  assert.equal(await tab.locator("svg[data-points]").count(), 1);
  assert.equal(await tab.locator("nav, script").count(), 0);
  await tab.locator("h1 a").click();
  await tab.waitForURL((url) => url.href.endsWith(page));
  assert.deepEqual(said, []);
  await context.close();
});

test("a figure of a release leads to its record, whose file has the digest that its page gives", async () => {
  const release = pages.find((page) => page.startsWith("release/") && text(page).includes("data/records/"));
  const { context, tab, said } = await open(release);
  const records = await tab.locator("[aria-labelledby=files] a[href*='data/records/']").evaluateAll((all) => all.map((one) => [one.getAttribute("href").slice(3), one.closest("tr").cells[2].textContent]));
  assert.ok(records.length > 0);
  for (const [path, digest] of records) assert.equal(createHash("sha256").update(text(path)).digest("hex"), digest, path);
  await tab.locator("[aria-labelledby=items] td a[href*='runs/']").first().click();
  await tab.waitForURL(/\/runs\//);
  const commands = await tab.locator("[aria-labelledby=record] pre code").allTextContents();
  assert.match(commands[0], /^echo '[0-9a-f]{64} {2}[0-9a-f]{16}\.json' \| sha256sum --check\n$/);
  assert.ok(commands.some((one) => one.startsWith("sprag history fsck")));
  assert.deepEqual(said, []);
  await context.close();
});
