# SPDX-License-Identifier: Apache-2.0
"""Several nodes: the engine of tests/engine/three_nodes.c has n1, n2 and n3 with four GPUs each."""
import os
import subprocess
import time

import pytest

from tarn_test import BUILD, PATIENCE_S, TARN, Refused, wait_until

ENGINE = os.path.join(BUILD, "tests", "engine", "tarn-engine-three.so")
SAY = "echo $NODE $RANK of $WORLD_SIZE at $MASTER_ADDR hosts $TARN_HOSTS sees $CUDA_VISIBLE_DEVICES; "


@pytest.fixture
def daemon(make_daemon):
    daemon = make_daemon(devices="none", options=["--engine", ENGINE])
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    return daemon


def tarn(daemon, *words):
    return subprocess.run([TARN, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket))


def submit(daemon, run, **keys):
    return daemon.api.submit(run=run, sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"), **keys)


def nodes_of(daemon, number):
    return sorted({device["node"] for device in daemon.api.job(number)["devices"]})


def take_away(daemon, node):
    open(os.path.join(daemon.state, "three", node + ".down"), "w").close()


def bring_back(daemon, node):
    os.unlink(os.path.join(daemon.state, "three", node + ".down"))


def node(daemon, name):
    return next(n for n in daemon.api.get("/v1/nodes")["nodes"] if n["name"] == name)


def test_every_node_has_devices_of_its_own(daemon):
    gpus = daemon.api.get("/v1/gpus")["gpus"]
    assert [(g["node"], g["index"], g["uuid"]) for g in gpus] == [
        (f"n{n}", i, f"GPU-n{n}-{i}") for n in (1, 2, 3) for i in range(4)]
    assert not any(g["sick"] for g in gpus)
    lines = tarn(daemon, "nodes").stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["n1", "up"], ["n2", "up"], ["n3", "up"]]


def test_a_job_sees_the_devices_of_its_node(daemon):
    numbers = [submit(daemon, SAY + "sleep 1", gpus="4") for _ in range(3)]
    said = set()
    for number in numbers:
        assert daemon.api.wait_end(number)["result"] == "ok"
        words = daemon.api.output(number).split()
        assert words[-1] == ",".join(f"GPU-{words[0]}-{i}" for i in range(4))
        said.add(words[0])
    assert said == {"n1", "n2", "n3"}


def test_a_gang_over_nodes_meets_at_its_first_node(daemon):
    number = submit(daemon, SAY, gpus="4", nodes=2)
    assert daemon.api.wait_end(number)["result"] == "ok"
    first, second = (daemon.api.output(number, rank=rank).split() for rank in (0, 1))
    assert first[0] != second[0]
    assert [first[1:4], second[1:4]] == [["0", "of", "2"], ["1", "of", "2"]]
    assert first[5] == second[5] == first[0]
    assert first[7] == second[7] == f"{first[0]},{second[0]}"


def test_a_gang_that_loses_a_node_heals_elsewhere(daemon):
    api = daemon.api
    number = submit(daemon, SAY + "sleep 1000", gpus="4", nodes=2, heals=1, on_member_loss="heal")
    api.wait_state(number, "running")
    lost = nodes_of(daemon, number)[1]
    take_away(daemon, lost)
    wait_until("the node is down", lambda: node(daemon, lost)["state"] == "down")
    assert node(daemon, lost)["reason"] == "taken away"
    wait_until("it runs elsewhere", lambda: api.job(number)["state"] == "running" and
               api.job(number)["attempt"] == 2 and lost not in nodes_of(daemon, number))
    waiting = submit(daemon, "true", gpus="4", nodes=2)
    assert api.why(waiting)["text"]
    bring_back(daemon, lost)
    wait_until("the node is up", lambda: node(daemon, lost)["state"] == "up")
    api.post(f"/v1/jobs/{number}/cancel")
    assert api.wait_end(waiting)["result"] == "ok"
    daemon.verify()


def test_a_job_that_runs_elsewhere_survives_the_daemon(daemon):
    number = submit(daemon, SAY + "sleep 2; exit 7", gpus="1")
    daemon.api.wait_state(number, "running")
    daemon.kill()
    daemon.start()
    job = daemon.api.wait_end(number)
    assert job["exit_code"] == 7 and job["attempt"] == 1
    daemon.verify()


