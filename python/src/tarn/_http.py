# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 and server-sent events without input and output: bytes in, values out."""

from __future__ import annotations

import json
from typing import Any, Optional

from .errors import ConnectionLost

_HEAD_MAX = 64 * 1024


def request_of(method: str, path: str, body: Optional[bytes], headers: str) -> bytes:
    """`headers`: lines that end with CRLF."""
    head = "%s %s HTTP/1.1\r\n%s" % (method, path, headers)
    if method != "GET":
        head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body or b"")
    return head.encode("ascii") + b"\r\n" + (body or b"")


class Reply:
    """One reply. feed() takes what was received and returns what of it belongs to the body."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_over = False
        self._rest = b""
        self._left: Optional[int] = 0  # bytes of the body, or of its chunk; None: until the connection ends
        self._is_chunked = False
        self._has_head = False

    @property
    def is_reusable(self) -> bool:
        """Whether the connection takes another request."""
        return self.is_over and self._left is not None and self.headers.get("connection", "").lower() != "close"

    def feed(self, data: bytes) -> bytes:
        if not data:
            self.is_over = self.is_over or (self._has_head and self._left is None)
            if not self.is_over:
                raise ConnectionLost("the daemon closed the connection before its reply was complete")
            return b""
        self._rest += data
        if not self._has_head and not self._read_head():
            return b""
        return self._read_chunks() if self._is_chunked else self._read_plain()

    def _read_head(self) -> bool:
        head, found, rest = self._rest.partition(b"\r\n\r\n")
        if not found:
            if len(head) > _HEAD_MAX:
                raise ConnectionLost("the reply is not HTTP")
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ConnectionLost("the reply is not HTTP: %.40r" % first)
        self.status = int(words[1])
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self._is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        length = self.headers.get("content-length")
        self._left = 0 if self._is_chunked else int(length) if length is not None else None
        self._rest, self._has_head = rest, True
        return True

    def _read_plain(self) -> bytes:
        body, self._rest = self._rest, b""
        if self._left is not None:
            body = body[:self._left]
            self._left -= len(body)
            self.is_over = self._left == 0
        return body

    def _read_chunks(self) -> bytes:
        body = []
        while self._rest and not self.is_over:
            if self._left:
                piece, self._rest = self._rest[:self._left], self._rest[self._left:]
                self._left -= len(piece)
                body.append(piece)
                continue
            line, found, rest = self._rest.partition(b"\r\n")
            if not found:
                break
            if not line:  # the end of a chunk's line
                self._rest = rest
                continue
            self._left = int(line.split(b";")[0], 16)
            if self._left == 0 and not rest.endswith(b"\r\n"):  # the last chunk; its end has not come
                break
            self.is_over = self._left == 0
            self._rest = b"" if self.is_over else rest
        return b"".join(body)


class EventLines:
    """Server-sent events. feed() returns (kind, data) of each event that is complete."""

    def __init__(self) -> None:
        self.last_id = ""  # of the last event that had one
        self._rest = b""
        self._kind = ""

    def feed(self, data: bytes) -> list[tuple[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = []
        for line in lines:
            if line.startswith(b"event: "):
                self._kind = line[7:].decode()
            elif line.startswith(b"id: "):
                self.last_id = line[4:].decode()
            elif line.startswith(b"data: "):
                events.append((self._kind, json.loads(line[6:])))
        return events
