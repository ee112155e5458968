// SPDX-License-Identifier: Apache-2.0
import { ask } from "/web/api.js";
import { h } from "/web/dom.js";

// A token, or the code of `tarn web`, becomes a session.
export async function begin(token) {
  return ask("POST", "/v1/session", {}, { Authorization: "Bearer " + token });
}

// The code in the address is used once, and leaves no trace in the history.
export async function beginFromAddress() {
  const code = location.hash.slice(1);
  if (!code.startsWith("tarn_")) return;
  history.replaceState(null, "", "/");
  await begin(code);
}

export function view(onDone) {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true, size: "48" });
  const words = h("p", { class: "bad", role: "alert" });
  async function submit(event) {
    event.preventDefault();
    words.textContent = "";
    try {
      await begin(field.value.trim());
      onDone();
    } catch (failure) {
      words.textContent = failure.message;
      field.focus();
    }
  }
  return [h("h1", {}, "Log in"),
    h("p", {}, "On the machine of the daemon, ", h("code", {}, "tarn web"), " opens this page with a login, and ",
      h("code", {}, "tarn token create"), " makes a token."),
    h("form", { onsubmit: submit }, h("label", { for: "token" }, "Access token", field), h("button", {}, "Log in")), words];
}
