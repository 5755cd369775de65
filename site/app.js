// Only adds: every page is complete without it. It fetches nothing, and shows text of others as text.
"use strict";

// ---- Figures, as src/report/number.rs and src/model/unit.rs set them.

const NARROW = "\u202f", NONE = "–";
const UNITS = {
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  B: [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"], [1, "B"]],
  "1/s": [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "1/s"]],
  "1": [[1, ""]],
};

// A number that lies halfway goes to the even digit.
const even = (short, long, decimals) => {
  const [digits, power = ""] = long.split("e");
  const end = digits.indexOf(".") + 1 + decimals;
  const head = digits.slice(0, decimals ? end : end - 1);
  return /^50*$/.test(digits.slice(end)) && "02468".includes(head.at(-1)) ? head + (power && "e" + power) : short;
};
const fixed = (x, decimals) => {
  const short = x.toFixed(decimals);
  return Number.isInteger(x * 10 ** decimals * 2) ? even(short, x.toFixed(decimals + 30), decimals) : short;
};
const power = (x, digits = 3) => even(x.toExponential(digits), x.toExponential(digits + 30), digits).replace("e+", "e");
const thousands = (digits) => digits.replace(/^\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, NARROW));
const isZero = (digits) => /^[0.]*$/.test(digits);
const typeset = (x, plain) => (x < 0 && !isZero(plain) ? "\u2212" : "") + thousands(plain);

const count = (n) => thousands(String(n));
const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
const scaleOf = (unit, typical) => UNITS[unit].find(([factor]) => Math.abs(typical) >= factor) ?? UNITS[unit].at(-1);
const value = ([factor], x) => {
  const shown = x / factor, size = Math.abs(shown);
  if (!Number.isFinite(shown)) return NONE;
  if (shown === 0) return "0";
  const magnitude = Math.floor(Math.log10(size));
  const plain = size >= 1e-6 && size < 1e9 && magnitude >= -4 && magnitude < 7;
  return typeset(shown, plain ? fixed(size, Math.min(12, Math.max(0, 3 - magnitude))) : power(size));
};
const quantity = (scale, x) => value(scale, x) + (scale[1] && NARROW + scale[1]);
// From a thousand percent on a change is a factor.
const asFactor = (change) => {
  const factor = 1 + change;
  if (change < 9.995) return "";
  return `x${factor < 1e6 ? fixed(factor, factor < 99.95 ? 1 : 0) : factor.toExponential(1).replace("+", "")}`;
};
const signed = (change) => {
  if (asFactor(change)) return asFactor(change);
  const percent = change * 100, size = Math.abs(percent);
  const digits = thousands(fixed(size, 1));
  return isZero(digits) ? digits : (percent < 0 ? "\u2212" : "+") + digits;
};
const percent = (change) => (Number.isFinite(change) ? signed(change) + (asFactor(change) ? "" : NARROW + "%") : NONE);

// Texts in the order of their code points, as Rust has it.
const byText = (a, b) => {
  const [x, y] = [[...a], [...b]];
  const place = x.findIndex((c, i) => c !== y[i]);
  return place < 0 ? x.length - y.length : place >= y.length ? 1 : x[place].codePointAt(0) - y[place].codePointAt(0);
};

// Text that a spreadsheet would take for a formula gets a quote before it, as src/formats/table_csv.rs has it.
const field = (text) => {
  const safe = /^([\t\r]|[\s\x85]*[=+\-@\uff1d\uff0b\uff0d\uff20])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

// ---- What the files of data/ call, and the values in them.

// Integers as src/report/compare/rounding.rs packs them: their middle, and how far each is from it.
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const numbersOf = (text) => {
  const all = [];
  let sum = 0, power = 1;
  for (const one of text) {
    const digit = BASE64.indexOf(one);
    if (digit >= 0) sum += (digit % 32) * power;
    power *= 32;
    if (digit >= 32) continue;
    all.push(digit < 0 ? null : (sum - sum % 2) / (sum % 2 ? -2 : 2));
    [sum, power] = [0, 1];
  }
  const [middle, ...others] = all;
  return others.map((one) => (one === null ? null : middle + one));
};

const sprag = {
  data: { commits: [], tagged: [], environments: {}, chunk: 50, series: [], chunks: new Map(), list: [], search: [] },
  commits(read) { Object.assign(this.data, read); },
  series(read) { this.data.series = read; },
  chunk(read) {
    for (const { series } of read.groups) for (const id of Object.keys(series)) series[id] = series[id].map((one) => (typeof one === "string" ? numbersOf(one) : one));
    this.data.chunks.set(read.number, read);
  },
  list(read) { this.data.list = read; },
  search(read) { this.data.search = read; },
};

// ---- The page. What follows needs one.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
  made.append(...children);
  return made;
};

