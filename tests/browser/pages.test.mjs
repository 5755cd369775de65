// Every kind of page in a browser, from its folder, in both themes and widths: nothing that speaks against accessibility (a theme at
// each width, unless SPRAG_THOROUGH is set), no message of the console, no request to the outside, nothing wider than the window;
// complete without script; by keyboard.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import AxeBuilder from "@axe-core/playwright";
import { browser, files, longest, samples, text, thorough, url } from "./site.mjs";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const WIDTHS = [320, 390, 640, 900, 1280];
let chromium;

before(async () => (chromium = await browser()));
after(async () => chromium?.close());

/** Opens a page and returns it with what it complained of and what it asked for. */
async function open(page, options) {
  const context = await chromium.newContext(options);
  const tab = await context.newPage();
  const said = [];
  tab.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => said.push(`error: ${error.message}`));
  tab.on("request", (request) => {
    if (!/^(file|data|about):/.test(request.url())) said.push(`request: ${request.url()}`);
  });
  tab.on("requestfailed", (request) => said.push(`failed: ${request.url()}`));
  await tab.goto(url(page));
  return { context, tab, said };
}

for (const page of samples()) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      test(`${page}, ${colorScheme}, ${width} px`, async () => {
        const { context, tab, said } = await open(page, { colorScheme, viewport: { width, height: 900 } });
        assert.deepEqual(said, []);
        if (!thorough && (colorScheme === "light") !== (width === 1280)) return context.close();
        const found = await new AxeBuilder({ page: tab }).withTags(RULES).options({ preload: false }).analyze();
        const faults = found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes[0].html.slice(0, 200)}`);
        assert.deepEqual(faults, []);
        assert.ok(found.passes.length > 10, "axe looked at something");
        await context.close();
      });
    }
  }

  test(`${page} is no wider than the window, and has what a reader needs without script`, async () => {
    const { context, tab, said } = await open(page, { javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    assert.equal(await tab.locator("h1").count(), 1);
    assert.ok((await tab.locator("main").innerText()).trim().length > 20);
    const { root, viewport } = { root: tab.locator("html"), viewport: tab };
    for (const width of WIDTHS) {
      await viewport.setViewportSize({ width, height: 900 });
      const box = await root.boundingBox();
      const body = await tab.locator("body").boundingBox();
      assert.ok(Math.max(box.width, body.width) <= width, `${Math.max(box.width, body.width)} px wide at ${width} px`);
    }
    assert.deepEqual(said, []);
    await context.close();
  });
}

test("the first key leads past the navigation, and what has the focus is seen", async () => {
  const { context, tab } = await open("index.html", { viewport: { width: 1280, height: 900 } });
  await tab.keyboard.press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement.className), "skip");
  await tab.keyboard.press("Enter");
  await tab.waitForFunction(() => location.hash === "#main"); // The key returns before the page has followed the link.
  const seen = new Set();
  for (let press = 0; press < 40; press += 1) {
    await tab.keyboard.press("Tab");
    const focus = await tab.evaluate(() => {
      const box = document.activeElement.getBoundingClientRect();
      const style = getComputedStyle(document.activeElement);
      return { name: document.activeElement.outerHTML.slice(0, 80), wide: box.width, outline: style.outlineStyle };
    });
    assert.ok(focus.wide > 0 && focus.outline !== "none", `${focus.name} has the focus, and nothing shows it`);
    seen.add(focus.name);
  }
  assert.ok(seen.size > 10, "the keyboard reaches more than a few things");
  await context.close();
});

// Compressed kilobytes of a page with all that it loads, as a server sends them, and six files; nothing in view moves.
const viewed = files.find((file) => /^data\/rest-\d+\.js$/.test(file) && /"series":\{"/.test(text(file)));
const firsts = [...samples().filter((page) => !/^(series\/.*-|404)/.test(page)).map((page) => [page, 60]), [longest(), 40],
  ...(viewed ? [[`series/view.html#${text(viewed).match(/"series":\{"([^"]+)"/)[1]}`, 60]] : [])];
for (const [page, most] of firsts) {
  test(`${page} weighs little, and nothing in view moves`, async () => {
    for (const width of page === "events/index.html" ? [1280, 412, 390] : [1280, 390]) {
      const context = await chromium.newContext({ viewport: { width, height: 900 } }), tab = await context.newPage(), asked = new Set();
      tab.on("request", (request) => asked.add(request.url()));
      await tab.addInitScript(() => {
        window.moved = 0;
        const add = (list) => list.getEntries().forEach((entry) => { window.moved += entry.value; });
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
      });
      await tab.goto(url(page.split("#")[0]) + page.replace(/^[^#]*/, ""));
      if (page === "compare/index.html") await tab.waitForSelector("#result h2, #compare[data-later]:not([hidden])");
      if (page.includes("#")) await tab.waitForSelector("svg[data-points] path.dots");
      await tab.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
      const { elements, moved } = await tab.evaluate(() => ({ elements: document.querySelectorAll("*").length, moved: window.moved }));
      const bytes = [...asked].reduce((sum, one) => sum + gzipSync(readFileSync(fileURLToPath(one.split(/[?#]/)[0]))).length, 0);
      assert.ok(bytes <= most * 1024 && asked.size <= 6, `${bytes} bytes in ${asked.size} files`);
      assert.ok(elements <= 6000 && moved <= 0.02, `${elements} elements, moved by ${moved}`);
      await context.close();
    }
  });
}
