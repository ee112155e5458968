# SPDX-License-Identifier: Apache-2.0
"""Where the daemon is: a socket of this machine, `tarn proxy` on another one through ssh, or HTTPS with an access token.

The rules are those of the command line: src/io/paths.c, src/cli/remote.c and src/cli/https.c."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import selectors
import shlex
import socket
import ssl
import stat
import struct
import subprocess
import threading
from typing import Optional

from .errors import Error, NoDaemon, Unauthorized

_MACHINE_STATE = "/var/lib/tarn"
_MACHINE_SOCKET = "/run/tarn/tarn.sock"
_CONNECT_TIMEOUT_S = 10
_START_TIMEOUT_S = 120
_HTTPS_PORT = 9443
_CHUNK = 64 * 1024


def is_listening(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(path)
        except OSError:
            return False
    return True


def _home() -> str:
    home = os.environ.get("HOME", "")
    return home if home.startswith("/") else pwd.getpwuid(os.getuid()).pw_dir


def find_socket() -> str:
    """The socket that the command line would use."""
    given, state = os.environ.get("TARN_SOCKET"), os.environ.get("TARN_STATE")
    runtime, base = os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("XDG_STATE_HOME", "")
    if given:
        return os.path.abspath(given)
    if state:
        return os.path.join(os.path.abspath(state), "tarn.sock")
    if os.geteuid() == 0 or is_listening(_MACHINE_SOCKET):
        return _MACHINE_SOCKET
    if runtime.startswith("/"):
        return os.path.join(runtime, "tarn", "tarn.sock")
    state = os.path.join(base, "tarn") if base.startswith("/") else os.path.join(_home(), ".local/state/tarn")
    return os.path.join(state, "tarn.sock")


class Place:
    """One daemon. dial() connects; start() starts a daemon if none runs."""

    is_remote = False
    name = ""
    headers = "Host: tarn\r\n"  # of each request

    def dial(self) -> socket.socket:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError


class SocketPlace(Place):
    def __init__(self, path: str, program: str):
        self.name = path
        self._program = program

    def dial(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        # Of connect, too: with a timeout of Python's it would fail while many others connect.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _CONNECT_TIMEOUT_S, 0))
        try:
            sock.connect(self.name)
        except (FileNotFoundError, ConnectionRefusedError):
            sock.close()
            raise NoDaemon("no daemon is running at %s; tarn up starts one" % self.name) from None
        except OSError as failure:
            sock.close()
            raise Error("daemon at %s: %s" % (self.name, failure.strerror or failure)) from failure
        return sock

    def start(self) -> None:
        environment = dict(os.environ)
        environment.pop("TARN_HOST", None)
        if find_socket() != self.name:
            environment["TARN_SOCKET"] = self.name
        try:
            done = subprocess.run([self._program, "up"], env=environment, stdin=subprocess.DEVNULL, text=True,
                                  errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=_START_TIMEOUT_S)
        except OSError as failure:
            raise NoDaemon("no daemon is running at %s, and %s cannot be started: %s"
                           % (self.name, self._program, failure.strerror)) from failure
        if done.returncode != 0:
            raise NoDaemon(done.stdout.strip() or "%s up: exit status %d" % (self._program, done.returncode))


class RemotePlace(Place):
    is_remote = True
    _FORM = re.compile(r"ssh://((?:[A-Za-z0-9._%][A-Za-z0-9._%-]*@)?[A-Za-z0-9._%][A-Za-z0-9._%-]*)"
                       r"(?::([A-Za-z0-9]+))?(/[A-Za-z0-9/._+-]*)?")

    def __init__(self, host: str):
        match = self._FORM.fullmatch(host)
        if not match:
            raise ValueError("host %.80r: expected ssh://[USER@]HOST[:PORT][/PATH] or https://HOST[:PORT]" % host)
        self._target, port, path = match.groups()
        self.name = "ssh://" + self._target
        self._tarn = path if path and path != "/" else "tarn"
        self._options = ["-p", port] if port else []
        self._may_start = False

    def _control_path(self) -> str:
        """The login that all connections share, with those of the command line."""
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        folder = os.path.join(runtime, "tarn") if runtime else os.path.join(_home(), ".ssh")
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.stat(folder)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
            raise Error("folder %s: expected one that only this user can change" % folder)
        return os.path.join(folder, "tarn-%C")

    def _command(self) -> list[str]:
        command = shlex.split(os.environ.get("TARN_SSH") or "ssh") + [
            "-T", "-o", "ControlMaster=auto", "-o", "ControlPersist=600", "-o", "ControlPath=" + self._control_path()]
        return command + self._options + [self._target, self._tarn, "proxy"] + (["--start"] if self._may_start else [])

    def dial(self) -> socket.socket:
        mine, other = socket.socketpair()
        with other:
            try:
                process = subprocess.Popen(self._command(), stdin=other.fileno(), stdout=other.fileno())
            except OSError as failure:
                mine.close()
                raise Error("%s: %s" % (self.name, failure.strerror or failure)) from failure
        threading.Thread(target=process.wait, daemon=True).start()  # it ends with the connection
        return mine

    def start(self) -> None:
        self._may_start = True  # the proxy of the next connection starts it


def _credential(url: str) -> tuple[str, str]:
    """The fingerprint ("-": a certificate that this machine trusts) and the token for a daemon."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    path = os.path.join(config if config.startswith("/") else os.path.join(_home(), ".config"), "tarn", "credentials")
    fingerprint, token = os.environ.get("TARN_FINGERPRINT", ""), os.environ.get("TARN_TOKEN", "")
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = None
    if status:
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise Error("%s: others can read or change it; try: chmod 600 %s" % (path, path))
        with open(path, encoding="utf-8") as file:
            for words in map(str.split, file):
                if len(words) == 3 and words[0] == url:
                    fingerprint, token = fingerprint or words[1], token or words[2]
    if not token:
        raise Unauthorized("no token for %s; try: tarn login %s" % (url, url))
    return fingerprint or "-", token


