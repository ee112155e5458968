# SPDX-License-Identifier: Apache-2.0
"""What must hold when things break: killed daemons and supervisors, full disks, clocks that jump.

TARN_FAULT_ROUNDS is how often the daemon is killed in each storm (60 unless given), TARN_SEED the
start of the random numbers; it is printed with what failed.
"""

import calendar
import collections
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import pytest

import tarn_test
from tarn_test import IS_ROOT, Refused, UnixConnection, control_folders, is_shim, kill_quietly, read_file, shims_of, wait_until
from test_gpu import Machine, gpu, worker

ROUNDS = int(os.environ.get("TARN_FAULT_ROUNDS", "60"))
SEED = int(os.environ.get("TARN_SEED", "0")) or time.time_ns() % 1000000

NOT_THERE = (OSError, http.client.HTTPException, json.JSONDecodeError)


# Storms


class Storm:
    """Submits jobs as fast as they end while the processes that run them are killed."""

    def __init__(self, daemon, worker, folder, seed, with_cancels=False):
        self.daemon = daemon
        self.worker = worker
        self.folder = str(folder)
        self.random = random.Random(seed)
        self.acknowledged = {}  # number -> what it was
        self.doubtful = set()   # names that may have been taken
        self.cancelled = set()
        self.with_cancels = with_cancels
        self.errors = []
        self.count = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def document(self):
        chance = self.random
        kind = chance.choice(["plain", "plain", "gpu", "gpu", "gpus", "part", "gang", "array", "fails", "stays"])
        status = 7 if kind == "fails" else 0
        command = [self.worker, self.folder, str(chance.choice([0, 0, 1, 5, 20, 60])), str(status)]
        if kind == "stays":
            command.append("stay")
        self.count += 1
        document = {"command": command, "name": "%s-%d" % (kind, self.count), "env": self.daemon.env(),
                    "cpus": 0.1, "grace": "1s", "cwd": "/"}
        document.update({"gpu": {"gpus": 1}, "gpus": {"gpus": 2}, "part": {"gpus": 0.5},
                         "gang": {"ranks": 2, "gpus": 1}, "array": {"array": "1-3"}, "fails": {"retry": 1},
                         "stays": {"gpus": 1}}.get(kind, {}))
        return document

    def submit(self):
        documents = [self.document() for _ in range(self.random.choice([1, 1, 3, 8]))]
        names = [document["name"] for document in documents]
        try:
            reply = self.daemon.api.post("/v1/jobs", documents)
        except NOT_THERE:
            self.doubtful.update(names)
            return
        except Refused as refused:
            if refused.status != 503:
                raise
            return
        for entry, name in zip(reply["submitted"], names):
            assert entry["name"] == name
            for job in entry["jobs"]:
                assert job not in self.acknowledged, "number %d was given twice" % job
                self.acknowledged[job] = name

    def cancel_one(self):
        number = self.random.choice(list(self.acknowledged)[-20:] or [1])
        try:
            self.daemon.api.post("/v1/jobs/%d/cancel" % number)
            self.cancelled.add(number)
        except NOT_THERE:
            self.cancelled.add(number)
        except Refused as refused:
            if refused.status not in (409, 503, 404):
                raise

    def run(self):
        try:
            while not self.is_over.is_set():
                self.submit()
                if self.with_cancels and self.random.random() < 0.3:
                    self.cancel_one()
                try:
                    counts = self.daemon.api.get("/v1/jobs", limit=1)["counts"]
                    while counts["queued"] > 30 and not self.is_over.wait(0.02):
                        counts = self.daemon.api.get("/v1/jobs", limit=1)["counts"]
                except NOT_THERE + (Refused,):
                    time.sleep(0.005)
        except Exception as failure:  # told by finish()
            self.errors.append(failure)

    def start(self):
        self.thread.start()

    def finish(self):
        """No new ones; wait for all ends."""
        self.is_over.set()
        self.thread.join(tarn_test.PATIENCE_S)
        assert not self.errors, self.errors

        def all_ended():
            counts = self.daemon.api.get("/v1/jobs", limit=1)["counts"]
            return sum(counts.values()) == counts["ended"]

        wait_until("all jobs have ended", all_ended, 120)
        return {job["id"]: job for job in self.daemon.api.jobs()}

    def lines(self):
        """Of each (job, attempt, rank): what it said, in order."""
        said = collections.defaultdict(list)
        for line in read_file(os.path.join(self.folder, "log")).splitlines():
            what, job, attempt, rank, detail = line.split()
            said[int(job), int(attempt), int(rank)].append((what, detail))
        return said


def check_storm(storm, jobs, may_lose):
    said = storm.lines()
    for number, name in storm.acknowledged.items():
        assert number in jobs, "job %d (%s) was acknowledged and is not known" % (number, name)
    conflicts = [(member, lines) for member, lines in said.items() if any(what == "conflict" for what, _ in lines)]
    assert not conflicts, "GPUs were given twice: %s" % conflicts[:5]
    twice = [member for member, lines in said.items() if [what for what, _ in lines].count("start") > 1]
    assert not twice, "attempts ran twice: %s" % twice[:5]
    for member in said:
        assert member[0] in jobs and member[1] <= jobs[member[0]]["attempt"]
    for number, job in jobs.items():
        assert job["state"] == "ended" and job["result"], job
        if job["result"] == "ok":
            for rank in range(job["members"]):
                whats = [what for what, _ in said[number, job["attempt"], rank]]
                assert whats == ["start", "end"], (job, whats)
        if may_lose or number in storm.cancelled:
            continue
        fails = job["name"].startswith("fails")
        assert job["result"] == ("failed" if fails else "ok"), job
        assert job["attempt"] == (2 if fails else 1), job
        assert len([member for member in said if member[0] == number]) == job["attempt"] * job["members"], job


