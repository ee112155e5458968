# SPDX-License-Identifier: Apache-2.0
"""The commands of doc/tutorial.md do what the tutorial says, and doc/glossary.md has the terms that tarn prints.

The console blocks are run in order, in one shell. Expected lines are compared with the output after times, dates,
percentages, paths, the user and the node have become placeholders; a line "..." stands for any number of lines.
"""

import glob
import os
import pwd
import re
import shutil
import socket
import subprocess
import time

import pytest

from tarn_test import BUILD, HERE, PATIENCE_S, find_shim, make_folder, remove_folder

ROOT = os.path.dirname(os.path.dirname(HERE))
# Commands that change nothing: they are repeated until the jobs have come as far as the tutorial says.
LOOKS = ("ls", "show", "why", "when", "queues", "gpus", "top", "whatif", "report")
END = "tutorial-end-of-output"


def steps():
    """(command, expected lines) of each command of the console blocks."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", open(os.path.join(ROOT, "doc", "tutorial.md")).read(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


PLACEHOLDERS = [
    (r"/\S+/logs/\d+/|(?<=state in )[^)]+|(?<=  in )\s*/\S+", "PATH "),
    (r"\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun|\d{4}-\d\d-\d\d) )?\d\d:\d\d(:\d\d)?\b", "CLOCK"),
    (r" · (starts )?about CLOCK( \(CLOCK to CLOCK\))?", ""),
    (r"\b\d+(\.\d+)? ?(ms|s|min|m|h|d)\b( ?\d+ ?(s|min|m|h)\b|\d+m\b)?", "TIME"),
    (r"\d+(\.\d+)?%", "PART"),
    (r"\b(isolated|watched|accounted)\b", "KEPT"),
    (r"\d+(\.\d+)? [MG]iB of memory", "MEMORY"),
    (r" of \d+\.\d+ GPU-hours", " of SOME GPU-hours"),
    (r"\d+\.\d\d\b", "AMOUNT"),
    (r"\b\d+ records, \d+ plans, \d+ decisions", "RECORDS"),
    (r"-{5,}", "BAR"),
    (r"\s+", " "),
]


def plain(line):
    for name in {pwd.getpwuid(os.geteuid()).pw_name, "ana", "root"}:
        line = re.sub(r"\b%s\b" % re.escape(name), "USER", line)
    for name in {socket.gethostname(), socket.gethostname().split(".")[0], "box"}:
        line = re.sub(r"\b%s\b" % re.escape(name), "NODE", line)
    for pattern, word in PLACEHOLDERS:
        line = re.sub(pattern, word, line)
    return line.strip()


def agrees(expected, got):
    pattern = "".join("(.*\n)*?" if line == "..." else re.escape(plain(line)) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(plain(line) + "\n" for line in got)) is not None


class Shell:
    """A bash of its own in a folder that looks like the clone."""

    def __init__(self, folder):
        os.symlink(BUILD, os.path.join(folder, "build"))
        shutil.copytree(os.path.join(ROOT, "examples", "tutorial"), os.path.join(folder, "examples", "tutorial"))
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("TARN_", "SLURM_", "CUDA_", "XDG_"))}
        environment.update(COLUMNS="200", TMPDIR=folder, TARN_SHIM=find_shim(), LC_ALL="C.UTF-8", TZ="UTC")
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, command):
        """Its exit status and the lines that it printed."""
        self.process.stdin.write("{ %s\n} < /dev/null; echo \"%s $?\"\n" % (command, END))
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            assert line, "the shell ended in: " + command
            if END in line:
                before, _, status = line.partition(END)
                return int(status), lines + ([before] if before else [])
            lines.append(line.rstrip("\n"))

    def close(self):
        self.run("tarn down --kill")
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


@pytest.fixture
def shell():
    folder = make_folder()
    shell = Shell(folder)
    yield shell
    shell.close()
    remove_folder(folder)


def test_the_tutorial_does_what_it_says(shell):
    commands = steps()
    assert len(commands) > 25
    for command, expected in commands:
        words = command.split()
        is_look = words[0] == "tarn" and words[1] in LOOKS
        end = time.monotonic() + PATIENCE_S
        while True:
            status, got = shell.run(command)
            if status == 0 and agrees(expected, got):
                break
            if not is_look or time.monotonic() > end:
                pytest.fail("$ %s\nstatus %d; expected:\n%s\ngot:\n%s" % (command, status, "\n".join(expected), "\n".join(got)))
            time.sleep(0.1)


def source(pattern):
    paths = glob.glob(os.path.join(ROOT, "src", pattern), recursive=True)
    assert paths, pattern
    return "\n".join(open(path).read() for path in sorted(paths))


def printed_terms():
    """Headings of tables, labels of `why` and `show`, reasons, states and results, as the source has them."""
    cli = source("cli/**/*.c")
    headings = re.findall(r'"([A-Z][A-Z0-9 -]*)", (?:TABLE_(?:LEFT|RIGHT)|[0-9]+, PART_)', cli)
    headings += re.findall(r'^    { "([A-Z][A-Z0-9 -]*)", "\w+", CELL_', cli, re.M)
    why = re.findall(r'add_line\(lines, (?:\w+ \? )?"([a-z ]+)"(?: : "([a-z ]+)")?', source("api/explanations.c"))
    show = re.findall(r'add_(?:line|number|time|duration|move)\([^"]*"([a-z ]+)"(?: : "([a-z ]+)")?', source("cli/cmd/cmd_show.c"))
    labels = [label for pair in why + show for label in pair if label]
    kinds = re.findall(r'^WHY\(\w+, +"(\w+)"', source("core/job/why.def"), re.M)
    states = re.findall(r'^(?:STATE|RESULT)\(\w+, +"(\w+)"', source("core/job/job_state.def"), re.M)
    assert len(headings) > 80 and len(why) > 10 and len(show) > 25 and len(kinds) > 30 and len(states) > 10
    return set(headings + labels + kinds + states)


def test_the_glossary_has_the_terms_that_are_printed():
    explained = set()
    for line in open(os.path.join(ROOT, "doc", "glossary.md")):
        if line.startswith("| "):
            explained.update(word.strip().strip("`") for word in line.split("|")[1].split(","))
    assert not printed_terms() - explained
