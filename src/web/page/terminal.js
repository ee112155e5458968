// SPDX-License-Identifier: Apache-2.0
// The output of a program as a terminal shows it: of a progress bar only the last state, and no colors, titles or other sequences.
const PART = /\x1b\[([0-9;?:<=>]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=\n))|\x1b[ -/]*[0-~]|[\n\r\b\t]|[^\x00-\x1f\x7f-\x9f]+|[^]/g;
const UNFINISHED = /\x1b(?:\[[0-9;?:<=>]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)$/;
const RIGHT_MOST = 1000, TAB = 8;

export class Terminal {
  constructor(most) {
    this.most = most; // characters that are kept
    this.clear();
  }

  clear() { this.lines = [""]; this.row = this.column = 0; this.rest = ""; }

  get text() { return this.lines.join("\n"); }

  // A part of the output, which may end within a sequence.
  add(more) {
    const all = this.rest + more, at = all.search(UNFINISHED), end = at < 0 || all.length - at > RIGHT_MOST ? all.length : at;
    for (const [part, parameters, final] of all.slice(0, end).matchAll(PART)) {
      if (final) this.obey(final, parameters);
      else if (part === "\x1bc") this.clear();
      else if (part === "\n") this.newline();
      else if (part === "\r") this.column = 0;
      else if (part === "\b") this.column = Math.max(0, this.column - 1);
      else if (part === "\t") this.put(" ".repeat(TAB - this.column % TAB));
      else if (part >= " " && !(part >= "\x7f" && part < "\xa0")) this.put(part);
    }
    this.rest = all.slice(end);
    this.forget();
  }

  put(words) {
    const line = this.lines[this.row].padEnd(this.column);
    this.lines[this.row] = line.slice(0, this.column) + words + line.slice(this.column + words.length);
    this.column += words.length;
  }

  newline() {
    this.column = 0;
    if (++this.row === this.lines.length) this.lines.push("");
  }

  obey(final, parameters) {
    const by = Math.min(RIGHT_MOST, parseInt(parameters, 10) || 1), last = this.lines.length - 1, line = this.lines[this.row];
    if (final === "A" || final === "F") this.row = Math.max(0, this.row - by);
    else if (final === "B" || final === "E") this.row = Math.min(last, this.row + by);
    else if (final === "C") this.column = Math.max(this.column, Math.min(RIGHT_MOST, this.column + by));
    else if (final === "D") this.column = Math.max(0, this.column - by);
    else if (final === "G") this.column = by - 1;
    else if (final === "H" || final === "f") [this.row, this.column] = [Math.min(last, by - 1), Math.min(RIGHT_MOST, parseInt(parameters.split(";")[1], 10) || 1) - 1];
    else if (final === "K") this.lines[this.row] = parameters === "2" ? "" : parameters === "1" ? line.slice(this.column).padStart(line.length) : line.slice(0, this.column);
    else if (final === "J" && parameters >= "2") this.clear();
    else if (final === "J" && parameters !== "1") { this.lines[this.row] = line.slice(0, this.column); this.lines.length = this.row + 1; }
    if (final === "E" || final === "F") this.column = 0;
  }

  // The first lines, when there is too much.
  forget() {
    let size = this.lines.reduce((sum, line) => sum + line.length + 1, 0), count = 0;
    for (; size > this.most && count < this.row; count++) size -= this.lines[count].length + 1;
    this.lines.splice(0, count);
    this.row -= count;
    if (size > this.most) this.lines[this.row] = this.lines[this.row].slice(-this.most);
    this.column = Math.min(this.column, Math.max(this.lines[this.row].length, RIGHT_MOST));
  }
}
