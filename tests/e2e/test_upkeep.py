# SPDX-License-Identifier: Apache-2.0
"""tarn backup, restore and check: a state directory that is copied, damaged and brought back."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest

import tarn_test
from tarn_test import TARN


@pytest.fixture
def shell(daemon):
    daemon.out = str(os.path.join(daemon.root, "backup"))
    return daemon


def tarn(daemon, *words, status=0):
    done = subprocess.run([TARN] + list(words), env=daemon.own_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=tarn_test.PATIENCE_S)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stdout + done.stderr


def findings(daemon, *words, status=0):
    return {line["what"]: line for line in json.loads(tarn(daemon, "check", "--json", *words, status=status))}


def test_a_backup_of_a_daemon_that_runs_brings_its_jobs_back(shell):
    api = shell.api
    ended = api.submit(run="true")
    api.wait_end(ended)
    held = [api.submit(run="echo %d" % i, hold=True, env={"SIZE": "x" * 5000}) for i in range(20)]
    said = tarn(shell, "backup", shell.out)
    assert "20 jobs that have not ended" in said and "not included: outputs" in said
    manifest = json.loads(tarn_test.read_file(os.path.join(shell.out, "backup.json")))
    assert sorted(os.listdir(shell.out)) == sorted(manifest["files"] + ["backup.json", "journal.last"])
    assert {"journal.db", "readings.db"} <= set(manifest["files"])
    assert all(os.stat(os.path.join(shell.out, name)).st_mode & 0o077 == 0 for name in os.listdir(shell.out))
    assert {line["grade"] for line in findings(shell, shell.out).values()} == {"ok"}

    later = api.submit(run="true")
    api.wait_end(later)
    assert "tarn daemon with pid" in tarn(shell, "restore", shell.out, status=1)
    shell.terminate()
    said = tarn(shell, "restore", shell.out)
    assert "20 jobs that have not ended" in said
    aside = said.split("what was there is in ")[1].strip()
    assert "journal.db" in os.listdir(aside)
    shell.start()
    assert [job["id"] for job in api.jobs()] == [ended] + held
    api.post("/v1/jobs/%d/release" % held[3])
    assert api.wait_end(held[3])["result"] == "ok"
    shell.verify()
    assert {line["grade"] for line in findings(shell).values()} == {"ok"}


def test_a_backup_restores_on_another_machine(shell, make_daemon):
    number = shell.api.submit(run="echo moved", hold=True)
    tarn(shell, "backup", shell.out)
    other = make_daemon()
    said = json.loads(tarn(other, "restore", "--json", shell.out))
    assert said["jobs_left"] == 1 and "replaced" not in said
    other.start()
    other.api.post("/v1/jobs/%d/release" % number)
    assert other.api.wait_end(number)["result"] == "ok"
    assert other.api.output(number) == "moved\n"


def test_a_job_that_runs_prevents_a_restore(shell):
    number = shell.api.submit(run="sleep 3600")
    shell.api.wait_state(number, "running")
    tarn(shell, "backup", shell.out)
    shell.kill()
    said = tarn(shell, "restore", shell.out, status=1)
    assert "job %d still runs" % number in said and "tarn down --kill" in said
    shell.start()
    assert shell.api.job(number)["state"] == "running"


def test_a_damaged_log_is_reported_and_the_loss_can_be_accepted(shell):
    for i in range(60):
        shell.api.submit(run="true", hold=True, name="job%d" % i)
    shell.kill()
    log = os.path.join(shell.state, "journal.db-wal")
    with open(log, "r+b") as file:
        file.seek(os.path.getsize(log) * 2 // 3)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0xFF]))
    before = tarn_test_bytes(log)
    for _ in range(2):
        process, words = shell.try_start()
        assert process.returncode == 1 and "are missing, although they were durable" in words, words
    found = findings(shell, status=1)
    assert found["journal"]["grade"] == "bad" and "tarn restore" in found["journal"]["text"]
    assert tarn_test_bytes(log) == before

    said = tarn(shell, "check", "--accept-loss")
    kept = said.split("the damaged log is kept in ")[1].split("\n")[0]
    assert tarn_test_bytes(kept) == before
    shell.start()
    left = shell.api.jobs()
    assert 0 < len(left) < 60
    assert [job["name"] for job in left] == ["job%d" % i for i in range(len(left))]
    shell.api.post("/v1/jobs/%d/release" % left[0]["id"])
    shell.api.wait_end(left[0]["id"])
    shell.terminate()
    assert "no record is missing" in tarn(shell, "check", "--accept-loss", status=1)


def damage(daemon, part):
    log = os.path.join(daemon.state, "journal.db-wal")
    with open(log, "r+b") as file:
        file.seek(int(os.path.getsize(log) * part))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0xFF]))


def remove_mark(path):
    os.unlink(path)


def tear_mark(path):
    os.truncate(path, 10)


@pytest.mark.parametrize("change", [remove_mark, tear_mark])
def test_a_backup_is_restored_where_the_mark_is_damaged(shell, change):
    number = shell.api.submit(run="true", hold=True)
    tarn(shell, "backup", shell.out)
    shell.kill()
    change(os.path.join(shell.state, "journal.last"))
    assert "1 jobs that have not ended" in tarn(shell, "restore", shell.out)
    shell.start()
    assert shell.api.job(number)["state"] == "held"


def mark_as_folder(path):
    os.unlink(path)
    os.mkdir(path)


@pytest.mark.parametrize("change", [remove_mark, tear_mark, mark_as_folder])
def test_the_guard_against_a_loss_cannot_be_removed_unnoticed(shell, change):
    for i in range(30):
        shell.api.submit(run="true", hold=True, name="job%d" % i)
    shell.kill()
    damage(shell, 0.5)
    change(os.path.join(shell.state, "journal.last"))
    for _ in range(2):
        process, words = shell.try_start()
        assert process.returncode == 1 and "whether durable records are missing cannot be told" in words, words
    assert "journal.last" in findings(shell, status=1)["journal"]["text"]
    assert "the journal continues after record" in tarn(shell, "check", "--accept-loss")
    shell.start()
    names = [job["name"] for job in shell.api.jobs()]
    assert 0 < len(names) < 30 and names == ["job%d" % i for i in range(len(names))]
    shell.terminate()
    assert {line["grade"] for line in findings(shell).values()} == {"ok"}


def test_a_loss_of_everything_is_accepted_only_when_no_job_runs(shell):
    """The new jobs get the numbers of the lost ones, and must not get their results."""
    number = shell.api.submit(run="echo old; sleep 3600", env=shell.env())
    shell.api.wait_state(number, "running")
    shell.kill()
    damage(shell, 0.01)
    assert "are missing, although they were durable" in findings(shell, status=1)["journal"]["text"]
    said = tarn(shell, "check", "--accept-loss", status=1)
    assert "job %d still runs" % number in said
    process, words = shell.try_start()
    assert process.returncode == 1 and "are missing" in words
    shim, = tarn_test.shims_of(shell.state).values()
    tarn_test.kill_quietly(shim)
    for pid in shell.leftovers():
        tarn_test.kill_quietly(pid)
    tarn_test.wait_until("the supervisor has ended", lambda: not tarn_test.shims_of(shell.state))
    assert "after record 0" in tarn(shell, "check", "--accept-loss")
    shell.start()
    again = shell.api.submit(run="echo new")
    assert again == number and shell.api.wait_end(again)["result"] == "ok"
    assert shell.api.output(again) == "new\n"


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(b"no database at all, " * 20)


def make_newer(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=7")
    database.close()


def damage_log(path):
    with open(path + "-wal", "r+b") as file:
        file.seek(40)
        file.write(b"\xff" * 8)


@pytest.mark.parametrize("change, why", [(overwrite, "damaged"), (make_newer, "newer"), (damage_log, "damaged")])
@pytest.mark.parametrize("name", ["readings", "estimates", "alerts"])
def test_a_database_beside_the_journal_that_cannot_be_used_is_kept_and_said(shell, name, change, why):
    number = shell.api.submit(run="true", hold=True)
    path = os.path.join(shell.state, name + ".db")
    if change is damage_log:
        shell.kill()
        if os.path.getsize(path + "-wal") == 0:
            pytest.skip("its log is empty")
    else:
        shell.terminate()
    change(path)
    changed = path + ("-wal" if change is damage_log else "")
    before = tarn_test_bytes(changed)
    shell.start()
    kept, = (file for file in os.listdir(shell.state) if ".%s-" % why in file and file.rsplit("-", 1)[1].isdigit())
    assert kept.startswith(os.path.basename(changed) + ".") and tarn_test_bytes(os.path.join(shell.state, kept)) == before
    line, = (line for line in shell.words().splitlines() if "a database is not used, and is kept" in line)
    assert kept in line and (why != "newer" or "this tarn knows up to 1" in line)

    def alerts():
        return [alert for alert in shell.api.get("/v1/alerts")["alerts"] if alert["name"] == "file"]

    tarn_test.wait_until("an alert is raised", alerts)
    alert, = alerts()
    assert kept in alert["words"] and alert["subject"] == "file:" + kept
    done = subprocess.run([TARN, "doctor", "--json"], env=shell.own_environment(), stdout=subprocess.PIPE, text=True, timeout=tarn_test.PATIENCE_S)
    found, = (found for found in json.loads(done.stdout) if found["what"] == "aside")
    assert done.returncode == 1 and found["grade"] == "bad" and kept in found["text"]

    assert shell.api.job(number)["state"] == "held"
    shell.terminate()
    assert {line["grade"] for line in findings(shell).values()} == {"ok"}
    for file in [file for file in os.listdir(shell.state) if ".%s-" % why in file]:
        os.unlink(os.path.join(shell.state, file))
    shell.start()
    assert shell.words().count("a database is not used") == 1


def tarn_test_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def test_what_is_no_backup_is_refused_and_nothing_changes(shell, tmp_path):
    number = shell.api.submit(run="true", hold=True)
    tarn(shell, "backup", shell.out)
    shell.terminate()
    files = {name: tarn_test_bytes(os.path.join(shell.state, name)) for name in ("journal.db", "journal.last")}

    empty = tmp_path / "empty"
    empty.mkdir()
    assert "it has no backup.json" in tarn(shell, "restore", str(empty), status=1)
    assert "not a backup" in tarn(shell, "restore", str(tmp_path / "none"), status=1)

    for change, words in (({"format": 2}, "this tarn knows up to 1"), ({"files": ["../x"]}, "damaged"), ({"files": None}, "damaged")):
        other = tmp_path / ("changed%d" % len(os.listdir(tmp_path)))
        shutil.copytree(shell.out, other)
        manifest = json.loads((other / "backup.json").read_text())
        manifest.update(change)
        (other / "backup.json").write_text(json.dumps(manifest))
        assert words in tarn(shell, "restore", str(other), status=1)

    torn = tmp_path / "torn"
    shutil.copytree(shell.out, torn)
    with open(torn / "journal.db", "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 16384)
    assert "damaged" in tarn(shell, "restore", str(torn), status=1)
    assert findings(shell, str(torn), status=1)["journal"]["grade"] == "bad"

    assert {name: tarn_test_bytes(os.path.join(shell.state, name)) for name in files} == files
    assert not [name for name in os.listdir(shell.state) if name.startswith("replaced")]
    assert "exists and is not empty" in tarn(shell, "backup", shell.out, status=1)
    assert "expected one folder" in tarn(shell, "backup", status=2)
    half = tmp_path / "half"
    shutil.copytree(shell.state, half, ignore=shutil.ignore_patterns("run"))
    with open(half / "journal.db", "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 16384)
    assert "damaged" in tarn(shell, "backup", "--state", str(half), str(tmp_path / "b"), status=1)
    assert not (tmp_path / "b").exists()
    assert "there is none" in tarn(shell, "backup", "--state", str(empty), str(tmp_path / "b"), status=1)
    assert not (tmp_path / "b").exists()
    shell.start()
    assert shell.api.job(number)["state"] == "held"


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, to act as another user")
def test_another_user_learns_nothing_of_the_state(shell, tmp_path):
    if tarn_test.WHY_NOT_AS_OTHERS:
        pytest.skip(tarn_test.WHY_NOT_AS_OTHERS)
    shell.api.submit(run="true", hold=True)
    done = subprocess.run([TARN, "backup", "--state", shell.state, "/tmp/never-%d" % os.getpid()], user=65534, group=65534, extra_groups=[],
                          cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(shell.own_environment(), HOME="/"))
    assert done.returncode == 1 and "Permission denied" in done.stderr, done
    assert not os.path.exists("/tmp/never-%d" % os.getpid())
