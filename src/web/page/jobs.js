// SPDX-License-Identifier: Apache-2.0
import { ask, get, me } from "/web/api.js";
import { clock, duration, h, link, notice, stateClass, table } from "/web/dom.js";

const PAGE = 200;
const FILTERS = ["name", "user", "queue", "state"];
const STATES = ["held", "waiting", "queued", "granted", "running", "stopping", "ended",
  "ok", "failed", "cancelled", "timeout", "out_of_memory", "lost"];
const titleOf = (word) => word[0].toUpperCase() + word.slice(1);
const chosen = new Set();

function path(query) {
  const wanted = new URLSearchParams({ rows: "1", newest: "1", limit: String(PAGE) });
  for (const key of [...FILTERS, "group"]) if (query.get(key)) wanted.set(key, query.get(key));
  if (query.get("all") || query.get("state")) wanted.set("all", "1");
  return "/v1/jobs?" + wanted;
}

function form(query) {
  const fields = FILTERS.map((key) => h("label", {}, titleOf(key),
    h("input", { name: key, value: query.get(key) || "", list: key === "state" ? "states" : null })));
  if (query.get("group")) fields.push(h("label", {}, "Group", h("input", { name: "group", value: query.get("group"), size: "8" })));
  const all = h("input", { type: "checkbox", name: "all", checked: Boolean(query.get("all")) });
  return h("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const [key, value] of new FormData(event.target)) if (value) given.set(key, value === "on" ? "1" : value);
    location.hash = "#/jobs?" + given;
  } }, fields, h("datalist", { id: "states" }, STATES.map((value) => h("option", { value }))),
  h("label", {}, "Ended jobs, too", all), h("button", {}, "Filter"));
}

async function act(verb, refresh) {
  const ids = [...chosen];
  if (verb === "cancel" && !confirm("Cancel " + ids.length + (ids.length === 1 ? " job?" : " jobs?"))) return;
  const results = await Promise.allSettled(ids.map((id) => ask("POST", "/v1/jobs/" + id + "/" + verb)));
  for (const result of results) if (result.status === "rejected") notice(result.reason.message, true);
  const done = results.filter((result) => result.status === "fulfilled").length;
  if (done) notice(verb + ": " + done + (done === 1 ? " job" : " jobs"));
  chosen.clear();
  refresh();
}

function actions(refresh) {
  const buttons = ["hold", "release", "requeue", "cancel"].map((verb) =>
    h("button", { type: "button", class: verb === "cancel" ? "danger" : null, disabled: chosen.size === 0,
      onclick: () => act(verb, refresh) }, titleOf(verb)));
  const bar = h("div", { class: "actions", role: "group", "aria-label": "Actions on the chosen jobs" }, buttons);
  return { bar, update: () => buttons.forEach((button) => { button.disabled = chosen.size === 0; }) };
}

function why(job) {
  if (job.result) return job.reason || (job.exit_code ? "exit status " + job.exit_code : "");
  if (!job.why) return "";
  const start = job.why.expected_start ? " · starts about " + clock(job.why.expected_start) + " (" + clock(job.why.low) + " to " +
    clock(job.why.high) + ")" : "";
  return job.why.text + start;
}

export async function view(query, refresh) {
  const list = await get(path(query));
  const present = new Set(list.jobs.map((job) => String(job.id)));
  for (const id of chosen) if (!present.has(id)) chosen.delete(id);
  const { bar, update } = actions(refresh);
  const choose = (job) => h("input", { type: "checkbox", "aria-label": "choose job " + job.label, checked: chosen.has(String(job.id)),
    onchange: (event) => { event.target.checked ? chosen.add(String(job.id)) : chosen.delete(String(job.id)); update(); } });
  const columns = [
    ...(me.scope === "read" ? [] : [{ title: "", cell: choose }]),
    { title: "ID", cell: (job) => link("job/" + job.id, job.label) },
    { title: "Name", cell: (job) => job.name },
    { title: "User", cell: (job) => job.user },
    { title: "Queue", cell: (job) => job.queue },
    { title: "State", cell: (job) => h("span", { class: stateClass(job) }, job.result || job.state) },
    { title: "GPUs", number: true, cell: (job) => job.gpus || "0" },
    { title: "Wait", number: true, cell: (job) => duration(job.wait_seconds) },
    { title: "Run", number: true, cell: (job) => duration(job.run_seconds) },
    { title: "Why", wide: true, cell: why },
  ];
  const caption = list.jobs.length + (list.jobs.length === 1 ? " row" : " rows") + (list.older ? ", the newest; older ones are left out" : "");
  return [h("h1", {}, "Jobs"), form(query), me.scope === "read" ? null : bar,
    list.jobs.length ? table(caption, columns, list.jobs.slice().reverse()) : h("p", {}, "No jobs match.")];
}
