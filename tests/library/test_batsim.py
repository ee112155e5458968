# SPDX-License-Identifier: Apache-2.0
"""The decision component for Batsim (examples/library/batsim.c), driven as Batsim 5 does: the C interface of batsim_edc.h, and the JSON
messages of its protocol. Usage: test_batsim.py LIBRARY

The driver has hosts, jobs and a clock, and checks what Batsim checks: no host has two jobs, and a job gets as many as it asked for."""
import ctypes
import heapq
import itertools
import json
import random
import sys

HOSTS = 32
JOBS = 300


class Component:
    def __init__(self, path, configuration):
        self.library = ctypes.CDLL(path)
        flags = ctypes.c_uint32()
        self.hello = self.call(self.library.batsim_edc_init, configuration, ctypes.byref(flags))
        assert flags.value == 2, "JSON"

    def call(self, function, data, *more):
        data, reply, size = data.encode(), ctypes.c_char_p(), ctypes.c_uint32()
        assert function(data, len(data), *more, ctypes.byref(reply), ctypes.byref(size)) == 0, data
        assert size.value == len(reply.value) + 1, "a C string"
        return json.loads(reply.value)

    def decide(self, now, events):
        return self.call(self.library.batsim_edc_take_decisions, json.dumps({"now": now, "events": [
            {"timestamp": now, "event_type": kind, "event": event} for kind, event in events]}))

    def end(self):
        assert self.library.batsim_edc_deinit() == 0


def workload(seed):
    """Most walltimes are too long, as people state them; some are too short, some jobs have none, and two can never run."""
    rng, now, jobs = random.Random(seed), 0.0, []
    for number in range(JOBS):
        now += rng.expovariate(1 / 60)
        run = rng.lognormvariate(6, 1)
        walltime = None if number % 29 == 0 else run * rng.choice((0.5, 1.1, 2, 5, 5))
        hosts = HOSTS + 1 if number in (7, 70) else min(HOSTS, 2 ** rng.choice((0, 0, 1, 2, 3, 4, 5)))
        jobs.append({"id": f"w0!{number}", "at": now, "run": run, "walltime": walltime, "hosts": hosts})
    return jobs


def hosts_of(allocation):
    found = []
    for part in allocation.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class Platform:
    """Batsim's side."""

    def __init__(self, component, jobs):
        self.component = component
        self.order = itertools.count()
        self.jobs = {job["id"]: job for job in jobs}
        self.due = [(job["at"], next(self.order), "submit", job["id"]) for job in jobs]
        heapq.heapify(self.due)
        self.owner = {}
        self.starts, self.rejected, self.calls = {}, [], set()

    def execute(self, now, event):
        job, allocation = self.jobs[event["job_id"]], event["allocation"]
        hosts = hosts_of(allocation["host_allocation"])
        assert allocation["executor_placement_type"] == "PredefinedExecutorPlacementStrategyWrapper" and allocation["executor_placement"]["strategy"]
        assert len(set(hosts)) == len(hosts) == job["hosts"] and not set(hosts) & set(self.owner), (job, hosts, self.owner)
        assert set(hosts) <= set(range(HOSTS)) and job["id"] not in self.starts and now >= job["at"]
        self.owner.update({host: job["id"] for host in hosts})
        self.starts[job["id"]] = now
        length = min(job["run"], job["walltime"] or job["run"])
        state = "COMPLETED_WALLTIME_REACHED" if length < job["run"] else "COMPLETED_SUCCESSFULLY"
        heapq.heappush(self.due, (now + length, next(self.order), state, job["id"]))

    def carry_out(self, now, message):
        assert message["now"] == now
        for entry in message["events"]:
            kind, event = entry["event_type"], entry["event"]
            assert entry["timestamp"] == now
            if kind == "ExecuteJobEvent":
                self.execute(now, event)
            elif kind == "RejectJobEvent":
                self.rejected.append(event["job_id"])
            elif kind == "CallMeLaterEvent":
                assert event["when_type"] == "OneShot" and event["when"]["time_unit"] == "Millisecond" and event["when"]["time"] / 1000 > now
                assert event["call_me_later_id"] not in self.calls
                self.calls.add(event["call_me_later_id"])
                heapq.heappush(self.due, (event["when"]["time"] / 1000, next(self.order), "call", event["call_me_later_id"]))
            else:
                raise AssertionError(kind)

    def event_of(self, what, name):
        if what == "submit":
            job = {"resource_request": self.jobs[name]["hosts"], "rigid": True, "profile_id": "w0!p", "extra_data": ""}
            if self.jobs[name]["walltime"]:
                job["walltime"] = self.jobs[name]["walltime"]
            return "JobSubmittedEvent", {"job_id": name, "job": job, "submission_time": self.jobs[name]["at"]}
        if what == "call":
            return "RequestedCallEvent", {"call_me_later_id": name, "last_periodic_call": False}
        self.owner = {host: owner for host, owner in self.owner.items() if owner != name}
        return "JobCompletedEvent", {"job_id": name, "state": what, "return_code": 0}

    def simulate(self):
        hosts = [{"id": i, "name": f"host{i}", "core_count": 1} for i in range(HOSTS)]
        self.carry_out(0.0, self.component.decide(0.0, [("SimulationBeginsEvent", {
            "host_number": HOSTS, "computation_host_number": HOSTS, "computation_hosts": hosts, "storage_hosts": []})]))
        while self.due:
            now, events = self.due[0][0], []
            while self.due and self.due[0][0] == now:
                events.append(self.event_of(*heapq.heappop(self.due)[2:]))
            self.carry_out(now, self.component.decide(now, events))
        self.component.decide(now, [("AllStaticJobsHaveBeenSubmittedEvent", {}), ("SimulationEndsEvent", {})])


def simulate(path, seed, configuration):
    component = Component(path, configuration)
    (hello,) = component.hello["events"]
    assert hello["event_type"] == "EDCHelloEvent" and hello["event"]["decision_component_name"] == "tarn", hello
    platform = Platform(component, workload(seed))
    platform.simulate()
    component.end()
    assert platform.rejected == ["w0!7", "w0!70"] and not platform.owner
    assert len(platform.starts) == JOBS - 2, "every other job has run"
    waits = [start - platform.jobs[name]["at"] for name, start in platform.starts.items()]
    return platform.starts, sum(waits) / len(waits)


def main(path):
    for seed in range(3):
        starts, wait = simulate(path, seed, "")
        assert simulate(path, seed, "")[0] == starts, "the same decisions again"
        fifo = simulate(path, seed, "{order: fifo, backfill: none}")[1]
        assert wait < fifo, "the configuration counts"
        print(f"seed {seed}: mean wait {wait:.0f} s, first come first served {fifo:.0f} s")


main(sys.argv[1])
