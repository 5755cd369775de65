// On the page for missing pages: the root of the site, which is above the folder of its pages, and a link to it. A link to a
// series that no longer has a page of its own leads to the viewer. A folder that is none of ours is taken for the root.
"use strict";

const parts = location.pathname.split("/");
const folder = parts.findLastIndex((part) => /^(about|chart|commits|compare|data|events|gpu|list|machines|matrix|releases?|runs|series|week)$/.test(part));
const root = `${parts.slice(0, folder).join("/")}/`, ways = document.getElementById("ways");
if (ways) {
  const link = document.createElement("a");
  link.href = `${root}index.html`;
  link.textContent = "digest";
  ways.replaceChildren("Go to the ", link, ".");
}
const [, id] = parts.at(folder) === "series" ? /^([^/]+)\.html$/.exec(parts.slice(folder + 1).join("/")) ?? [] : [];
if ("viewer" in document.body.dataset ? id : "") location.replace(`${root}series/view.html#${id}`);
