// What validators say of the files: HTML by two of them, SVG and feeds as XML, JSON, and all links with their fragments.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { HtmlValidate } from "html-validate";
import { LinkChecker } from "linkinator";
import vnu from "vnu-jar";
import { files, folder, pages, samples } from "./site.mjs";

const at = (file) => path.join(folder, file);

test("html-validate has no word against any page", async () => {
  const validator = new HtmlValidate({
    extends: ["html-validate:recommended"],
    rules: { "long-title": "off", "no-inline-style": "error", "no-trailing-whitespace": "off", "void-style": "off" },
  });
  const faults = [];
  for (const page of pages) {
    const report = await validator.validateString(readFileSync(at(page), "utf8"), at(page));
    for (const result of report.results) {
      for (const one of result.messages) faults.push(`${page}:${one.line}: ${one.ruleId}: ${one.message}`);
    }
  }
  assert.deepEqual(faults.slice(0, 20), []);
});

test("the validator of the W3C has no word against a page of each kind, the style sheet and the icon", () => {
  const chosen = [...samples(), ...files.filter((file) => /\.(css|svg)$/.test(file))].map(at);
  // It does not know that property, which halos the labels of charts.
  const known = ["--filterpattern", ".*paint-order.*"];
  const options = ["--also-check-css", "--also-check-svg", "--errors-only", "--stdout", ...known];
  const check = spawnSync("java", ["-jar", vnu, ...options, ...chosen]);
  assert.equal(check.error, undefined);
  assert.equal(check.stdout.toString() + check.stderr.toString(), "");
  assert.equal(check.status, 0);
});

test("feeds, site map and pictures are XML, and JSON is JSON", () => {
  const xml = files.filter((file) => /\.(svg|atom|xml)$/.test(file));
  assert.ok(xml.length > 0);
  execFileSync("xmllint", ["--noout", "--nonet", ...xml.map(at)], { stdio: "pipe" });
  for (const file of files.filter((name) => name.endsWith(".json"))) JSON.parse(readFileSync(at(file), "utf8"));
});

test("every link leads somewhere, with its fragment", async () => {
  const checker = new LinkChecker();
  const result = await checker.check({ path: folder, recurse: true, checkFragments: true, concurrency: 20, linksToSkip: ["^https?://(?!localhost)"] });
  const broken = result.links.filter((link) => link.state === "BROKEN").map((link) => `${link.parent}: ${link.url} ${link.status}`);
  assert.deepEqual(broken.slice(0, 20), []);
  assert.ok(result.links.length > pages.length);
});
