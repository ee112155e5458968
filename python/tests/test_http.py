# SPDX-License-Identifier: Apache-2.0
import unittest

import world  # noqa: F401  (the import path)
import tarn
from tarn import _http, errors

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


if __name__ == "__main__":
    unittest.main()