def test_readings_are_of_the_node_that_reports_them(daemon):
    def uses():
        readings = [g["reading"] for g in daemon.api.get("/v1/gpus")["gpus"]]
        return [r["gpu_use"] for r in readings if r]

    wait_until("all devices were read", lambda: len(uses()) == 12)
    assert uses() == [pytest.approx((10 + i) / 100) for i in range(12)]
    number = submit(daemon, "sleep 3", gpus="4", nodes=3)
    usage = wait_until("its use is known", lambda: daemon.api.wait_end(number)["gpu_usage"])
    assert usage["gpu"]["mean"] == pytest.approx(0.155, abs=0.001) and len(usage["gpus"]) == 12
    assert tarn(daemon, "report", "--by", "user").stdout.splitlines()[1].split()[1] == "1"


def test_listings_name_the_nodes(daemon):
    single = submit(daemon, "sleep 1000", gpus="2", name="single")
    gang = submit(daemon, "sleep 1000", gpus="4", nodes=2, name="gang")
    for number in (single, gang):
        daemon.api.wait_state(number, "running")
    home, others = nodes_of(daemon, single)[0], nodes_of(daemon, gang)
    everywhere = f"8 ({others[0]} 0-3, {others[1]} 0-3)"
    lines = {line.split()[0]: line for line in tarn(daemon, "ls").stdout.splitlines()[1:]}
    assert f"2 ({home} 0,1)" in lines[str(single)] and everywhere in lines[str(gang)]
    shown = tarn(daemon, "show", str(gang)).stdout
    assert all(f"· {name}" in shown for name in others)
    assert f"8 ({others[0]} 0-3, " in tarn(daemon, "top", "--once").stdout
    daemon.kill()
    daemon.start()
    job = daemon.api.job(gang)
    assert (job["state"], job["attempt"], nodes_of(daemon, gang)) == ("running", 1, others)
    tarn(daemon, "run", "--gpus", "1", "--", "true")
    assert daemon.api.job(daemon.api.jobs()[-1]["id"])["ran_on"] == f"{home}:2"
    assert daemon.api.get("/v1/daemon")["engine"] == "three"


def test_a_device_is_named_with_its_node(daemon):
    refused = tarn(daemon, "gpus", "--clear", "3")
    assert refused.returncode == 1
    assert "gpu 3: several nodes have one; name it n1/3, n2/3, n3/3" in refused.stderr
    wait_until("it was read", lambda: daemon.api.get("/v1/gpus")["gpus"][7]["reading"])
    assert tarn(daemon, "gpus", "--clear", "n2/3").returncode == 0


def test_an_engine_without_signals_says_so(daemon):
    number = submit(daemon, "sleep 1000")
    daemon.api.wait_state(number, "running")
    assert "this engine cannot send one" in tarn(daemon, "cancel", "--signal", "USR1", str(number)).stderr


def test_a_drained_node_gets_no_job(daemon):
    assert tarn(daemon, "drain", "n1", "--reason", "new fans").returncode == 0
    first = submit(daemon, "sleep 1000", gpus="4", nodes=2)
    daemon.api.wait_state(first, "running")
    assert nodes_of(daemon, first) == ["n2", "n3"]
    waiting = submit(daemon, "true", gpus="4")
    assert daemon.api.why(waiting)["text"]
    assert tarn(daemon, "undrain", "n1").returncode == 0
    assert daemon.api.wait_end(waiting)["result"] == "ok"


def test_a_drain_outlasts_the_absence_of_the_node(daemon):
    tarn(daemon, "drain", "n2", "--reason", "new disk")
    take_away(daemon, "n2")
    wait_until("n2 is down", lambda: node(daemon, "n2")["state"] == "down")
    assert node(daemon, "n2")["drained"] == "new disk"
    daemon.kill()
    daemon.start()
    assert node(daemon, "n2")["drained"] == "new disk"
    bring_back(daemon, "n2")
    wait_until("n2 is back", lambda: node(daemon, "n2")["state"] != "down")
    assert (node(daemon, "n2")["state"], node(daemon, "n2")["reason"]) == ("drained", "new disk")
    tarn(daemon, "undrain", "n2")
    assert node(daemon, "n2")["state"] == "up"
    take_away(daemon, "n2")
    wait_until("n2 is down", lambda: node(daemon, "n2")["state"] == "down")
    tarn(daemon, "drain", "n2", "--reason", "look at it")
    tarn(daemon, "undrain", "n2")
    bring_back(daemon, "n2")
    wait_until("n2 is up", lambda: node(daemon, "n2")["state"] == "up")


