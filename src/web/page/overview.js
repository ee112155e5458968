// SPDX-License-Identifier: Apache-2.0
// All devices by node, what waits, what is wrong, and the last day.
import { get, getAgain } from "/web/api.js";
import { MS, lines } from "/web/chart.js";
import { duration, figures, h, link } from "/web/dom.js";

const MANY = 256; // devices; above that, each is a small square
const STATES = { f: "free", b: "busy", s: "sick", d: "drained", o: "occupied" };
const DAY_EVERY_MS = 300000;

// ---- a device in full ----

function describe(gpu) {
  const words = [gpu.node + " GPU " + gpu.index, gpu.model];
  if (gpu.drained) words.push("drained: " + gpu.drained);
  else if (gpu.sick) words.push("faulty: " + gpu.sick);
  words.push(gpu.jobs.length ? gpu.jobs.map((job) => "job " + job.label + " (" + job.user + ")").join(", ") : "free");
  return words.join(", ");
}

function memoryOf(gpu, reading) {
  if (typeof reading.memory_used === "number") return Math.round(reading.memory_used / 1073741824) + " / " + Math.round(gpu.memory / 1024) + " GiB";
  return gpu.memory ? Math.round(gpu.memory / 1024) + " GiB" : null;
}

// What each job has of the device.
function slices(gpu) {
  if (!gpu.jobs.length || (gpu.jobs.length === 1 && gpu.jobs[0].share >= 1)) return null;
  return h("div", { class: "slices", "aria-hidden": "true" }, gpu.jobs.map((job) => {
    const part = h("span", {});
    part.style.flexGrow = String(job.share);
    return part;
  }), (() => {
    const rest = h("span", { class: "rest" });
    rest.style.flexGrow = String(Math.max(0, 1 - gpu.given));
    return rest;
  })());
}

function tile(gpu) {
  const reading = gpu.reading || {};
  const state = gpu.drained ? "drained" : gpu.sick ? gpu.occupied ? "occupied" : "sick" : gpu.jobs.length ? "busy" : "free";
  const use = typeof reading.gpu_use === "number" ? reading.gpu_use : null;
  const measured = [use === null ? null : Math.round(use * 100) + " %", memoryOf(gpu, reading),
    typeof reading.temperature === "number" ? reading.temperature + " °C" : null,
    typeof reading.power === "number" ? Math.round(reading.power) + " W" : null].filter(Boolean).join(" · ");
  return h("li", { class: state, title: describe(gpu) },
    h("div", {}, h("strong", {}, gpu.node + ":" + gpu.index), " ", h("span", { class: "dim" }, gpu.model + (gpu.mig ? " · MIG" : ""))),
    use === null ? null : h("meter", { min: "0", max: "1", value: String(use), "aria-label": "use of " + gpu.node + ":" + gpu.index }),
    measured ? h("div", { class: "dim" }, measured) : null, slices(gpu),
    h("div", {}, gpu.drained ? h("span", { class: "warn" }, "drained: " + gpu.drained)
      : gpu.sick ? h("span", { class: "bad" }, gpu.sick)
      : gpu.jobs.length ? gpu.jobs.map((job, i) => [i ? ", " : "", link("job/" + job.label, job.label), " " + job.name])
        : h("span", { class: "dim" }, "free")));
}

function tiles(gpus) {
  const nodes = new Map();
  for (const gpu of gpus) nodes.set(gpu.node, [...(nodes.get(gpu.node) || []), gpu]);
  return [...nodes].map(([node, own]) => [h("h2", {}, link("admin?node=" + encodeURIComponent(node), node)), h("ul", { class: "tiles" }, own.map(tile))]);
}

// ---- many devices ----

const drawnNodes = new Map(); // name -> {key, element}: what has not changed is not drawn again

function nodeBox(node) {
  const count = (letter) => [...node.gpus].filter((one) => one === letter).length, busy = count("b"), bad = count("s");
  const words = node.name + ": " + busy + " of " + node.gpus.length + " " + node.model + " allocated" + (bad ? ", " + bad + " faulty" : "") +
    (node.state === "up" ? "" : ", " + node.state);
  return h("li", { class: node.state === "up" ? null : "not-up" }, link("admin?node=" + encodeURIComponent(node.name), node.name),
    h("span", { class: "cells", role: "img", "aria-label": words, title: words }, [...node.gpus].map((letter, i) => {
      const use = node.use ? node.use[i] : -1;
      return h("i", { class: STATES[letter] + (letter === "b" && use >= 0 ? use < 10 ? " idle" : use >= 70 ? " full" : "" : "") });
    })));
}

