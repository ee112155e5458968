// SPDX-License-Identifier: Apache-2.0
// A form and the YAML of a job side by side. The daemon checks it while it is typed, and says when it would start.
import { ask, get } from "/web/api.js";
import { clock, duration, h, link, notice, table } from "/web/dom.js";
import { document as yamlOf, getKey, setKey } from "/web/yaml.js";

export const isForm = true;

const CHECK_MS = 400;
const FIELDS = [["name", "Name"], ["gpus", "GPUs", "1, h100:2, 0.5, mem=20G"], ["cpus", "CPUs"], ["memory", "Memory", "16G"],
  ["max_duration", "Time limit", "2h"], ["queue", "Queue"], ["array", "Array", "0-99"], ["ranks", "Members", "of a gang"],
  ["priority", "Priority", "low, normal, high"], ["retry", "Retries"], ["begin", "Begin", "now+1h, 22:00"], ["cwd", "Folder", "absolute path"]];
const TEMPLATES = {
  "One job with a GPU": "name: train\nrun: python train.py\ngpus: 1\nmax_duration: 2h\n",
  "Array of runs": "name: sweep\nrun: python train.py --seed $TARN_ARRAY_INDEX\narray: 0-9\ngpus: 1\nmax_duration: 1h\n",
  "Pipeline": "name: nightly\nstages:\n  prepare:\n    run: python prepare.py\n  train:\n    needs: [prepare]\n    gpus: 1\n    array: 0-3\n" +
    "    run: python train.py --fold $TARN_ARRAY_INDEX\n  report:\n    needs: [train]\n    run: python report.py\n",
  "Gang on several GPUs": "name: ddp\nrun: python -m torch.distributed.run train.py\nranks: 2\ngpus: 4\nmax_duration: 8h\non_member_loss: heal\n",
  "Preemptible, with checkpoints": "name: long\nrun: python train.py --resume\ngpus: 2\npreemptible: true\nmax_duration: 2d\n",
  "Every night": "name: backup\nrun: ./backup.sh\nschedule: \"0 2 * * *\"\nmax_duration: 1h\n",
};
const OWN = "tarn.templates";

let kept = TEMPLATES["One job with a GPU"], timer = 0, turn = 0, key = null;

function ownTemplates() {
  try { return JSON.parse(localStorage.getItem(OWN)) || {}; } catch { return {}; }
}

// A job that was submitted before, as a document.
async function likeJob(id) {
  const job = await get("/v1/jobs/" + id), request = job.request || {};
  if (!job.launch) throw new Error("job " + id + ": its command is shown to its owner only");
  const document = { name: job.name, command: job.launch.command, cwd: job.launch.cwd, queue: job.queue };
  if (request.gpus && request.gpus !== "0") document.gpus = request.gpus;
  if (request.cpus) document.cpus = request.cpus;
  if (request.memory) document.memory = request.memory + "M";
  if (request.members > 1) document.ranks = request.members;
  if (request.max_duration) document.max_duration = request.max_duration;
  if (request.pool) document.pool = request.pool;
  return yamlOf(document);
}

export function leave() { clearTimeout(timer); turn++; }

const when = (start) => (!start || !start.expected ? "not known" : clock(start.expected) + (start.low ? " (" + clock(start.low) + " to " + clock(start.high) + ")" : ""));

function describe(reply) {
  return reply.submitted.map((one) => one.kind + " " + one.name + ": " + one.job_count + (one.job_count === 1 ? " job" : " jobs") +
    (one.next ? ", next at " + clock(one.next) : "") + (one.waits ? ", would wait: " + one.waits : "")).join("; ");
}

function offers(choice) {
  const money = (value) => (value === null ? "-" : value.toFixed(2));
  return [h("h2", {}, "Models"), h("p", { class: "dim" }, choice.text), table("price, wait and fit of each model: a rough estimate by the usual run time of your jobs and the present plan", [
    { title: "Model", cell: (one) => [one.model, one.chosen ? h("strong", {}, " first") : ""] },
    { title: "Fits", cell: (one) => (one.fits ? one.late ? "too slow" : "yes" : "no") },
    { title: "Wait", number: true, cell: (one) => duration(one.wait_seconds) }, { title: "Run", number: true, cell: (one) => duration(one.run_seconds) },
    { title: "Cost", number: true, cell: (one) => money(one.cost) }, { title: "Per hour", number: true, cell: (one) => money(one.rate) },
    { title: "Evidence", wide: true, cell: (one) => one.evidence },
  ], choice.models)];
}

