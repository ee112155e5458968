// SPDX-License-Identifier: Apache-2.0
// The API of the daemon (doc/spec/05-api.md). The session is in a cookie that this page cannot read.

// The person who is logged in: the reply of /v1/whoami.
export const me = {};

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function check(reply) {
  if (reply.ok) return reply;
  let message = "HTTP status " + reply.status;
  try { message = (await reply.json()).error.message; } catch { /* not JSON */ }
  throw new Refused(reply.status, message);
}

export async function ask(method, path, body, headers) {
  const options = { method, headers: { ...headers }, credentials: "same-origin", cache: "no-store" };
  if (typeof body === "string") {
    options.body = body;
    options.headers["Content-Type"] = "application/yaml";
  } else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  return (await check(await fetch(path, options))).json();
}

export const get = (path) => ask("GET", path);

// A person may have one simulation at a time: one that another view or window began is waited for.
const STUDY_TRIES = 60, STUDY_PAUSE_MS = 500;
export async function study(path, body) {
  for (let left = STUDY_TRIES; ; left--) {
    try {
      return await ask("POST", path, body);
    } catch (failure) {
      if (failure.status !== 429 || left === 0) throw failure;
    }
    await new Promise((next) => setTimeout(next, STUDY_PAUSE_MS));
  }
}

// The same object as before if the reply has not changed.
const seen = new Map();
export async function getAgain(path) {
  const known = seen.get(path);
  const reply = await fetch(path, { credentials: "same-origin", cache: "no-store", headers: known ? { "If-None-Match": known.tag } : {} });
  if (reply.status === 304 && known) return known.value;
  const value = await (await check(reply)).json();
  seen.set(path, { tag: reply.headers.get("ETag"), value });
  return value;
}

// What the person saw who has logged out is not for the next one.
export function forget() {
  seen.clear();
  for (const key of Object.keys(me)) delete me[key];
}

// The output of a job, as it comes; onText(text) until the signal aborts it or the job has ended.
export async function follow(path, onText, signal) {
  const reply = await check(await fetch(path, { signal, credentials: "same-origin", cache: "no-store" }));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onText(value);
  }
}
