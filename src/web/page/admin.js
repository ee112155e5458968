// SPDX-License-Identifier: Apache-2.0
// Nodes, devices, their health, access tokens, and who changed what.
import { ask, get, getAgain, me } from "/web/api.js";
import { clock, h, link, notice, table } from "/web/dom.js";

const PARTS = [["", "Nodes and devices"], ["tokens", "Tokens"], ["audit", "Audit"]];
const SHOWN_MAX = 200, MANY = 256; // rows; devices

export const isForm = (id) => id === "audit"; // it is read from the journal, when it is asked for

async function act(words, method, path, refresh, body) {
  try {
    await ask(method, path, body);
    notice(words);
  } catch (failure) {
    notice(failure.message, true);
  }
  refresh();
}

function drainButton(what, path, isDrained, refresh) {
  if (!me.administrator) return null;
  if (isDrained) return h("button", { type: "button", onclick: () => act("enabled " + what, "POST", path + "/undrain", refresh), "aria-label": "Undrain " + what }, "Undrain");
  return h("button", { type: "button", "aria-label": "Drain " + what, onclick: () => {
    const reason = prompt("Drain " + what + ": jobs that run continue, new ones do not start. Reason:", "");
    if (reason !== null) act("drained " + what, "POST", path + "/drain", refresh, reason ? { reason } : {});
  } }, "Drain");
}

const stateClass = (state) => ({ up: "good", drained: "warn", down: "bad" }[state]);
const given = (held, all) => held + " of " + all;

function nodesTable(nodes, words, refresh) {
  const found = nodes.filter((node) => !words || node.name.includes(words));
  const shown = found.slice().sort((a, b) => (a.state === "up") - (b.state === "up")).slice(0, SHOWN_MAX);
  return table(found.length + (found.length === 1 ? " node" : " nodes") + (found.length > shown.length ? "; filter to see more than " + SHOWN_MAX : ""), [
    { title: "Node", cell: (node) => link("admin?node=" + encodeURIComponent(node.name), node.name) },
    { title: "State", cell: (node) => h("span", { class: stateClass(node.state) }, node.state) },
    { title: "GPUs", number: true, cell: (node) => given(node.gpus_given, node.gpus) }, { title: "CPUs", number: true, cell: (node) => given(node.cpus_given, node.cpus) },
    { title: "Memory", number: true, cell: (node) => given(Math.round(node.memory_given / 1024), Math.round(node.memory / 1024)) + " GiB" },
    { title: "Rack", cell: (node) => node.rack || "" }, { title: "Type", cell: (node) => [node.type, node.spot ? "spot" : null].filter(Boolean).join(", ") },
    { title: "Reason", wide: true, cell: (node) => [node.reason, node.occupied, node.going_at ? "goes at " + clock(node.going_at) : null].filter(Boolean).join("; ") },
    { title: "", cell: (node) => drainButton("node " + node.name, "/v1/nodes/" + encodeURIComponent(node.name), node.state === "drained" || node.drained, refresh) },
  ], shown);
}

// Of many devices, the nodes of those that need a look.
function troubledNodes(nodes) {
  const words = { s: "faulty", d: "drained", o: "used by jobs that tarn does not know" };
  const found = nodes.filter((node) => /[sdo]/.test(node.gpus));
  return found.length ? table("nodes with devices that need a look; choose a node to see its devices", [
    { title: "Node", cell: (node) => link("admin?node=" + encodeURIComponent(node.name), node.name) }, { title: "Model", cell: (node) => node.model },
    { title: "Devices", wide: true, cell: (node) => Object.keys(words).filter((letter) => node.gpus.includes(letter)).map((letter) =>
      [...node.gpus].filter((one) => one === letter).length + " " + words[letter]).join(", ") },
  ], found.slice(0, SHOWN_MAX)) : h("p", {}, "No device needs a look. Choose a node to see its devices.");
}

function devicesTable(gpus, refresh) {
  const health = (gpu) => [gpu.sick, gpu.trouble, ...(gpu.faults || []).map((fault) => fault.words), ...(gpu.xids || []).map((one) => "XID " + one.xid + " × " + one.count)]
    .filter((one, i, all) => one && all.indexOf(one) === i).join("; ");
  const path = (gpu) => "/v1/gpus/" + encodeURIComponent(gpu.node) + "/" + gpu.index;
  return table(gpus.length + (gpus.length === 1 ? " device" : " devices"), [
    { title: "Device", cell: (gpu) => gpu.node + ":" + gpu.index }, { title: "Model", cell: (gpu) => gpu.model },
    { title: "Health", wide: true, cell: (gpu) => h("span", { class: health(gpu) ? "bad" : "good" }, health(gpu) || "healthy") },
    { title: "Drained", cell: (gpu) => h("span", { class: "warn" }, gpu.drained || "") },
    { title: "Jobs", cell: (gpu) => gpu.jobs.map((job, i) => [i ? ", " : "", link("job/" + job.label, job.label)]) },
    { title: "", cell: (gpu) => [drainButton("device " + gpu.node + ":" + gpu.index, path(gpu), Boolean(gpu.drained), refresh), " ",
      me.administrator && gpu.sick ? h("button", { type: "button", "aria-label": "Mark " + gpu.node + ":" + gpu.index + " as repaired",
        onclick: () => act("marked as repaired", "POST", path(gpu) + "/clear", refresh) }, "Repaired") : null] },
  ], gpus);
}

