// SPDX-License-Identifier: Apache-2.0
// #/pipelines: the list. #/pipelines/7: the stages of one, with their order, progress and critical path.
import { ask, get, me } from "/web/api.js";
import { clock, duration, facts, h, link, notice, svg, table } from "/web/dom.js";

const WIDTH = 200, HEIGHT = 62, GAP_X = 46, GAP_Y = 16;
const CLASSES = { ok: "good", failed: "bad", lost: "bad", timeout: "bad", out_of_memory: "bad", cancelled: "warn" };

function progress(one) { return one.ended_count + " of " + one.job_count + " jobs ended"; }

function stateOf(one) {
  if (one.result) return one.result;
  if (one.active_count) return "running";
  return one.ended_count ? "partly done" : "waiting";
}

const stateClass = (state) => ({ ok: "good", failed: "bad", running: "good", cancelled: "warn" }[state] || "dim");

// A stage stands to the right of all that it needs.
function place(stages) {
  const at = new Map(), used = [];
  for (const stage of stages) {
    const before = stage.needs.map((need) => at.get(need.stage)).filter(Boolean);
    const column = Math.max(0, ...before.map((one) => one.column + 1));
    used[column] = (used[column] || 0) + 1;
    at.set(stage.id, { column, row: used[column] - 1 });
  }
  return { at, columns: used.length, rows: Math.max(0, ...used) };
}

function edge(from, to, isCritical, when) {
  const x1 = from.column * (WIDTH + GAP_X) + WIDTH, x2 = to.column * (WIDTH + GAP_X);
  const y1 = from.row * (HEIGHT + GAP_Y) + HEIGHT / 2, y2 = to.row * (HEIGHT + GAP_Y) + HEIGHT / 2, middle = (x2 - x1) / 2;
  return svg("path", { class: "edge" + (isCritical ? " critical" : "") + (when === "failed" ? " on-failure" : ""),
    d: "M" + x1 + "," + y1 + "C" + (x1 + middle) + "," + y1 + " " + (x2 - middle) + "," + y2 + " " + x2 + "," + y2 },
  svg("title", {}, "when it has " + when));
}

function box(stage, spot) {
  const x = spot.column * (WIDTH + GAP_X), y = spot.row * (HEIGHT + GAP_Y), state = stateOf(stage);
  const good = stage.results.ok || 0, bad = stage.ended_count - good;
  const part = (count) => (WIDTH - 16) * count / Math.max(1, stage.job_count);
  const words = stage.name + ": " + state + ", " + progress(stage) + (stage.bad_count ? ", " + stage.bad_count + " not well" : "") +
    (stage.critical ? ", on the critical path" : "");
  return svg("a", { href: "#/jobs?all=1&group=" + stage.id, "aria-label": words }, svg("title", {}, words),
    svg("rect", { class: "stage" + (stage.critical ? " critical" : ""), x: x + 1, y: y + 1, width: WIDTH - 2, height: HEIGHT - 2, rx: 6 }),
    svg("text", { x: x + 8, y: y + 20, class: "strong" }, stage.name.length > 24 ? stage.name.slice(0, 23) + "…" : stage.name),
    svg("text", { x: x + 8, y: y + 37, class: "said " + stateClass(state) }, state + " · " + stage.ended_count + "/" + stage.job_count +
      (stage.started || stage.end ? " · " + duration(stage.length_seconds) : "")),
    svg("rect", { class: "track", x: x + 8, y: y + 45, width: WIDTH - 16, height: 6, rx: 3 }),
    svg("rect", { class: "bar-mine", x: x + 8, y: y + 45, width: part(good), height: 6 }),
    svg("rect", { class: "bar-bad", x: x + 8 + part(good), y: y + 45, width: part(bad), height: 6 }),
    svg("rect", { class: "bar-run", x: x + 8 + part(good + bad), y: y + 45, width: part(stage.active_count), height: 6 }));
}

function graph(pipeline) {
  const { at, columns, rows } = place(pipeline.stages);
  const width = Math.max(1, columns * (WIDTH + GAP_X) - GAP_X), height = Math.max(1, rows * (HEIGHT + GAP_Y) - GAP_Y);
  const isCritical = new Map(pipeline.stages.map((stage) => [stage.id, stage.critical]));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Order of the stages" },
    svg("svg", { class: "dag", width, height, viewBox: "0 0 " + width + " " + height, role: "group", "aria-label": "Stages of " + pipeline.name },
      pipeline.stages.map((stage) => stage.needs.filter((need) => at.has(need.stage)).map((need) =>
        edge(at.get(need.stage), at.get(stage.id), stage.critical && isCritical.get(need.stage), need.when))),
      pipeline.stages.map((stage) => box(stage, at.get(stage.id)))));
}

