// What the pages of the demonstration tell: events first and in one line each, sentences as titles, and no page against another.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { browser, files, openIn, pages, text } from "./site.mjs";

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

test("the digest shows its events, its grid and its seven ways within 1,500 px", async () => {
  const { height, ways, lines } = await on("index.html", () => ({
    height: document.documentElement.scrollHeight,
    ways: document.querySelectorAll("header nav a").length,
    lines: [...document.querySelectorAll("#events ~ section tbody tr")].slice(0, 5).map((row) => row.offsetHeight),
  }));
  assert.ok(height <= 1500, `${height} px`);
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
    const sizes = (all) => all.flatMap((html) => html.match(/<tr[^>]*>.*?<\/tr>/gs) ?? []).filter((row) => row.includes(`${id}.html`))
      .map((row) => row.match(/<td[^>]*push[^>]*>.*?<\/td>/s)?.[0].match(size)?.[0]).filter(Boolean);
    const [listed, own] = [sizes([digest, list]), sizes(series.map(text))];
    assert.ok(listed.length >= 2 && own.length >= 1 && new Set(listed).size === 1, `${id}: ${listed}; ${own}`);
    // A drift of several series is listed by the size of the first; the page of each has its own, as that of the event.
    assert.ok(own.includes(listed[0]) && own.every((one) => text(page).includes(one)), `${id}: ${listed}; ${own}`);
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

test("ten sizes of a matrix fit the window", async () => {
  const { context, tab } = await openIn(chromium, pages.find((page) => page.startsWith("matrix/")));
  const [inside, all] = await tab.locator(".heatbox").first().evaluate((box) => {
    for (const row of box.querySelectorAll("tr")) while (row.cells.length < 11) row.append(row.cells[row.cells.length - 1].cloneNode(true));
    return [box.clientWidth, box.scrollWidth];
  });
  assert.ok(all <= inside, `${all} of ${inside}`);
  await context.close();
});

test("pages have an icon, what other sites show of them, and feeds that name themselves", () => {
  for (const page of ["index.html", events[0], series[0]]) {
    const head = text(page).split("</head>")[0];
    for (const part of ['rel="icon"', 'property="og:title"', 'property="og:description"', 'property="og:type"']) assert.ok(head.includes(part), `${page}: ${part}`);
  }
  assert.match(text("events/feed.atom"), /<link rel="self"/);
  assert.match(text("events/feed.atom"), /<id>[^<]*e-[0-9a-f]+/);
  // Crawlers ignore a picture of a relative address: without \`[site] url\` there is none.
  const [, url] = text("404.html").match(/href="(https?:[^"]*\/)index.html"/) ?? [];
  assert.equal(text("index.html").match(/property="og:image" content="([^"]*)"/)?.[1], url && `${url}card.svg`);
  assert.equal(files.includes("card.svg"), Boolean(url));
});

test("the page for missing pages leads to the digest from every folder of the site, and to the viewer", async () => {
  const root = "/a/kernels/", isSite = (name) => files.includes(name), missing = text("404.html"), viewed = missing.replace("<body", "<body data-viewer");
  if (/href="https?:/.test(missing)) return;
  const server = createServer((asked, answer) => {
    const name = asked.url.slice(root.length).split("?")[0], isThere = asked.url.startsWith(root) && isSite(name);
    answer.writeHead(isThere ? 200 : 404, { "content-type": name.endsWith(".css") ? "text/css" : "text/html" });
    answer.end(isThere ? text(name) : asked.url.includes("lost") ? viewed : missing);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const at = (path) => `http://127.0.0.1:${server.address().port}${root}${path}`;
  const folders = [...new Set(files.map((file) => path.dirname(file)))].map((folder) => (folder === "." ? "gone.html" : `${folder}/gone.html`));
  assert.ok(folders.includes("data/records/gone.html") || !isSite("release"));
  const context = await chromium.newContext(), tab = await context.newPage(), said = [];
  tab.on("console", (message) => said.push(message.text()));
  for (const one of [...folders, "series/lost.html/more"]) {
    await tab.goto(at(one));
    assert.equal(await tab.locator("main a").evaluate((link) => link.href), at("index.html"), one);
  }
  await tab.goto(at("events/gone.html"));
  await tab.locator("main a").click();
  await tab.waitForSelector("header.top");
  await tab.goto(at("series/lost-1.html"));
  await tab.waitForURL(at("series/view.html#lost-1"), { waitUntil: "commit" });
  assert.deepEqual(said.filter((words) => !/404/.test(words)), []);
  await context.close();
  const plain = await chromium.newContext({ javaScriptEnabled: false }), without = await plain.newPage();
  for (const [one, which] of [["events/gone.html", 0], ["gone.html", 1], ["data/records/gone.html", 2]]) {
    await without.goto(at(one));
    assert.equal(await without.locator("main a").nth(which).evaluate((link) => link.href), at("index.html"), one);
  }
  await plain.close();
  server.close();
});

test("the label at the pointer is next to its run, and an overlay is named in the key", async () => {
  const page = series.find((one) => text(one).includes("name=\"over\"") && text(one).includes("data-values"));
  const { context, tab, said } = await openIn(chromium, page);
  const near = async () => {
    await tab.locator("svg[data-points]:visible").hover({ position: { x: 400, y: 60 } });
    return tab.evaluate(() => {
      const svg = document.querySelector("svg[data-points]"), label = svg.querySelector(".pointer"), at = Number(svg.querySelector(".cross").getAttribute("d").match(/^M([\d.]+)/)[1]);
      let [x, y] = [0, 0], best = [Infinity, 0];
      // The path of the dots, in steps from one to the next or in places.
      for (const [, kind, dx, dy] of svg.querySelector("path.dots").getAttribute("d").matchAll(/([Mm])(-?[\d.]+) ?(-?[\d.]+)h0/g)) {
        [x, y] = kind === "M" ? [Number(dx), Number(dy)] : [x + Number(dx), y + Number(dy)];
        if (Math.abs(x - at) < best[0]) best = [Math.abs(x - at), y];
      }
      return Math.abs(Number(label.getAttribute("y")) - best[1]);
    });
  };
  assert.ok((await near()) <= 26, `${await near()} units from its run`);
  // It lies over no other words and no fitted level, wherever the pointer is, and goes with it.
  const svg = tab.locator("svg[data-points]:visible"), { width } = await svg.boundingBox();
  for (let x = 70; x < width - 90; x += 45) {
    await svg.hover({ position: { x, y: 150 } });
    const over = await svg.evaluate((one) => {
      const box = one.querySelector(".pointer").getBBox();
      const isOver = (other) => other.x < box.x + box.width && other.x + other.width > box.x && other.y < box.y + box.height - 3 && other.y + other.height > box.y + 3;
      return [...one.querySelectorAll("text:not(.pointer), .level")].filter((other) => isOver(other.getBBox())).map((other) => other.textContent || other.getAttribute("d"));
    });
    assert.deepEqual(over, [], `at ${x}`);
  }
  await tab.mouse.move(5, 5);
  assert.equal(await svg.locator(".pointer").textContent(), "", "the pointer left");
  assert.equal(await svg.locator(".cross[d]").count(), 0);
  await svg.focus();
  assert.notEqual(await svg.locator(".pointer").textContent(), "");
  await svg.blur();
  assert.equal(await svg.locator(".pointer").textContent(), "", "the focus left");
  await tab.locator("select[name=over]").selectOption({ index: 1 });
  const name = await tab.locator("select[name=over] option:checked").textContent();
  await tab.locator(".key li", { hasText: name }).waitFor();
  assert.ok((await near()) <= 26, "in a drawn view, too");
  await tab.locator("select[name=over]").selectOption({ index: 0 });
  await tab.waitForFunction((name) => ![...document.querySelectorAll(".key li")].some((one) => one.textContent === name), name);
  assert.deepEqual(said, []);
  await context.close();
});

test("an interval that is cut off has a mark on the edge, and the key explains it", () => {
  const drawn = series.map(text).filter((html) => html.includes("<path class=\"cut\" d=\"M") && html.includes("data-points"));
  for (const html of series.map(text)) assert.equal(html.includes("goes on beyond the scale"), html.split("<ul class=\"key\">")[0].includes("class=\"cut\""));
  assert.ok(drawn.length > 0, "some interval is wide");
});

test("nothing covers the chart, its text can be read on a phone, and the age is said at the top", async () => {
  const phone = { viewport: { width: 390, height: 844 } };
  for (const javaScriptEnabled of [true, false]) {
    const page = pages.find((one) => one.startsWith("chart/"));
    const size = await on(page, `(() => { const svg = document.querySelector("svg[data-points]"); return 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width; })()`, { ...phone, javaScriptEnabled: true });
    assert.ok(size >= 11, `${size} px`);
    const { context, tab } = await openIn(chromium, page, { ...phone, javaScriptEnabled });
    const [scale, newest] = await Promise.all(["svg.scale", "svg[data-points] text:has-text('now')"].map((one) => tab.locator(one).first().boundingBox()));
    assert.ok(scale.x >= 0 && newest.x > 0 && newest.x + newest.width <= 390, "the axis and the newest end are in view");
    await context.close();
  }
  const event = pages.find((one) => one.startsWith("events/e-"));
  for (const [page, width] of [[series[0], 390], [series[0], 1280], [event, 1280]]) {
    const { covered, wide, late, stops } = await on(page, () => ({
      covered: [...document.querySelectorAll("body *")].filter((one) => getComputedStyle(one).position === "fixed" && one.getClientRects().length).length,
      wide: document.documentElement.scrollWidth,
      late: document.querySelector(".asof").innerText,
      stops: [...document.querySelectorAll("section[tabindex]")].filter((one) => one.scrollWidth <= one.clientWidth).length,
    }), { viewport: { width, height: 844 } });
    assert.deepEqual([covered, stops], [0, 0]);
    assert.ok(wide <= width, `${wide} px`);
    assert.match(late, /^Stale, [\d\u202f]+ days? old\. As of/);
  }
});

test("a matrix scrolls under its first column, and no page of a phone is wider than the window", async () => {
  for (const page of pages.filter((one) => one.startsWith("matrix/"))) {
    const { wide, fixed } = await on(page, () => ({
      wide: document.documentElement.scrollWidth,
      fixed: [...document.querySelectorAll(".heat tr > :first-child")].every((one) => getComputedStyle(one).position === "sticky"),
    }), { viewport: { width: 390, height: 844 } });
    assert.ok(wide <= 390 && fixed, `${page}: ${wide} px`);
  }
});

test("a word in a cell is not broken", async () => {
  const broken = () => [...document.querySelectorAll("td, th")].flatMap((cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), words = [];
    for (let one = texts.nextNode(); one; one = texts.nextNode()) {
      for (const word of one.textContent.matchAll(/[\p{L}\p{N}_.]{2,28}/gu)) {
        const range = document.createRange();
        range.setStart(one, word.index);
        range.setEnd(one, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) words.push(word[0]);
      }
    }
    return words;
  });
  for (const width of [1280, 390]) {
    for (const page of ["index.html", "series/index.html", "events/index.html", "matrix/cpu.html", events[0], series[0]]) {
      assert.deepEqual(await on(page, broken, { viewport: { width, height: 844 } }), [], `${page} at ${width} px`);
    }
  }
});

test("titles end without a full stop, events of the digest name their suite, and each machine has a picture of its noise", () => {
  for (const page of pages.filter((one) => /<h1>/.test(text(one)))) assert.ok(!/\.<\/h1>/.test(text(page)), page);
  const rows = text("index.html").split("id=\"events\"")[1].split("</table>")[0].match(/<tr[^>]*><th scope="row"|<td class="full">.*?<\/td>|<th scope="row" class="full">.*?<\/th>/gs);
  const named = rows.filter((row) => row.includes("e-"));
  assert.ok(named.length > 0 && named.every((row) => / in (cpu|gpu) on /.test(row)), named.join("\n"));
  for (const page of pages.filter((one) => /^machines\/[0-9a-f]/.test(one))) assert.match(text(page), /id="calibration".*<svg/s, page);
  const release = pages.find((one) => one.startsWith("release/"));
  assert.ok(text(release).split("id=\"verify\"")[1].split("</section>")[0].match(/<pre>/g).length >= 3, "commands to copy");
  assert.match(text("404.html"), /<a href="[^"]*index\.html">/);
});