// What a reader chose is in the address, so that it can be passed on.
const address = {
  get: (name) => new URL(location.href).searchParams.get(name) ?? "",
  set(name, text) {
    const url = new URL(location.href);
    if (text) url.searchParams.set(name, text); else url.searchParams.delete(name);
    try { history.replaceState(null, "", url); } catch { /* A page from a folder may not; the choice holds all the same. */ }
  },
};

// The root of the site, from any of its pages.
const ROOT = typeof document === "undefined" ? "" : document.currentScript.src.replace(/(app|compare)\.js$/, "");

// A file of data/, which calls one of the functions above.
const load = (name) => new Promise((resolve, reject) => {
  const script = element("script", { src: `${ROOT}data/${name}` });
  script.onload = resolve;
  script.onerror = () => reject(new Error(`data/${name} did not load`));
  document.head.append(script);
});

// A text or a picture as a file that the reader keeps.
const save = (text, type, name) => {
  const file = text instanceof Blob ? text : new Blob([text], { type: `${type};charset=utf-8` });
  const link = element("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

function showStale() {
  const { newest, everyDays } = document.body.dataset, age = (Date.now() - Date.parse(newest)) / 864e5;
  if (!(age > Number(everyDays) + 1)) return;
  const title = `The newest run is ${count(Math.floor(age))} days old; one is due every ${counted(Number(everyDays), "day", "days")}.`;
  document.querySelector(".asof")?.prepend(element("b", { class: "late doubt", title }, `Stale, ${count(Math.floor(age))} days old. `));
}

// ---- Tables: what they show is drawn from rows that are kept in their order, shown or not. Of a list of several pages a row is made
// of its data when it is first shown.

const elementOf = (row) => (row.make ? row.made ??= row.make() : row);
const textAt = (row, column) => (row.make ? row.words(column) : row.cells[column]?.textContent.trim() ?? "");

const models = new Map();
const modelOf = (table) => {
  const made = models.get(table) ?? { table, flat: null, fits: () => true, groups: [...table.tBodies].map((body) => {
    const all = [...body.rows], head = all.find((row) => row.querySelector("th[colspan]")), rows = all.filter((row) => row !== head);
    return { body, head, rows, printed: rows, size: head?.querySelector(".q") };
  }) };
  made.redraw ??= () => draw(made, Infinity);
  models.set(table, made);
  return made;
};
const rowsOfModel = ({ groups }) => groups.flatMap(({ rows }) => rows);

// Shows at most so many of the rows that fit, and returns how many fit.
const draw = ({ table, flat, fits, groups, isElsewhere }, most) => {
  let found = 0;
  if (isElsewhere) {
    for (const { body } of groups) body.hidden = true;
    return found;
  }
  for (const { body } of flat ? groups : []) body.remove();
  for (const { body, head, rows, size } of flat ? [flat] : groups) {
    const fitting = rows.filter(fits), shown = fitting.slice(0, Math.max(0, most - found)), all = count(rows.length);
    found += fitting.length;
    body.replaceChildren(...(head ? [head] : []), ...shown.map(elementOf));
    body.hidden = !shown.length;
    // A group whose heading counts more than it lists keeps that count.
    if (size && [`(${all})`, size.dataset.seen].includes(size.textContent)) {
      size.textContent = size.dataset.seen = fitting.length === rows.length ? `(${all})` : `(${count(fitting.length)} of ${all})`;
    }
    if (body.parentNode !== table) table.append(body);
  }
  table.classList.toggle("flat", Boolean(flat));
  return found;
};

// The words of a cell without its glyph, reason and interval.
const wordsOf = (cell) => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("i, .why, .ci").forEach((one) => one.remove());
  return copy.textContent.trim();
};

// What a filter takes a row for: it says so, or its cell, or its section does.
const KINDS = ["suite", "machine", "change", "verdict"];
const facetsOf = ({ table, groups }) => {
  const heads = [...table.querySelectorAll("thead th")], place = (name) => heads.findIndex((head) => head.dataset.by === name);
  const places = KINDS.map(place), sizes = heads.flatMap((head, i) => (head.dataset.by === "size" ? [i] : [])), section = table.closest("section:not(.scroll)")?.querySelector("h2")?.textContent ?? "";
  return groups.flatMap(({ head, rows }) => rows.map((row) => {
    const plain = (column) => (row.make ? row.words(column) : wordsOf(row.cells[column]));
    const names = KINDS.map((name, i) => row.dataset[name] ?? (places[i] >= 0 ? plain(places[i]) : name === "suite" ? section : ""));
    const size = Math.max(...sizes.map((column) => Math.abs(numberOf(plain(column)) ?? 0))), text = [row.make ? row.words() : row.textContent, head?.textContent ?? ""];
    return [row, { ...Object.fromEntries(KINDS.map((name, i) => [name, names[i].split(/, | and /)])), size, text: [...text, ...names].join(" ").toLowerCase() }];
  }));
};

// Filters over the rows of some tables, which show at most so many at once.
function makeFilter(box, tables, atOnce = Infinity) {
  const fields = [...box.querySelectorAll("[name]")], output = box.querySelector("output"), all = tables.map(modelOf);
  const facets = new Map(all.flatMap(facetsOf)), rows = [...facets.keys()], more = element("button", { type: "button", class: "more" }, "Show more");
  let most = atOnce;
  const show = () => {
    const value = (name) => fields.find((one) => one.name === name)?.value ?? "", least = Number(value("size"));
    const words = value("find").toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row) => {
      const of = facets.get(row);
      return KINDS.every((name) => !value(name) || of[name].includes(value(name))) && (!least || of.size >= least) && words.every((word) => of.text.includes(word));
    };
    let found = 0;
    for (const one of all) {
      one.fits = fits;
      const fitting = draw(one, most - found);
      found += fitting;
      if (all.length > 1) one.table.closest("section:not(.scroll)").hidden = !fitting || [...one.table.tBodies].every((body) => body.hidden);
    }
    more.hidden = found <= most;
    const shown = Math.min(found, most);
    output.textContent = shown === rows.length ? "" : `${count(shown)} of ${counted(rows.length, "row", "rows")}${shown < found ? `; ${count(found)} match` : ""}`;
  };
  const heads = all.map(({ table }) => [...table.querySelectorAll("thead th")].map((head) => head.textContent).join());
  all.forEach((one, i) => { [one.redraw, one.peers] = [show, all.filter((_, other) => heads[other] === heads[i])]; });
  for (const field of fields) {
    if (field.options?.length === 1) {
      const names = [...new Set(rows.flatMap((row) => facets.get(row)[field.name]))].filter(Boolean).sort(byText);
      field.append(...names.map((text) => element("option", {}, text)));
      field.closest("label").hidden = names.length < 2;
    }
    field.value = address.get(field.name);
    if (field.selectedIndex === -1) field.value = "";
    field.oninput = () => { most = atOnce; address.set(field.name, field.value); show(); };
  }
  more.onclick = () => { most += atOnce; show(); };
  if (atOnce < Infinity) (tables.at(-1).closest("section:not(.scroll)") ?? tables.at(-1).parentNode).after(more);
  box.hidden = false;
  show();
}

