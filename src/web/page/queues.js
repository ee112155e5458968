// SPDX-License-Identifier: Apache-2.0
// The tree with what each queue may have and has, and what each one had in the last days.
import { get, getAgain } from "/web/api.js";
import { MS, lines } from "/web/chart.js";
import { h, link, table } from "/web/dom.js";

const WEEK_EVERY_MS = 300000, CHARTS_MAX = 12;
let week = null, weekAt = -WEEK_EVERY_MS;

// It comes later than the rest, which does not wait for it.
function loadWeek(refresh) {
  if (performance.now() - weekAt < WEEK_EVERY_MS) return;
  weekAt = performance.now();
  get("/v1/report?last=7d&step=3h&by=queue&shown=1&kept=1").then((report) => { week = report; refresh(); }, () => {});
}

// For each queue its GPUs; the line is what is fair now.
function history(queues) {
  const periods = week ? week.periods.filter((one) => one.capacity_gpu_hours > 0) : [];
  if (periods.length < 2) return null;
  const times = periods.map((one) => MS(one.from)), ends = [...times.slice(1), MS(week.until)];
  const charts = queues.map((queue) => {
    const values = periods.map((one, i) => {
      const own = one.queues.find((part) => part.queue === queue.name);
      return own ? own.gpu_hours * 3600000 / Math.max(1, ends[i] - times[i]) : 0;
    });
    return { queue, values, sum: values.reduce((sum, value) => sum + value, 0) };
  }).filter((one) => one.sum > 0).sort((a, b) => b.sum - a.sum).slice(0, CHARTS_MAX);
  if (!charts.length) return null;
  return h("section", {}, h("h2", {}, link("money?last=7d&by=queue", "Last week")), h("p", { class: "dim" }, "Allocated GPUs by queue; the line is the fair share now."),
    h("div", { class: "charts" }, charts.map(({ queue, values }) => lines({ times, label: queue.name + " ", goal: queue.fair ?? undefined,
      most: Math.max(1, queue.fair ?? 0, ...values) * 1.05, series: [{ name: "GPUs", class: "run", values }] }))));
}

// Of its limit; without a limit, of all GPUs.
function part(queue, all) {
  const most = queue.limit || all || 1;
  return h("meter", { min: "0", max: String(most), value: String(queue.given), "aria-label": "allocated in " + queue.name });
}

export async function view(query, refresh) {
  const [{ queues }, { gpus }] = await Promise.all([get("/v1/queues"), getAgain("/v1/overview")]);
  const jobsOf = (queue, key) => queues.filter((one) => one.parent === queue.name).reduce((sum, one) => sum + jobsOf(one, key), queue[key]);
  loadWeek(refresh);
  const number = (title, key) => ({ title, number: true, cell: (queue) => queue[key] === null ? "-" : String(Math.round(queue[key] * 100) / 100) });
  return [h("h1", {}, "Queues"), table("GPUs by queue", [
    { title: "Queue", cell: (queue) => "\u00a0".repeat(3 * queue.depth) + queue.name },
    { title: "Use", cell: (queue) => part(queue, gpus.total) },
    number("Allocated", "given"), number("Guarantee", "guarantee"), number("Limit", "limit"), number("Borrowed", "borrowed"),
    number("Lent", "lent"), number("Fair", "fair"), ...[["Running", "running"], ["Queued", "queued"]].map(([title, key]) => ({ title, number: true, cell: (queue) => String(jobsOf(queue, key)) })),
     number("Weight", "weight"),
    { title: "Budget", number: true, cell: (queue) => queue.budget.amount === null ? "-" : queue.budget.spent.toFixed(2) + " of " + queue.budget.amount },
    { title: "GPU-hours", number: true, cell: (queue) => queue.gpu_hours.spent.toFixed(2) },
  ], queues), h("p", { class: "dim" }, "Borrowed: above the guarantee. Lent: the part of the guarantee that other queues hold. " +
    "Fair: what the queue would have if all GPUs were divided now. Running and Queued include the queues below."), history(queues)];
}
