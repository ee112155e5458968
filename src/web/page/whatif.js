// SPDX-License-Identifier: Apache-2.0
// What would happen if: nodes were added or drained, a limit changed, a job submitted. And the configuration, with its changes.
import { study } from "/web/api.js";
import { configuration } from "/web/config.js";
import { h } from "/web/dom.js";
import { outlook } from "/web/outlook.js";

export const isForm = true;

const FIELDS = [["add_nodes", "Add nodes", "2:h100:8"], ["drain", "Drain nodes", "n1, n2"], ["remove", "Remove nodes", "n3"],
  ["cancel", "Cancel jobs", "7, 12_3"], ["set", "Change settings", "queues.research.limit=8"]];

const indent = (text) => text.split("\n").map((line) => "  " + line).join("\n");

// The request as YAML: a job file is a part of it as it is.
function requestOf(form) {
  const parts = [];
  for (const [key] of FIELDS) {
    const words = form.elements[key].value.split(",").map((word) => word.trim()).filter(Boolean);
    if (words.length) parts.push(key + ": [" + words.map((word) => JSON.stringify(word)).join(", ") + "]");
  }
  if (form.elements.submit.value.trim()) parts.push("submit:\n" + indent(form.elements.submit.value));
  return parts.length ? parts.join("\n") + "\n" : null;
}

function question(query) {
  const answer = h("div", { "aria-live": "polite" });
  const button = h("button", { class: "main" }, "Compare");
  async function compare(event) {
    event.preventDefault();
    const body = requestOf(event.target);
    if (!body) { answer.replaceChildren(h("p", { class: "bad" }, "Enter at least one change.")); return; }
    button.disabled = true;
    answer.replaceChildren(h("p", { class: "dim" }, "The scheduler runs ahead …"));
    try {
      answer.replaceChildren(h("h2", {}, "Outcome"), ...outlook(await study("/v1/whatif", body)).filter(Boolean));
    } catch (failure) {
      answer.replaceChildren(h("p", { class: "bad" }, failure.message));
    }
    button.disabled = false;
  }
  return [h("form", { onsubmit: compare, class: "sides", "aria-label": "What if" },
    h("div", { class: "fields" }, FIELDS.map(([key, title, hint]) =>
      h("label", { class: "all" }, title, h("input", { name: key, placeholder: hint, value: query.get(key) || "", autocomplete: "off" })))),
    h("div", {}, h("label", { for: "newjob" }, "Submit a job (YAML)"),
      h("textarea", { id: "newjob", name: "submit", rows: "9", spellcheck: "false", placeholder: "name: big\nrun: python train.py\ngpus: 8\nmax_duration: 4h" }),
      h("div", { class: "actions" }, button))), answer];
}

export async function view(query) {
  return [h("h1", {}, "What if"), h("p", { class: "dim" }, "The daemon simulates its present state twice, without and with the changes. Nothing is changed."),
    question(query), await configuration()];
}