// A page of the site; what is only a fragment is a series without a page of its own.
const hrefOf = (path) => ROOT + (path.startsWith("#") ? `series/view.html${path}` : path);

// The words of a cell without its note, and those of a part of a sentence.
const plainOf = ([words]) => words.map((part) => (typeof part === "string" ? part : part[0] === "svg" ? "" : part[1])).join("");

// The parts of a sentence, as src/report/pages/list.rs writes them.
const partOf = (part) => {
  if (typeof part === "string") return part;
  const [kind, words, more] = part;
  if (kind === "b") return element("b", {}, words);
  if (kind === "id") return element("span", { class: "id" }, words);
  // A picture without words of others but its label; the policy of the page runs no script in it.
  if (kind === "svg") return new DOMParser().parseFromString(words, "text/html").body.firstChild ?? "";
  if (kind === "outside") return element("a", { href: more, rel: "noreferrer" }, words);
  if (kind === "a" || kind === "name") return element("a", { ...(kind === "name" && { class: "id" }), href: hrefOf(more) }, words);
  return element("span", { class: kind }, ...(more ? [element("i", { "aria-hidden": "true" }, more)] : []), words);
};

// The rows that a page shows of a list of several pages at once.
const AT_ONCE_OF_LIST = 150;

// The rows of all pages of a list, in place of those of this page, whose table they are like.
function drawList(box) {
  const tables = [...document.querySelectorAll("main table")].filter(isFiltered), [pattern] = tables, [{ cells }] = rowsOfModel(modelOf(pattern));
  const head = element("tr", {}, ...[...pattern.tHead.rows[0].cells].map((cell) => {
    const made = cell.cloneNode();
    made.removeAttribute("aria-sort");
    made.append(cell.textContent);
    return made;
  }));
  const make = ([list, facets, isTinted], { of }) => {
    const made = element("tr", isTinted ? { class: "now" } : {}, ...list.map(([words, note], i) => {
      const cell = cells[i].cloneNode();
      cell.append(...words.map(partOf), ...(note ? [" ", element("span", { class: "q why" }, ...note.map(partOf))] : []));
      return cell;
    }));
    Object.assign(made.dataset, facets);
    if (of) made.cells[0].append(element("span", { class: "q why of-group" }, of));
    return made;
  };
  const row = (data) => ({
    dataset: data[1],
    words: (column) => (column === undefined ? data[0].map((cell) => cell.map((words) => plainOf([words])).join(" ")).join(" ") : plainOf(data[0][column])),
    make() { return make(data, this); },
  });
  const group = ([heading, size]) => element("tbody", heading ? { class: "group" } : {}, ...(heading
    ? [element("tr", {}, element("th", { scope: "rowgroup", colspan: String(cells.length) }, `${heading} `, element("span", { class: "q" }, `(${size})`)))] : []));
  const sections = sprag.data.list.map(([heading, caption, groups], i) => element("section", { "aria-labelledby": `list-${i}` },
    element("h2", { id: `list-${i}` }, heading), element("section", { class: "scroll", "aria-label": `${caption}, table` },
      element("table", { class: pattern.className }, element("caption", { class: "sr" }, caption), element("thead", {}, head.cloneNode(true)), ...groups.map(group)))));
  const drawn = sections.map((section) => section.querySelector("table"));
  // The rows are not in the page yet, so that a hundred thousand cost no elements.
  drawn.forEach((table, i) => modelOf(table).groups.forEach((one, place) => { one.rows = one.printed = sprag.data.list[i][2][place][2].map(row); }));
  const printed = [...tables.map((table) => table.closest("section:not(.scroll)")), document.querySelector(".pages")?.parentNode].filter(Boolean);
  printed[0].before(...sections);
  printed.forEach((one) => one.remove());
  makeFilter(box, drawn, AT_ONCE_OF_LIST);
  drawn.forEach((table, place) => makeSortable(table, place));
  makeStops(sections.map((section) => section.querySelector(".scroll")));
}