def test_an_output_is_named_by_the_node(daemon):
    folder = os.path.join(daemon.state, "out")
    os.mkdir(folder)
    number = submit(daemon, "echo $NODE; sleep 1", gpus="4", nodes=2, output=folder + "/%N")
    daemon.api.wait_state(number, "running")
    nodes = nodes_of(daemon, number)
    daemon.api.wait_end(number)
    assert all(any(name.startswith(node) for name in os.listdir(folder)) for node in nodes)


def ask(daemon, name):
    os.makedirs(os.path.join(daemon.state, "three"), exist_ok=True)
    open(os.path.join(daemon.state, "three", name), "w").close()


def test_a_slow_end_after_the_jobs_were_killed_is_a_clean_one(daemon):
    number = submit(daemon, "sleep 1000", gpus="1")
    daemon.api.wait_state(number, "running")
    ask(daemon, "slow")
    ended = tarn(daemon, "down", "--kill")
    assert (ended.returncode, ended.stderr) == (0, "tarn: stopped, with its running jobs; waiting jobs start after tarn up\n")
    assert daemon.process.wait(PATIENCE_S) == 0
    assert not os.path.exists(daemon.socket)


def test_a_signal_during_the_start_ends_the_daemon(make_daemon):
    daemon = make_daemon(devices="none", options=["--engine", ENGINE])
    os.mkdir(daemon.state)
    ask(daemon, "term")
    daemon.start()
    assert daemon.process.wait(PATIENCE_S) == 0
    assert not os.path.exists(daemon.socket)


@pytest.fixture
def chooser(make_daemon):
    """An engine that chooses devices itself, the last free one first (tests/engine/chooser.c)."""
    daemon = make_daemon(devices="none", options=["--engine", ENGINE.replace("three", "chooser")])
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 4)
    return daemon


def chosen(daemon, name):
    return os.path.join(daemon.state, "chooser", name)


def devices_of(daemon, number):
    return [device["index"] for device in daemon.api.job(number)["devices"]]


def test_a_lease_follows_the_devices_that_the_engine_chose(chooser):
    api = chooser.api
    first, second = submit(chooser, "true", gpus="1"), submit(chooser, "true", gpus="2")
    wait_until("both have what the engine chose",
               lambda: (devices_of(chooser, first), sorted(devices_of(chooser, second))) == ([3], [1, 2]))
    third = submit(chooser, "true", gpus="1")
    wait_until("the last one has the rest", lambda: devices_of(chooser, third) == [0])
    api.post(f"/v1/jobs/{first}/cancel")
    api.wait_end(first)
    again = submit(chooser, "true", gpus="1")
    wait_until("it has the free one", lambda: devices_of(chooser, again) == [3])
    refused = tarn(chooser, "submit", "--gpus", "0.5", "--", "true")
    assert refused.returncode == 1 and "this engine allocates whole GPUs only" in refused.stderr
    chooser.verify()


def test_leases_follow_when_jobs_start_together(chooser):
    group = submit(chooser, "true", gpus="1", array="1-4")
    tasks = range(group + 1, group + 5)
    wait_until("each task has what the engine chose for it",
               lambda: [devices_of(chooser, task) for task in tasks] == [[3], [2], [1], [0]])
    chooser.verify()


def arrive(daemon, name, document):
    with open(chosen(daemon, name + ".new"), "w") as file:
        file.write(document)
    os.rename(chosen(daemon, name + ".new"), chosen(daemon, name + ".job"))


def test_leases_follow_a_choice_in_a_circle(chooser):
    """Each job got the device that was the next one's, and all of it was reported in one turn."""
    with open(chosen(chooser, "order"), "w") as file:
        file.write("1230")
    numbers = chooser.api.submit(*[{"name": "one", "gpus": "1", "run": "true", "sender_env": chooser.env()}] * 3)
    wait_until("they have what the engine chose",
               lambda: [devices_of(chooser, number) for number in numbers] == [[1], [2], [3]])
    chooser.verify()