function editor() {
  const text = h("textarea", { id: "document", rows: "18", spellcheck: "false", "aria-describedby": "verdict" });
  const verdict = h("p", { class: "verdict", id: "verdict", role: "status" });
  const future = h("div", {}), models = h("div", {});
  const button = h("button", { type: "submit", class: "main", disabled: true }, "Submit");
  const inputs = new Map();

  async function check() {
    const mine = ++turn, body = text.value;
    kept = body;
    key = null;
    button.disabled = true;
    if (!body.trim()) { verdict.textContent = ""; return; }
    try {
      const reply = await ask("POST", "/v1/jobs?dry_run=1", body);
      if (mine !== turn) return;
      verdict.className = "verdict good";
      verdict.textContent = "Valid: " + describe(reply) + (reply.notes.length ? ". " + reply.notes.join("; ") : "");
      button.disabled = false;
    } catch (failure) {
      if (mine !== turn) return;
      verdict.className = "verdict bad";
      verdict.textContent = failure.message;
      future.replaceChildren();
      models.replaceChildren();
      return;
    }
    // Neither is known of several jobs.
    const [start, choice] = await Promise.allSettled([ask("POST", "/v1/when", body), ask("POST", "/v1/choose", body)]);
    if (mine !== turn) return;
    future.replaceChildren(...(start.status === "fulfilled" ? [h("h2", {}, "Expected start"), h("p", {}, when(start.value.start) + " · " + start.value.text)] : []));
    models.replaceChildren(...(choice.status === "fulfilled" && choice.value.models.length ? offers(choice.value) : []).flat());
  }
  function soon() { clearTimeout(timer); timer = setTimeout(check, CHECK_MS); }
  function readText() {
    for (const [name, input] of inputs) if (input !== window.document.activeElement) input.value = getKey(text.value, name) ?? "";
    soon();
  }
  function set(value) { text.value = value; readText(); }

  const field = (name, title, hint) => {
    const input = name === "run" ? h("textarea", { rows: "3", spellcheck: "false" }) : h("input", { placeholder: hint || "", autocomplete: "off" });
    if (name === "queue") input.setAttribute("list", "queues");
    input.addEventListener("input", () => { text.value = setKey(text.value, name, input.value); soon(); });
    inputs.set(name, input);
    return h("label", { class: name === "run" ? "all" : null }, title, input);
  };
  text.addEventListener("input", readText);

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    key = key || crypto.randomUUID(); // a second press submits nothing more
    try {
      const reply = await ask("POST", "/v1/jobs", text.value, { "Idempotency-Key": key });
      const first = reply.submitted[0];
      notice("submitted: " + describe(reply));
      location.hash = first.kind === "cron" ? "#/jobs" : first.kind === "pipeline" ? "#/pipelines/" + first.id : "#/job/" + first.id;
    } catch (failure) {
      verdict.className = "verdict bad";
      verdict.textContent = failure.message;
      button.disabled = false;
    }
  }

  const choose = h("select", { onchange: () => {
    const own = ownTemplates();
    set(own[choose.value] ?? TEMPLATES[choose.value] ?? text.value);
  } });
  const fillTemplates = () => choose.replaceChildren(h("option", { value: "" }, "choose"),
    ...[["Templates", TEMPLATES], ["Yours, in this browser", ownTemplates()]].filter(([, list]) => Object.keys(list).length)
      .map(([label, list]) => h("optgroup", { label }, Object.keys(list).map((name) => h("option", { value: name }, name)))));
  const keep = h("button", { type: "button", onclick: () => {
    const name = prompt("Name of the template", getKey(text.value, "name") || "");
    if (!name) return;
    localStorage.setItem(OWN, JSON.stringify({ ...ownTemplates(), [name]: text.value }));
    fillTemplates();
  } }, "Keep as template");
  const queues = h("datalist", { id: "queues" });
  get("/v1/queues").then((list) => queues.append(...list.queues.map((one) => h("option", { value: one.name }))), () => {});
  fillTemplates();
  return { set, content: h("form", { class: "sides", onsubmit: submit, "aria-label": "Job" },
    h("div", {}, h("div", { class: "fields" }, h("label", { class: "all" }, "Template", choose), field("run", "Command (shell)"), FIELDS.map((one) => field(...one)), queues)),
    h("div", {}, h("label", { for: "document" }, "Job file (YAML)"), text, verdict, h("div", { class: "actions" }, button, keep,
      h("a", { href: "#/jobs" }, "Jobs")), future, models)) };
}

export async function view(query) {
  const { set, content } = editor();
  let text = query.get("like") ? await likeJob(query.get("like")) : kept;
  for (const [key, value] of query) if (key !== "like") text = setKey(text, key, value);
  set(text);
  return [h("h1", {}, "Submit"), content];
}