// Loads the rows of a list of several pages once they are asked for, by the page or its address.
function makeList(box, tables) {
  let asked = null;
  const ask = () => (asked ??= load(box.dataset.rows).then(() => drawList(box)).catch((error) => { box.querySelector("output").textContent = error.message; }));
  box.hidden = false;
  box.addEventListener("focusin", ask, { once: true });
  // What is chosen until the rows are there holds for them.
  box.addEventListener("input", ({ target }) => { address.set(target.name, target.value); ask(); });
  box.addEventListener("pointerenter", ask, { once: true });
  tables.forEach((table, place) => makeSortable(table, place, ask));
  if (["find", ...KINDS, "size", "sort"].some((name) => address.get(name))) ask();
}

const isFiltered = (table) => Boolean(table.querySelector("thead [data-by], tbody [data-verdict]"));

const order = new Intl.Collator("en", { numeric: true });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const PREFIXES = { n: 1e-9, "\u00b5": 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };

// A figure as a table shows it, also behind a glyph: `1 of 4 000` is a share, and the prefix of a unit counts, so that 2.9 G/s is more than 555 M/s.
const numberOf = (text) => {
  const plain = text.replace(/\s/g, "").replace(/^[=\u25b2\u25bc\u25c7\u2197\u2198]/, "").replace(/\u2212/g, "-").replace("\u03bc", "\u00b5");
  const factor = plain.match(/^x([\d.]+(?:e\d+)?)$/);
  // A factor where a change is large: x12 is more than any percentage before it.
  if (factor) return (Number(factor[1]) - 1) * 100;
  const share = plain.match(/^(\d[\d.]*)of(\d[\d.]*)/), figure = plain.match(/^([+-]?\d[\d.]*(?:e[+-]?\d+)?)(.*)$/);
  if (share) return Number(share[1]) / Number(share[2]);
  const [, prefix, isBinary] = figure?.[2].match(/^([n\u00b5mkKMGT])(i?)(?:s|Hz|B|[A-Za-z]*\/s)$/) ?? [];
  const unit = PREFIXES[prefix] ?? 1;
  return figure && Number(figure[1]) * (isBinary ? 1024 ** (Math.log10(unit) / 3) : unit);
};

