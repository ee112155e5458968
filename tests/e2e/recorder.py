# SPDX-License-Identifier: Apache-2.0
"""A socket between the commands of a test and the daemon: it passes on what they say, and compares it with the
description of the API (contract.py). The daemon sees the user of the test, not that of the command."""

import http.server
import json
import os
import socket
import socketserver
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def address_string(self):
        return "a command"

    def relay(self):
        recorder = self.server.recorder
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Upgrade"):
            self.pass_descriptor(body)
            return
        connection = recorder.connect()
        try:
            connection.request(self.command, self.path, body or None, dict(self.headers))
            reply = connection.getresponse()
            if reply.getheader("Content-Type", "").startswith(("text/event-stream", "text/plain")):
                self.pass_stream(reply)
                return
            text = reply.read()
            recorder.compare(lambda contract: contract.check(self.command, self.path, body, reply.status,
                                                             reply.getheader("Content-Type"), text))
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.getheader("Content-Type"))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = relay

    def pass_stream(self, reply):
        """As it comes, and each event compared."""
        recorder = self.server.recorder
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.getheader("Content-Type"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        is_events = reply.getheader("Content-Type").startswith("text/event-stream")
        rest = b""
        while True:
            chunk = reply.read1(65536)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
            if not chunk:
                return
            lines = (rest + chunk).split(b"\n") if is_events else [b""]
            rest = lines.pop()
            for line in lines:
                if line.startswith(b"data: "):
                    data = json.loads(line[6:])
                    recorder.compare(lambda contract: contract.check_event(self.path, data))

    def pass_descriptor(self, body):
        """What the daemon answers, with the descriptor that comes with a byte of it."""
        head = "%s %s HTTP/1.1\r\n%s\r\n" % (self.command, self.path,
                                            "".join("%s: %s\r\n" % pair for pair in self.headers.items()))
        daemon = socket.socket(socket.AF_UNIX)
        daemon.connect(self.server.recorder.target)
        daemon.sendall(head.encode() + body)
        while True:
            chunk, descriptors, _, _ = socket.recv_fds(daemon, 65536, 4)
            if not chunk:
                break
            if descriptors:
                socket.send_fds(self.connection, [chunk], descriptors)
            else:
                self.connection.sendall(chunk)
            for descriptor in descriptors:
                os.close(descriptor)
        daemon.close()
        self.close_connection = True


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass  # a command that ended early, or a daemon that was killed


class Recorder:
    """client: of the daemon (tarn_test.Client)."""

    def __init__(self, path, client):
        self.path = path
        self.target = client.path
        self.client = client
        self.failures = []
        self.server = Server(path, Handler)
        self.server.recorder = self
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def connect(self):
        return self.client.connection()

    def compare(self, check):
        try:
            check(self.client.contract())
        except AssertionError as failure:
            self.failures.append(str(failure))

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        assert not self.failures, "\n".join(self.failures[:5])