function boxes(nodes) {
  const racks = new Map();
  for (const node of nodes) racks.set(node.rack || "", [...(racks.get(node.rack || "") || []), node]);
  return [...racks].map(([rack, own]) => [rack ? h("h2", {}, "Rack " + rack) : null, h("ul", { class: "nodes" }, own.map((node) => {
    const key = JSON.stringify(node), before = drawnNodes.get(node.name);
    if (!before || before.key !== key) drawnNodes.set(node.name, { key, element: nodeBox(node) });
    return drawnNodes.get(node.name).element;
  }))]);
}

// ---- the last day ----

let day = null, dayAt = -DAY_EVERY_MS;

// It comes later than the rest, which does not wait for it.
function loadDay(refresh) {
  if (performance.now() - dayAt < DAY_EVERY_MS) return;
  dayAt = performance.now();
  get("/v1/report?last=1d&step=15m&shown=1&kept=1").then((report) => { day = report.periods; refresh(); }, () => {});
}

function lastDay() {
  const known = (day || []).filter((one) => one.capacity_gpu_hours > 0);
  if (known.length < 2) return null;
  const times = known.map((one) => MS(one.from));
  return h("section", {}, h("h2", {}, link("money?last=1d", "Last day")), h("div", { class: "charts" },
    lines({ times, most: 1, goal: 0.7, label: "GPUs ", series: [
      { name: "allocated", class: "run", values: known.map((one) => Math.min(1, one.gpu_hours / one.capacity_gpu_hours)) },
      { name: "useful", class: "mine", values: known.map((one) => (one.gpu_use === null ? null : Math.min(1, one.gpu_use * one.gpu_hours / one.capacity_gpu_hours))) }] }),
    lines({ times, label: "Jobs ", series: [{ name: "waiting", class: "plan", values: known.map((one) => one.waiting) }] }),
    lines({ times, label: "Mean wait of jobs that started ", say: duration, series: [{ name: "wait", class: "plan", values: known.map((one) => one.wait_seconds) }] })));
}

export async function view(query, refresh) {
  const overview = await getAgain("/v1/overview"), { counts, gpus } = overview;
  const isMany = overview.nodes.reduce((sum, node) => sum + node.gpus.length, 0) > MANY;
  const devices = isMany ? null : (await getAgain("/v1/gpus")).gpus;
  loadDay(refresh);
  return [h("h1", {}, "Overview"),
    figures([["GPUs allocated", link("forecast", gpus.given + " of " + gpus.total)], ["Jobs running", link("jobs?state=granted,running,stopping", counts.granted + counts.running + counts.stopping)],
      ["Jobs waiting", link("jobs?state=held,waiting,queued", counts.queued + counts.waiting + counts.held)], ["Alerts", link("admin", overview.alert_count)]]),
    overview.alerts.length ? [h("h2", {}, "Alerts"), h("ul", {}, overview.alerts.map((alert) =>
      h("li", { class: alert.severity === "critical" ? "bad" : "warn" }, alert.words, alert.job ? [": ", link("job/" + alert.job, "job " + alert.job)] : alert.node ? [": ", link("admin?node=" + encodeURIComponent(alert.node), alert.node)] : null,
        alert.count > 1 ? " and " + (alert.count - 1) + " more" : null)))] : null,
    lastDay(),
    isMany ? [h("p", { class: "legend" }, h("span", { class: "key key-run" }, "allocated"), h("span", { class: "key key-mine" }, "allocated, at least 70 % used"),
      h("span", { class: "key key-plan" }, "allocated, less than 10 % used"), h("span", { class: "key key-free" }, "free"), h("span", { class: "key key-bad" }, "faulty"),
      h("span", { class: "key key-span" }, "drained")), boxes(overview.nodes)] : tiles(devices),
    overview.nodes.length ? null : h("p", {}, "There are no GPUs.")];
}
