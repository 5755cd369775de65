// The site under test: its folder, its pages, and a browser to open them in.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** The folder of a rendered site, from the variable SPRAG_SITE. */
export const folder = path.resolve(process.env.SPRAG_SITE ?? "");
if (!process.env.SPRAG_SITE || !existsSync(path.join(folder, "index.html"))) {
  throw new Error(`SPRAG_SITE must name the folder of a rendered site, and \`${folder}\` has no index.html`);
}

/** Whether what is the same for many pages is looked at on each of them. */
export const thorough = Boolean(process.env.SPRAG_THOROUGH);

/** All files below a folder, as paths with `/`, in order. */
function walk(base, below = "") {
  return readdirSync(path.join(base, below), { withFileTypes: true })
    .flatMap((entry) => {
      const name = below ? `${below}/${entry.name}` : entry.name;
      return entry.isDirectory() ? walk(base, name) : [name];
    })
    .sort();
}

export const files = walk(folder);
export const pages = files.filter((file) => file.endsWith(".html"));

/** What kind of page that is: the folder that it lies in, and whether it is the list of it; files of the root by name. */
function kind(page) {
  const [first, rest] = page.split("/");
  return rest === undefined ? first : `${first}/${rest === "index.html" ? "index" : "one"}`;
}

/** The largest and the smallest page of each kind. */
export function samples() {
  const kinds = Map.groupBy
    ? Map.groupBy(pages, kind)
    : pages.reduce((map, page) => map.set(kind(page), [...(map.get(kind(page)) ?? []), page]), new Map());
  const size = (page) => statSync(path.join(folder, page)).size;
  return [...kinds.values()].flatMap((all) => {
    const sorted = [...all].sort((a, b) => size(a) - size(b) || (a < b ? -1 : 1));
    return sorted.length > 1 ? [sorted.at(-1), sorted[0]] : sorted;
  });
}

export const url = (page) => pathToFileURL(path.join(folder, page)).href;

export async function browser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export const text = (page) => readFileSync(path.join(folder, page), "utf8");

/** The data that the page of a series holds for its chart. */
export const trendOf = (page) => JSON.parse(text(page).match(/<script type="application\/json">(.*?)<\/script>/s)[1]);
export const runs = ({ medians: [, packed] }) => packed.match(/[A-Za-f]/g).length - 1;

/** The series with the most runs. */
export const longest = () => pages.filter((page) => page.startsWith("series/") && text(page).includes("application/json"))
  .reduce((best, page) => (runs(trendOf(page)) > runs(trendOf(best)) ? page : best));

/** A page in a tab of its own, with what its console says. */
export async function openIn(chromium, page, options = {}) {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const tab = await context.newPage();
  const said = [];
  tab.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => said.push(`error: ${error.message}`));
  const [, path, more] = page.match(/^([^?#]*)(.*)$/);
  await tab.goto(url(path) + more);
  return { context, tab, said };
}
