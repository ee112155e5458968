// SPDX-License-Identifier: Apache-2.0
// The configuration: edit, check, compare, replay the last days, apply, undo.
import { ask, get, me, study } from "/web/api.js";
import { clock, h, notice, table } from "/web/dom.js";
import { outlook } from "/web/outlook.js";
import { document as yamlOf } from "/web/yaml.js";

const CHECK_MS = 400;

const indent = (text) => text.split("\n").map((line) => "  " + line).join("\n");
const lines = (list, kind) => (list.length ? h("ul", { class: "diff" }, list.map((line) => h("li", { class: kind }, line))) : null);

// An earlier configuration comes back: what changes is shown first, and agreed to.
async function undo(number, onDone) {
  try {
    const shown = await ask("POST", "/v1/config/undo?dry_run=1&change=" + number);
    if (!shown.changes.length) { notice("nothing would change"); return; }
    if (!confirm("Restore the configuration before change " + number + "?\n\n" + shown.changes.join("\n"))) return;
    await ask("POST", "/v1/config/undo?change=" + number + "&seen=" + shown.last);
    notice("restored: " + shown.changes.length + (shown.changes.length === 1 ? " change" : " changes"));
    onDone();
  } catch (failure) {
    notice(failure.message, true);
  }
}

function log(changes, onDone) {
  return changes.length ? table("the last changes, newest first", [
    { title: "Nr", number: true, cell: (one) => String(one.number) }, { title: "When", cell: (one) => clock(one.at) },
    { title: "User", cell: (one) => one.user },
    { title: "Change", wide: true, cell: (one) => (one.undone ? "back to before " + one.undone + ": " : "") + one.text },
    { title: "", cell: (one) => (me.administrator ? h("button", { type: "button", onclick: () => undo(one.number, onDone) }, "Undo") : null) },
  ], changes) : h("p", { class: "dim" }, "Nothing has been changed yet.");
}

export async function configuration() {
  const text = h("textarea", { id: "configuration", rows: "20", spellcheck: "false", "aria-describedby": "config-verdict" });
  const verdict = h("div", { id: "config-verdict", class: "verdict", role: "status" }), answer = h("div", { "aria-live": "polite" });
  const past = h("div", {}), days = h("select", { "aria-label": "Days to replay" }, ["1d", "7d", "30d"].map((value) => h("option", { value, selected: value === "7d" }, value)));
  let timer = 0, turn = 0, seen = 0;

  const apply = h("button", { type: "button", class: "main", disabled: true, onclick: async () => {
    const body = text.value;
    if (!confirm("Apply these changes?\n\n" + [...verdict.querySelectorAll("li.change")].map((one) => one.textContent).join("\n"))) return;
    try {
      const done = await ask("PUT", "/v1/config?seen=" + seen, body);
      notice("applied: change " + done.number);
      await load();
    } catch (failure) {
      notice(failure.message, true);
      check();
    }
  } }, "Apply");
  const others = [h("button", { type: "button", disabled: true, onclick: () => compare("/v1/whatif", "config:\n" + indent(text.value)) }, "Compare the present queue"),
    h("button", { type: "button", disabled: true, onclick: () => compare("/v1/rehearsal", "last: " + days.value + "\nconfig:\n" + indent(text.value)) }, "Replay the last days")];
  const buttons = [apply, ...others];

  async function compare(path, body) {
    answer.replaceChildren(h("p", { class: "dim" }, "The scheduler simulates …"));
    try {
      const reply = await study(path, body);
      answer.replaceChildren(h("h2", {}, path.endsWith("rehearsal") ? "The last " + days.value + " under it" : "The present queue under it"),
        ...outlook(reply, path.endsWith("rehearsal") ? ["Old configuration", "New"] : undefined).filter(Boolean));
    } catch (failure) {
      answer.replaceChildren(h("p", { class: "bad" }, failure.message));
    }
  }
  async function check() {
    const mine = ++turn;
    buttons.forEach((one) => { one.disabled = true; });
    try {
      const reply = await ask("PUT", "/v1/config?dry_run=1", text.value.trim() ? text.value : "{}");
      if (mine !== turn) return;
      seen = reply.last;
      verdict.replaceChildren(h("p", { class: reply.changes.length ? "good" : "dim" }, reply.changes.length
        ? "Valid, " + reply.changes.length + (reply.changes.length === 1 ? " change:" : " changes:") : "As in force."),
      ...[lines(reply.changes, "change"), lines(reply.warnings, "warn")].filter(Boolean));
      others.forEach((one) => { one.disabled = false; });
      apply.disabled = !reply.changes.length || !me.administrator;
    } catch (failure) {
      if (mine === turn) verdict.replaceChildren(h("p", { class: "bad" }, failure.message));
    }
  }
  async function load() {
    const [config, { changes }] = await Promise.all([get("/v1/config"), get("/v1/config/changes")]);
    text.value = yamlOf(config);
    past.replaceChildren(log(changes, load));
    answer.replaceChildren(); // it compared with what was in force before
    check();
  }
  text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(check, CHECK_MS); });
  await load();
  return [h("h2", { id: "config" }, "Configuration"),
    h("div", {}, h("label", { for: "configuration" }, "Pools, queues and settings (YAML)"), text), verdict,
    h("div", { class: "actions" }, buttons, days), me.administrator ? null : h("p", { class: "dim" }, "Only administrators can apply a configuration."),
    answer, h("h2", {}, "Changes"), past];
}
