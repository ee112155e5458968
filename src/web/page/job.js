// SPDX-License-Identifier: Apache-2.0
import { ask, follow, get } from "/web/api.js";
import { clock, duration, facts, h, link, notice, stateClass } from "/web/dom.js";

const OUTPUT_MAX = 1 << 20; // characters that are kept

let shown = null; // the output that is followed, so that a refresh keeps it

function stopFollowing() {
  if (shown) shown.abort.abort();
  shown = null;
}

function output(id) {
  if (shown && shown.id === id) return shown.element;
  stopFollowing();
  const text = h("pre", { tabindex: "0", "aria-label": "Output of job " + id });
  const abort = new AbortController();
  follow("/v1/jobs/" + id + "/output?follow=1&tail=1000", (more) => {
    const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    text.textContent = (text.textContent + more).slice(-OUTPUT_MAX);
    if (isAtEnd) text.scrollTop = text.scrollHeight;
  }, abort.signal).catch((failure) => {
    if (failure.name !== "AbortError") text.textContent += "\n(" + failure.message + ")";
  });
  shown = { id, abort, element: h("section", {}, h("h2", {}, "Output"),
    h("p", {}, h("a", { href: "/v1/jobs/" + id + "/output", download: "job-" + id + ".txt" }, "Download")), text) };
  return shown.element;
}

function times(job) {
  const steps = [["submitted", job.submitted], ["started", job.started], ["ended", job.ended]].filter(([, at]) => at);
  return h("ol", {}, steps.map(([name, at]) => h("li", {}, name + " ", h("time", { datetime: at }, clock(at)))),
    job.preemptions ? h("li", {}, "preempted " + job.preemptions + " times") : null);
}

function actions(job, refresh) {
  const verbs = job.state === "ended" ? ["requeue"] : job.state === "held" ? ["release", "cancel"]
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
    } }, verb)));
}

function reason(why) {
  if (!why || !why.lines || !why.lines.length) return null;
  return h("section", {}, h("h2", {}, "Why it waits"), h("pre", {}, why.lines.join("\n")),
    why.sooner && why.sooner.length ? [h("h2", {}, "It would start sooner"), h("ul", {}, why.sooner.map((change) =>
      h("li", {}, change.text || JSON.stringify(change))))] : null);
}

// What an array, a stage or a pipeline is made of.
function group(reply) {
  stopFollowing();
  if (reply.kind === "pipeline") location.replace("#/pipelines/" + reply.id);
  return [h("h1", {}, (reply.kind || "group") + " " + reply.id + " " + (reply.name || "")),
    h("p", {}, link("jobs?all=1&group=" + reply.id, "Its jobs"), reply.parent ? [" · ", link("pipelines/" + reply.parent, "Pipeline " + reply.parent)] : null),
    facts(Object.entries(reply).filter(([, value]) => ["string", "number"].includes(typeof value)).map(([key, value]) => [key, String(value)]))];
}

export async function view(query, refresh, id) {
  const job = await get("/v1/jobs/" + id);
  if (!job.state || job.kind) return group(job);
  const why = ["queued", "waiting", "held"].includes(job.state) ? await get("/v1/jobs/" + id + "/why") : null;
  const command = job.launch && job.launch.command ? job.launch.command.join(" ") : null;
  return [h("h1", {}, "Job " + job.label + " ", h("span", { class: stateClass(job) }, job.result || job.state)),
    actions(job, refresh), job.launch ? h("p", {}, link("submit?like=" + job.id, "Submit one like it")) : null,
    facts([["Name", job.name], ["Command", command], ["User", job.user], ["Queue", link("queues", job.queue)],
      ["Part of", job.group ? link("job/" + job.group, String(job.group)) : null],
      ["GPUs", job.gpus], ["Devices", (job.devices || []).map((one) => one.node + ":" + one.index + " " + one.model).join(", ")],
      ["Ran on", job.ran_on], ["Priority", String(job.priority)], ["Wait", duration(job.wait_seconds)], ["Run", duration(job.run_seconds)],
      ["Cost", typeof job.cost === "number" && job.cost > 0 ? job.cost.toFixed(2) : null],
      ["Exit status", job.exit_code === null ? null : String(job.exit_code)], ["Reason", job.reason],
      ["Warnings", (job.warnings || []).map((one) => one.text || "").join("; ")]]),
    h("h2", {}, "Times"), times(job), reason(why), job.attempt || job.state === "ended" ? output(job.id) : null];
}

export function leave() { stopFollowing(); }
