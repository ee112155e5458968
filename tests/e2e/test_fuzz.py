# SPDX-License-Identifier: Apache-2.0
"""The program of random worlds, as people call it."""
import json
import os
import pathlib
import subprocess

import pytest

from tarn_test import BUILD

WORLDS = pathlib.Path(__file__).resolve().parent.parent / "sim" / "worlds"


def fuzz(*options):
    return subprocess.run([os.path.join(BUILD, "tests", "worlds", "brain-worlds"), *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)


def test_worlds_in_which_all_holds_are_counted():
    done = fuzz("--seeds", "1..3", "--steps", "50", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert said["worlds"] == 3 and said["events"] > 150


def test_a_seed_is_the_same_world_each_time():
    events = {json.loads(fuzz("--seed", "7", "--steps", "50", "--json").stdout)["events"] for _ in range(2)}
    assert len(events) == 1


@pytest.mark.parametrize("world", sorted(WORLDS.glob("*.world")), ids=lambda path: path.stem)
def test_what_does_not_hold_is_said_and_made_small_so_that_it_can_be_replayed(world, tmp_path):
    if world.stat().st_size > 4000:
        pytest.skip("takes long to make small")
    invariant = world.read_text().split(":")[0].removeprefix("# ")
    done = fuzz("--replay", world, "--strict", "--save", tmp_path)
    assert done.returncode == 1
    head = done.stdout.splitlines()[0]
    assert head.startswith("# seed ") and head.endswith(invariant)
    assert done.stdout.splitlines()[2] == f"# brain-worlds --replay {world}"

    (tmp_path / "printed").write_text(done.stdout)
    (saved,) = tmp_path.glob(f"*-{invariant}.world")
    for small in (tmp_path / "printed", saved):
        again = fuzz("--replay", small, "--strict", "--whole")
        assert again.returncode == 1 and again.stdout.splitlines()[0].endswith(invariant)


def test_a_replay_shows_what_was_told_and_decided(tmp_path):
    world = tmp_path / "small.world"
    world.write_text("world quantum=1000000\n"
                     "3600000000 node name='n' cpu_milli=4000 memory_mib=1024\n"
                     "3600000000 submit id=1 queue='default' request={ cpu_milli=1000 members=1 nodes_min=1 nodes_max=1"
                     " max_duration=60000000 }\n")
    done = fuzz("--replay", world, "--trace")
    assert done.returncode == 0
    kinds = [line.split()[1] for line in done.stdout.splitlines()]
    assert kinds.index("submit") < kinds.index("grant") < kinds.index("started") < kinds.index("ended")
    assert "every invariant held" in done.stdout


@pytest.mark.parametrize("options, words", [
    (["--seeds", "9..1"], "'9..1': expected a seed, or a range of them like 1..1000"),
    (["--seed", "x"], "'x': expected a number"),
    (["--steps", "0"], "'0': expected 1 to 1000000"),
    (["file.yaml"], "expected options only: worlds are made from seeds"),
])
def test_wrong_use_is_told(options, words):
    done = fuzz(*options)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[0] == f"brain-worlds: {words}"


def test_a_world_that_can_not_be_read_is_told_with_its_line(tmp_path):
    world = tmp_path / "bad.world"
    world.write_text("world quantum=1\n1 submit gpu=1\n")
    done = fuzz("--replay", world)
    assert done.returncode == 1
    assert done.stderr == f"brain-worlds: {world}:2: submit: 'gpu': no such field\n"
