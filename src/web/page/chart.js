// SPDX-License-Identifier: Apache-2.0
// Charts as SVG: an axis of time, bars that fade where a time is uncertain, lines. Colours are classes of the style sheet.
import { clock, h, svg } from "/web/dom.js";

const STEPS_S = [60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000];
export const MS = (iso) => (iso ? Date.parse(iso) : null);

// As wide as the page has room for.
export const roomFor = () => Math.max(280, Math.min(1700, document.getElementById("main").clientWidth - 34));

// As wide as a column of a list of charts (.charts), so that their letters have the size of all others.
const COLUMN = 384, GAP = 20;
const columnFor = () => {
  const room = roomFor() + GAP, columns = Math.max(1, Math.floor(room / (COLUMN + GAP)));
  return Math.min(760, room / columns - GAP);
};

export function scale(from, until, left, right) {
  const factor = (right - left) / Math.max(1, until - from);
  const x = (at) => left + (Math.min(Math.max(at, from), until) - from) * factor;
  return Object.assign(x, { from, until, left, right });
}

// Round local times, at least 70 pixels apart.
function ticks(x) {
  const least = 70 * (x.until - x.from) / (x.right - x.left) / 1000;
  const step = 1000 * (STEPS_S.find((one) => one >= least) || STEPS_S[STEPS_S.length - 1]);
  const zone = new Date(x.from).getTimezoneOffset() * 60000, list = [];
  for (let at = Math.ceil((x.from - zone) / step) * step + zone; at <= x.until; at += step) list.push(at);
  return { list, step };
}

function tickText(at, step) {
  const when = new Date(at), isMidnight = when.getHours() === 0 && when.getMinutes() === 0;
  return step >= 86400000 || isMidnight ? when.toLocaleDateString([], { month: "short", day: "numeric" })
    : when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function timeAxis(x, height) {
  const { list, step } = ticks(x);
  return svg("g", { class: "axis", "aria-hidden": "true" }, list.map((at) => [
    svg("line", { x1: x(at), x2: x(at), y1: 18, y2: height }),
    x(at) > x.right - 36 ? null : svg("text", { x: x(at) + 3, y: 13 }, tickText(at, step))]));
}

// For each class a fill that begins, and one that ends.
export function fades(classes) {
  const stops = (name, first) => [0, 1].map((end) =>
    svg("stop", { offset: end, class: "stop-" + name, "stop-opacity": end === first ? 0.95 : 0.06 }));
  return svg("defs", {}, classes.map((name) => [
    svg("linearGradient", { id: "in-" + name }, stops(name, 1)), svg("linearGradient", { id: "out-" + name }, stops(name, 0))]));
}

// Times in ms: the bar is certain between `begun` and `ends`; it may begin from `low` on, and last until `high`.
export function fadingBar(x, name, { low, begun, ends, high }, top, height) {
  if (begun > ends) begun = ends = (begun + ends) / 2;
  const part = (from, until, fill) => (x(until) - x(from) < 0.3 ? null
    : svg("rect", { x: x(from), y: top, width: x(until) - x(from), height, ...fill }));
  return [part(low, begun, { fill: "url(#in-" + name + ")" }), part(begun, ends, { class: "bar-" + name }),
    part(ends, high, { fill: "url(#out-" + name + ")" })];
}

// Of parts of 1: percent.
const percentOr = (most) => (value) => (most === 1 ? Math.round(100 * value) + " %"
  : String(Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100));

// A round number from the value on, whose half is round, too.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].find((one) => one * power >= value) * power;
}

// Lines over time: series [{name, class, values}], values between 0 and most; null: a gap.
export function lines({ times, series, most, label, goal, width = columnFor(), say = percentOr(most) }) {
  const height = 170, left = 54, bottom = height - 8, top = 24;
  const x = scale(times[0], times[times.length - 1], left, width - 8);
  const peak = most || roundUp(Math.max(1, ...series.flatMap((one) => one.values.filter((value) => value !== null))));
  const y = (value) => bottom - (bottom - top) * Math.min(1, value / peak);
  const path = (values) => values.map((value, i) => (value === null ? "" :
    (i === 0 || values[i - 1] === null ? "M" : "L") + x(times[i]).toFixed(1) + "," + y(value).toFixed(1))).join("");
  const last = (one) => one.values.filter((value) => value !== null).pop();
  return h("figure", {}, h("figcaption", {}, label, h("span", { class: "legend" }, series.map((one) =>
    h("span", { class: "key key-" + one.class }, one.name + (last(one) === undefined ? "" : " " + say(last(one))))))),
  svg("svg", { width, height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label":
    label + ", from " + clock(new Date(times[0]).toISOString()) + ": " + series.map((one) => one.name + " " +
      (last(one) === undefined ? "not known" : say(last(one)))).join(", ") },
  timeAxis(x, bottom),
  svg("g", { class: "axis" }, [0, peak / 2, peak].map((value) => [
    svg("line", { x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, say(value))])),
  goal === undefined ? null : svg("line", { class: "goal", x1: left, x2: width - 8, y1: y(goal), y2: y(goal) }),
  series.map((one) => svg("path", { class: "line line-" + one.class, d: path(one.values) }))));
}
