// On the page for missing pages: a link to a series that no longer has a page of its own leads to the viewer.
"use strict";

const [, id] = /\/series\/([^/]+)\.html$/.exec(location.pathname) ?? [];
if (id) location.replace(new URL(`series/view.html#${id}`, document.currentScript.src));