async function act(words, path, refresh) {
  if (!confirm(words + "?")) return;
  try {
    const { changed } = await ask("POST", path);
    notice(words + ": " + changed.length + (changed.length === 1 ? " job" : " jobs"));
  } catch (failure) {
    notice(failure.message, true);
  }
  refresh();
}

function actions(one, refresh) {
  const button = (text, path, isDanger) => h("button", { type: "button", class: isDanger ? "danger" : null,
    onclick: () => act(text + " of " + one.kind + " " + one.name, path, refresh) }, text);
  const isOver = Boolean(one.result);
  if (me.scope === "read") return null;
  return h("div", { class: "actions", role: "group", "aria-label": "Actions on " + one.name },
    isOver && !one.bad_count ? null : button(isOver ? "Continue from failures" : "Cancel", "/v1/jobs/" + one.id + (isOver ? "/requeue" : "/cancel"), !isOver));
}

async function one(id, refresh) {
  const pipeline = await get("/v1/pipelines/" + id);
  const names = new Map(pipeline.stages.map((stage) => [stage.id, stage.name])), state = stateOf(pipeline);
  const results = (stage) => Object.entries(stage.results).map(([name, count], i) => [i ? ", " : "", h("span", { class: CLASSES[name] || null }, count + " " + name)]);
  return [h("h1", {}, "Pipeline " + pipeline.id + " " + pipeline.name + " ", h("span", { class: stateClass(state) }, state)), actions(pipeline, refresh),
    facts([["User", pipeline.user], ["Submitted", clock(pipeline.submitted)], ["Ended", pipeline.ended ? clock(pipeline.ended) : null],
      ["Jobs", link("jobs?all=1&group=" + pipeline.id, progress(pipeline))], ["Critical path", duration(pipeline.critical_seconds) + ": " +
        pipeline.stages.filter((stage) => stage.critical).map((stage) => stage.name).join(" → ")],
      ["Expected end", pipeline.end ? clock(pipeline.end.expected) + " (" + clock(pipeline.end.low) + " to " + clock(pipeline.end.high) + ")" : null]]),
    h("h2", {}, "Stages"), graph(pipeline),
    table("A stage begins when those that it needs have ended.", [
      { title: "Stage", cell: (stage) => link("jobs?all=1&group=" + stage.id, stage.name) },
      { title: "State", cell: (stage) => h("span", { class: stateClass(stateOf(stage)) }, stateOf(stage)) },
      { title: "Ended", number: true, cell: (stage) => stage.ended_count + " of " + stage.job_count },
      { title: "Results", cell: results }, { title: "Needs", cell: (stage) => stage.needs.map((need) => (names.get(need.stage) || need.stage) +
        (need.when === "ok" ? "" : " (" + need.when + ")")).join(", ") },
      { title: "Length", number: true, cell: (stage) => duration(stage.length_seconds) },
      { title: "Critical", cell: (stage) => (stage.critical ? "yes" : "") },
      ...(me.scope === "read" ? [] : [{ title: "", cell: (stage) => h("button", { type: "button", onclick: () => act("Run again from stage " + stage.name,
        "/v1/jobs/" + stage.id + "/requeue?following=1", refresh) }, "Rerun from here") }]),
    ], pipeline.stages)];
}

export async function view(query, refresh, id) {
  if (id) return one(id, refresh);
  const { pipelines, older } = await get("/v1/pipelines");
  return [h("h1", {}, "Pipelines"), pipelines.length ? table(pipelines.length + (pipelines.length === 1 ? " pipeline" : " pipelines") + (older ? ", the newest" : ""), [
    { title: "ID", cell: (pipeline) => link("pipelines/" + pipeline.id, pipeline.id) },
    { title: "Name", cell: (pipeline) => pipeline.name }, { title: "User", cell: (pipeline) => pipeline.user },
    { title: "State", cell: (pipeline) => h("span", { class: stateClass(stateOf(pipeline)) }, stateOf(pipeline)) },
    { title: "Ended", number: true, cell: (pipeline) => pipeline.ended_count + " of " + pipeline.job_count },
    { title: "Failed", number: true, cell: (pipeline) => String(pipeline.bad_count) },
    { title: "Submitted", cell: (pipeline) => clock(pipeline.submitted) },
  ], pipelines) : h("p", {}, "There are no pipelines.")];
}
