// SPDX-License-Identifier: Apache-2.0
// Elements without HTML: text stays text, whatever a job is called.

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Control and invisible characters become "?": other users chose names and paths. Joiners are part of the words of some
// languages and of emoji, behind a character from U+0600 on. The command line has the same rule (base/character.h).
const CONTROL = /(?![\t\n])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;
const JOINER = /[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const joins = (sign, before) => JOINER.test(sign) && before >= "\u0600" && (!before.match(CONTROL) || (sign === "\u200d" && before !== sign && JOINER.test(before)));
const clean = (child) => typeof child === "string"
  ? child.replace(CONTROL, (sign, at) => joins(sign, Array.from(child.slice(0, at).slice(-2)).pop() || "") ? sign : "?") : child;

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") { if (value) element.setAttribute(key, ""); }
    else if (value !== null && value !== undefined) element.setAttribute(key, clean(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false).map(clean));
  return element;
}

export function table(caption, columns, rows) {
  const head = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table: " + caption }, h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((column) =>
      h("td", { class: column.number ? "number" : column.wide ? "wide" : column.title === "Name" ? "name" : null }, column.cell(row))))))));
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function figures(pairs) {
  return h("dl", { class: "figures" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value)))));
}

export function link(to, text) {
  return h("a", { href: "#/" + to }, text);
}

export function notice(words, isBad) {
  const line = h("p", { class: isBad ? "bad" : null }, words);
  document.getElementById("notices").append(line);
  setTimeout(() => line.remove(), 8000);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  if (seconds < 1) return "0s";
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60, rest = Math.floor(seconds) % 60;
  const two = (number) => String(number).padStart(2, "0");
  if (days) return days + "d" + two(hours) + "h";
  if (hours) return hours + "h" + two(minutes) + "m";
  return minutes ? minutes + "m" + two(rest) + "s" : rest + "s";
}

export function clock(iso, hasSeconds) {
  if (!iso) return "-";
  const when = new Date(iso), today = new Date().toDateString() === when.toDateString();
  const time = { hour: "2-digit", minute: "2-digit", second: hasSeconds ? "2-digit" : undefined, hourCycle: "h23" };
  return when.toLocaleString([], today ? time : { month: "short", day: "numeric", ...time });
}

export function stateClass(job) {
  const state = job.result || job.state;
  return { running: "good", ok: "good", failed: "bad", lost: "bad", timeout: "bad", out_of_memory: "bad", cancelled: "warn",
    held: "warn", stopping: "warn" }[state] || "dim";
}
