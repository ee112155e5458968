# SPDX-License-Identifier: Apache-2.0
"""tarn, the API server, etcd, kwok and a kubelet are killed, and tarn's wall clock jumps, while pods, gangs and Jobs come and go on a
real Kubernetes, with fake nodes and a real one.

An observer follows all pods in the order in which the API server stored their changes. At each change it checks that no GPU is
given to two pods, that no pod changes its node, and for how long, outages aside, a gang has nodes for a part of its pods only.
$TARN_KUBE_ROUNDS rounds (10 unless given) of $TARN_KUBE_SEED. With a standby there are three for ten of these: a lease runs out in 15 seconds."""
import collections
import contextlib
import http.client
import os
import random
import signal
import threading
import time

import pytest

import kube_cluster
from kube import nodes
from kube.api import Refused
from kube_cluster import PATIENCE_S, check_sound, is_active, namespace, pod, wait_until

pytestmark = kube_cluster.needed(real=True, engine=True)
ROUNDS = int(os.environ.get("TARN_KUBE_ROUNDS", "10"))
SEED = int(os.environ.get("TARN_KUBE_SEED", "1"))
NODES = 6  # and real-0
UNREADY_AFTER_S = 20  # without word from its kubelet, a node is not ready; kwok, whose nodes say something every 10 seconds, is away for less


