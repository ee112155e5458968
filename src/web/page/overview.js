// SPDX-License-Identifier: Apache-2.0
import { get } from "/web/api.js";
import { figures, h, link } from "/web/dom.js";

const MANY = 512; // above that, a tile is a small square

function describe(gpu) {
  const words = [gpu.node + " GPU " + gpu.index, gpu.model];
  if (gpu.drained) words.push("drained: " + gpu.drained);
  else if (gpu.sick) words.push("faulty: " + gpu.sick);
  words.push(gpu.jobs.length ? gpu.jobs.map((job) => "job " + job.label + " (" + job.user + ")").join(", ") : "free");
  return words.join(", ");
}

function tile(gpu) {
  const reading = gpu.reading || {};
  const state = gpu.drained ? "drained" : gpu.sick ? "sick" : gpu.jobs.length ? "busy" : "free";
  const use = typeof reading.gpu_use === "number" ? reading.gpu_use : null;
  const measured = [use === null ? null : Math.round(use * 100) + " %",
    typeof reading.temperature === "number" ? reading.temperature + " °C" : null,
    typeof reading.power === "number" ? Math.round(reading.power) + " W" : null].filter(Boolean).join(" · ");
  return h("li", { class: state, title: describe(gpu) },
    h("div", {}, h("strong", {}, gpu.node + ":" + gpu.index), " ", h("span", { class: "dim" }, gpu.model)),
    use === null ? null : h("meter", { min: "0", max: "1", value: String(use), "aria-label": "use of " + gpu.node + ":" + gpu.index }),
    measured ? h("div", { class: "dim" }, measured) : null,
    h("div", {}, gpu.drained ? h("span", { class: "warn" }, "drained: " + gpu.drained)
      : gpu.sick ? h("span", { class: "bad" }, gpu.sick)
      : gpu.jobs.length ? gpu.jobs.map((job, i) => [i ? ", " : "", link("job/" + job.label, job.label), " " + job.name])
        : h("span", { class: "dim" }, "free")));
}

function byNode(gpus) {
  const nodes = new Map();
  for (const gpu of gpus) {
    if (!nodes.has(gpu.node)) nodes.set(gpu.node, []);
    nodes.get(gpu.node).push(gpu);
  }
  return nodes;
}

export async function view() {
  const [devices, list, alerts] = await Promise.all([get("/v1/gpus"), get("/v1/jobs?rows=1&limit=1"), get("/v1/alerts")]);
  const counts = list.counts, gpus = devices.gpus, isMany = gpus.length > MANY;
  const waiting = counts.queued + counts.waiting + counts.held;
  return [h("h1", {}, "Overview"),
    figures([["GPUs allocated", list.gpus.given + " of " + list.gpus.total], ["Jobs running", counts.running + counts.stopping],
      ["Jobs waiting", waiting], ["Alerts", alerts.alerts.length]]),
    alerts.alerts.length ? [h("h2", {}, "Alerts"), h("ul", {}, alerts.alerts.map((alert) =>
      h("li", { class: "bad" }, alert.text || alert.name)))] : null,
    [...byNode(gpus)].map(([node, own]) => [h("h2", {}, node),
      h("ul", { class: isMany ? "tiles small" : "tiles" }, own.map(tile))]),
    gpus.length ? null : h("p", {}, "There are no GPUs.")];
}
