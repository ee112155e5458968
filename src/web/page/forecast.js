// SPDX-License-Identifier: Apache-2.0
// What runs and what is expected next, on which GPUs. Where a time is uncertain, a bar fades.
import { get, getAgain, me } from "/web/api.js";
import { MS, fades, fadingBar, roomFor, scale, timeAxis } from "/web/chart.js";
import { clock, h, link, svg, table } from "/web/dom.js";

const LENGTHS = [["1", "1 hour"], ["6", "6 hours"], ["24", "1 day"], ["168", "1 week"]];
const HOUR = 3600000, LANES_MAX = 512, UNPLACED_MAX = 30, GUTTER = 84;
const LETTER = 7.5, LETTERS_MIN = 4; // pixels of a letter, at most in the mean; letters of a label

// Times of a bar. Without an estimated end, a job is drawn to the right edge.
function timesOf(job, now, edge) {
  const since = MS(job.since), start = job.start, end = job.end;
  const low = start ? MS(start.low) ?? MS(start.expected) : since ?? now;
  const begun = start ? MS(start.high) ?? edge : since ?? now;
  return { low, begun, ends: end ? MS(end.low) ?? MS(end.expected) : Math.max(begun, now + (edge - now) / 3),
    high: end ? MS(end.high) ?? edge : edge, isOpen: !end };
}

function chooseLength(query, jobs, now) {
  const given = Number(query.get("hours"));
  if (given > 0) return given * HOUR;
  const known = jobs.flatMap((job) => [job.start && job.start.high, job.end && job.end.high]).map(MS).filter((at) => at > now);
  const need = Math.max(HOUR / 2, ...known.map((at) => at - now));
  return Math.min(need * 1.05, 14 * 24 * HOUR);
}

// A lane for each device, by node. With many, only the nodes that a person asks for, or the first ones.
function lanesOf(nodes, words) {
  const lanes = [];
  let left = 0;
  for (const node of nodes) {
    if (words && !node.name.includes(words)) continue;
    const indices = node.indices || [...node.gpus].map((letter, i) => i);
    if (lanes.length + indices.length > LANES_MAX) left++;
    else for (const index of indices.slice().sort((a, b) => a - b)) lanes.push({ node: node.name, index });
  }
  return { lanes, left };
}

function barClass(job) { return job.start ? "plan" : job.user === me.user ? "mine" : "run"; }

function describe(job) {
  const when = job.start ? "starts about " + clock(job.start.expected) + ", between " + clock(job.start.low) + " and " +
    clock(job.start.high) : "runs";
  const end = job.end ? ", ends about " + clock(job.end.expected) : ", no known end";
  return "job " + job.label + " " + job.name + " (" + job.user + "): " + when + end;
}

function bar(job, x, top, height) {
  const times = timesOf(job, x.from, x.until);
  if (times.low >= x.until) return null;
  return svg("a", { href: "#/job/" + job.id, "aria-label": describe(job) }, svg("title", {}, describe(job)),
    fadingBar(x, barClass(job), times, top + 1, height - 2));
}

// Labels of bars: [{job, tops}], with the tops of the lanes of each bar. No label covers another one: it moves to the
// right in its bar, or to another lane of it; without room for a few letters, it is left out.
function labels(bars, x) {
  const used = new Map(); // top of a lane -> where its last label ends
  return bars.map(({ job, tops }) => ({ job, tops, left: job.start ? x(MS(job.start.expected)) : x.left, right: x(timesOf(job, x.from, x.until).high) }))
    .sort((a, b) => a.left - b.left).map(({ job, tops, left, right }) => {
      const words = job.label + " " + job.name;
      const free = tops.map((top) => ({ top, from: Math.max(left + 4, (used.get(top) || 0) + 6) })).sort((a, b) => a.from - b.from)[0];
      const count = Math.min(words.length, Math.floor((right - free.from) / LETTER));
      if (count < Math.min(words.length, LETTERS_MIN)) return null;
      used.set(free.top, free.from + count * LETTER);
      return svg("text", { x: free.from, y: free.top + 14, class: "bar-text" },
        count < words.length ? words.slice(0, count - 1) + "…" : words);
    });
}

// Neighbouring lanes of one node are one bar.
function runsOf(job, lanes) {
  const own = new Set(job.devices.flatMap((part) => part.indices.map((index) => part.node + ":" + index)));
  const runs = [];
  lanes.forEach((lane, i) => {
    if (!own.has(lane.node + ":" + lane.index)) return;
    const before = runs[runs.length - 1];
    if (before && before.last === i - 1 && lanes[before.last].node === lane.node) before.last = i;
    else runs.push({ first: i, last: i });
  });
  return runs;
}

