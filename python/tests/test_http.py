# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import os
import socket
import tempfile
import threading
import unittest

import world  # noqa: F401  (the import path)
import tarn
from tarn import _http, errors
from tarn import client as client_module

PLAIN = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0a;x=1\r\nlo world, \r\n3\r\nyes\r\n0\r\n\r\n"
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"


def read(data, size):
    reply, body = _http.Reply(), b""
    for i in range(0, len(data), size):
        body += reply.feed(data[i:i + size])
    return reply, body


class Replies(unittest.TestCase):
    def test_the_pieces_in_which_a_reply_arrives_do_not_matter(self):
        for size in range(1, len(CHUNKED) + 1):
            reply, body = read(PLAIN, size)
            self.assertEqual((reply.status, body, reply.is_over, reply.is_reusable), (201, b"hello", True, True))
            reply, body = read(CHUNKED, size)
            self.assertEqual((reply.status, body, reply.is_over), (200, b"hello world, yes"[:3] + b"lo world, yes", True))
            reply, body = read(UNTIL_THE_END, size)
            self.assertEqual((body, reply.is_over), (b"hello", False))
            reply.feed(b"")
            self.assertEqual((reply.is_over, reply.is_reusable), (True, False))

    def test_a_reply_that_ends_early_is_a_lost_connection(self):
        for whole in (PLAIN, CHUNKED):
            for length in range(len(whole)):
                reply, _ = read(whole[:length], 7)
                self.assertFalse(reply.is_over)
                with self.assertRaisesRegex(tarn.ConnectionLost, "before its reply was complete"):
                    reply.feed(b"")

    def test_what_is_no_http_is_refused(self):
        for data in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * 70000):
            with self.assertRaisesRegex(tarn.ConnectionLost, "not HTTP"):
                _http.Reply().feed(data)

    def test_events_come_when_they_are_complete(self):
        data = b': welcome\n\nevent: job\ndata: {"id": 1}\n\n: still here\n\nevent: group\ndata: {"id": 2}\n\n'
        for size in range(1, len(data) + 1):
            lines, got = _http.EventLines(), []
            for i in range(0, len(data), size):
                got += lines.feed(data[i:i + size])
            self.assertEqual(got, [("job", {"id": 1}), ("group", {"id": 2})])

    def test_each_code_has_its_class(self):
        body = {"error": {"code": "never", "message": "no node has that many GPUs"}}
        error = errors.error_of(422, body)
        self.assertEqual((type(error), str(error), error.status), (tarn.Never, "no node has that many GPUs", 422))
        error = errors.error_of(418, {"error": {"code": "teapot", "message": "m"}})
        self.assertEqual((type(error), error.code, str(error)), (tarn.Error, "teapot", "m"))
        self.assertEqual(str(errors.error_of(502, None)), "the daemon refused, with HTTP status 502")
        for kind in vars(errors).values():
            if isinstance(kind, type) and getattr(kind, "code", None):
                self.assertIs(type(errors.error_of(400, {"error": {"code": kind.code, "message": "m"}})), kind)


def reply_of(status, body):
    data = json.dumps(body).encode()
    return b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (status, len(data), data)


CROWDED = reply_of(429, {"error": {"code": "too_many_connections", "message": "connections: 48 are open"}})
NODES = reply_of(200, {"nodes": [{"name": "a"}]})


class Crowds(unittest.TestCase):
    def serve(self, *replies):
        """A door that answers one request after the other, each on its own connection."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "s")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen(8)

        def answer():
            for reply in replies:
                connection, _ = listener.accept()
                while b"\r\n\r\n" not in connection.recv(65536):
                    pass
                connection.sendall(reply)
                connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        return path

    def test_a_call_is_repeated_while_too_many_connections_are_open(self):
        with tarn.Client(self.serve(CROWDED, CROWDED, NODES)) as client:
            self.assertEqual(client.nodes(), [{"name": "a"}])

        async def ask():
            async with tarn.AsyncClient(self.serve(CROWDED, NODES)) as client:
                return await client.nodes()

        self.assertEqual(asyncio.run(ask()), [{"name": "a"}])

    def test_but_not_without_end(self):
        before = client_module.CROWDED_S
        self.addCleanup(setattr, client_module, "CROWDED_S", before)
        client_module.CROWDED_S = 0.0
        with tarn.Client(self.serve(CROWDED)) as client, self.assertRaisesRegex(tarn.Crowded, "48 are open"):
            client.nodes()


if __name__ == "__main__":
    unittest.main()
