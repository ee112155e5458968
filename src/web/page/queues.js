// SPDX-License-Identifier: Apache-2.0
import { get } from "/web/api.js";
import { h, table } from "/web/dom.js";

function part(queue) {
  const most = queue.limit === null ? Math.max(queue.given, queue.wanted, queue.guarantee, 1) : queue.limit || 1;
  return h("meter", { min: "0", max: String(most), value: String(queue.given), "aria-label": "allocated in " + queue.name });
}

export async function view() {
  const { queues } = await get("/v1/queues");
  const number = (title, key) => ({ title, number: true, cell: (queue) => queue[key] === null ? "-" : String(Math.round(queue[key] * 100) / 100) });
  return [h("h1", {}, "Queues"), table("GPUs by queue", [
    { title: "Queue", cell: (queue) => " ".repeat(3 * queue.depth) + queue.name },
    { title: "Use", cell: part },
    number("Allocated", "given"), number("Guarantee", "guarantee"), number("Limit", "limit"), number("Borrowed", "borrowed"),
    number("Lent", "lent"), number("Fair", "fair"), number("Running", "running"), number("Queued", "queued"), number("Weight", "weight"),
    { title: "Budget", number: true, cell: (queue) => queue.budget.amount === null ? "-" : queue.budget.spent.toFixed(2) + " of " + queue.budget.amount },
    { title: "GPU-hours", number: true, cell: (queue) => queue.gpu_hours.spent.toFixed(2) },
  ], queues)];
}