def check_journal(daemon):
    """Each attempt is granted once, and each of its members ends once."""
    print(daemon.verify().strip())
    text = subprocess.run([daemon.binary, "replay", "--print", "--state", daemon.state], text=True, timeout=180,
                          stdout=subprocess.PIPE, check=True, env=daemon.environment()).stdout
    ends, grants = collections.Counter(), collections.Counter()
    for line in text.splitlines():
        words = line.split()
        fields = dict(word.split("=", 1) for word in words[3:] if "=" in word)
        if words[2] == "ended":
            ends[fields["job"], fields.get("attempt", "0"), fields.get("rank", "0")] += 1
        elif words[2] == "grant":
            grants[fields["job"], fields.get("attempt", "0")] += 1
    repeated = [member for member, count in ends.items() if count > 1]
    about = [line for line in text.splitlines() if repeated and " job=%s " % repeated[0][0] in line + " "]
    assert not repeated, "ends were recorded twice: %s\n%s" % (repeated[:5], "\n".join(about))
    assert ends and grants
    return grants


def check_nothing_is_left(daemon):
    wait_until("no process is left", lambda: not daemon.leftovers(), 30)
    wait_until("no supervisor is left", lambda: not shims_of(daemon.state), 30)

    def files():
        return [name for name in os.listdir(os.path.join(daemon.state, "run")) if name[0].isdigit()]

    wait_until("no status file is left", lambda: not files(), 30)
    wait_until("no control group is left", lambda: not control_groups(daemon), 30)


def control_groups(daemon):
    """Groups of jobs of this daemon; their names begin with a job's number."""
    return [name for folder in control_folders(daemon.state) for name in os.listdir(folder) if re.fullmatch(r"\d+\.\d+\.\d+", name)]


@pytest.fixture
def storm_of(make_daemon, compiled, tmp_path, request):
    worker = compiled("worker.c")

    def make(**options):
        daemon = make_daemon()
        daemon.start()
        print("TARN_SEED=%d" % SEED)
        return daemon, Storm(daemon, worker, tmp_path, SEED, **options)

    return make


def kill_and_restart(daemon, chance):
    """Sometimes before it is ready, sometimes in good order, most often with SIGKILL under load."""
    time.sleep(chance.random() ** 2 * 0.25)
    if chance.random() < 0.1:
        assert daemon.terminate() == 0, daemon.words()[-3000:]
    else:
        daemon.kill()
    while chance.random() < 0.25:
        early = subprocess.Popen([daemon.binary, "serve", "--state", daemon.state, "--devices", daemon.devices],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=daemon.environment())
        time.sleep(chance.random() * 0.06)
        early.kill()
        early.wait(tarn_test.PATIENCE_S)
    daemon.start()


def test_nothing_is_lost_or_done_twice_when_the_daemon_is_killed(storm_of):
    daemon, storm = storm_of()
    chance = random.Random(SEED)
    storm.start()
    for turn in range(ROUNDS):
        kill_and_restart(daemon, chance)
        if turn % 100 == 99:
            daemon.verify()
    jobs = storm.finish()
    check_storm(storm, jobs, may_lose=False)
    check_nothing_is_left(daemon)
    grants = check_journal(daemon)
    assert len(storm.acknowledged) > ROUNDS
    print("%d kills, %d jobs acknowledged, %d in doubt, %d attempts" %
          (ROUNDS, len(storm.acknowledged), len(storm.doubtful), len(grants)))
    daemon.check_sane()


def test_supervisors_killed_at_random_are_told_and_leave_nothing(storm_of):
    daemon, storm = storm_of(with_cancels=True)
    chance = random.Random(SEED + 1)
    storm.start()
    killed = 0
    for turn in range(ROUNDS * 2):
        time.sleep(chance.random() * 0.06)
        for name, pid in shims_of(daemon.state).items():
            if chance.random() < 0.3 and is_shim(pid, name):
                kill_quietly(pid)
                killed += 1
        if turn % 5 == 4:
            kill_and_restart(daemon, chance)
    jobs = storm.finish()
    check_storm(storm, jobs, may_lose=True)
    assert {job["result"] for job in jobs.values()} <= {"ok", "failed", "lost", "cancelled"}
    for job in jobs.values():
        if job["result"] == "failed":
            assert job["name"].startswith("fails") and job["exit_code"] == 7, json.dumps(job)
        if job["result"] == "lost":
            assert job["reason"], job
    check_nothing_is_left(daemon)
    check_journal(daemon)
    lost = [job for job in jobs.values() if job["result"] == "lost"]
    print("%d supervisors killed, %d of %d jobs lost" % (killed, len(lost), len(jobs)))
    assert killed == 0 or lost
    daemon.check_sane()


# Restarts


