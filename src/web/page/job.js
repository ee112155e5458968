// SPDX-License-Identifier: Apache-2.0
// One job: what happened to it, why it waits and what would help, its output, its GPUs, what it made of them, and its cost.
import { ask, follow, get, me } from "/web/api.js";
import { MS, lines, roomFor, scale, timeAxis } from "/web/chart.js";
import { Terminal } from "/web/terminal.js";
import { clock, duration, facts, h, link, notice, stateClass, svg, table } from "/web/dom.js";

const OUTPUT_MAX = 1 << 20; // characters that are kept
const CHARTS_MAX = 8, READINGS_EVERY_MS = 30000;

let shown = null; // what is loaded once and kept when the page is drawn again

function stop() {
  if (shown) shown.abort.abort();
  shown = null;
}

export function leave() { stop(); }

// ---- output ----

function output(id, stream) {
  const abort = shown.abort, text = h("pre", { tabindex: "0", role: "region", "aria-label": "Output of job " + id });
  const found = h("span", { class: "dim", role: "status" }), terminal = new Terminal(OUTPUT_MAX);
  follow("/v1/jobs/" + id + "/output?follow=1&tail=1000&stream=" + stream, (more) => {
    const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    terminal.add(more);
    text.textContent = terminal.text;
    if (isAtEnd) text.scrollTop = text.scrollHeight;
  }, abort.signal).catch((failure) => {
    if (failure.name !== "AbortError") text.textContent += "\n(" + failure.message + ")";
  });
  let from = 0;
  const search = (event) => {
    event.preventDefault();
    const words = event.target.elements.words.value.toLowerCase(), all = text.textContent.toLowerCase();
    let at = words ? all.indexOf(words, from) : -1;
    if (at < 0 && words) at = all.indexOf(words);
    found.textContent = at < 0 ? words ? "not found" : "" : "line " + all.slice(0, at).split("\n").length;
    if (at < 0) return;
    from = at + words.length;
    const range = document.createRange(), node = text.firstChild;
    range.setStart(node, at);
    range.setEnd(node, at + words.length);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    text.scrollTop += range.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 2;
  };
  return h("section", {}, h("h2", {}, stream === "error" ? "Standard error" : "Output"),
    h("form", { role: "search", onsubmit: search }, h("label", {}, "Search", h("input", { name: "words", size: "16" })), h("button", {}, "Find"), found,
      h("a", { href: "/v1/jobs/" + id + "/output?stream=" + stream, download: "job-" + id + (stream === "error" ? "-error" : "") + ".txt" }, "Download")), text);
}

// ---- what happened ----

const WORDS = { submit: "submitted", hold: "held", release: "released", requeue: "requeued", checkpoint: "saved its work", cancel: "cancelled", update: "changed",
  grant: "GPUs allocated", stop: "stopping", started: "started", ended: "ended", warn: "warned" };

// From a grant to the end of the attempt it has its GPUs; between, it waits.
function band(events, isOver) {
  const parts = [];
  let since = null, state = null;
  const turn = (at, next) => { if (state && at > since) parts.push({ state, from: since, until: at }); since = at; state = next; };
  for (const event of events) {
    const at = MS(event.at);
    if (event.what === "submit" || event.what === "requeue" || event.what === "release") turn(at, state === "run" ? "run" : "wait");
    else if (event.what === "hold") turn(at, state === "run" ? "run" : "hold");
    else if (event.what === "grant") turn(at, "run");
    else if (event.what === "ended") turn(at, "wait");
  }
  if (!isOver) turn(Date.now(), null);
  if (isOver && parts.length && parts[parts.length - 1].state === "wait" && events[events.length - 1].what !== "ended") parts.pop();
  if (!parts.length) return null;
  const width = Math.min(1100, roomFor()), x = scale(parts[0].from, Math.max(parts[parts.length - 1].until, parts[0].from + 1000), 4, width - 4);
  const names = { run: "runs", wait: "waits", hold: "held" }, seconds = (state) => parts.filter((one) => one.state === state).reduce((sum, one) => sum + one.until - one.from, 0) / 1000;
  return h("figure", {}, h("figcaption", { class: "legend" }, h("span", { class: "key key-plan" }, "waits " + duration(seconds("wait"))), h("span", { class: "key key-mine" }, "has its GPUs " + duration(seconds("run")))),
    svg("svg", { width, height: 44, viewBox: "0 0 " + width + " 44", role: "img", "aria-label": parts.map((one) => names[one.state] + " " + duration((one.until - one.from) / 1000)).join(", ") },
      timeAxis(x, 44), parts.map((one) => svg("rect", { class: { run: "bar-mine", wait: "bar-plan", hold: "track" }[one.state], x: x(one.from), y: 22, height: 16, width: Math.max(1.5, x(one.until) - x(one.from)) },
        svg("title", {}, names[one.state] + " from " + clock(new Date(one.from).toISOString()) + ", " + duration((one.until - one.from) / 1000))))));
}