class Observer(threading.Thread):
    """Of all pods with GPUs that tarn chose. It goes on where it was after the API server was away."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.faults, self.held, self.nodes, self.bound, self.changes = [], {}, {}, {}, 0
        self.gangs, self.part_since, self.longest_part, self.outages = {}, {}, 0.0, []
        self.version = None  # None: list first
        self.ending = False

    def run(self):
        while not self.ending:
            try:
                self.follow()
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.05)
            except Refused as refused:
                if refused.status == 410:
                    self.version = None
                time.sleep(0.05)

    def follow(self):
        """A list, if what came before is not known any more, and the changes after it."""
        if not self.version:
            listed = self.cluster.api.get("/api/v1/pods")
            there = {one["metadata"]["uid"] for one in listed["items"]}
            self.held = {place: holder for place, holder in self.held.items() if holder in there}
            for one in sorted(listed["items"], key=is_active):  # what has ended gives back first
                self.see("MODIFIED", one)
            self.version = listed["metadata"]["resourceVersion"]
        for event in self.cluster.api.watch("/api/v1/pods", self.version, timeoutSeconds=5, allowWatchBookmarks="true"):
            if event["type"] == "ERROR":
                self.version = None
                return
            self.version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self.see(event["type"], event["object"])

    def see(self, kind, one):
        self.changes += 1
        uid, node = one["metadata"]["uid"], one["spec"].get("nodeName")
        if node and self.nodes.setdefault(uid, node) != node:
            self.faults.append(f"{one['metadata']['name']} was on {self.nodes[uid]}, and is on {node}")
        if node:
            self.bound.setdefault(uid, time.monotonic())
        holds = node and kind != "DELETED" and is_active(one)
        chosen = one["metadata"].get("annotations", {}).get("tarn.dev/gpus", "")
        wanted = {(node, gpu) for gpu in chosen.split(",") if gpu} if holds else set()
        for place in [place for place, holder in self.held.items() if holder == uid and place not in wanted]:
            del self.held[place]
        for place in wanted:
            if self.held.setdefault(place, uid) != uid:
                self.faults.append(f"{place} was given to {one['metadata']['name']} while {self.held[place]} had it")

        self.see_gang(one, kind != "DELETED" and is_active(one))

    def see_gang(self, one, is_there):
        """A gang is bound in part from the first binding on, until all of it is bound or none of it."""
        name = one["metadata"].get("labels", {}).get("tarn.dev/gang")
        if not name:
            return
        members = self.gangs.setdefault(name, {})
        members[one["metadata"]["name"]] = bool(one["spec"].get("nodeName")) if is_there else None
        bound = [is_bound for is_bound in members.values() if is_bound is not None]
        size = int(one["metadata"]["annotations"]["tarn.dev/gang-size"])
        is_part = any(bound) and sum(bound) < size - list(members.values()).count(None)
        if is_part:
            self.part_since.setdefault(name, time.monotonic())
        elif name in self.part_since:
            begin, end = self.part_since.pop(name), time.monotonic()
            away = sum(max(0.0, min(end, until or end) - max(begin, since)) for since, until in self.outages)
            self.longest_part = max(self.longest_part, end - begin - away)

    @contextlib.contextmanager
    def outage(self):
        """Something that is needed to bind is not there; nobody can complete a gang, or take it back."""
        self.outages.append((time.monotonic(), None))
        try:
            yield
        finally:
            self.outages[-1] = (self.outages[-1][0], time.monotonic())

    def stop(self):
        self.ending = True
        self.join(60)
        return self.faults


class Load:
    """Pods, gangs and Jobs that end by themselves; Jobs of both kinds of nodes."""

    def __init__(self, cluster, space, chance):
        self.cluster, self.space, self.chance = cluster, space, chance
        self.count, self.pods, self.gangs, self.jobs, self.deleted = 0, set(), {}, set(), set()

    def ends(self):
        return {"kube.tarn.dev/run-for": f"{self.chance.randrange(100, 3000)}ms"}

    def create(self, thing):
        """Also while the API server is away, or dies: then it is there already at the second try."""
        def created():
            try:
                self.cluster.api.create(thing, self.space)
                return True
            except Refused as refused:
                return refused.status == 409
            except (OSError, http.client.HTTPException):
                return False
        wait_until(f"{thing['metadata']['name']} is created", created)

    def add(self):
        self.count += 1
        kind, gpus = self.chance.choice(("pod", "pod", "gang", "job", "real")), self.chance.choice((1, 2, 4, 8))
        keys = dict(gpus=gpus, scheduler="tarn", fake=True, annotations=self.ends())
        if kind == "pod":
            name = f"p{self.count}"
            self.create(pod(name, **keys))
            self.pods.add(name)
        elif kind == "gang":
            members = [f"g{self.count}-{number}" for number in range(self.chance.randrange(2, NODES))]
            keys["annotations"]["tarn.dev/gang-size"] = str(len(members))
            for name in members:
                self.create(pod(name, labels={"tarn.dev/gang": f"g{self.count}"}, **keys))
            self.gangs[f"g{self.count}"] = members
            self.pods.update(members)
        elif kind == "job":
            self.add_job(f"j{self.count}", count=self.chance.randrange(1, 4), **keys)
        else:
            seconds = self.chance.randrange(1, 30) / 10
            self.add_job(f"r{self.count}", command=("sleep", str(seconds)), count=self.chance.randrange(1, 4), gpus=self.chance.choice((1, 2)),
                         scheduler="tarn", fake=False)

    def add_job(self, name, **keys):
        job = kube_cluster.job(name, **keys)
        job["spec"]["backoffLimit"] = 100  # a pod that tarn evicts counts as one that failed
        self.create(job)
        self.jobs.add(name)

    def unfinished(self):
        pods = {one["metadata"]["name"]: one["status"]["phase"] for one in self.cluster.api.pods(self.space)}
        left = [name for name in self.pods if pods.get(name) != "Succeeded"]
        return left + [name for name in self.jobs if not kube_cluster.is_complete(self.cluster, self.space, name)]

    def words(self):
        """What is left, with the state of Jobs."""
        told = []
        for name in self.unfinished():
            job = self.cluster.api.find(f"/apis/batch/v1/namespaces/{self.space}/jobs/{name}") if name in self.jobs else None
            told.append(f"{name} {job['metadata'].get('annotations')} {job['spec']['suspend']} {job['status']}" if job else name)
        return "\n".join(told)


def kill_tarn(cluster, daemon, chance):
    daemon.kill()
    time.sleep(chance.random() * 0.5)
    daemon.start()


def kill_api_server(cluster, daemon, chance):
    cluster.kill("kube-apiserver")
    time.sleep(chance.random())
    cluster.launch_api_server()


def kill_etcd(cluster, daemon, chance):
    """The API server waits for it."""
    cluster.kill("etcd")
    time.sleep(chance.random() * 0.5)
    cluster.launch_etcd()
    wait_until("the API server answers again", cluster.is_ready)


def kill_both(cluster, daemon, chance):
    """tarn starts while there is no API server, or in the middle of its start."""
    cluster.kill("kube-apiserver")
    daemon.kill()
    starting = threading.Thread(target=cluster.launch_api_server)
    starting.start()
    time.sleep(chance.random() * 2)
    daemon.start()
    starting.join()


def kill_kwok(cluster, daemon, chance):
    cluster.kill("kwok")
    time.sleep(chance.random())
    nodes.restart_kwok(cluster)


def is_ready(cluster, name):
    return name in cluster.ready_nodes()


def kill_kubelet(cluster, daemon, chance):
    """Its containers go on, and may end meanwhile. Every other time it is away until its node is not ready. A kubelet that starts takes
    back the GPUs of its node until a device plugin, which nodes.advertise() stands for, is there again."""
    cluster.kill("kubelet-0")
    if chance.random() < 0.5:
        wait_until("real-0 is not ready", lambda: not is_ready(cluster, "real-0"), UNREADY_AFTER_S + PATIENCE_S)
    nodes.launch_kubelet(cluster, 0)
    wait_until("real-0 is ready", lambda: is_ready(cluster, "real-0"))
    nodes.advertise(cluster, "real-0", cluster.gpus)


def skew_clock(cluster, daemon, chance):
    """The wall clock of tarn jumps by minutes, forward or back; the certificate of the API server is still valid then."""
    daemon.set_clock(chance.randrange(-45, 46) * 60)
    time.sleep(chance.random())


OUTAGES = (kill_tarn, kill_tarn, kill_api_server, kill_etcd, kill_both, kill_kwok)  # nobody can bind meanwhile
FAULTS = OUTAGES + (kill_kubelet, skew_clock)


@pytest.fixture
def cluster():
    with kube_cluster.running(fake=NODES, real=1, controller_options=[f"--node-monitor-grace-period={UNREADY_AFTER_S}s"]) as cluster:
        yield cluster


def play(cluster, daemon, load, chance, observer, seen):
    """One round: things begin while something is killed."""
    for _ in range(chance.randrange(1, 4)):
        load.add()
    fault = chance.choice(FAULTS)
    with observer.outage() if fault in OUTAGES else contextlib.nullcontext():
        fault(cluster, daemon, chance)
    seen[fault.__name__] += 1
    for _ in range(chance.randrange(1, 4)):
        load.add()


def test_nothing_is_lost_or_given_twice(cluster, make_shifted):
    chance = random.Random(SEED)
    daemon = make_shifted(devices="none")
    kube_cluster.start_daemon(daemon, cluster)
    observer = Observer(cluster)
    observer.start()
    with namespace(cluster) as space:
        load, seen = Load(cluster, space, chance), collections.Counter()
        for number in range(ROUNDS):
            try:
                play(cluster, daemon, load, chance, observer, seen)
                if number % 5 == 4:  # not more than can run; kwok forgets pods when its requests fail, until it starts again
                    kill_kwok(cluster, daemon, chance)
                    cluster.explained(space, f"all of round {number} is done", lambda: not load.unfinished())
            except AssertionError as error:
                raise AssertionError(f"seed {SEED}, round {number}: {load.words()}\n{error}\n{daemon.words()[-3000:]}") from None
            assert not observer.faults, (SEED, number, observer.faults)
        kill_kwok(cluster, daemon, chance)
        cluster.explained(space, "all of it is done", lambda: not load.unfinished())
        check_sound(cluster)
        assert observer.stop() == [] and observer.changes > ROUNDS
        wait_until("tarn has seen all ends", lambda: all(job["state"] == "ended" for job in daemon.api.jobs()))
        jobs = daemon.api.jobs()
        assert len(jobs) >= ROUNDS
        # All pods have succeeded. An attempt that was lost, as far as tarn knew, may have been one of these.
        wrong = [(job["id"], job["name"], job["result"], job["reason"]) for job in jobs if job["result"] not in ("ok", "lost")]
        lost = [(job["id"], job["name"], job["reason"]) for job in jobs if job["result"] == "lost"]
        print(f"seed {SEED}: {dict(seen)}, {len(jobs)} jobs, {len(load.pods)} pods and {len(load.jobs)} Jobs, {observer.changes} changes, bound in part for {observer.longest_part:.2f} s at most, lost: {lost}")
        assert not observer.part_since
        assert not wrong and len(lost) <= len(jobs) // 5, (wrong, lost)
    daemon.verify()


# ---- two copies of tarn ----

def lease(cluster):
    return cluster.api.find("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/tarn")


def holder(cluster):
    found = lease(cluster)
    return found and found["spec"]["holderIdentity"]


class Pair:
    """A daemon in charge, and one that stands by."""

    def __init__(self, cluster, first, second):
        self.cluster, self.leader, self.standby = cluster, first, second

    def has_changed(self, before):
        def look():
            try:
                return holder(self.cluster) not in (None, "", before)
            except (OSError, http.client.HTTPException):
                return False
        wait_until("the other daemon has the lease", look)
        self.leader, self.standby = self.standby, self.leader

    def kill(self, chance):
        """The one in charge dies, and comes back when the other one is."""
        before = holder(self.cluster)
        self.leader.kill()
        self.has_changed(before)
        self.standby.start()

    def freeze(self, chance):
        """The one in charge stands still until the other one is; then it goes on, and must not know better."""
        before = holder(self.cluster)
        self.leader.process.send_signal(signal.SIGSTOP)
        self.has_changed(before)
        time.sleep(chance.random())
        self.standby.process.send_signal(signal.SIGCONT)
        self.standby.process.wait(kube_cluster.PATIENCE_S)
        self.standby.start()

    def kill_standby(self, chance):
        self.standby.kill()
        time.sleep(chance.random())
        self.standby.start()

    def kill_api_server(self, chance):
        kill_api_server(self.cluster, None, chance)

    def skew_clocks(self, chance):
        """The clocks of both are minutes apart, and jump at each renewal: the lease must stay where it is."""
        before, ahead = holder(self.cluster), chance.choice((-1, 1))
        for number in range(5):
            renewed = lease(self.cluster)["spec"]["renewTime"]
            self.leader.set_clock(ahead * number * 600)
            self.standby.set_clock(-ahead * number * 600)
            wait_until("the lease is renewed", lambda: lease(self.cluster)["spec"]["renewTime"] != renewed)
            assert holder(self.cluster) == before
        for daemon in (self.leader, self.standby):
            daemon.set_clock(chance.randrange(-45, 46) * 60)


PAIR_FAULTS = (Pair.kill, Pair.freeze, Pair.kill_standby, Pair.kill_api_server, Pair.skew_clocks)


def test_a_standby_goes_on_where_the_other_was(cluster, make_shifted):
    chance = random.Random(SEED)
    daemons = [make_shifted(devices="none"), make_shifted(devices="none")]
    kube_cluster.start_daemon(daemons[0], cluster)
    wait_until("it has the lease", lambda: holder(cluster))
    daemons[1].extra["KUBECONFIG"] = cluster.kubeconfig
    daemons[1].options += ["--engine", "kube"]
    daemons[1].start()
    pair, observer = Pair(cluster, *daemons), Observer(cluster)
    observer.start()
    rounds = max(len(PAIR_FAULTS), ROUNDS * 3 // 10)
    with namespace(cluster) as space:
        load = Load(cluster, space, chance)
        for number in range(rounds):
            fault = PAIR_FAULTS[number] if number < len(PAIR_FAULTS) else chance.choice(PAIR_FAULTS)
            try:
                for _ in range(chance.randrange(1, 4)):
                    load.add()
                time.sleep(chance.random() * 0.2)
                with observer.outage() if fault is not Pair.skew_clocks else contextlib.nullcontext():
                    fault(pair, chance)
                load.add()
                kill_kwok(cluster, None, chance)
                cluster.explained(space, f"all of round {number} is done", lambda: not load.unfinished())
            except AssertionError as error:
                raise AssertionError(f"seed {SEED}, round {number}, {fault.__name__}: {load.words()}\n{error}\n"
                                     f"{pair.leader.words()[-3000:]}") from None
            assert not observer.faults, (SEED, number, observer.faults)
        check_sound(cluster)
        assert observer.stop() == [] and observer.changes > rounds and not observer.part_since
        print(f"seed {SEED}: {rounds} rounds with a standby, {observer.changes} changes, bound in part for {observer.longest_part:.2f} s at most")
    for daemon in daemons:
        daemon.verify()
