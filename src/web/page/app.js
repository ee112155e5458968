// SPDX-License-Identifier: Apache-2.0
// Views by the address (#/jobs?user=ana), drawn again when something changes.
//
// A view is a module: view(query, refresh, id) returns its content. `isForm` (or isForm(id)): what a person enters
// there is kept, so it is drawn only when the address changes. leave(): another view follows. A view is loaded when it is first shown.
import { ask, forget, get, me } from "/web/api.js";
import { h, link, notice } from "/web/dom.js";
import * as login from "/web/login.js";

const VIEWS = {
  overview: { title: "Overview", load: () => import("/web/overview.js") },
  jobs: { title: "Jobs", load: () => import("/web/jobs.js") },
  job: { title: "Job", of: "jobs", load: () => import("/web/job.js") },
  pipelines: { title: "Pipelines", load: () => import("/web/pipelines.js") },
  forecast: { title: "Forecast", load: () => import("/web/forecast.js") },
  submit: { title: "Submit", load: () => import("/web/submit.js") },
  whatif: { title: "What if", load: () => import("/web/whatif.js") },
  money: { title: "Money", load: () => import("/web/money.js") },
  queues: { title: "Queues", load: () => import("/web/queues.js") },
  admin: { title: "Admin", load: () => import("/web/admin.js") },
};
const SOON_MS = 300, LEAST_MS = 800, EVERY_MS = 5000; // between two draws: LEAST_MS

const main = document.getElementById("main");
const connection = document.getElementById("connection");
let turn = 0, timer = 0, drawn = 0, isDue = false, events = null, isLoggedIn = false, last = null, shown = null;

function where() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/");
  return { name: name in VIEWS ? name : "overview", id, query: new URLSearchParams(query || "") };
}

function drawMenu(name) {
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).filter(([, one]) => !one.of).map(([key, one]) => {
    const item = link(key, one.title);
    if (key === name || key === VIEWS[name].of) item.setAttribute("aria-current", "page");
    return item;
  }));
  document.querySelector("#views [aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" }); // a phone shows a part of the menu
}

// What a person is typing or reading must not be replaced under their hands.
function isBusy() {
  const active = document.activeElement;
  return main.contains(active) && ["INPUT", "SELECT", "TEXTAREA"].includes(active.tagName) && active.type !== "checkbox";
}

// What is there already stays where it is, with what is selected in it and scrolled to.
function replace(children) {
  const kept = new Set(children);
  for (const one of [...main.childNodes]) if (!kept.has(one)) main.removeChild(one); // a form may have a field named "remove"
  let next = main.firstChild;
  for (const one of children) {
    if (one === next) next = next.nextSibling;
    else main.insertBefore(one, next);
  }
}

// The element with the focus, when the view is drawn again: the same tag, address and name; of several, the same one.
const sameAs = (tag, href, words) => [...main.querySelectorAll(tag)].filter((one) => one.getAttribute("href") === href &&
  (href !== null || (one.getAttribute("aria-label") ?? one.textContent) === words));
function placeOf(element) {
  const key = [element.tagName, element.getAttribute("href"), element.getAttribute("aria-label") ?? element.textContent];
  return { key, index: sameAs(...key).indexOf(element) };
}
function find({ key, index }) { const found = sameAs(...key); return found[index] ?? found[0]; }

function put(content, isNew) {
  const scroll = [window.scrollX, window.scrollY], sideways = [...main.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  const focused = main.contains(document.activeElement) ? placeOf(document.activeElement) : null;
  replace(content.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  if (isNew) { main.focus({ preventScroll: true }); return; }
  window.scrollTo(...scroll);
  main.querySelectorAll(".scroll").forEach((one, i) => { one.scrollLeft = sideways[i] || 0; });
  if (focused && !main.contains(document.activeElement)) find(focused)?.focus({ preventScroll: true });
}

function leaveShown() {
  shown?.leave?.();
  shown = null;
}

async function draw() {
  const mine = ++turn, place = where(), key = location.hash, isNew = key !== last, about = VIEWS[place.name];
  clearTimeout(timer);
  isDue = false;
  drawn = performance.now();
  if (!isLoggedIn) return;
  drawMenu(place.name);
  try {
    const module = await about.load();
    if (mine !== turn) return;
    if (isNew && shown && shown !== module) leaveShown();
    if (!isNew && (typeof module.isForm === "function" ? module.isForm(place.id) : module.isForm)) return;
    shown = module;
    const content = await module.view(place.query, soon, place.id);
    if (mine !== turn) return;
    if (events.readyState === EventSource.OPEN) live();
    else if (events.readyState === EventSource.CLOSED) listen(); // the browser gave up, but the daemon is there again
    if (isNew || !isBusy()) put([content], isNew);
    last = key;
    document.title = about.title + (place.id ? " " + place.id : "") + " · tarn";
  } catch (failure) {
    if (failure.status === 401) { showLogin(); return; }
    if (mine === turn && isNew) put([h("h1", {}, about.title), h("p", { class: "bad" }, failure.status === undefined
      ? "The daemon cannot be reached: " + failure.message + ". This page asks again every " + EVERY_MS / 1000 + " seconds." : failure.message)], true);
    if (failure.status === undefined) lost();
  }
  if (!isDue) timer = setTimeout(draw, EVERY_MS);
}

// After a change, however many follow it.
function soon() {
  if (isDue) return;
  isDue = true;
  clearTimeout(timer);
  timer = setTimeout(draw, Math.max(SOON_MS, drawn + LEAST_MS - performance.now()));
}

function live() { connection.textContent = "live"; connection.className = "good"; }
function lost() { connection.textContent = "not connected: what is shown may be out of date"; connection.className = "bad"; }

function listen() {
  if (events) events.close();
  events = new EventSource("/v1/events");
  events.onopen = () => { live(); soon(); };
  events.onerror = lost;
  for (const name of ["job", "group", "lost"]) events.addEventListener(name, soon);
}

function showLogin() {
  isLoggedIn = false;
  turn++;
  forget();
  main.replaceChildren();
  if (events) events.close();
  leaveShown();
  connection.textContent = "";
  document.getElementById("who").replaceChildren();
  document.getElementById("views").replaceChildren();
  login.view(enter).then((parts) => { if (!isLoggedIn) put(parts, true); }, (failure) => notice(failure.message, true));
  document.title = "Log in · tarn";
}

async function leave() {
  try { await ask("DELETE", "/v1/session"); } catch (failure) { notice(failure.message, true); }
  showLogin();
}

async function enter() {
  try {
    Object.assign(me, await get("/v1/whoami"));
  } catch (failure) {
    if (failure.status !== 401) notice(failure.message, true);
    showLogin();
    return;
  }
  isLoggedIn = true;
  last = null;
  document.getElementById("who").replaceChildren(me.user + (me.administrator ? " (administrator) " : me.scope === "read" ? " (read only) " : " "),
    h("button", { type: "button", onclick: leave }, "Log out"));
  listen();
  draw();
}

window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#tarn_")) start();
  else draw();
});

// A page that a browser keeps for the way back must hold no connection.
window.addEventListener("pagehide", () => {
  if (events) events.close();
  clearTimeout(timer);
  leaveShown();
});
window.addEventListener("pageshow", (event) => { if (event.persisted) enter(); });

async function start() {
  try { await login.beginFromAddress(); } catch (failure) { notice(failure.message, true); }
  enter();
}
start();
