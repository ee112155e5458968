# SPDX-License-Identifier: Apache-2.0
"""What the whole-program tests share: a daemon in a folder of its own, and a small HTTP client.

The programs are found below $TARN_BUILD (../../build unless given). $TARN_BINARY and $TARN_SHIM_BINARY
name others. With $TARN_CONTRACT, each reply of a daemon is compared with its description (contract.py); if it is
"commands", so is what commands ask the daemons of tests (recorder.py). With $TARN_E2E_HOST, commands reach the daemons from another
machine (far.py). Everything waits with a bound; nothing is asserted about how long something takes,
but where a bound is the subject of the test.
"""

import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("TARN_BUILD") or os.path.join(HERE, "..", "..", "build"))
TARN = os.environ.get("TARN_BINARY") or os.path.join(BUILD, "tarn")
TARND = os.path.join(os.path.dirname(TARN), "tarnd")  # what `tarn serve` becomes
PATIENCE_S = float(os.environ.get("TARN_PATIENCE", "60"))  # for what must come, on a slow machine
MARKER = "E2E_MARKER"
os.environ.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions=" + os.path.join(HERE, "leaks.txt"))

IS_ROOT = os.geteuid() == 0


def why_not_as_others():
    """Why no other user can run the programs that are tested: they may not enter a folder of mktemp -d, for example. "": they can."""
    if not IS_ROOT:
        return "needs root, to act as another user"
    folder = BUILD
    while folder != "/":
        if not os.stat(folder).st_mode & 0o001:
            return "other users may not enter %s" % folder
        folder = os.path.dirname(folder)
    return ""


WHY_NOT_AS_OTHERS = why_not_as_others()


def find_shim():
    places = [os.environ.get("TARN_SHIM_BINARY"), os.path.join(os.path.dirname(TARN), "tarn-shim"),
              os.path.join(BUILD, "src", "shim", "tarn-shim")]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError("tarn-shim: not found below " + BUILD)


def is_sanitized():
    """Whether this tarn was built with the address sanitizer, which needs more memory."""
    with open(TARN, "rb") as file:
        return b"__asan_init" in file.read()


def wait_until(what, condition, patience=None):
    """What the condition gives, as soon as it is true."""
    end = time.monotonic() + (patience or PATIENCE_S)
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.01)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Refused(Exception):
    """An answer of 400 and above."""

    def __init__(self, status, body):
        error = body.get("error", {}) if isinstance(body, dict) else {}
        super().__init__("%s %s" % (status, error or body))
        self.status = status
        self.code = error.get("code")
        self.message = error.get("message", "")


contracts = []  # one: all daemons of a test run are of one build


