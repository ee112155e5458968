// SPDX-License-Identifier: Apache-2.0
// What is paid for, and what of it is used: by queue, user, stage, model or job, and over time.
import { get } from "/web/api.js";
import { MS, lines, roomFor } from "/web/chart.js";
import { figures, h, link, svg, table } from "/web/dom.js";

const GOAL = 0.7;
const LENGTHS = { "1d": ["last day", "1h"], "7d": ["last 7 days", "6h"], "30d": ["last 30 days", "1d"], "366d": ["last year", "month"] };
const BYS = ["queue", "user", "stage", "model", "job"];

const percent = (value) => (value === null || value === undefined ? "-" : Math.round(100 * value) + " %");
const amount = (value) => (value === null || value === undefined ? "-" : value.toFixed(2));
const hours = (value) => (value === null || value === undefined ? "-" : value >= 100 ? String(Math.round(value)) : value.toFixed(1));

// Of a row: what its idle GPU-hours cost, and a GPU-hour of work. Readings stand for all of its time.
function costsOf(row) {
  const idlePart = row.watched_gpu_hours > 0 && row.idle_gpu_hours !== null ? row.idle_gpu_hours / row.watched_gpu_hours : null;
  const useful = row.gpu_use === null ? null : row.gpu_use * row.gpu_hours;
  return { idle: row.cost === null || idlePart === null ? null : row.cost * idlePart, useful,
    perUseful: row.cost === null || !useful ? null : row.cost / useful };
}

function nameOf(row, by) {
  if (by === "job") return link("job/" + row.label, row.label + (row.name ? " " + row.name : ""));
  const name = row[by];
  if (!name) return "(none)";
  return by === "user" || by === "queue" ? link("jobs?all=1&" + by + "=" + encodeURIComponent(name), name) : name;
}

function rowsTable(report) {
  const free = Math.max(0, report.capacity_gpu_hours - report.total.gpu_hours);
  const rows = [...report.rows.map((row) => ({ ...row, ...costsOf(row), title: nameOf(row, report.by) })),
    { title: "unallocated", gpu_hours: free, gpu_use: null, cost: null, idle: null, perUseful: null },
    { ...report.total, ...costsOf(report.total), title: "allocated, all" }];
  return table("by " + report.by + (report.row_count > report.rows.length ? ": the first " + report.rows.length + " of " + report.row_count : ""), [
    { title: report.by, cell: (row) => row.title }, { title: "GPU-hours", number: true, cell: (row) => hours(row.gpu_hours) },
    { title: "Useful", number: true, cell: (row) => h("span", { class: row.gpu_use === null ? "dim" : row.gpu_use >= GOAL ? "good" : "warn" }, percent(row.gpu_use)) },
    { title: "Cost", number: true, cell: (row) => amount(row.cost) }, { title: "Idle cost", number: true, cell: (row) => amount(row.idle) },
    { title: "Per useful GPU-hour", number: true, cell: (row) => amount(row.perUseful) },
  ], rows);
}

// A dot for each row: what it costs against how much of it is used.
function scatter(report) {
  const has = report.rows.filter((row) => row.gpu_use !== null && row.gpu_hours > 0);
  if (!has.length) return null;
  const worth = (row) => (row.cost !== null ? row.cost : row.gpu_hours), unit = has[0].cost !== null ? "cost" : "GPU-hours";
  const width = Math.min(760, roomFor()), height = 240, left = 46, bottom = height - 26, top = 12;
  const most = Math.max(...has.map(worth)) * 1.08 || 1;
  const x = (value) => left + (width - left - 16) * value / most, y = (use) => bottom - (bottom - top) * Math.min(1, use);
  return h("figure", {}, h("figcaption", {}, "Use against " + unit + "; the line is the goal of " + percent(GOAL)),
    svg("svg", { width, height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Use against " + unit + ": " +
      has.slice(0, 12).map((row) => (row[report.by] || row.label || "none") + " " + percent(row.gpu_use) + " of " + amount(worth(row))).join(", ") },
    svg("g", { class: "axis" }, [0, 0.5, 1].map((use) => [svg("line", { x1: left, x2: width - 8, y1: y(use), y2: y(use) }),
      svg("text", { x: left - 5, y: y(use) + 4, "text-anchor": "end" }, percent(use))]),
    [0, most / 2, most].map((value) => svg("text", { x: x(value), y: height - 8, "text-anchor": "middle" }, amount(value)))),
    svg("line", { class: "goal", x1: left, x2: width - 8, y1: y(GOAL), y2: y(GOAL) }),
    has.slice(0, 40).map((row) => [svg("circle", { class: row.gpu_use >= GOAL ? "dot-good" : "dot", cx: x(worth(row)), cy: y(row.gpu_use), r: 5 },
      svg("title", {}, (row[report.by] || row.label || "none") + ": " + percent(row.gpu_use) + ", " + amount(worth(row)))),
    svg("text", { x: x(worth(row)) + (x(worth(row)) > width - 90 ? -8 : 8), y: y(row.gpu_use) + 4,
      "text-anchor": x(worth(row)) > width - 90 ? "end" : "start" }, String(row[report.by] || row.label || "(none)").slice(0, 16))])));
}