function happened(timeline, job) {
  if (!timeline) return null;
  return h("section", {}, h("h2", {}, "What happened"), band(timeline, job.state === "ended"), h("ol", { class: "events" }, timeline.map((event) =>
    h("li", {}, h("time", { datetime: event.at }, clock(event.at, true)), " ", h("strong", {}, WORDS[event.what] || event.what), event.text ? " " + event.text : ""))));
}

// ---- why it waits, and what would help ----

// "--gpus 2 --ranks 4" as keys of a job file.
function changesOf(change) {
  const keys = {};
  for (const [, key, quoted, plain] of change.matchAll(/--([\w-]+) (?:'([^']*)'|(\S+))/g)) keys[key.replaceAll("-", "_")] = quoted ?? plain;
  if (change === "no --pool") keys.pool = "";
  return keys;
}

function counterfactual(job, advice, refresh) {
  const keys = changesOf(advice.change), names = Object.keys(keys);
  if (!names.length) return h("li", {}, advice.text);
  const isDirect = names.every((key) => key === "queue" || key === "max_duration");
  const now = async () => {
    if (!confirm("Change job " + job.label + ": " + advice.change + "?")) return;
    try {
      await ask("PATCH", "/v1/jobs/" + job.id, keys);
      notice("changed: job " + job.label);
    } catch (failure) {
      notice(failure.message, true);
    }
    refresh();
  };
  return h("li", {}, isDirect ? h("button", { type: "button", onclick: now }, advice.change)
    : h("a", { class: "button", href: "#/submit?" + new URLSearchParams({ like: job.id, ...keys }) }, advice.change), " ", advice.text,
  isDirect ? null : h("span", { class: "dim" }, " (submits another job; cancel this one then)"));
}

function reason(why, job, refresh) {
  if (!why || !why.lines || !why.lines.length) return null;
  return h("section", {}, h("h2", {}, "Why it waits"), h("pre", {}, why.lines.join("\n")),
    why.held_by && why.held_by.length ? h("p", {}, "Held by ", why.held_by.slice(0, 20).map((one, i) => [i ? ", " : "", link("job/" + one.label, one.label + " " + one.name)])) : null,
    why.sooner && why.sooner.length ? [h("h2", {}, "It would start sooner"), h("ul", { class: "sooner" }, why.sooner.map((one) => counterfactual(job, one, refresh)))] : null,
    h("p", {}, link("forecast", "Forecast"), " · ", link("whatif?cancel=" + (why.on || (why.held_by && why.held_by[0] && why.held_by[0].label) || ""), "What if a job in front of it were cancelled")));
}

// ---- its GPUs ----

async function readings(job) {
  const from = MS(job.started), until = MS(job.ended) || Date.now();
  if (!from || until - from < 2000 || !job.devices.length) return [];
  const seconds = Math.ceil((Date.now() - from) / 1000), step = Math.max(1, Math.ceil(seconds / 300));
  const devices = job.devices.slice(0, CHARTS_MAX);
  const replies = await Promise.allSettled(devices.map((one) =>
    get("/v1/gpus/" + encodeURIComponent(one.node) + "/" + one.index + "/history?last=" + seconds + "s&step=" + step + "s&keys=gpu_use,memory_used,power")));
  return replies.map((reply, i) => {
    const all = reply.status === "fulfilled" ? reply.value.readings : {}, use = all.gpu_use, memory = all.memory_used;
    if (!use || use.at.length < 2) return null;
    const most = devices[i].memory ? devices[i].memory * 1048576 : 0;
    const parts = memory && most ? use.at.map((at) => { const k = memory.at.indexOf(at); return k < 0 ? null : Math.min(1, memory.mean[k] / most); }) : null;
    return lines({ times: use.at.map((at) => at * 1000), most: 1, label: devices[i].node + ":" + devices[i].index + " " + devices[i].model + " ",
      series: [{ name: "use", class: "mine", values: use.mean }, ...(parts ? [{ name: "memory", class: "run", values: parts }] : [])] });
  }).filter(Boolean);
}

function efficiency(usage) {
  if (!usage) return null;
  const percent = (one) => (one ? Math.round(100 * one.mean) + " % (peak " + Math.round(100 * one.peak) + " %)" : null);
  return h("section", {}, h("h2", {}, "Efficiency"), facts([["GPU use", percent(usage.gpu)], ["Tensor cores", percent(usage.tensor)],
    ["GPU memory", usage.memory ? Math.round(usage.memory.peak / 1024) + " GiB at most" + (usage.device_memory ? " of " + Math.round(usage.device_memory / 1024) : "") : null],
    ["Power", usage.power ? Math.round(usage.power.mean) + " W" : null], ["Energy", usage.energy_joules ? (usage.energy_joules / 3.6e6).toFixed(2) + " kWh" : null],
    ["Idle", usage.idle_seconds ? duration(usage.idle_seconds) + " of " + duration(usage.watched_seconds) : null]]),
  usage.diagnoses.length ? table("what to improve", [{ title: "Finding", cell: (one) => one.seen }, { title: "Evidence", wide: true, cell: (one) => one.evidence },
    { title: "Advice", wide: true, cell: (one) => one.advice }], usage.diagnoses) : h("p", { class: "dim" }, "Nothing to improve was found."));
}

// ---- all of it ----

function actions(job, refresh) {
  const verbs = me.scope === "read" ? [] : job.state === "ended" ? ["requeue"] : job.state === "held" ? ["release", "cancel"]
    : job.state === "running" ? ["cancel"] : ["hold", "cancel"];
  return h("div", { class: "actions", role: "group", "aria-label": "Actions" }, verbs.map((verb) =>
    h("button", { type: "button", class: verb === "cancel" ? "danger" : null, onclick: async () => {
      if (verb === "cancel" && !confirm("Cancel job " + job.label + "?")) return;
      try {
        await ask("POST", "/v1/jobs/" + job.id + "/" + verb);
        notice(verb + ": job " + job.label);
      } catch (failure) {
        notice(failure.message, true);
      }
      refresh();
    } }, verb[0].toUpperCase() + verb.slice(1))), job.launch ? link("submit?like=" + job.id, "Submit one like it") : null);
}

// What an array or a stage is made of. A pipeline has a view of its own.
function group(reply) {
  stop();
  if (reply.kind === "pipeline") location.replace("#/pipelines/" + reply.id);
  const kind = reply.kind || "group";
  return [h("h1", {}, kind[0].toUpperCase() + kind.slice(1) + " " + reply.id + " " + (reply.name || "") + " ", h("span", { class: stateClass(reply) }, reply.result)),
    facts([["User", link("jobs?all=1&user=" + encodeURIComponent(reply.user), reply.user)], ["Part of", reply.parent ? link("job/" + reply.parent, String(reply.parent)) : null],
      ["Jobs", link("jobs?all=1&group=" + reply.id, reply.ended_count + " of " + reply.job_count + " ended")], ["Not successful", reply.bad_count ? String(reply.bad_count) : null],
      ["Submitted", clock(reply.submitted)], ["Ended", reply.ended ? clock(reply.ended) : null]])];
}

// The journal is read again when the job has changed, readings from time to time: the page does not wait for either.
function loadMore(job, refresh) {
  const key = [job.state, job.attempt, job.preemptions, job.result].join();
  if (shown.key !== key) {
    shown.key = key;
    const mine = shown;
    get("/v1/jobs/" + job.id + "/timeline").then((reply) => { mine.timeline = reply.events; refresh(); }, () => {});
  }
  if (performance.now() - shown.readAt > READINGS_EVERY_MS) {
    shown.readAt = performance.now();
    const mine = shown;
    readings(job).then((charts) => { if (charts.length) { mine.charts = charts; refresh(); } }, () => {});
  }
  const mayRead = (job.attempt || job.state === "ended") && (me.administrator || me.user === job.user);
  if (mayRead && !shown.output)
    shown.output = [output(job.id, "output"), job.launch && job.launch.error ? output(job.id, "error") : null];
}

const place = (job) => (job.devices || []).map((one, i) => [i ? ", " : "", link("admin?node=" + encodeURIComponent(one.node), one.node + ":" + one.index), " " + one.model]);

export async function view(query, refresh, id) {
  const job = await get("/v1/jobs/" + id);
  if (!job.state || job.kind) return group(job);
  const why = ["queued", "waiting", "held"].includes(job.state) ? await get("/v1/jobs/" + id + "/why") : null;
  const end = job.state === "running" ? await get("/v1/jobs/" + id + "/when").then((reply) => reply.end, () => null) : null;
  if (!shown || shown.id !== id) {
    stop();
    shown = { id, abort: new AbortController(), key: null, readAt: -READINGS_EVERY_MS, timeline: null, charts: [], output: null };
  }
  loadMore(job, refresh);
  const command = job.launch && job.launch.command ? job.launch.command.join(" ") : null;
  return [h("h1", {}, "Job " + job.label + (job.name ? " " + job.name + " " : " "), h("span", { class: stateClass(job) }, job.result || job.state)), actions(job, refresh),
    facts([["Name", job.name], ["Command", command], ["User", link("jobs?all=1&user=" + encodeURIComponent(job.user), job.user)], ["Queue", link("queues", job.queue)],
      ["Part of", job.group ? link("job/" + job.group, String(job.group)) : null], ["GPUs", job.gpus], ["Devices", job.devices && job.devices.length ? place(job) : null],
      ["Ran on", job.ran_on], ["Priority", String(job.priority)], ["Submitted", clock(job.submitted)], ["Wait", duration(job.wait_seconds)], ["Run", duration(job.run_seconds)],
      ["Expected end", end && end.expected ? clock(end.expected) + " (" + clock(end.low) + " to " + clock(end.high) + ")" : null],
      ["Cost", typeof job.cost === "number" && job.cost > 0 ? link("money?by=job", job.cost.toFixed(2)) : null],
      ["Preempted", job.preemptions ? job.preemptions + (job.preemptions === 1 ? " time" : " times") + (job.preempted_for ? ": " + job.preempted_for.text : "") : null],
      ["Exit status", job.exit_code === null ? null : String(job.exit_code)], ["Reason", job.reason],
      ["Files", job.launch ? [job.launch.output, job.launch.error].filter(Boolean).join(", ") : null], ["Folder", job.launch ? job.launch.cwd : null],
      ["Warnings", (job.warnings || []).map((one) => one.text || "").join("; ")]]),
    reason(why, job, refresh), happened(shown.timeline, job), shown.charts.length ? h("section", {}, h("h2", {}, "Its GPUs"), h("div", { class: "charts" }, shown.charts)) : null,
    efficiency(job.gpu_usage), shown.output,
    me.administrator || me.user === job.user ? null : h("p", { class: "dim" }, "Only " + job.user + " and administrators can read the command and the output.")];
}
