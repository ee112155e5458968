// SPDX-License-Identifier: Apache-2.0
// Views by the address (#/jobs?user=ana), drawn again when something changes.
import { ask, get } from "/web/api.js";
import { h, link, notice } from "/web/dom.js";
import * as job from "/web/job.js";
import * as jobs from "/web/jobs.js";
import * as login from "/web/login.js";
import * as overview from "/web/overview.js";
import * as queues from "/web/queues.js";

const VIEWS = { overview, jobs, job, queues };
const NAMES = [["overview", "Overview"], ["jobs", "Jobs"], ["queues", "Queues"]];
const SOON_MS = 300, EVERY_MS = 5000;

const main = document.getElementById("main");
const connection = document.getElementById("connection");
let turn = 0, timer = 0, events = null, isLoggedIn = false, last = null;

function where() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/");
  return { name: name in VIEWS ? name : "overview", id, query: new URLSearchParams(query || "") };
}

function drawMenu(name) {
  document.getElementById("views").replaceChildren(...NAMES.map(([key, title]) => {
    const item = link(key, title);
    if (key === name || (key === "jobs" && name === "job")) item.setAttribute("aria-current", "page");
    return item;
  }));
}

// What a person is typing or reading must not be replaced under their hands.
function isBusy() {
  const active = document.activeElement;
  return main.contains(active) && ["INPUT", "SELECT"].includes(active.tagName) && active.type !== "checkbox";
}

function put(content, isNew) {
  const scroll = [window.scrollX, window.scrollY];
  main.replaceChildren(...content.flat(9).filter((child) => child !== null && child !== undefined));
  if (isNew) main.focus({ preventScroll: true });
  else window.scrollTo(...scroll);
}

async function draw() {
  const mine = ++turn, place = where(), key = location.hash, isNew = key !== last;
  clearTimeout(timer);
  if (!isLoggedIn) return;
  if (isNew && place.name !== "job") job.leave();
  drawMenu(place.name);
  try {
    const content = await VIEWS[place.name].view(place.query, soon, place.id);
    if (mine !== turn) return;
    if (isNew || !isBusy()) put([content], isNew);
    last = key;
    document.title = (place.name === "job" ? "Job " + place.id : NAMES.find(([name]) => name === place.name)[1]) + " · tarn";
  } catch (failure) {
    if (failure.status === 401) { showLogin(); return; }
    if (mine === turn && isNew) put([h("h1", {}, "Not shown"), h("p", { class: "bad" }, failure.message)], true);
    if (failure.status === undefined) lost();
  }
  timer = setTimeout(draw, EVERY_MS);
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(draw, SOON_MS);
}

function lost() { connection.textContent = "not connected"; connection.className = "bad"; }

function listen() {
  if (events) events.close();
  events = new EventSource("/v1/events");
  events.onopen = () => { connection.textContent = "live"; connection.className = "good"; soon(); };
  events.onerror = lost;
  for (const name of ["job", "group", "lost"]) events.addEventListener(name, soon);
}

function showLogin() {
  isLoggedIn = false;
  if (events) events.close();
  connection.textContent = "";
  document.getElementById("who").replaceChildren();
  document.getElementById("views").replaceChildren();
  put(login.view(enter), true);
  document.title = "Log in · tarn";
}

async function leave() {
  try { await ask("DELETE", "/v1/session"); } catch (failure) { notice(failure.message, true); }
  job.leave();
  showLogin();
}

async function enter() {
  let who;
  try {
    who = await get("/v1/whoami");
  } catch (failure) {
    if (failure.status !== 401) notice(failure.message, true);
    showLogin();
    return;
  }
  isLoggedIn = true;
  last = null;
  document.getElementById("who").replaceChildren(who.user + (who.administrator ? " (administrator) " : " "),
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
  job.leave();
});
window.addEventListener("pageshow", (event) => { if (event.persisted) enter(); });

async function start() {
  try { await login.beginFromAddress(); } catch (failure) { notice(failure.message, true); }
  enter();
}
start();