def _received(secure: ssl.SSLSocket) -> Optional[bytes]:
    """What has come: nothing at the end, None if it is of the protocol only."""
    secure.settimeout(0)
    try:
        return secure.recv(_CHUNK)
    except ssl.SSLWantReadError:
        return None
    finally:
        secure.settimeout(None)


def _pump(plain: socket.socket, secure: ssl.SSLSocket) -> None:
    """Copies both ways until one side ends. One thread, because a TLS session is not for two."""
    with plain, secure, selectors.DefaultSelector() as selector:
        selector.register(plain, selectors.EVENT_READ)
        selector.register(secure, selectors.EVENT_READ)
        is_over = False
        while not is_over:
            ready = [key.fileobj for key, _ in selector.select(0 if secure.pending() else None)]
            try:
                if plain in ready:
                    data = plain.recv(_CHUNK)
                    is_over = not data
                    secure.sendall(data)
                if secure in ready or secure.pending():
                    come = _received(secure)
                    is_over = is_over or come == b""
                    plain.sendall(come or b"")
            except OSError:
                return


class HttpsPlace(Place):
    is_remote = True
    _FORM = re.compile(r"https://(?:([A-Za-z0-9_][A-Za-z0-9._-]*)|\[([0-9A-Fa-f:.%]+)\])(?::([0-9]+))?/*")

    def __init__(self, host: str):
        match = self._FORM.fullmatch(host)
        if not match:
            raise ValueError("host %.80r: expected https://HOST[:PORT]" % host)
        self._host, self._port = match.group(1) or match.group(2), int(match.group(3) or _HTTPS_PORT)
        authority = "%s:%d" % (self._host if match.group(1) else "[%s]" % self._host, self._port)
        self.name = "https://" + authority
        self._fingerprint, token = _credential(self.name)
        if not re.fullmatch(r"[A-Za-z0-9_-]+", token):
            raise ValueError("the token for %s: expected tarn_N_..." % self.name)
        self.headers = "Host: %s\r\nAuthorization: Bearer %s\r\n" % (authority, token)

    def _secure(self, plain: socket.socket) -> ssl.SSLSocket:
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._fingerprint != "-":
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        secure = context.wrap_socket(plain, server_hostname=self._host)
        found = "sha256:" + hashlib.sha256(secure.getpeercert(True) or b"").hexdigest()
        if self._fingerprint not in ("-", found):
            secure.close()
            raise Error("the certificate of %s has changed: its fingerprint is %s; if it was renewed, run tarn login again"
                        % (self.name, found))
        return secure

    def dial(self) -> socket.socket:
        try:
            secure = self._secure(socket.create_connection((self._host, self._port), timeout=_CONNECT_TIMEOUT_S))
        except ssl.SSLError as failure:
            raise Error("%s: %s" % (self.name, failure.reason or failure)) from failure
        except OSError as failure:
            raise NoDaemon("%s: %s" % (self.name, failure.strerror or failure)) from failure
        secure.settimeout(None)
        mine, other = socket.socketpair()
        threading.Thread(target=_pump, args=(other, secure), daemon=True).start()
        return mine

    def start(self) -> None:
        raise NoDaemon("%s: nobody answers; a daemon is started on its own machine" % self.name)


def find_place(path: Optional[str], host: Optional[str], program: str) -> Place:
    if path is not None and host is not None:
        raise ValueError("socket and host: expected one of them")
    if path is None and host is None:
        host = os.environ.get("TARN_HOST") or None
    if host is None:
        return SocketPlace(path or find_socket(), program)
    return HttpsPlace(host) if host.startswith("https://") else RemotePlace(host)