def test_running_jobs_are_found_again_after_a_crash_and_after_an_upgrade(make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.binary = str(tmp_path / "tarn")
    shutil.copy(tarn_test.TARN, daemon.binary)
    shutil.copy(tarn_test.TARND, daemon.binary + "d")
    daemon.start()
    api = daemon.api
    run = "for i in $(seq 60); do echo line $i; test -e %s/go && exit 4; sleep 0.1; done; sleep 60" % tmp_path
    number = api.submit(run=run, gpus=2, env=daemon.env(), grace="1s")
    wait_until("it has begun", lambda: "line 2" in api.output(number))
    pids = set(daemon.leftovers())
    daemon.kill()
    daemon.start()
    assert api.job(number)["state"] == "running" and api.job(number)["attempt"] == 1
    for program in (tarn_test.TARN, tarn_test.TARND):
        shutil.copy(program, str(tmp_path / "new"))
        os.rename(tmp_path / "new", tmp_path / os.path.basename(program))
    assert daemon.terminate() == 0
    daemon.start()
    count = api.output(number).count("\n")
    wait_until("its output goes on", lambda: api.output(number).count("\n") > count)
    assert pids & set(daemon.leftovers())
    assert api.why(api.submit(run="true", gpus=3))["held_by"][0]["id"] == number
    (tmp_path / "go").touch()
    job = api.wait_end(number)
    assert (job["result"], job["exit_code"], job["attempt"]) == ("failed", 4, 1)
    lines = api.output(number).splitlines()
    assert lines == ["line %d" % (i + 1) for i in range(len(lines))]
    check_journal(daemon)


def test_what_ended_while_the_daemon_was_away_is_recorded_once(make_daemon):
    daemon = make_daemon()
    daemon.start()
    api = daemon.api
    first, second = api.submit({"run": "sleep 0.3; exit 5", "env": daemon.env()},
                               {"run": "sleep 0.3; echo made", "env": daemon.env(), "gpus": 1})
    for number in (first, second):
        api.wait_state(number, "running")
    daemon.kill()
    wait_until("they have ended", lambda: not daemon.leftovers())
    daemon.start()
    assert api.wait_end(first)["exit_code"] == 5
    assert api.wait_end(second)["result"] == "ok" and api.output(second) == "made\n"
    daemon.kill()
    daemon.start()
    assert api.job(first)["exit_code"] == 5
    check_journal(daemon)


def test_a_time_limit_holds_over_a_restart(make_daemon):
    daemon = make_daemon()
    daemon.start()
    number = daemon.api.submit(run="sleep 60", max_duration="1500ms", env=daemon.env())
    daemon.api.wait_state(number, "running")
    daemon.kill()
    daemon.start()
    job = daemon.api.wait_end(number)
    assert job["result"] == "timeout" and job["run_seconds"] >= 1.5


def test_a_stop_that_was_asked_for_before_a_crash_is_carried_out(make_daemon):
    daemon = make_daemon()
    daemon.start()
    number = daemon.api.submit(run="trap '' TERM; while :; do sleep 1; done", grace="1s", env=daemon.env())
    daemon.api.wait_state(number, "running")
    daemon.api.post("/v1/jobs/%d/cancel" % number)
    daemon.kill()
    daemon.start()
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    assert daemon.leftovers() == []


def test_a_second_daemon_on_the_same_folder_refuses(make_daemon):
    daemon = make_daemon()
    daemon.start()
    number = daemon.api.submit(run="sleep 60", env=daemon.env())
    daemon.api.wait_state(number, "running")
    for options in ([], ["--socket", os.path.join(daemon.root, "other.sock")]):
        second = tarn_test.Daemon(daemon.root, options=options)
        process, words = second.try_start()
        assert process.returncode == 1 and str(daemon.process.pid) in words and "uses it" in words, words
    daemon.check_sane()
    assert daemon.api.job(number)["state"] == "running"
    daemon.api.post("/v1/stop?kill=1")
    wait_until("it has stopped", lambda: not daemon.is_alive())
    assert daemon.leftovers() == [] and daemon.process.returncode == 0


def test_a_journal_of_a_newer_tarn_is_refused(make_daemon):
    daemon = make_daemon()
    daemon.start()
    daemon.api.wait_end(daemon.api.submit(run="true"))
    daemon.terminate()
    path = os.path.join(daemon.state, "journal.db")
    set_format(path, 99, 99)
    process, words = daemon.try_start()
    assert process.returncode == 1 and "format 99" in words and "up to 1" in words, words
    done = subprocess.run([daemon.binary, "replay", "--verify", "--state", daemon.state], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=daemon.environment())
    assert done.returncode == 1 and "format 99" in done.stdout, done.stdout
    set_format(path, 99, 1)  # newer, but it says that this one may
    daemon.start()
    assert daemon.api.job(1)["result"] == "ok"


def set_format(path, number, needed):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=%d" % number)
        database.execute("UPDATE meta SET value = ? WHERE key = 'needs'", (str(needed),))
    database.close()


def test_a_damaged_journal_is_told_and_left_alone(make_daemon):
    daemon = make_daemon()
    daemon.start()
    for _ in range(3):
        daemon.api.wait_end(daemon.api.submit(run="true"))
    daemon.terminate()
    path = os.path.join(daemon.state, "journal.db")
    with open(path, "r+b") as file:
        file.write(b"not a database at all" * 100)
    with open(path, "rb") as file:
        before = file.read()
    process, words = daemon.try_start()
    assert process.returncode == 1 and "journal" in words, words
    with open(path, "rb") as file:
        assert file.read() == before


# Full disk


@pytest.fixture
def small_disk():
    if not IS_ROOT:
        pytest.skip("needs root, to mount a small disk")
    path = tarn_test.make_folder()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=0755", "tarn-e2e", path], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    if done.returncode != 0:
        pytest.skip("a small disk can't be mounted: " + done.stdout.strip())
    yield path
    for _ in range(50):
        if subprocess.run(["umount", path], stderr=subprocess.DEVNULL, timeout=30).returncode == 0:
            break
        time.sleep(0.1)
    else:
        subprocess.run(["umount", "-l", path], timeout=30)
    tarn_test.remove_folder(path)


def fill(path):
    """To the last byte."""
    with open(os.path.join(path, "filler"), "ab", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break


def disk_daemon(make_daemon, small_disk):
    return start_on(small_disk, make_daemon())


def start_on(small_disk, daemon):
    daemon.state = os.path.join(small_disk, "s")
    daemon.socket = os.path.join(daemon.state, "tarn.sock")
    daemon.api = tarn_test.Client(daemon.socket)
    daemon.start()
    return daemon


def refuses_for_space(api):
    try:
        api.submit(run="true", env={"FULL": os.urandom(2000).hex()})
    except Refused as refused:
        assert (refused.status, refused.code) == (507, "disk_full") and "full" in refused.message, refused
        return True
    return False


def test_a_full_disk_refuses_and_recovers_by_itself(small_disk, make_daemon, tmp_path):
    daemon = disk_daemon(make_daemon, small_disk)
    api = daemon.api
    script = "while ! test -e %s/go; do echo talk; sleep 0.02; done; exit 6" % tmp_path
    running, waiting = api.submit({"run": script, "gpus": 4, "env": daemon.env(), "cpus": 0.1},
                                  {"run": "true", "gpus": 4})
    api.wait_state(running, "running")
    before = api.jobs()
    fill(small_disk)
    accepted = 0
    while not refuses_for_space(api):
        accepted += 1
        assert accepted < 2000
    assert api.get("/v1/daemon")["disk_full"] is True
    assert api.job(running)["state"] == "running"
    with pytest.raises(Refused) as caught:
        api.post("/v1/jobs/%d/cancel" % waiting)
    assert caught.value.status == 507
    assert len(api.jobs()) >= len(before) + accepted
    (tmp_path / "go").touch()
    wait_until("the job has ended", lambda: not daemon.leftovers())
    time.sleep(1.2)  # at least one try in vain
    assert refuses_for_space(api)
    daemon.check_sane()

    os.unlink(os.path.join(small_disk, "filler"))
    job = api.wait_end(running)
    assert (job["result"], job["exit_code"], job["attempt"]) == ("failed", 6, 1)
    assert api.wait_end(waiting)["result"] == "ok"
    wait_until("it says that all is well", lambda: api.get("/v1/daemon")["disk_full"] is False)
    assert api.wait_end(api.submit(run="true"))["result"] == "ok"
    wait_until("all have ended", lambda: api.get("/v1/jobs")["jobs"] == [])
    check_journal(daemon)
    check_nothing_is_left(daemon)


def test_a_change_of_a_device_is_said_once_while_the_disk_is_full(small_disk, make_daemon, tmp_path):
    """The state cannot follow, so that each look finds the change again."""
    machine = Machine(make_daemon, tmp_path)
    api = start_on(small_disk, machine.daemon).api
    machine.tell(gpu(0), gpu(1, recovery_action=1))
    wait_until("it is excluded", lambda: api.get("/v1/gpus")["gpus"][1]["sick"])
    fill(small_disk)
    while not refuses_for_space(api):
        pass
    machine.tell(gpu(0), gpu(1))
    wait_until("it is said", lambda: "a device can be allocated again" in machine.daemon.words())
    time.sleep(3.2)  # at least two looks in vain
    assert api.get("/v1/daemon")["disk_full"] and machine.daemon.words().count("a device can be allocated again") == 1
    os.unlink(os.path.join(small_disk, "filler"))
    wait_until("the state follows", lambda: not api.get("/v1/gpus")["gpus"][1]["sick"])
    machine.tell(gpu(0), gpu(1, recovery_action=1))
    wait_until("the next change is said, too", lambda: machine.daemon.words().count("a device is excluded from allocation device=GPU-1") == 2)
    assert machine.daemon.words().count("a device can be allocated again") == 1


def test_a_limit_of_a_job_waits_while_the_disk_is_full(small_disk, make_daemon, tmp_path):
    """A warning that cannot be recorded is not given again and again, and the job is stopped afterwards."""
    machine = Machine(make_daemon, tmp_path)
    machine.api = api = start_on(small_disk, machine.daemon).api
    api.put("/v1/config", {"memory_grace": "2s"})
    job = api.submit(command=["sh", "-c", "echo $$; exec sleep 600"], gpus="0.5,mem=20G", cpus=0)
    pid, index = worker(machine, job), api.job(job)["devices"][0]["index"]
    fill(small_disk)
    while not refuses_for_space(api):
        pass
    lines = [gpu(0, used=50000), gpu(1, used=50000)]
    machine.tell(*lines, "gpu %d process %d memory 40000 use 50" % (index, pid))
    wait_until("it is seen", lambda: machine.gpu(index)["reading"]["memory_used"] == 50000 << 20)
    time.sleep(3.2)  # at least two looks in vain
    assert machine.daemon.words().count("a job uses more GPU memory than allocated") <= 1 and not api.job(job)["warned"]
    os.unlink(os.path.join(small_disk, "filler"))
    assert api.wait_end(job)["result"] == "out_of_memory"
    assert machine.daemon.words().count("a job uses more GPU memory than allocated") <= 2
    assert machine.daemon.words().count("a job is stopped") == 1
    check_journal(machine.daemon)


def test_a_daemon_starts_on_a_full_disk(small_disk, make_daemon):
    """After a clean end no database has a log any more; a start makes new ones."""
    daemon = disk_daemon(make_daemon, small_disk)
    number = daemon.api.submit(run="sleep 3600", gpus=4)
    daemon.api.wait_state(number, "running")
    daemon.terminate()
    fill(small_disk)
    daemon.start()
    assert daemon.api.job(number)["state"] == "running"
    wait_until("it refuses", lambda: refuses_for_space(daemon.api))
    os.unlink(os.path.join(small_disk, "filler"))
    wait_until("it says that all is well", lambda: daemon.api.get("/v1/daemon")["disk_full"] is False)
    daemon.api.post("/v1/jobs/%d/cancel" % number)
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    check_journal(daemon)


def test_each_start_on_a_full_disk_finds_a_reserve(small_disk, make_daemon):
    """What a start does not need of the reserve is kept for the next one, after a kill and after a clean end."""
    daemon = disk_daemon(make_daemon, small_disk)
    number = daemon.api.submit(run="sleep 3600", gpus=4)
    daemon.api.wait_state(number, "running")
    reserve = os.path.join(daemon.state, "reserve")
    for turn in range(8):
        daemon.kill() if turn % 2 else daemon.terminate()
        fill(small_disk)
        daemon.start()
        assert daemon.words().count("the daemon starts with its reserve") == turn + 1
        assert daemon.api.job(number)["state"] == "running"
        wait_until("it keeps the rest", lambda: os.path.exists(reserve))
        fill(small_disk)
    daemon.terminate()
    os.unlink(os.path.join(small_disk, "filler"))
    daemon.start()
    daemon.api.post("/v1/jobs/%d/cancel" % number)
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    assert os.path.getsize(reserve) == 1 << 20
    check_journal(daemon)


def test_a_start_on_a_full_disk_without_a_reserve_says_so(small_disk, make_daemon):
    daemon = disk_daemon(make_daemon, small_disk)
    number = daemon.api.submit(run="true", hold=True)
    daemon.terminate()
    os.unlink(os.path.join(daemon.state, "reserve"))
    fill(small_disk)
    for _ in range(2):
        process, words = daemon.try_start()
        assert process.returncode == 1, words
        assert "state %s: make room for 1 MiB on its file system, and start the daemon again: journal" % daemon.state in words
        assert "the disk is full, and no reserve is left" in daemon.words()
        assert "starts with its reserve" not in daemon.words()
    os.unlink(os.path.join(small_disk, "filler"))
    daemon.start()
    assert daemon.api.job(number)["state"] == "held"


def test_a_withdrawal_while_the_disk_is_full_waits_for_room(small_disk, make_daemon, tmp_path):
    """The engine says only once that its user has cancelled the job."""
    engine = os.path.join(tarn_test.BUILD, "tests", "engine", "tarn-engine-chooser.so")
    state = os.path.join(small_disk, "s")
    os.mkdir(state, 0o700)
    os.symlink(tmp_path, os.path.join(state, "chooser"))
    daemon = make_daemon(devices="none", options=["--engine", engine])
    daemon.state, daemon.socket = state, os.path.join(state, "tarn.sock")
    daemon.api = tarn_test.Client(daemon.socket)
    daemon.start()
    answer = tmp_path / "a.answer"
    (tmp_path / "a.new").write_text('{"name": "outside", "gpus": "4", "run": "true"}')
    (tmp_path / "a.new").rename(tmp_path / "a.job")
    number = int(wait_until("it is answered", lambda: answer.exists() and answer.read_text()))
    daemon.api.wait_state(number, "running")
    fill(small_disk)
    while not refuses_for_space(daemon.api):
        pass
    (tmp_path / "a.job").unlink()
    wait_until("it is withdrawn", lambda: not answer.exists())
    assert daemon.api.get("/v1/daemon")["disk_full"] is True
    os.unlink(os.path.join(small_disk, "filler"))
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    daemon.verify()


def test_a_crash_while_the_disk_is_full_loses_nothing(small_disk, make_daemon, tmp_path):
    daemon = disk_daemon(make_daemon, small_disk)
    api = daemon.api
    script = "while ! test -e %s/go; do sleep 0.02; done; exit 6" % tmp_path
    running, waiting = api.submit({"run": script, "gpus": 4, "env": daemon.env(), "cpus": 0.1},
                                  {"run": "true", "gpus": 4})
    api.wait_state(running, "running")
    fill(small_disk)
    while not refuses_for_space(api):
        pass
    daemon.kill()
    process, words = daemon.try_start()
    if words == "ready":
        assert api.job(running)["state"] == "running"
        wait_until("its reserve is used up", lambda: refuses_for_space(api))
        daemon.kill()
    else:
        assert process.returncode == 1 and "full" in words, words
    (tmp_path / "go").touch()
    wait_until("the job has ended", lambda: not daemon.leftovers())
    process, words = daemon.try_start()
    if words == "ready":
        wait_until("no room is left", lambda: refuses_for_space(api))
    os.unlink(os.path.join(small_disk, "filler"))
    if words != "ready":
        daemon.start()
    job = api.wait_end(running)
    assert (job["result"], job["exit_code"], job["attempt"]) == ("failed", 6, 1)
    assert api.wait_end(waiting)["result"] == "ok"
    wait_until("all have ended", lambda: api.get("/v1/jobs")["jobs"] == [])
    check_journal(daemon)
    check_nothing_is_left(daemon)


def test_a_disk_that_fills_and_empties_under_load_loses_nothing(small_disk, make_daemon, compiled, tmp_path):
    daemon = disk_daemon(make_daemon, small_disk)
    api, worker, taken, refusals = daemon.api, compiled("worker.c"), [], 0
    for turn in range(6):
        if turn % 2 == 1:
            fill(small_disk)
        elif turn > 0:
            os.unlink(os.path.join(small_disk, "filler"))
            wait_until("it has recovered", lambda: not api.get("/v1/daemon")["disk_full"])
        for _ in range(30):
            try:
                taken.append(api.submit(command=[worker, str(tmp_path), "5", "0"], gpus=1, cpus=0.1, cwd="/",
                                        env=daemon.env(PAD="x" * 500)))
            except Refused as refused:
                assert refused.status == 507
                refusals += 1
        time.sleep(0.1)
    assert refusals > 0
    os.unlink(os.path.join(small_disk, "filler"))
    for number in taken:
        assert api.wait_end(number)["result"] == "ok", api.job(number)
    starts = [line for line in read_file(tmp_path / "log").splitlines() if line.startswith("start")]
    assert taken and len(starts) == len(set(starts)) == len(taken)
    assert "conflict" not in read_file(tmp_path / "log")
    check_journal(daemon)


# Clocks


@pytest.fixture
def shifted(make_shifted):
    daemon = make_shifted()
    daemon.start()
    return daemon


DAY = 86400


def test_the_wall_clock_moves_and_nothing_else_does(shifted):
    api = shifted.api
    started = time.monotonic()
    begins, late, limited, free = api.submit(
        {"run": "true", "begin": "now+4s", "cpus": 0.1}, {"run": "true", "begin": "now+1h", "cpus": 0.1},
        {"run": "sleep 60", "max_duration": "4s", "cpus": 0.1}, {"run": "sleep 60", "max_duration": "1h", "cpus": 0.1})
    for number in (limited, free):
        api.wait_state(number, "running")
    shown = api.job(free)["started"]
    for days in (400, -400, 0, 3, -3):
        shifted.set_clock(days * DAY)
        time.sleep(0.3)
        quick = api.wait_end(api.submit(run="true", cpus=0.1))
        assert quick["result"] == "ok" and 0 <= quick["run_seconds"] < 30 and quick["wait_seconds"] < 30
        if time.monotonic() - started < 3.5:
            assert api.job(begins)["state"] == "waiting"
            assert api.job(limited)["state"] == "running"
        assert api.job(late)["state"] == "waiting" and api.job(free)["state"] == "running"
        assert 0 <= api.job(free)["run_seconds"] < 60
    shifted.set_clock(-100 * DAY)
    timed = api.wait_end(limited)
    assert timed["result"] == "timeout" and 4 <= timed["run_seconds"] < 30
    assert api.wait_end(begins)["result"] == "ok" and time.monotonic() - started >= 4
    shifted.set_clock(0)
    assert abs(seconds_of(api.job(free)["started"]) - seconds_of(shown)) <= 1
    shifted.set_clock(DAY)  # people see wall time
    assert seconds_of(api.job(free)["started"]) - seconds_of(shown) in (DAY - 1, DAY, DAY + 1)
    for number in (late, free):
        api.post("/v1/jobs/%d/cancel" % number)
    api.wait_end(free)
    shifted.verify()


def seconds_of(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


@pytest.mark.parametrize("days", [-30, 30])
def test_a_restart_with_another_wall_clock_moves_nothing(shifted, days):
    api = shifted.api
    done = api.submit(run="true")
    api.wait_end(done)
    started = time.monotonic()
    begins, late, limited, free = api.submit(
        {"run": "true", "begin": "now+2s", "cpus": 0.1}, {"run": "true", "begin": "now+1h", "cpus": 0.1},
        {"run": "sleep 60", "max_duration": "2s", "cpus": 0.1}, {"run": "sleep 60", "max_duration": "1h", "cpus": 0.1})
    for number in (limited, free):
        api.wait_state(number, "running")
    shifted.kill()
    shifted.set_clock(days * DAY)
    shifted.start()
    assert api.job(late)["state"] == "waiting" and api.job(free)["state"] == "running"
    assert 0 <= api.job(free)["run_seconds"] < 60
    timed = api.wait_end(limited)
    assert timed["result"] == "timeout" and 2 <= timed["run_seconds"] < 30
    assert api.wait_end(begins)["result"] == "ok" and time.monotonic() - started >= 2
    new = api.wait_end(api.submit(run="true", begin="now+1s", cpus=0.1))
    assert new["result"] == "ok" and new["started"] >= new["begin"]
    assert api.job(late)["state"] == "waiting" and api.job(free)["state"] == "running"
    api.post("/v1/jobs/%d/cancel" % free)
    api.wait_end(free)
    shifted.verify()


# Jobs that misbehave


def test_a_job_that_ignores_sigterm_is_killed_after_its_grace(api, daemon):
    number = api.submit(run="trap '' TERM; echo ready; while :; do sleep 0.1; done", grace="300ms", env=daemon.env())
    wait_until("it ignores", lambda: "ready" in api.output(number))
    api.post("/v1/jobs/%d/cancel" % number)
    job = api.wait_end(number)
    assert job["result"] == "cancelled" and daemon.leftovers() == []
    number = api.submit(run="trap '' TERM; while :; do sleep 0.1; done", grace="300ms", max_duration="1s",
                        env=daemon.env())
    job = api.wait_end(number)
    assert job["result"] == "timeout" and daemon.leftovers() == []


def test_a_job_that_cleans_up_on_sigterm_has_its_grace(api, daemon):
    number = api.submit(run="trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
                        grace="20s", env=daemon.env())
    wait_until("it runs", lambda: "ready" in api.output(number))
    api.post("/v1/jobs/%d/cancel" % number)
    job = api.wait_end(number)
    assert job["result"] == "cancelled" and "saved" in api.output(number)
    number = api.submit(run="trap 'sleep 30' TERM; echo ready; while :; do sleep 0.05; done", grace="60s",
                        env=daemon.env())
    wait_until("it runs", lambda: "ready" in api.output(number))
    api.post("/v1/jobs/%d/cancel?signal_now=1" % number)
    assert api.wait_end(number, 20)["result"] == "cancelled"


DETACH = """
import os, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for i in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(100)
        os._exit(0)
print("detached", flush=True)
"""


def test_a_job_that_detaches_leaves_nothing(api, daemon):
    number = api.submit(command=["python3", "-c", DETACH], env=daemon.env(), gpus=1)
    assert api.wait_end(number)["result"] == "ok" and daemon.leftovers() == []
    number = api.submit(command=["python3", "-c", DETACH + "time.sleep(100)"], env=daemon.env(), gpus=1, grace="200ms")
    wait_until("it has detached", lambda: "detached" in api.output(number))
    api.post("/v1/jobs/%d/cancel" % number)
    assert api.wait_end(number)["result"] == "cancelled" and daemon.leftovers() == []


def test_a_job_that_fills_its_log_has_the_newest_kept(api, daemon):
    if shutil.disk_usage(daemon.state).free < 2 << 30:
        pytest.skip("needs 2 GiB of free disk")
    number = api.submit(run="yes 0123456789012345678901234567890123456789 | head -c 560M; echo; echo last")
    job = api.wait_end(number, 240)
    assert job["result"] == "ok"
    folder = os.path.dirname(job["launch"]["output"])
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}
    assert set(sizes) == {"%d.out" % number, "%d.out.1" % number}
    assert sum(sizes.values()) <= 2 * (256 << 20) + (1 << 20)
    assert api.output(number, tail=1) == "last\n"
    assert daemon.memory_kib() < 400 << 10
    daemon.check_sane()


def test_what_dies_before_exec_is_told_as_what_it_is(api, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    (tmp_path / "plain").write_text("#!/bin/sh\ntrue\n")
    (tmp_path / "interpreter").write_text("#!/no/such/python\ntrue\n")
    (tmp_path / "nothing").write_text("just words\n")
    for name in ("interpreter", "nothing"):
        (tmp_path / name).chmod(0o755)
    cases = (
        ({"command": ["/no/such/file"]}, "no such file: /no/such/file"),
        ({"command": ["no-such-command"]}, "command not found: no-such-command"),
        ({"command": ["no-such-command"], "env": {"PATH": "%s:/usr/bin:plain" % closed}}, "command not found"),
        ({"command": [str(tmp_path / "plain")]}, "not executable: %s" % (tmp_path / "plain")),
        ({"command": [str(tmp_path)]}, "is a directory: %s" % tmp_path),
        ({"command": [str(tmp_path / "interpreter")]}, "bad interpreter: /no/such/python"),
        ({"command": [str(tmp_path / "nothing")]}, "not a program: %s" % (tmp_path / "nothing")),
        ({"command": ["true"], "cwd": "/no/such/folder"}, "working directory missing: /no/such/folder"),
        ({"command": ["true"], "input": "/no/such/input"}, "input not readable: /no/such/input"),
        ({"command": ["true"], "output": "/no/such/folder/out"}, "output not writable: /no/such/folder/out"),
    )
    for keys, words in cases:
        job = api.wait_end(api.submit(**dict({"gpus": 1}, **keys)))
        assert (job["result"], job["exit_code"], job["signal"]) == ("failed", None, None), job
        assert words in job["reason"], (job["reason"], words)
    assert all(gpu["given"] == 0 for gpu in api.get("/v1/gpus")["gpus"])


def limit_of_processes(daemon, number):
    """The file with the limit of a running job, in either version of control groups; None: no group counts processes."""
    paths = [os.path.join(folder, "%d.1.0" % number, "pids.max") for folder in control_folders(daemon.state)]
    return next((path for path in paths if os.path.exists(path)), None)


def test_a_job_has_a_limit_of_processes_and_a_fork_bomb_fails_itself_only(api, daemon):
    doctor = subprocess.run([tarn_test.TARN, "doctor", "--json"], env=daemon.env(), capture_output=True, text=True, timeout=60)
    found = {line["what"]: line for line in json.loads(doctor.stdout)}["pids"]
    bomb = api.submit(run="while [ ! -e %s/go ]; do sleep 0.05; done; while :; do sleep 1000 & done" % daemon.root)
    other = api.submit(run="while [ ! -e %s/end ]; do sleep 0.05; done; echo fine" % daemon.root)
    for number in (bomb, other):
        api.wait_state(number, "running")
    path = limit_of_processes(daemon, bomb)
    if not path:
        assert found["grade"] == "note" and "no limit of processes is in force" in found["text"]
        api.post("/v1/jobs/%d/cancel" % bomb)
        api.post("/v1/jobs/%d/cancel" % other)
        pytest.skip(found["text"])
    most = int(read_file(path))
    assert found["grade"] == "ok" and "the limit of %d processes and threads" % most in found["text"], (found, most)
    assert 0 < most <= int(read_file("/proc/sys/kernel/pid_max")) // 4
    assert most == int(read_file(limit_of_processes(daemon, other)))
    with open(path, "w") as file:  # less, so that the test itself costs little
        file.write("64")
    open(daemon.root + "/go", "w").close()
    ended = api.wait_end(bomb)
    assert ended["result"] == "failed" and "ork" in api.output(bomb), ended
    wait_until("its group is gone, and so is each process", lambda: not os.path.exists(path))
    assert api.wait_end(api.submit(run="echo after"))["result"] == "ok"
    open(daemon.root + "/end", "w").close()
    assert api.wait_end(other)["result"] == "ok" and api.output(other) == "fine\n"


@pytest.mark.parametrize("keys", [{}, {"ranks": 2}])
def test_a_job_waits_while_the_machine_lacks_descriptors(api, daemon, keys):
    """It is not failed for good: the node pauses, an alert says so, and the job runs afterwards."""
    number = api.submit(command=["true"], hold=True, **keys)
    process, connection = daemon.process.pid, UnixConnection(daemon.socket, 30)

    def ask(method, path):
        connection.request(method, path)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        return json.loads(reply.read())

    ask("GET", "/v1/jobs/%d" % number)
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (3, limits[1]))  # no new descriptors
    try:
        ask("POST", "/v1/jobs/%d/release" % number)
        wait_until("the node pauses", lambda: ask("GET", "/v1/nodes")["nodes"][0]["state"] == "drained")
        node = ask("GET", "/v1/nodes")["nodes"][0]
        assert node["reason"].startswith("shortage: ") and "oo many open files" in node["reason"], node
        assert ask("GET", "/v1/jobs/%d" % number)["state"] == "queued"
        wait_until("the alert is raised", lambda: "shortage" in [one["name"] for one in ask("GET", "/v1/alerts")["alerts"]])
    finally:
        resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    connection.close()
    assert api.wait_end(number)["result"] == "ok"
    assert api.get("/v1/nodes")["nodes"][0]["state"] == "up"
    assert "this machine lacks resources" in daemon.words()
    with pytest.raises(Refused, match="tarn itself pauses nodes"):
        api.post("/v1/nodes/%s/drain" % node["name"], {"reason": "shortage: of people"})


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/report", None), ("GET", "/v1/audit", None), ("GET", "/v1/jobs/%d/timeline", None), ("GET", "/v1/jobs/%d/output", None),
    ("POST", "/v1/whatif", {"add_nodes": "2:h100:8"}), ("POST", "/v1/when", {"run": "true", "sender_cwd": "/"}),
])
def test_a_question_that_needs_a_process_names_the_shortage(api, daemon, method, path, body):
    number = api.submit(run="echo said", gpus=1)
    api.wait_end(number)
    path = path % number if "%d" in path else path
    process, connection = daemon.process.pid, UnixConnection(daemon.socket, 30)

    def ask():
        connection.request(method, path, json.dumps(body) if body else None)
        reply = connection.getresponse()
        return reply.status, reply.getheader("Retry-After"), reply.read().decode()

    status, after, text = ask()
    assert (status, after) == (200, None), text
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (3, limits[1]))  # no new descriptors
    try:
        status, after, text = ask()
    finally:
        resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    assert (status, after, json.loads(text)["error"]["code"]) == (503, "5", "shortage"), text
    assert "oo many open files" in text, text
    assert ask()[0] == 200
    connection.close()


def test_a_killed_supervisor_is_told_and_its_job_may_be_tried_again(api, daemon):
    run = "test $TARN_ATTEMPT = 2 || exec sleep 60"
    number = api.submit(run=run, retry=1, env=daemon.env(), gpus=4)
    once = api.submit(run="sleep 60", env=daemon.env(), cpus=0.1)
    for job in (number, once):
        api.wait_state(job, "running")
    for pid in shims_of(daemon.state).values():
        os.kill(pid, signal.SIGKILL)
    job = api.wait_end(number)
    assert (job["result"], job["attempt"]) == ("ok", 2), job
    job = api.wait_end(once)
    assert job["result"] == "lost" and "supervisor killed" in job["reason"], job
    check_nothing_is_left(daemon)