function gantt(forecast, nodes, query) {
  const now = MS(forecast.from), length = chooseLength(query, forecast.jobs, now);
  const { lanes, left } = lanesOf(nodes, query.get("node"));
  const laneHeight = lanes.length <= 64 ? 20 : 6, width = roomFor();
  const unplaced = forecast.jobs.filter((job) => !job.devices.length && job.gpus > 0).slice(0, UNPLACED_MAX);
  const names = [...new Set(forecast.spans.map((span) => span.kind + " " + span.name))];
  const spansTop = 22, lanesTop = spansTop + names.length * 20 + 4;
  const laterTop = lanesTop + lanes.length * laneHeight + (unplaced.length ? 24 : 4);
  const height = laterTop + unplaced.length * 20 + 4;
  const x = scale(now, now + length, GUTTER, width - 4);
  const bars = [...forecast.jobs.flatMap((job) => runsOf(job, lanes).map((run) => ({ job, height: laneHeight,
    tops: lanes.slice(run.first, run.last + 1).map((lane, i) => lanesTop + (run.first + i) * laneHeight) }))),
  ...unplaced.map((job, i) => ({ job, height: 20, tops: [laterTop + i * 20] }))];
  const nodeStarts = lanes.map((lane, i) => [lane, i]).filter(([lane, i]) => laneHeight > 12 || i === 0 || lanes[i - 1].node !== lane.node);
  const label = (text, y) => svg("text", { x: 0, y, class: "lane" }, text.length > 12 ? text.slice(0, 11) + "…" : text);
  return [svg("svg", { width, height, viewBox: "0 0 " + width + " " + height, class: "gantt", role: "group",
    "aria-label": "Forecast: " + forecast.jobs.length + " jobs by GPU and time; the table below has the same" },
  fades(["run", "mine", "plan"]), timeAxis(x, height),
  forecast.spans.map((span) => {
    const row = names.indexOf(span.kind + " " + span.name), from = x(MS(span.from)), until = x(MS(span.until) ?? x.until);
    return until - from < 1 ? null : svg("g", { class: span.kind }, svg("title", {}, span.kind + " " + span.name + ", " +
      clock(span.from) + " to " + clock(span.until)),
    span.kind === "reservation" ? svg("rect", { x: from, y: spansTop, width: until - from, height: height - spansTop, class: "veil" }) : null,
    svg("rect", { x: from, y: spansTop + row * 20 + 1, width: until - from, height: 16, class: "span" }));
  }),
  names.map((name, row) => label(name.replace("reservation ", "").replace("window ", ""), spansTop + row * 20 + 14)),
  nodeStarts.map(([lane, i]) => [label(laneHeight > 12 ? lane.node + ":" + lane.index : lane.node, lanesTop + i * laneHeight + (laneHeight > 12 ? 14 : 9)),
    svg("line", { class: "rule", x1: GUTTER, x2: width - 4, y1: lanesTop + i * laneHeight, y2: lanesTop + i * laneHeight })]),
  unplaced.length ? svg("text", { x: 0, y: laterTop - 6, class: "lane" }, "GPUs not chosen yet") : null,
  bars.map(({ job, tops, height }) => bar(job, x, tops[0], tops.length * height)),
  unplaced.map((job, i) => label(job.label, laterTop + i * 20 + 14)),
  labels(bars.filter((one) => one.height > 12), x)),
  left ? h("p", { class: "dim" }, left + (left === 1 ? " node is" : " nodes are") + " not drawn; filter by node.") : null];
}

function controls(query) {
  const now = query.get("hours") || "";
  const change = (key, value) => {
    const next = new URLSearchParams(query);
    if (value) next.set(key, value); else next.delete(key);
    location.hash = "#/forecast?" + next;
  };
  return h("form", { onsubmit: (event) => { event.preventDefault(); change("node", event.target.elements.node.value); } },
    h("label", {}, "Time shown", h("select", { onchange: (event) => { event.target.blur(); change("hours", event.target.value); } },
      [["", "all that is known"], ...LENGTHS].map(([value, text]) => h("option", { value, selected: value === now }, text)))),
    h("label", {}, "Node", h("input", { name: "node", value: query.get("node") || "", size: "12" })), h("button", {}, "Filter"));
}

const between = (one) => (!one || !one.expected ? "not known" : clock(one.expected) +
  (one.low && one.high ? " (" + clock(one.low) + " to " + clock(one.high) + ")" : ""));
const placeOf = (job) => job.devices.map((part) => part.node + ":" + part.indices.join(",")).join(" ");

export async function view(query) {
  const [forecast, { nodes }] = await Promise.all([get("/v1/forecast?limit=600"), getAgain("/v1/overview")]);
  const waiting = forecast.jobs.filter((job) => job.start).length;
  return [h("h1", {}, "Forecast"),
    h("p", { class: "legend" }, h("span", { class: "key key-mine" }, "your running jobs"), h("span", { class: "key key-run" }, "other running jobs"),
      h("span", { class: "key key-plan" }, "expected next"), h("span", { class: "key key-span" }, "reservations and windows"),
      h("span", { class: "dim" }, "A bar fades where 8 of 10 jobs start or end.")),
    controls(query), gantt(forecast, nodes, query),
    forecast.left_out ? h("p", { class: "dim" }, forecast.left_out + " more jobs are left out.") : null,
    forecast.unknown ? h("p", {}, link("jobs?state=queued,waiting,held", forecast.unknown + (forecast.unknown === 1 ? " waiting job" : " waiting jobs")),
      forecast.unknown === 1 ? " has no expected start." : " have no expected start.") : null,
    forecast.jobs.length ? table((forecast.jobs.length - waiting) + " running, " + waiting + " expected to start", [
      { title: "Job", cell: (job) => link("job/" + job.id, job.label) }, { title: "Name", cell: (job) => job.name },
      { title: "User", cell: (job) => job.user }, { title: "Queue", cell: (job) => link("queues", job.queue) },
      { title: "GPUs", number: true, cell: (job) => String(job.gpus) },
      { title: "On", cell: (job) => placeOf(job) + (job.planned ? " (planned)" : "") },
      { title: "Starts", cell: (job) => (job.start ? between(job.start) : "runs since " + clock(job.since)) },
      { title: "Ends", cell: (job) => between(job.end) },
    ], forecast.jobs) : h("p", {}, "Nothing runs or waits.")];
}