// What a text is ordered by: a day as `9 Sep 2023, 06:12` by its time.
const orderOf = (text) => {
  const [, day, month, year, rest] = text.match(/^(\d{1,2})\s(\w{3})\s(\d{4})(.*)$/) ?? [];
  const place = MONTHS.indexOf(month);
  return place < 0 ? text : `${year}-${place + 1}-${day}${rest}`;
};

// Buttons in the heads of a table sort its rows and those of tables like it on the page, over all groups unless these differ in units;
// a third press brings the first order back. A column of mixed units cannot be sorted by figures. Of a list of several pages `ask` gets the rows of the others.
// The address says which table is sorted, by which column and which way: `0.5.down`.
const nameGroups = (model) => {
  if (model.isNamed) return;
  model.isNamed = true;
  const section = model.peers?.length > 1 ? model.table.closest("section:not(.scroll)").querySelector("h2").textContent : "";
  for (const { head, rows } of model.groups) {
    const name = [section, head?.cells[0].firstChild.textContent.trim()].filter(Boolean).join(": ");
    for (const row of rows) {
      row.of = name;
      if (!row.make || row.made) elementOf(row).cells[0].append(element("span", { class: "q why of-group" }, name));
    }
  }
};
function makeSortable(table, place, ask) {
  const heads = [...table.querySelectorAll("thead th")], model = modelOf(table), { groups } = model;
  if (rowsOfModel(model).length < 3 || table.matches(".heat, [data-fixed]")) return;
  const sorted = (rows, head, column, down) => {
    const keyed = rows.map((row) => { const text = textAt(row, column); return { row, text: orderOf(text), figure: numberOf(text) }; });
    const figures = head.classList.contains("n");
    keyed.sort((x, y) => {
      // What has no figure comes last, either way.
      if (figures && (x.figure === null || y.figure === null)) return (x.figure === null) - (y.figure === null);
      return (down ? -1 : 1) * (figures ? x.figure - y.figure : order.compare(x.text, y.text));
    });
    return keyed.map(({ row }) => row);
  };
  const sort = (head, column, way) => {
    const peers = model.peers ?? [model], isFlat = way && !("grouped" in head.dataset) && peers.flatMap((one) => one.groups).length > 1;
    for (const one of peers) {
      one.flat?.body.remove();
      [one.flat, one.isElsewhere] = [null, isFlat && one !== model];
      for (const part of one.groups) part.rows = part.printed;
      for (const other of one.table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
      one.table.closest("section:not(.scroll)")?.classList.toggle("all", Boolean(isFlat) && peers.length > 1);
    }
    if (way) head.setAttribute("aria-sort", way === "down" ? "descending" : "ascending");
    if (isFlat) {
      peers.forEach(nameGroups);
      model.flat = { body: element("tbody"), rows: sorted(peers.flatMap(rowsOfModel), head, column, way === "down") };
    } else if (way) for (const one of groups) one.rows = sorted(one.printed, head, column, way === "down");
    model.redraw();
  };
  const chosen = address.get("sort").split(".");
  heads.forEach((head, column) => {
    if (!head.textContent.trim() || "mixed" in head.dataset || head.querySelector(".sr, svg")) return;
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const way = { ascending: "down", descending: "" }[head.getAttribute("aria-sort")] ?? "up";
      address.set("sort", way && `${place}.${ask ? heads.slice(0, column).filter((one) => !one.classList.contains("g")).length : column}.${way}`);
      if (ask) ask(); else sort(head, column, way);
    });
    if (!ask && chosen[0] === String(place) && chosen[1] === String(column)) sort(head, column, chosen[2] === "down" ? "down" : "up");
  });
}

