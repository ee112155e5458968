// SPDX-License-Identifier: Apache-2.0
import { ask, get } from "/web/api.js";
import { h } from "/web/dom.js";

// A token, or the code of `tarn web`, becomes a session.
export async function begin(token) {
  return ask("POST", "/v1/session", {}, { Authorization: "Bearer " + token });
}

// Who is logged in with this header, or with the cookie; undefined: nobody.
async function whoIs(headers) {
  try { return (await ask("GET", "/v1/whoami", undefined, headers)).user; } catch { return undefined; }
}

// Anybody can make a link: a browser that is logged in changes its user only if the person agrees.
async function mayBecome(code) {
  const [now, next] = [await whoIs(), await whoIs({ Authorization: "Bearer " + code })];
  return now === undefined || next === undefined || now === next ||
    confirm("This link logs you in as " + next + ". You are logged in as " + now + ". Change the user?\n\nAgree only if you asked for this link, with tarn web.");
}

// The code in the address is used once, and leaves no trace in the history.
export async function beginFromAddress() {
  const code = location.hash.slice(1);
  if (!code.startsWith("tarn_")) return;
  history.replaceState(null, "", "/");
  if (await mayBecome(code)) await begin(code);
}

// A form whose fields become the arguments of act(), in their order.
function form(onDone, act, fields) {
  const words = h("p", { class: "bad", role: "alert" });
  const button = h("button", {}, "Log in");
  async function submit(event) {
    event.preventDefault();
    words.textContent = "";
    button.disabled = true;
    try {
      await act(...fields.map(([, field]) => field.value));
      onDone();
    } catch (failure) {
      words.textContent = failure.message;
      fields.at(-1)[1].focus();
    } finally {
      button.disabled = false;
    }
  }
  return [h("form", { onsubmit: submit }, ...fields.map(([title, field]) => h("label", { for: field.id }, title, field)), button), words];
}

const input = (id, attributes) => h("input", { id, required: true, ...attributes });

function byPassword(onDone) {
  return form(onDone, (user, password) => ask("POST", "/v1/login?session=1", { user, password }), [
    ["User", input("user", { autocomplete: "username", maxlength: "63", size: "24" })],
    ["Password", input("password", { type: "password", autocomplete: "current-password", size: "24" })]]);
}

function byToken(onDone) {
  return [h("p", {}, "On the machine of the daemon, ", h("code", {}, "tarn web"), " opens this page with a login, and ",
    h("code", {}, "tarn token create"), " makes a token."),
  ...form(onDone, (token) => begin(token.trim()), [["Access token", input("token", { type: "password", autocomplete: "off", size: "48" })]])];
}

export async function view(onDone) {
  const ways = await get("/v1/login");
  return [h("h1", {}, "Log in"), ...(ways.password ? [h("p", {}, "With your account on the machine of the daemon:"), ...byPassword(onDone),
    h("h2", {}, "With a token")] : []), ...byToken(onDone)];
}