function alertsTable(reply, refresh) {
  const silence = (alert) => {
    const length = prompt("Silence " + alert.name + " for how long?", "2h");
    if (length) act("silenced", "POST", "/v1/alerts/silences", refresh, { name: alert.name, for: length, ...(alert.uuid ? { subject: alert.uuid } : {}) });
  };
  return [reply.alerts.length ? table(reply.alerts.length + (reply.alerts.length === 1 ? " problem" : " problems"), [
    { title: "Problem", cell: (alert) => h("span", { class: alert.severity === "critical" ? "bad" : "warn" }, alert.name) },
    { title: "About", wide: true, cell: (alert) => alert.words }, { title: "Since", cell: (alert) => clock(alert.since) },
    { title: "Silenced", cell: (alert) => (alert.silenced ? alert.silence ? "until " + clock(alert.silence.until) : "yes" : "") },
    { title: "", cell: (alert) => (me.administrator && !alert.silenced ? h("button", { type: "button", onclick: () => silence(alert) }, "Silence") : null) },
  ], reply.alerts.slice(0, SHOWN_MAX)) : h("p", { class: "good" }, "No problems.")];
}

async function machines(query, refresh) {
  const words = query.get("node") || "";
  const [{ nodes }, overview, alerts] = await Promise.all([getAgain("/v1/nodes"), getAgain("/v1/overview"), getAgain("/v1/alerts")]);
  const isMany = overview.nodes.reduce((sum, node) => sum + node.gpus.length, 0) > MANY, isOne = nodes.some((node) => node.name === words);
  const devices = isMany && !isOne ? null : (await get("/v1/gpus" + (isOne ? "?node=" + encodeURIComponent(words) : ""))).gpus;
  return [h("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    event.target.elements.node.blur();
    location.hash = "#/admin" + (event.target.elements.node.value ? "?node=" + encodeURIComponent(event.target.elements.node.value) : "");
  } }, h("label", {}, "Node", h("input", { name: "node", value: words, size: "16" })), h("button", {}, "Filter")),
  h("h2", {}, "Health"), alertsTable(alerts, refresh), h("h2", {}, "Nodes"), nodesTable(nodes, words, refresh), h("h2", {}, "Devices"), devices ? devicesTable(devices, refresh) : troubledNodes(overview.nodes)];
}

async function tokens(query, refresh) {
  const list = (await get("/v1/tokens" + (me.administrator ? "?all=1" : ""))).tokens;
  return [h("p", { class: "dim" }, "A session of a browser cannot make tokens. On the machine of the daemon: ", h("code", {}, "tarn token create --name laptop --expires 30d")),
    list.length ? table(list.length + (list.length === 1 ? " token" : " tokens") + " and sessions", [
      { title: "Nr", number: true, cell: (one) => String(one.id) }, { title: "Kind", cell: (one) => one.kind + (one.id === me.token ? " (this one)" : "") },
      { title: "Name", cell: (one) => one.name }, { title: "User", cell: (one) => one.user }, { title: "Scope", cell: (one) => one.scope },
      { title: "Queues", cell: (one) => one.queues.join(", ") || "all" }, { title: "Last use", cell: (one) => clock(one.used) },
      { title: "Expires", cell: (one) => h("span", { class: one.expired ? "bad" : null }, clock(one.expires)) },
      { title: "", cell: (one) => h("button", { type: "button", class: "danger", "aria-label": "Revoke " + one.kind + " " + one.id, onclick: () => {
        if (confirm("Revoke " + one.kind + " " + one.id + " of " + one.user + "?")) act("revoked " + one.kind + " " + one.id, "DELETE", "/v1/tokens/" + one.id, refresh);
      } }, "Revoke") },
    ], list) : null];
}

async function audit(query) {
  const wanted = new URLSearchParams({ last: query.get("last") || "7d" });
  if (query.get("user")) wanted.set("user", query.get("user"));
  const { changes, older } = await get("/v1/audit?" + wanted);
  return [h("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = "#/admin/audit?" + new URLSearchParams([...new FormData(event.target)].filter(([, value]) => value));
  } }, h("label", {}, "Period", h("input", { name: "last", value: wanted.get("last"), size: "8" })),
  me.administrator ? h("label", {}, "User", h("input", { name: "user", value: wanted.get("user") || "", size: "12" })) : null, h("button", {}, "Show")),
  changes.length ? table("the last " + changes.length + " changes" + (older ? "; older ones are left out" : ""), [
    { title: "When", cell: (one) => h("time", { datetime: one.at }, clock(one.at)) }, { title: "User", cell: (one) => one.user },
    { title: "How", cell: (one) => (one.token ? "token " + one.token : { peer: "on the machine" }[one.by] || one.by) },
    { title: "Operation", cell: (one) => one.operation }, { title: "Request", wide: true, cell: (one) => one.path },
  ], changes) : h("p", {}, "Nothing was changed.")];
}

export async function view(query, refresh, id) {
  const part = PARTS.some(([key]) => key === id) ? id : "";
  const content = await { "": machines, tokens, audit }[part](query, refresh);
  return [h("h1", {}, "Admin"), h("nav", { class: "parts", "aria-label": "Parts of this view" }, PARTS.map(([key, title]) => {
    const item = link("admin" + (key ? "/" + key : ""), title);
    if (key === part) item.setAttribute("aria-current", "page");
    return item;
  }), link("whatif", "Configuration")), content];
}
