// SPDX-License-Identifier: Apache-2.0
// The YAML of an editor. The text is what counts: a form changes its top-level keys, and leaves all else as it is.

const PLAIN = /^[\w./@%+=*-](?:[\w ./@%+=*-]*[\w./@%+=*-])?$/;
const LOOKS_ELSE = /^(?:true|false|null|~|[-+.\d].*)$/i;

export function quote(value) {
  const text = String(value);
  return PLAIN.test(text) && !(LOOKS_ELSE.test(text) && typeof value === "string" && !/^\d+$/.test(text)) ? text : JSON.stringify(text);
}

function find(text, key) {
  const match = new RegExp("^" + key + ":([^\\n]*)(?:\\n(?:[ \\t]+[^\\n]*|(?=\\n)))*(?:\\n|$)", "m").exec(text);
  return match && { from: match.index, until: match.index + match[0].length, first: match[1].trim(), block: match[0] };
}

// The value of a plain key as text; null: it is not there, or no plain text.
export function getKey(text, key) {
  const found = find(text, key);
  if (!found) return null;
  if (/^\|[+-]?$/.test(found.first)) return found.block.split("\n").slice(1).map((line) => line.replace(/^ {1,2}/, "")).join("\n").trim();
  if (found.block.trim().includes("\n")) return null;
  const value = found.first.replace(/(^|\s)#.*$/, "").trim();
  if (value.startsWith('"')) { try { return JSON.parse(value); } catch { return null; } }
  if (value.startsWith("'")) return value.slice(1, -1).replaceAll("''", "'");
  return /^[[{&*!>]/.test(value) ? null : value;
}

// The text with another value of a key; "": without the key.
export function setKey(text, key, value) {
  const found = find(text, key);
  const line = value === "" ? "" : value.includes("\n") ? key + ": |\n" + value.split("\n").map((one) => "  " + one).join("\n") + "\n"
    : key + ": " + (/^\d+$/.test(value) ? value : quote(value)) + "\n";
  if (found) return text.slice(0, found.from) + line + text.slice(found.until);
  return line ? (text && !text.endsWith("\n") ? text + "\n" : text) + line : text;
}

// A JSON value as YAML.
export function toYaml(value, depth = 0) {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object"))
    return "[" + value.map((item) => (typeof item === "string" ? quote(item) : JSON.stringify(item))).join(", ") + "]";
  if (Array.isArray(value)) return value.map((item) => "\n" + pad + "- " + toYaml(item, depth + 1).replace(/^\n\s*/, "")).join("");
  if (value === null || typeof value !== "object") return typeof value === "string" ? quote(value) : JSON.stringify(value);
  const keys = Object.keys(value);
  if (!keys.length) return "{}";
  return keys.map((key) => {
    const inner = toYaml(value[key], depth + 1);
    return "\n" + pad + quote(key) + ":" + (inner.startsWith("\n") ? "" : " ") + inner;
  }).join("");
}

export const document = (value) => toYaml(value).replace(/^\n/, "") + "\n";
