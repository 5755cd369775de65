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
const times = (factor) => (Number.isFinite(factor) ? `×${thousands(fixed(factor, factor < 9.95 ? 1 : 0))}` : NONE);
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

const sprag = {
  data: { commits: [], tagged: [], environments: {}, chunk: 50, series: [], chunks: new Map() },
  commits(read) { Object.assign(this.data, read); },
  series(read) { this.data.series = read; },
  chunk(read) { this.data.chunks.set(read.number, read); },
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

// A file of data/, which calls one of the functions above.
const load = (name) => new Promise((resolve, reject) => {
  const script = element("script", { src: `../data/${name}` });
  script.onload = resolve;
  script.onerror = () => reject(new Error(`data/${name} did not load`));
  document.head.append(script);
});

// A text as a file that the reader keeps.
const save = (text, type, name) => {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

function showStale() {
  const { newest, everyDays } = document.body.dataset, banner = document.getElementById("stale");
  const age = (Date.now() - Date.parse(newest)) / 864e5;
  if (!banner || !(age > Number(everyDays) + 1)) return;
  banner.append(element("b", {}, "Stale."),
    ` The newest run is ${count(Math.floor(age))} days old; one is due every ${counted(Number(everyDays), "day", "days")}.`);
  banner.hidden = false;
}

const bodyRows = (of) => [...of.querySelectorAll("tbody > tr")].filter((row) => !row.querySelector("th[colspan]"));

// What a row is of: it says so, or its section and its cell do.
const suiteOf = (row) => row.dataset.suite ?? row.closest("section:not(.scroll)").querySelector("h2").textContent;
const machineColumn = (of) => [...of.querySelectorAll("thead th")].findIndex((head) => head.textContent.trim() === "Machine");
const machineOf = (row) => row.dataset.machine ?? row.cells[machineColumn(row.closest("table"))].textContent;

// Filters by text, suite and machine over the rows of some tables.
function makeFilter(box, tables) {
  const fields = [...box.querySelectorAll("[name]")], output = box.querySelector("output");
  const rows = tables.flatMap(bodyRows);
  const texts = new Map();
  const textOf = (row) => texts.get(row) ?? texts.set(row, row.textContent.toLowerCase()).get(row);
  const show = () => {
    const [find, suite, machine] = ["find", "suite", "machine"].map((name) => fields.find((one) => one.name === name).value);
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      row.hidden = !((!suite || suiteOf(row) === suite) && (!machine || machineOf(row) === machine)
        && words.every((word) => textOf(row).includes(word)));
      seen += !row.hidden;
    }
    for (const body of tables.flatMap((one) => [...one.tBodies])) {
      const all = bodyRows(body.parentNode).filter((row) => row.parentNode === body), left = all.filter((row) => !row.hidden).length;
      const size = body.querySelector("th[scope=rowgroup] > .q");
      body.hidden = left === 0;
      // A group whose heading counts more than it lists keeps that count.
      if (size && [`(${count(all.length)})`, size.dataset.seen].includes(size.textContent)) {
        size.textContent = size.dataset.seen = left === all.length ? `(${count(left)})` : `(${count(left)} of ${count(all.length)})`;
      }
    }
    for (const one of tables) {
      const around = one.closest("section:not(.scroll)");
      if (tables.length > 1) around.hidden = [...one.tBodies].every((body) => body.hidden);
    }
    output.textContent = seen === rows.length ? "" : `${count(seen)} of ${counted(rows.length, "row", "rows")}`;
  };
  for (const field of fields) {
    if (field.localName === "select") {
      const names = [...new Set(rows.map(field.name === "suite" ? suiteOf : machineOf))].sort(byText);
      field.replaceChildren(field.options[0], ...names.map((text) => element("option", { value: text }, text)));
    }
    field.value = address.get(field.name);
    if (field.selectedIndex === -1) field.value = "";
    field.oninput = () => { address.set(field.name, field.value); show(); };
  }
  box.hidden = false;
  show();
}

const order = new Intl.Collator("en", { numeric: true });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const PREFIXES = { n: 1e-9, "\u00b5": 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };

// A figure as a table shows it: `1 of 4 000` is a share, and the prefix of a unit counts, so that 2.9 G/s is more than 555 M/s.
const numberOf = (text) => {
  const plain = text.replace(/\s/g, "").replace(/\u2212/g, "-").replace("\u03bc", "\u00b5");
  const share = plain.match(/^(\d[\d.]*)of(\d[\d.]*)/), figure = plain.match(/^([+-]?\d[\d.]*(?:e[+-]?\d+)?)(.*)$/);
  if (share) return Number(share[1]) / Number(share[2]);
  const [, prefix, isBinary] = figure?.[2].match(/^([n\u00b5mkKMGT])(i?)(?:s|Hz|B|[A-Za-z]*\/s)$/) ?? [];
  const factor = PREFIXES[prefix] ?? 1;
  return figure && Number(figure[1]) * (isBinary ? 1024 ** (Math.log10(factor) / 3) : factor);
};

// What a text is ordered by: a day as `9 Sep 2023, 06:12` by its time.
const orderOf = (text) => {
  const [, day, month, year, rest] = text.match(/^(\d{1,2})\s(\w{3})\s(\d{4})(.*)$/) ?? [];
  const place = MONTHS.indexOf(month);
  return place < 0 ? text : `${year}-${place + 1}-${day}${rest}`;
};

// Buttons in the heads of a table sort its rows within their groups. A column of mixed units cannot be sorted by figures.
// The address says which table is sorted, by which column and which way: `0.5.down`.
function makeSortable(sorted, place) {
  const heads = [...sorted.querySelectorAll("thead th")];
  if (bodyRows(sorted).length < 3 || sorted.matches(".heat, [data-fixed]")) return;
  const sort = (head, column, down) => {
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const body of sorted.tBodies) {
      const keyed = bodyRows(sorted).filter((row) => row.parentNode === body)
        .map((row) => { const text = row.cells[column]?.textContent.trim() ?? ""; return { row, text: orderOf(text), figure: numberOf(text) }; });
      const figures = head.classList.contains("n");
      keyed.sort((x, y) => {
        // What has no figure comes last, either way.
        if (figures && (x.figure === null || y.figure === null)) return (x.figure === null) - (y.figure === null);
        return (down ? -1 : 1) * (figures ? x.figure - y.figure : order.compare(x.text, y.text));
      });
      body.append(...keyed.map(({ row }) => row));
    }
  };
  const chosen = address.get("sort").split(".");
  heads.forEach((head, column) => {
    if (!head.textContent.trim() || "mixed" in head.dataset || head.querySelector(".sr, svg")) return;
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      sort(head, column, down);
      address.set("sort", `${place}.${column}.${down ? "down" : "up"}`);
    });
    if (chosen[0] === String(place) && chosen[1] === String(column)) sort(head, column, chosen[2] === "down");
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

// A table is a tab stop only while it scrolls.
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
  const compare = document.getElementById("compare"), filter = document.querySelector(".filter");
  const listed = tables.filter((one) => machineColumn(one) >= 0);
  if (filter && !compare && listed.length) makeFilter(filter, listed);
  tables.forEach(makeSortable);
  if (compare) makeCompare(compare);
  makeStops([...document.querySelectorAll("section.scroll:has(> table)")]);
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