function overTime(periods, step) {
  const times = periods.map((one) => MS(one.from));
  const part = (value, one) => (value === null || !(one.capacity_gpu_hours > 0) ? null : Math.min(1, value / one.capacity_gpu_hours));
  const useful = (one) => (one.gpu_use === null ? null : part(one.gpu_use * one.gpu_hours, one));
  const name = (one) => new Date(one.from).toLocaleDateString([], step === "month" ? { year: "numeric", month: "long" } : { month: "short", day: "numeric" });
  return [periods.length < 2 ? null : lines({ times, most: 1, goal: GOAL, width: Math.min(760, roomFor()), label: "Part of the GPUs that is allocated, and used ", series: [
    { name: "allocated", class: "run", values: periods.map((one) => part(one.gpu_hours, one)) },
    { name: "used", class: "mine", values: periods.map(useful) }] }),
  step === "month" || step === "1d" ? table(step === "month" ? "by month" : "by day", [
    { title: step === "month" ? "Month" : "Day", cell: name }, { title: "GPU-hours", number: true, cell: (one) => hours(one.gpu_hours) },
    { title: "Of capacity", number: true, cell: (one) => percent(part(one.gpu_hours, one)) }, { title: "Useful", number: true, cell: (one) => percent(one.gpu_use) },
    { title: "Cost", number: true, cell: (one) => amount(one.cost) }, { title: "Idle cost", number: true, cell: (one) => amount(costsOf(one).idle) },
  ], periods.filter((one) => one.capacity_gpu_hours > 0)) : null];
}

function controls(query) {
  const change = (key) => (event) => {
    const next = new URLSearchParams(query);
    next.set(key, event.target.value);
    event.target.blur();
    location.hash = "#/money?" + next;
  };
  const choice = (key, now, options) => h("select", { onchange: change(key) }, options.map(([value, text]) => h("option", { value, selected: value === now }, text)));
  return h("form", {}, h("label", {}, "Period", choice("last", query.get("last") || "30d", Object.entries(LENGTHS).map(([value, [text]]) => [value, text]))),
    h("label", {}, "By", choice("by", query.get("by") || "queue", BYS.map((by) => [by, by]))));
}

export const isForm = true; // a report takes seconds: it is made when it is asked for

export async function view(query) {
  const last = query.get("last") in LENGTHS ? query.get("last") : "30d", by = BYS.includes(query.get("by")) ? query.get("by") : "queue", step = LENGTHS[last][1];
  const report = await get("/v1/report?shown=100&last=" + last + "&by=" + by + "&step=" + step), { total } = report;
  const own = costsOf(total), capacity = report.capacity_gpu_hours, ofAll = own.useful === null || !capacity ? null : own.useful / capacity;
  return [h("h1", {}, "Money"), controls(query),
    figures([["Cost", amount(total.cost)], ["Idle cost", amount(own.idle)], ["Per useful GPU-hour", amount(own.perUseful)],
      ["Allocated", percent(capacity ? total.gpu_hours / capacity : null)], ["Used of all GPUs", percent(ofAll)]]),
    total.cost === null ? h("p", { class: "dim" }, "There are no prices; ", link("whatif", "the configuration"), " can set them: ", h("code", {}, "prices: {h100: 3.2}")) : null,
    ofAll !== null && ofAll < GOAL ? h("p", {}, "At " + percent(GOAL) + " these GPUs would do " + hours((GOAL - ofAll) * capacity) + " GPU-hours more useful work" +
      (own.perUseful ? ", worth " + amount((GOAL - ofAll) * capacity * own.perUseful) + " at today's cost of a useful GPU-hour." : ".")) : null,
    rowsTable(report), h("p", { class: "dim" }, "Useful: the measured use of the allocated GPUs. Idle cost: the cost of GPUs that were allocated and idle; the rows add up to what was charged. " +
      "-: not measured, or no price."), scatter(report), overTime(report.periods, step),
    report.diagnoses.length ? table("why GPU time is not useful", [{ title: "Finding", cell: (one) => one.seen }, { title: "GPU-hours", number: true, cell: (one) => hours(one.gpu_hours) },
      { title: "Advice", wide: true, cell: (one) => one.advice }], report.diagnoses) : null,
    report.worst.length ? table("jobs that left most GPU time idle", [{ title: "Job", cell: (one) => link("job/" + one.label, one.label) }, { title: "Name", cell: (one) => one.name || "-" },
      { title: "User", cell: (one) => one.user || "-" }, { title: "Idle GPU-hours", number: true, cell: (one) => hours(one.idle_gpu_hours) },
      { title: "Evidence", wide: true, cell: (one) => [one.evidence, one.advice].filter(Boolean).join(": ") }], report.worst) : null];
}
