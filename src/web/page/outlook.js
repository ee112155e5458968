// SPDX-License-Identifier: Apache-2.0
// Two simulations side by side: as it is, and with a change.
import { clock, duration, h, link, table } from "/web/dom.js";

const SUMS = [["Jobs that start", "jobs", (value) => String(value)], ["Mean wait", "wait_mean", duration], ["Wait, median", "wait_p50", duration],
  ["Wait, 95 of 100", "wait_p95", duration], ["Without a start", "never", (value) => String(value)], ["Preemptions", "preemptions", (value) => String(value)],
  ["GPU-hours lost", "lost_gpu_hours", (value) => value.toFixed(1)], ["Cancelled", "cancelled", (value) => String(value)],
  ["Cost", "cost", (value) => value.toFixed(2)], ["Last start", "drained", clock]];

const say = (format, value) => (value === null || value === undefined ? "-" : format(value));

// Less is better, but of jobs that start.
function judge(key, pair) {
  if (pair.now === null || pair.change === null || pair.now === pair.change || key === "drained") return "";
  return (pair.change < pair.now) === (key !== "jobs") ? "good" : "bad";
}

const shift = (seconds) => (seconds === null || seconds === undefined ? "-" : Math.abs(seconds) < 1 ? "same"
  : duration(Math.abs(seconds)) + (seconds < 0 ? " sooner" : " later"));
const startOf = (side) => (!side ? "-" : side.cancelled ? "cancelled" : side.start ? clock(side.start) : "never");

export function outlook(reply, names = ["Now", "With the change"]) {
  const rows = [...reply.queues.map((one) => ({ ...one, name: one.queue })), { ...reply.total, name: "all" }];
  return [h("p", {}, [[reply.sooner, "sooner"], [reply.later, "later"], [reply.same, "at the same time"]].map(([count, words], i) =>
    (i ? ", " : "") + count + (count === 1 ? " job starts " : " jobs start ") + words).join("") + "."),
  reply.note ? h("p", { class: "warn" }, reply.note) : null, reply.horizon ? h("p", { class: "warn" }, "Compared up to " + clock(reply.horizon) + ".") : null,
  table("in total", [{ title: "", cell: (row) => row[0] }, { title: names[0], number: true, cell: ([, key, format]) => say(format, reply.total[key].now) },
    { title: names[1], number: true, cell: ([, key, format]) => h("span", { class: judge(key, reply.total[key]) }, say(format, reply.total[key].change)) }], SUMS),
  rows.length > 2 ? table("by queue: " + names.join(" → "), [{ title: "Queue", cell: (row) => row.name },
    ...SUMS.slice(0, 6).map(([title, key, format]) => ({ title, number: true, cell: (row) => h("span", { class: judge(key, row[key]) },
      say(format, row[key].now) + " → " + say(format, row[key].change)) }))], rows) : null,
  reply.jobs.length ? table(reply.jobs.length + " of " + reply.job_count + " jobs, those that change most", [
    { title: "Job", cell: (job) => (job.now ? link("job/" + job.label, job.label) : job.label + " (new)") },
    { title: "Name", cell: (job) => job.name || "-" }, { title: "User", cell: (job) => job.user || "-" }, { title: "Queue", cell: (job) => job.queue },
    { title: names[0], cell: (job) => startOf(job.now) }, { title: names[1], cell: (job) => startOf(job.change) },
    { title: "", cell: (job) => (job.now && job.change ? h("span", { class: job.later_seconds < -1 ? "good" : job.later_seconds > 1 ? "bad" : "dim" },
      shift(job.later_seconds)) : "") },
  ], reply.jobs) : h("p", {}, "No job waits or arrives.")];
}