// ---- A search over all events, series and commits, by its button or the key `/`.

// The entries that have all words in their order, those whose title begins with them first.
const foundIn = (parts, text) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), whole = words.join(" ");
  const rank = (title) => (title.startsWith(whole) ? 0 : title.includes(whole) ? 1 : 2);
  const fitting = parts.flatMap(([kind, entries]) => entries
    .filter(([path, title, note]) => words.length && words.every((word) => `${title} ${note} ${path}`.toLowerCase().includes(word)))
    .map(([path, title, note]) => ({ kind, path, title, note, rank: rank(title.toLowerCase()) })));
  return fitting.sort((a, b) => a.rank - b.rank);
};
const MOST_FOUND = 30;

function makeSearch(button) {
  const find = element("input", { type: "search", "aria-label": "Search events, series and commits", autocomplete: "off", spellcheck: "false" });
  const output = element("output", { class: "q", "aria-live": "polite" }), list = element("ul", { class: "list" });
  const close = element("button", { type: "button" }, "Close"), box = element("dialog", { class: "search", "aria-label": "Search" }, element("div", { class: "filter" }, find, close), output, list);
  let asked = null;
  const show = () => {
    const found = foundIn(sprag.data.search, find.value);
    list.replaceChildren(...found.slice(0, MOST_FOUND).map(({ kind, path, title, note }) => element("li", {}, element("b", {}, kind), " ",
      element("a", { href: hrefOf(path) }, title), " ", element("span", { class: "q" }, note))));
    output.textContent = !find.value.trim() ? "" : found.length > MOST_FOUND ? `The first ${MOST_FOUND} of ${count(found.length)}` : counted(found.length, "result", "results");
  };
  const begin = () => {
    if (!box.isConnected) document.body.append(box);
    if (!box.open) box.showModal();
    find.select();
    asked ??= load("search.js").then(show).catch((error) => { output.textContent = error.message; });
  };
  find.addEventListener("input", show);
  close.addEventListener("click", () => box.close());
  box.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    const next = { ArrowDown: links[at + 1], ArrowUp: at > 0 ? links[at - 1] : find }[event.key];
    if (next) next.focus();
    else if (event.key === "Escape") box.close();
    else if (event.key !== "Enter" || document.activeElement !== find || !links.length) return;
    else links[0].click();
    event.preventDefault();
  });
  button.hidden = false;
  button.addEventListener("click", begin);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    begin();
  });
}

// A button at each command copies it; where the browser refuses, the command is selected.
function makeCopy(block) {
  const button = element("button", { type: "button", class: "copy", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    const code = block.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
  });
  block.append(button);
}

// A table or a chart is a tab stop only while it scrolls.
function makeStops(boxes) {
  const show = () => boxes.forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex");
  });
  const observer = new ResizeObserver(show);
  boxes.forEach((box) => observer.observe(box));
}

function start() {
  showStale();
  document.querySelectorAll("main pre").forEach(makeCopy);
  const tables = [...document.querySelectorAll("main table")];
  const compare = document.getElementById("compare"), filter = document.querySelector(".filter:not(.tools)"), search = document.getElementById("search");
  const listed = tables.filter(isFiltered);
  if (search) makeSearch(search);
  if (filter?.dataset.rows && listed.length) makeList(filter, listed);
  else {
    if (filter && !compare && listed.length) makeFilter(filter, listed);
    tables.forEach((table, place) => makeSortable(table, place));
    if (compare) makeCompare(compare);
  }
  makeStops([...document.querySelectorAll("section.scroll")]);
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