def test_a_document_of_the_engine_has_the_limits_of_a_request(chooser):
    for name, document, words in (("a", '{"name": ' + "[" * 1000 + "]" * 1000 + "}", "levels deep"),
                                  ("b", '{"name": "x", "name": "y", "run": "true"}', "duplicate")):
        arrive(chooser, name, document)
        wait_until("it is refused", lambda: os.path.exists(chosen(chooser, name + ".answer")) and
                   words in open(chosen(chooser, name + ".answer")).read())
    chooser.check_sane()


def cpu_s(daemon):
    with open(f"/proc/{daemon.process.pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_a_report_of_which_nothing_comes_costs_nothing(chooser):
    time.sleep(2)  # what happens after the start would end it
    open(chosen(chooser, "stray"), "w").close()
    wait_until("it is reported", lambda: not os.path.exists(chosen(chooser, "stray")))
    before = cpu_s(chooser)
    time.sleep(2)
    assert cpu_s(chooser) - before < 1
    chooser.verify()


def test_a_job_that_was_submitted_to_the_engine(chooser):
    with open(chosen(chooser, "a.job"), "w") as file:
        file.write('{"name": "outside", "gpus": "4", "run": "true"}')
    number = int(wait_until("it is answered", lambda: os.path.exists(chosen(chooser, "a.answer")) and
                            open(chosen(chooser, "a.answer")).read()))
    job = chooser.api.wait_state(number, "running")
    assert (job["name"], job["user"]) == ("outside", "ana")
    assert open(chosen(chooser, "log")).read() == "start a\n"
    assert len(chooser.api.get("/v1/jobs")["jobs"]) == 1
    assert tarn(chooser, "cancel", "--signal", "USR1", str(number)).returncode == 0
    wait_until("the engine has the signal", lambda: "signal 10" in open(chosen(chooser, "log")).read())
    os.unlink(chosen(chooser, "a.job"))
    ended = chooser.api.wait_end(number)
    assert ended["result"] == "cancelled"
    with open(chosen(chooser, "b.job"), "w") as file:
        file.write('{"name": "outside", "gpus": "5", "run": "true"}')
    wait_until("it is refused", lambda: os.path.exists(chosen(chooser, "b.answer")) and
               "5" in open(chosen(chooser, "b.answer")).read())
    chooser.verify()


def test_an_engine_that_is_not_there_is_refused(make_daemon):
    for engine, words in (("nowhere", "engine 'nowhere': expected local or a module: "
                           "tarn-engine-nowhere.so: not found"), ("/bin/true", "engine /bin/true")):
        daemon = make_daemon(devices="none", options=["--engine", engine])
        assert words in daemon.try_start()[1]


def test_explanations_name_nodes(daemon):
    for _ in range(3):
        daemon.api.wait_state(submit(daemon, "sleep 1000", gpus="3"), "running")
    assert tarn(daemon, "drain", "n2").returncode == 0
    waiting = submit(daemon, "true", gpus="2")
    lines = "\n".join(daemon.api.why(waiting)["lines"])
    assert "2 of 8 (n1/3, n3/3)" in lines and "3 gpus of n1" in lines and "3 gpus of n2" in lines
    assert "9 of 11 gpus allocated" in tarn(daemon, "ls").stderr
    gang = submit(daemon, "sleep 1000", gpus="1", nodes=2)
    daemon.api.wait_state(gang, "running")
    assert "2 gpus of 2 nodes" in "\n".join(daemon.api.why(waiting)["lines"])


def test_properties_of_nodes_take_effect_at_once(daemon):
    api = daemon.api
    waits = submit(daemon, "echo $NODE", gpus="1", preemptible=True, spot="only")
    wait_until("it waits", lambda: api.why(waits)["kind"] == "spot")
    config = {"nodes": {"n2": {"spot": True, "rack": "r7", "block": "b1", "type": "big", "price": 2.5,
                               "labels": ["zone=a", "fast"]}},
              "node_types": {"big": {"cpus": 8, "memory": "64G", "price": 9}}}
    api.put("/v1/config", config)
    assert api.wait_end(waits)["result"] == "ok" and api.output(waits) == "n2\n"
    two = node(daemon, "n2")
    assert {key: two[key] for key in ("spot", "rack", "block", "type", "price", "labels")} == {
        "spot": True, "rack": "r7", "block": "b1", "type": "big", "price": 2.5, "labels": ["zone=a", "fast"]}
    assert node(daemon, "n1")["labels"] == [] and not node(daemon, "n1")["spot"]
    assert "big rack=r7 block=b1 zone=a fast" in tarn(daemon, "nodes").stdout
    daemon.kill()
    daemon.start()
    assert node(daemon, "n2")["rack"] == "r7"
    assert api.get("/v1/config")["nodes"] == config["nodes"]
    take_away(daemon, "n2")
    wait_until("the node is down", lambda: node(daemon, "n2")["state"] == "down")
    bring_back(daemon, "n2")
    wait_until("the node is up", lambda: node(daemon, "n2")["state"] == "up")
    assert node(daemon, "n2")["spot"]
    api.put("/v1/config", {})
    two = node(daemon, "n2")
    assert not two["spot"] and two["rack"] == "r1" and two["labels"] == []  # as the engine reports it
    daemon.verify()


def test_the_price_of_a_node_is_charged(daemon):
    api = daemon.api
    api.put("/v1/config", {"prices": {"gpus": 3.6}, "nodes": {"n1": {"price": 36}, "n2": {"price": 7.2}}})
    job = submit(daemon, "echo $NODE; sleep 1", gpus="1")
    done = api.wait_end(job)
    # 0.001 a second on the third node, 0.002 on the second, 0.01 on the first: the cheapest is chosen.
    assert api.output(job) == "n3\n" and 0.0009 <= done["cost"] <= 0.001 * (done["run_seconds"] + 2), done["cost"]
    dear = submit(daemon, "sleep 1000", gpus="1", where="node=n1")
    api.wait_state(dear, "running")
    before = api.job(dear)["cost"]
    wait_until("it costs something", lambda: api.job(dear)["cost"] >= before + 0.01)
    api.put("/v1/config", {"prices": {"gpus": 3.6}})
    ends = api.job(dear)["cost"]
    daemon.kill()
    daemon.start()
    assert api.job(dear)["cost"] >= ends
    assert "all the same" in daemon.verify()


def test_apply_doubts_nodes_that_are_not_there(daemon, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("nodes: {n9: {spot: true}, n1: {type: huge}}\n")
    refused = tarn(daemon, "apply", "-f", str(path), "--dry-run")
    said = refused.stdout + refused.stderr
    assert "node n9: no node has this name" in said
    assert "node n1: type: no node type has this name: 'huge'" in said


def test_a_job_goes_where_its_conditions_hold(daemon):
    api = daemon.api
    api.put("/v1/config", {"nodes": {"n2": {"labels": ["zone=a", "fast"]}, "n3": {"labels": ["zone=b"]}},
                           "pools": {"b": {"type": "static", "queue": "q", "where": "zone=b"}}, "queues": {"q": {}}})
    here = submit(daemon, "echo $NODE; sleep 1000", gpus="4", where=["zone in (a,c)", "!slow"])
    api.wait_state(here, "running")
    assert nodes_of(daemon, here) == ["n2"]
    assert api.job(here)["request"]["where"] == ["zone in (a,c)", "!slow"]
    assert "where       zone in (a,c), !slow" in tarn(daemon, "show", str(here)).stdout
    waits = submit(daemon, "true", gpus="1", where="fast|zone=c")
    wait_until("it waits", lambda: api.why(waits)["kind"] == "where")
    said = tarn(daemon, "why", str(waits)).stdout
    assert "fast|zone=c excludes n1, n3" in " ".join(said.split())
    with pytest.raises(Refused) as refused:
        submit(daemon, "true", gpus="1", where="zone=x")
    assert "no node meets its conditions: zone=x excludes n1, n2, n3: all nodes" in str(refused.value)
    with pytest.raises(Refused) as refused:
        submit(daemon, "true", where="zone in a")
    assert "where: 'zone in a': expected conditions like" in str(refused.value)
    own = submit(daemon, "echo $NODE", gpus="1", queue="q", pool="b")
    assert api.wait_end(own)["result"] == "ok" and api.output(own) == "n3\n"
    said = tarn(daemon, "submit", "--gpus", "1", "--constraint", "fast&(h100|t4)", "--", "true")
    assert said.returncode == 0, said.stderr
    number = own + 1
    assert api.job(number)["request"]["where"] == ["fast", "h100|t4"]
    daemon.kill()
    daemon.start()
    assert api.job(waits)["request"]["where"] == ["fast|zone=c"]
    api.post(f"/v1/jobs/{here}/cancel")
    assert api.wait_end(waits)["result"] == "ok" and api.wait_end(number)["result"] == "ok"
    daemon.verify()


def test_gpus_have_labels(daemon):
    api = daemon.api
    config = {"nodes": {"n2": {"labels": ["fast"], "gpu_labels": {"1": ["big"], "3": ["big", "zone=b"]}}},
              "pools": {"b": {"type": "static", "queue": "q", "where": "zone=b"}}, "queues": {"q": {}}}
    api.put("/v1/config", config)
    labels = {(g["node"], g["index"]): g["labels"] for g in api.get("/v1/gpus")["gpus"]}
    assert labels[("n2", 1)] == ["big"] and labels[("n2", 3)] == ["big", "zone=b"] and labels[("n2", 0)] == []
    assert api.get("/v1/config")["nodes"] == config["nodes"]
    number = submit(daemon, "sleep 1000", gpus="1", where="big,fast")
    api.wait_state(number, "running")
    assert [(d["node"], d["index"]) for d in api.job(number)["devices"]] == [("n2", 1)]  # 3 is of the pool
    own = submit(daemon, "sleep 1000", gpus="1", queue="q", pool="b")
    api.wait_state(own, "running")
    assert [(d["node"], d["index"]) for d in api.job(own)["devices"]] == [("n2", 3)]
    daemon.kill()
    daemon.start()
    take_away(daemon, "n2")
    wait_until("the node is down", lambda: node(daemon, "n2")["state"] == "down")
    bring_back(daemon, "n2")
    wait_until("the node is up", lambda: node(daemon, "n2")["state"] == "up")
    assert [g["labels"] for g in api.get("/v1/gpus")["gpus"] if g["node"] == "n2"] == [[], ["big"], [], ["big", "zone=b"]]
    daemon.verify()


def test_an_engine_labels_devices(daemon):
    """A condition of a job holds for single devices of a node, not for the node."""
    number = submit(daemon, "sleep 1000", gpus="1", where="last")
    daemon.api.wait_state(number, "running")
    assert [(d["node"], d["index"]) for d in daemon.api.job(number)["devices"]] == [("n3", 3)]
    assert submit(daemon, "true", gpus="1", where="last") and node(daemon, "n3")["labels"] == []
    daemon.verify()


def test_jobs_keep_apart(daemon):
    api = daemon.api
    both = {"labels": ["web"], "anti_affinity": ["web"], "gpus": "1"}
    apart = [submit(daemon, "sleep 1000", **both) for _ in range(3)]
    for number in apart:
        api.wait_state(number, "running")
    assert sorted(nodes_of(daemon, number)[0] for number in apart) == ["n1", "n2", "n3"]
    waits = submit(daemon, "true", labels="web", gpus="1")
    wait_until("it waits", lambda: api.why(waits)["kind"] == "apart")
    assert f"on nodes of job {apart[0]} and others like it, which its anti-affinity excludes" in api.why(waits)["text"]
    other = tarn(daemon, "submit", "--gpus", "1", "--label", "db", "--anti-affinity", "cache,queue", "--", "true")
    assert other.returncode == 0, other.stderr
    assert api.job(waits + 1)["request"]["anti_affinity"] == ["cache", "queue"]
    assert "apart from  web" in tarn(daemon, "show", str(apart[0])).stdout
    daemon.kill()
    daemon.start()
    assert api.why(waits)["kind"] == "apart" and api.job(waits)["request"]["labels"] == ["web"]
    for words, expected in (({"labels": list("abcde")}, "4 at most"), ({"labels": ["a", "a"]}, "'a' twice"),
                            ({"anti_affinity": "a b"}, "expected names"),
                            ({"labels": "a", "anti_affinity": "a", "ranks": "1..3"}, "an elastic gang cannot avoid one of its own labels")):
        with pytest.raises(Refused) as refused:
            submit(daemon, "true", gpus="1", **words)
        assert expected in str(refused.value)
    with pytest.raises(Refused) as refused:
        for i in range(20):
            submit(daemon, "true", hold=True, labels=[f"l{i}-{k}" for k in range(4)])
    assert "more than 16 labels" in str(refused.value)
    api.post(f"/v1/jobs/{apart[1]}/cancel")
    assert api.wait_end(waits)["result"] == "ok"
    daemon.verify()
