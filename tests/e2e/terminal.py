# SPDX-License-Identifier: Apache-2.0
"""A terminal that a test looks at: a pty, and the picture that the escape sequences on it make.

It knows what ncurses sends to xterm, vt100 and their like: the cursor, erasing, repeating, scrolling. What it does
not know it keeps in `unknown`, so that a test can say that there was nothing of that kind.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import tarn_test

SEQUENCE = re.compile(r"\x1b(\[[?>]?[0-9;]*[a-zA-Z@`]|[()][A-Z0-9]|[=>78MDEHc])|\x1b$|\x1b\[[?>]?[0-9;]*$|\x1b[()]$")


class Picture:
    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.saved = (0, 0)
        self.unknown = []
        self.styles = set()
        self.is_apart = False  # on the alternate screen
        self.last = " "
        self.rest = ""
        self.top, self.bottom = 0, rows - 1

    def resize(self, columns, rows):
        old = getattr(self, "cells", [])
        self.columns, self.rows = columns, rows
        self.cells = [[old[y][x] if y < len(old) and x < len(old[y]) else " " for x in range(columns)] for y in range(rows)]
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found or not found.group(1):
                    if found:
                        self.rest = text[at:]
                        return
                    self.unknown.append(text[at:at + 12])
                    at += 1
                    continue
                self.obey(found.group(1))
                at = found.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, sign):
        if sign == "\r":
            self.x = 0
        elif sign == "\n":
            self.down()
        elif sign == "\b":
            self.x = max(0, min(self.x, self.columns - 1) - 1)
        elif sign == "\t":
            self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)
        elif sign >= " ":
            if self.x >= self.columns:
                self.x = 0
                self.down()
            self.cells[self.y][self.x] = self.last = sign
            self.x += 1

    def down(self):
        if self.y == self.bottom:
            self.scroll(self.top, 1)
        else:
            self.y = min(self.rows - 1, self.y + 1)

    def scroll(self, first, count):
        """Lines from first to the bottom go up, or down when count is negative."""
        part = self.cells[first:self.bottom + 1]
        blank = [[" "] * self.columns for _ in range(min(abs(count), len(part)))]
        self.cells[first:self.bottom + 1] = part[count:] + blank if count > 0 else blank + part[:len(part) - len(blank)]

    def obey(self, sequence):
        if sequence[0] != "[":
            if sequence == "7":
                self.saved = (self.x, self.y)
            elif sequence == "8":
                self.x, self.y = self.saved
            elif sequence == "M":
                if self.y == self.top:
                    self.scroll(self.top, -1)
                else:
                    self.y = max(0, self.y - 1)
            return
        kind, words = sequence[-1], sequence[1:-1]
        if words[:1] in "?>" and words:
            if words == "?1049":
                self.is_apart = kind == "h"
            return
        numbers = [int(word) if word else 0 for word in words.split(";")]
        count = numbers[0] or 1
        if kind != "m":
            self.x = min(self.x, self.columns - 1)  # it waited at the margin
        row = self.cells[self.y]
        if kind in "Hf":
            self.y = min(self.rows, count) - 1
            self.x = min(self.columns, (numbers[1] if len(numbers) > 1 else 1) or 1) - 1
        elif kind == "A":
            self.y = max(0, self.y - count)
        elif kind == "B":
            self.y = min(self.rows - 1, self.y + count)
        elif kind == "C":
            self.x = min(self.columns - 1, self.x + count)
        elif kind == "D":
            self.x = max(0, self.x - count)
        elif kind in "G`":
            self.x = min(self.columns, count) - 1
        elif kind == "d":
            self.y = min(self.rows, count) - 1
        elif kind == "J":
            first = (self.y, self.x) if numbers[0] == 0 else (0, 0)
            last = (self.y, self.x) if numbers[0] == 1 else (self.rows, 0)
            for y in range(self.rows):
                for x in range(self.columns):
                    if first <= (y, x) < last:
                        self.cells[y][x] = " "
        elif kind == "K":
            first, last = [(self.x, self.columns), (0, self.x + 1), (0, self.columns)][numbers[0]]
            row[first:last] = [" "] * (last - first)
        elif kind == "X":
            row[self.x:self.x + count] = [" "] * len(row[self.x:self.x + count])
        elif kind == "P":
            del row[self.x:self.x + count]
            row += [" "] * (self.columns - len(row))
        elif kind == "@":
            row[self.x:self.x] = [" "] * count
            del row[self.columns:]
        elif kind == "b":
            for _ in range(count):
                self.put(self.last)
        elif kind == "L":
            self.scroll(self.y, -count)
        elif kind == "M":
            self.scroll(self.y, count)
        elif kind == "S":
            self.scroll(self.top, count)
        elif kind == "T":
            self.scroll(self.top, -count)
        elif kind == "r":
            self.top, self.bottom = (count - 1, numbers[1] - 1) if len(numbers) > 1 and numbers[1] else (0, self.rows - 1)
            self.x = self.y = 0
        elif kind == "m":
            self.styles.update(numbers)
        elif kind not in "hlnt":
            self.unknown.append(sequence)


def read_chunk(fd, patience):
    """None: nothing has come yet; empty: nothing will come any more."""
    ready, _, _ = select.select([fd], [], [], patience)
    if not ready:
        return None
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words, environment, columns=80, rows=24):
        self.picture = Picture(columns, rows)
        self.bytes = b""
        self.status = None
        self.rest = b""
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.read(ready, 1)  # the size is set before it looks
                os.close(ready)
                os.close(go)
                os.execve(words[0], [str(word) for word in words], environment)
            finally:
                os._exit(127)
        os.close(ready)
        self.before = termios.tcgetattr(self.fd)
        self.size(columns, rows)
        os.write(go, b"g")
        os.close(go)

    def size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.picture.resize(columns, rows)
        self.size(columns, rows)

    def read(self, patience=0.05):
        """False when nothing will come any more."""
        chunk = read_chunk(self.fd, patience)
        if not chunk:
            return chunk is None
        self.bytes += chunk
        text = self.rest + chunk
        whole = len(text)
        while whole > 0 and whole > len(text) - 4 and text[whole - 1] & 0xc0 == 0x80:
            whole -= 1
        if whole > 0 and text[whole - 1] >= 0xc0:
            needed = 2 if text[whole - 1] < 0xe0 else 3 if text[whole - 1] < 0xf0 else 4
            whole = whole - 1 if len(text) - whole + 1 < needed else len(text)
        else:
            whole = len(text)
        self.rest = text[whole:]
        self.picture.feed(text[:whole].decode("utf-8", "replace"))
        return True

    def lines(self):
        return self.picture.lines()

    def text(self):
        return "\n".join(self.lines())

    def expect(self, pattern):
        """The first match of the pattern in the picture, once it is there."""
        end = time.monotonic() + tarn_test.PATIENCE_S
        while True:
            found = re.search(pattern, self.text(), re.M)
            if found:
                return found
            assert time.monotonic() < end and self.read(), "no %r on\n%s" % (pattern, self.text())

    def expect_not(self, pattern):
        end = time.monotonic() + tarn_test.PATIENCE_S
        while re.search(pattern, self.text(), re.M):
            assert time.monotonic() < end and self.read(), "still %r on\n%s" % (pattern, self.text())

    def send_until(self, keys, pattern):
        """The same, with keys that are lost if they come too early: they are sent again every second."""
        end, again = time.monotonic() + tarn_test.PATIENCE_S, 0
        while not re.search(pattern, self.text(), re.M):
            if time.monotonic() >= again:
                self.send(keys)
                again = time.monotonic() + 1
            assert time.monotonic() < end and self.read(), "no %r on\n%s" % (pattern, self.text())

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def signal(self, number):
        os.kill(self.pid, number)

    def end(self):
        """Its exit status; negative: the signal."""
        end = time.monotonic() + tarn_test.PATIENCE_S
        while self.status is None:
            is_open = self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            assert self.status is not None or time.monotonic() < end, "does not end\n" + self.text()
            if not is_open:
                time.sleep(0.01)
        while select.select([self.fd], [], [], 0)[0] and self.read():
            pass
        return self.status

    def is_restored(self):
        """Echo and lines are as they were, and the screen is the one from before."""
        now = termios.tcgetattr(self.fd)
        return now[:4] == self.before[:4] and not self.picture.is_apart

    def close(self):
        if self.status is None:
            tarn_test.kill_quietly(self.pid)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