class Client:
    def __init__(self, path, timeout=30):
        self.path = path
        self.timeout = timeout

    def contract(self):
        """What the daemon says that it does; None: nothing is to be compared with it."""
        if not os.environ.get("TARN_CONTRACT"):
            return None
        if not contracts:
            from contract import Contract

            contracts.append(Contract(json.loads(self.exchange("GET", "/v1/openapi.json")[2])))
        return contracts[0]

    def connection(self):
        return UnixConnection(self.path, self.timeout)

    def exchange(self, method, path, body=None, headers=None):
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.getheader("Content-Type"), reply.read()
        finally:
            connection.close()

    def raw(self, method, path, body=None, headers=None):
        contract = self.contract()
        status, content_type, reply = self.exchange(method, path, body, headers)
        if contract:
            contract.check(method, path, body, status, content_type, reply)
        return status, reply

    def ask(self, method, path, body=None):
        payload = None if body is None else json.dumps(body)
        status, text = self.raw(method, path, payload)
        value = json.loads(text) if text.strip().startswith((b"{", b"[")) else text
        if status >= 400:
            raise Refused(status, value)
        return value

    def get(self, path, **query):
        return self.ask("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def post(self, path, body=None):
        return self.ask("POST", path, body)

    def patch(self, path, body):
        return self.ask("PATCH", path, body)

    def put(self, path, body):
        return self.ask("PUT", path, body)

    def submit(self, *documents, **keys):
        """The numbers of the documents, or the one of the one."""
        body = [dict({"sender_cwd": "/"}, **document) for document in documents or [keys]]
        body = body if documents else body[0]
        reply = self.post("/v1/jobs", body)
        ids = [entry["id"] for entry in reply["submitted"]]
        return ids if len(documents) > 1 else ids[0]

    def job(self, number):
        return self.get("/v1/jobs/%s" % number)

    def why(self, number):
        return self.get("/v1/jobs/%s/why" % number)

    def output(self, number, **query):
        path = "/v1/jobs/%s/output" % number
        status, text = self.raw("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        if status >= 400:
            raise Refused(status, json.loads(text))
        return text.decode("utf-8", "replace")

    def jobs(self, **query):
        """All of them, page by page."""
        jobs, after = [], 0
        while after is not None:
            page = self.get("/v1/jobs", all=1, limit=10000, after=after, **query)
            jobs += page["jobs"]
            after = page["next"]
        return jobs

    def events(self, path, timeout=30):
        """(kind, data) of each server-sent event, until the stream ends."""
        contract = self.contract()
        connection = UnixConnection(self.path, timeout)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            kind = None
            for line in reply:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    data = json.loads(line[6:])
                    if contract:
                        contract.check_event(path, data)
                    yield kind, data
        finally:
            connection.close()

    def wait_state(self, number, *states, patience=None):
        def look():
            job = self.job(number)
            return job if job["state"] in states else None

        return wait_until("job %s is %s" % (number, " or ".join(states)), look, patience)

    def wait_end(self, number, patience=None):
        return self.wait_state(number, "ended", patience=patience)

    def wait_group(self, number, patience=None):
        def look():
            group = self.get("/v1/jobs/%s" % number)
            return group if group["result"] else None

        return wait_until("group %s has ended" % number, look, patience)


def boot_marker():
    return "e2e-%d-%d" % (os.getpid(), time.monotonic_ns())


def processes_with(value, variable=MARKER):
    """Pids of all living processes that have the marker, or another variable, in their environment."""
    wanted = ("%s=%s" % (variable, value)).encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open("/proc/%s/stat" % name, errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(int(name))
    return found


def shims_of(state_dir):
    """Pids of the shims whose status files are in this state directory."""
    found = {}
    run = os.path.join(state_dir, "run")
    for name in os.listdir(run) if os.path.isdir(run) else []:
        if not name[0].isdigit():
            continue
        try:
            with open(os.path.join(run, name)) as file:
                first = file.readline()
        except OSError:
            continue
        for word in first.split():
            if word.startswith("shim="):
                found[name] = int(word[5:])
    return {name: pid for name, pid in found.items() if is_shim(pid, name)}


def is_shim(pid, name):
    """Whether this is the supervisor of this member, and not who has its number now."""
    try:
        with open("/proc/%d/cmdline" % pid, errors="replace") as file:
            words = file.read().split("\0")
    except OSError:
        return False
    return words[0].endswith("tarn-shim") and words[1].split(" ")[0] == name


def check_log(path):
    """No sanitizer has complained, and no assertion has failed."""
    words = read_file(path) if os.path.exists(path) else ""
    for bad in ("ERROR: AddressSanitizer", "runtime error:", "LeakSanitizer", "this is a bug, and the daemon stops"):
        assert bad not in words, words[-6000:]


class Daemon:
    """A `tarn serve` in a folder of its own; stop() leaves nothing behind."""

    def __init__(self, root, devices="synthetic:h100:4", options=(), environment=None, binary=None):
        self.root = root
        self.state = os.path.join(root, "s")
        self.socket = os.path.join(self.state, "tarn.sock")
        self.devices = devices
        self.options = list(options)
        self.extra = dict(environment or {})
        self.binary = binary or TARN
        self.marker = boot_marker()
        self.process = None
        self.api = Client(self.socket)
        self.log = os.path.join(root, "daemon.log")
        self.recorder = None
        self.far = None

    def environment(self):
        """Of a command."""
        environment = self.own_environment()
        if self.far:
            return dict(environment, **self.far.environment(self.api))
        if os.environ.get("TARN_CONTRACT") == "commands" and self.is_alive():
            if not self.recorder:
                from recorder import Recorder

                self.recorder = Recorder(os.path.join(self.root, "commands.sock"), self.api)
            environment["TARN_SOCKET"] = self.recorder.path
        return environment

    def own_environment(self):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("TARN_", "SLURM_", "CUDA_", "XDG_"))}
        environment.update(TARN_STATE=self.state, TARN_SHIM=find_shim(),
                           ASAN_OPTIONS="detect_leaks=1:verify_asan_link_order=0:exitcode=99",
                           UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=0")
        environment.update(self.extra)
        return environment

    def start(self, patience=None):
        process, words = self.try_start(patience)
        assert words == "ready", "the daemon does not start: %s\n%s" % (words, self.words()[-2000:])
        return process

    def try_start(self, patience=None):
        """The process and "ready", or why not."""
        reader, writer = os.pipe()
        if os.environ.get("TARN_E2E_HOST") and not self.far:
            from far import Far

            os.makedirs(os.path.join(self.root, "home"), exist_ok=True)
            self.far = Far(self.root, os.path.join(self.root, "home"), self.own_environment())
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [*(self.far.serve_words() if self.far else []), self.binary, "serve", "--state", self.state, "--devices", self.devices,
                 "--notify-fd", str(writer)] + (self.far.serve_options() if self.far else []) + self.options, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[writer], env=self.own_environment(), start_new_session=True,
                extra_groups=[0] if IS_ROOT else None)
        os.close(writer)
        words = read_all(reader, patience or PATIENCE_S).decode().strip()
        if words == "ready":
            self.process = process
        else:
            process.wait(PATIENCE_S)
        return process, words

    def kill(self):
        """As a crash: SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self.process = None

    def terminate(self):
        """In good order; jobs go on."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def words(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, errors="replace") as file:
            return file.read()

    def env(self, **more):
        """The environment of a job that can be found in /proc."""
        return dict({MARKER: self.marker}, **more)

    def leftovers(self):
        return processes_with(self.marker)

    def verify(self):
        """What `tarn replay --verify` says of the journal."""
        done = subprocess.run([self.binary, "replay", "--verify", "--state", self.state], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180,
                              env=self.own_environment())
        assert done.returncode == 0, done.stdout
        return done.stdout

    def memory_kib(self):
        return status_kib(self.process.pid, "VmRSS")

    def check_sane(self):
        """It answers, and no sanitizer has complained."""
        assert self.is_alive(), "the daemon is gone\n" + self.words()[-4000:]
        assert self.api.get("/v1/daemon")["api"] == 1
        self.check_words()

    def check_words(self):
        check_log(self.log)

    def stop(self, spares_users=False):
        """Daemon, shims and jobs are gone after this, whatever state they were in. spares_users: but programs that only know its
        socket, such as the shell of a person, go on."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        self.process = None
        for pid in list(shims_of(self.state).values()):
            kill_quietly(pid)
        for _ in range(200):
            left = self.leftovers() + ([] if spares_users else processes_with(os.path.join(self.state, "tarn.sock"), "TARN_SOCKET"))
            if not left:
                break
            for pid in left:
                kill_quietly(pid)
            time.sleep(0.02)
        for folder in control_folders(self.state):
            for base, _, _ in os.walk(folder, topdown=False):
                try:
                    os.rmdir(base)
                except OSError:
                    pass  # a daemon of the test that still runs
        if self.recorder:
            self.recorder.close()
        if self.far:
            self.far.stop()


def control_folders(state):
    """Folders of the control groups of the daemon with this state folder, MOUNT/.../tarn/KEY."""
    word, mask = 0xcbf29ce484222325, 2 ** 64 - 1
    for byte in os.fsencode(os.path.realpath(state)):
        word = (word ^ byte) * 0x100000001b3 & mask
    for _ in range(2):
        word = (word ^ word >> 32) * 0xd6e8feb86659fd93 & mask
    key = "%016x" % (word ^ word >> 32)
    found = []
    for base, folders, _ in os.walk("/sys/fs/cgroup"):
        if "tarn" in folders:
            found.append(os.path.join(base, "tarn", key))
            folders.remove("tarn")
    return [folder for folder in found if os.path.isdir(folder)]


def status_kib(pid, key):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise KeyError(key)


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read_all(fd, patience):
    """All that comes from a pipe, within a time."""
    end = time.monotonic() + patience
    got = b""
    with os.fdopen(fd, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0, end - time.monotonic()))
            if not ready:
                return got + b"(nothing more was said in time)"
            chunk = pipe.read(4096)
            if not chunk:
                return got
            got += chunk


def make_folder():
    """Short, because the path of a socket may have 107 bytes."""
    return tempfile.mkdtemp(prefix="te", dir="/tmp")


def remove_folder(path):
    subprocess.run(["chmod", "-R", "u+rwX", path], stderr=subprocess.DEVNULL)  # outputs of stages are read-only
    shutil.rmtree(path, ignore_errors=True)


def read_file(path):
    with open(path, errors="replace") as file:
        return file.read()


def as_user(uid, function):
    """What the function returns when it is called as this user, in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.chdir("/")
            try:
                said = {"value": function()}
            except Refused as refused:
                said = {"refused": [refused.status, refused.code, refused.message]}
            except Exception as failure:  # shown by who reads it
                said = {"failure": repr(failure)}
            os.write(writer, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writer)
    said = json.loads(read_all(reader, PATIENCE_S))
    os.waitpid(pid, 0)
    if "refused" in said:
        status, code, message = said["refused"]
        raise Refused(status, {"error": {"code": code, "message": message}})
    assert "failure" not in said, said
    return said["value"]
