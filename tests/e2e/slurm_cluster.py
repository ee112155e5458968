# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine: munged, slurmctld and a slurmd a node, in a folder of its own, on free ports.

Its nodes n1, n2, ... have four GPUs each, which are device files without a driver. All processes are children,
and are gone after stop(). Needs root."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from tarn_test import BUILD, IS_ROOT, PATIENCE_S, wait_until

GPUS = 4
CPUS = 16
MEMORY_MIB = 4096
PLUGINS = ("/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib/aarch64-linux-gnu/slurm-wlm", "/usr/lib64/slurm", "/usr/lib/slurm")
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scontrol", "squeue", "sbatch", "scancel")


def missing():
    """Why there can be no cluster here, or None."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for program in PROGRAMS:
        if not shutil.which(program, path=path):
            return f"{program} is not installed"
    return None if IS_ROOT else "a cluster on one machine needs root"


def has_lua():
    """Whether slurmctld can load job_submit.lua."""
    return any(os.path.exists(os.path.join(path, "job_submit_lua.so")) for path in PLUGINS)


def missing_engine():
    """Why tarn cannot use a cluster here, or None."""
    if not os.path.exists(os.path.join(BUILD, "src", "engine", "tarn-engine-slurm.so")):
        return "the engine slurm is not built: install libslurm-dev, then meson setup --wipe"
    return missing()


def start_daemon(daemon, cluster, mode, configuration=None, up=None, **keys):
    """Start a daemon in this mode; keys: more of `slurm`. It knows its nodes then, and so many are up."""
    daemon.cluster = cluster
    daemon.extra["SLURM_CONF"] = cluster.conf
    daemon.options += ["--engine", "slurm"]
    daemon.start()
    daemon.api.put("/v1/config", dict(configuration or {}, slurm={"mode": mode, **keys}))
    daemon.terminate()  # the mode takes effect with the start
    daemon.start()
    wait_until("all GPUs are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == len(cluster.nodes) * GPUS)
    up = up or (len(cluster.nodes) if mode == "job" else 0)
    if mode == "allocation" and up:  # until then they are up as the other mode left them
        wait_until("Slurm has granted the nodes", lambda: len(cluster.run("squeue", "-h", "-t", "R", "-n", "tarn").split("\n")) > up)
    wait_until("the nodes are as they should be", lambda: len(
        [n for n in daemon.api.get("/v1/nodes")["nodes"] if n["state"] == "up"]) == up)


def end_jobs(daemon, cluster):
    """Of a daemon, which ends, too."""
    if daemon.is_alive():
        for job in daemon.api.jobs():
            if job["state"] != "ended":
                daemon.api.post(f"/v1/jobs/{job['id']}/cancel")
        daemon.kill()
    cluster.run("scancel", "-u", "root")
    try:
        wait_until("Slurm has no job left", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())
    except AssertionError as error:
        raise AssertionError(f"{error}\n{cluster.run('squeue')}\n{cluster.words()}") from None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Cluster:
    def __init__(self, nodes=3, lines="", cloud=(), switches="", features=None, models=None, parts=None):
        """switches: topology.conf. cloud: nodes that Slurm starts when they get a job, and stops when they are idle.
        models: GPUs of a node, {type: count}. parts: those of each GPU, {"shard": count}."""
        self.root = tempfile.mkdtemp(prefix="sl", dir="/tmp")
        os.chmod(self.root, 0o755)
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.cloud = cloud
        self.features = features
        self.models = models or {"h100": GPUS}
        self.parts = parts or {}
        self.processes = {}
        self.conf = os.path.join(self.root, "slurm.conf")
        for name in ("state", "spool", "log", "dev"):
            os.mkdir(os.path.join(self.root, name))
        for i in range(GPUS):
            os.mknod(os.path.join(self.root, "dev", f"gpu{i}"), 0o20666, os.makedev(240, i))
        if switches:
            with open(os.path.join(self.root, "topology.conf"), "w") as file:
                file.write(switches)
            lines += "TopologyPlugin=topology/tree\n"
        self.write_files(lines + (self.write_cloud() if cloud else ""))

    def write_cloud(self):
        """The programs that play the cloud: an instance is a slurmd."""
        for name, command in (("resume", "setsid slurmd -D -b -f %s -N $node > /dev/null 2>&1 &" % self.conf),
                              ("suspend", "kill -KILL $(cat %s/$node.pid)" % self.root)):
            path = os.path.join(self.root, name)
            with open(path, "w") as file:
                file.write("#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexport SLURM_CONF=%s\n"
                           "for node in $(scontrol show hostnames $1); do echo %s $node >> %s/log/cloud; %s\ndone\n"
                           % (self.conf, name, self.root, command))
            os.chmod(path, 0o755)
        return ("ResumeProgram=%s/resume\nSuspendProgram=%s/suspend\nSuspendTime=10\nSuspendTimeout=5\nResumeTimeout=600\n"
                "SuspendExcNodes=%s\nTreeWidth=65533\nPrivateData=cloud\n"
                % (self.root, self.root, ",".join(name for name in self.nodes if name not in self.cloud)))

    def write_files(self, lines):
        controller, *ports = free_ports(len(self.nodes) + 1)
        host = socket.gethostname().split(".")[0]
        key = os.path.join(self.root, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(1024))
        gres = self.write_gres()
        described = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr={self.address(name)} Port={port} CPUs={CPUS} RealMemory={MEMORY_MIB} "
            f"Gres={gres} Feature={self.features or 'zone_' + 'ab'[i % 2]}{' State=CLOUD' if name in self.cloud else ''}" for i, (name, port) in enumerate(zip(self.nodes, ports)))
        with open(self.conf, "w") as file:
            file.write(f"""ClusterName=tarn
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={self.root}/munge.sock
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0
GresTypes={",".join(["gpu", *self.parts])}
ReturnToService=1
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
KillWait=5
StateSaveLocation={self.root}/state
SlurmdSpoolDir={self.root}/spool/%n
SlurmctldPidFile={self.root}/ctld.pid
SlurmdPidFile={self.root}/%n.pid
SlurmctldLogFile={self.root}/log/ctld.log
SlurmdLogFile={self.root}/log/%n.log
{lines}
{described}
PartitionName=gpu Nodes=ALL Default=YES State=UP
PartitionName=short Nodes=n1 MaxTime=10 State=UP
""")

    def write_gres(self):
        """Returns the resources of a node."""
        gres, first = [], 0
        with open(os.path.join(self.root, "gres.conf"), "w") as file:
            for model, count in self.models.items():
                file.write(f"NodeName={','.join(self.nodes)} Name=gpu Type={model} File={self.root}/dev/gpu[{first}-{first + count - 1}]\n")
                gres.append(f"gpu:{model}:{count}")
                first += count
            for name, count in self.parts.items():
                file.write(f"NodeName={','.join(self.nodes)} Name={name} Count={count * first}\n")
                gres.append(f"{name}:{count * first}")
        return ",".join(gres)

    def address(self, name):
        """Of a node, as the others reach it."""
        place = 2 + self.nodes.index(name)
        return f"127.0.{place // 256}.{place % 256}"

    def environment(self):
        return dict(os.environ, SLURM_CONF=self.conf, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

    def launch(self, name, *words):
        with open(os.path.join(self.root, "log", name + ".out"), "ab") as log:
            self.processes[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                    env=self.environment(), start_new_session=True)

    def start(self, prepare=None):
        """prepare: called when munged runs."""
        self.launch("munged", "munged", "--foreground", "--force", f"--key-file={self.root}/key",
                    f"--socket={self.root}/munge.sock", f"--pid-file={self.root}/munge.pid",
                    f"--log-file={self.root}/munge.log", f"--seed-file={self.root}/munge.seed")
        wait_until("munged listens", lambda: os.path.exists(os.path.join(self.root, "munge.sock")))
        if prepare:
            prepare()
        self.start_controller()
        here = [name for name in self.nodes if name not in self.cloud]
        for name in here:
            self.launch(name, "slurmd", "-D", "-f", self.conf, "-N", name)
        wait_until("all nodes are idle", lambda: self.run("sinfo", "-h", "-N", "-n", ",".join(here), "-p", "gpu", "-o", "%T")
                   .split() == ["idle"] * len(here))

    def start_controller(self, *options):
        self.launch("slurmctld", "slurmctld", "-D", "-f", self.conf, *options)
        wait_until("slurmctld answers", lambda: "UP" in self.run("scontrol", "ping"))

    def stop_controller(self):
        self.end("slurmctld")

    def run(self, *words):
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment(),
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        return done.stdout

    def jobs(self):
        """Comment of each Slurm job that is known."""
        listed = self.run("squeue", "-h", "-t", "all", "-o", "%i|%k")
        return dict(line.split("|", 1) for line in listed.splitlines() if "|" in line)

    def end(self, name):
        process = self.processes.pop(name, None)
        if not process:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_S)

    def stop(self):
        if "slurmctld" in self.processes:
            self.run("scancel", "--signal=KILL", "--full", "-u", "root")
            self.run("scancel", "-u", "root")
        for name in [*self.nodes, "slurmctld", "slurmdbd", "mariadbd", "munged"]:
            self.end(name)
        for name in self.cloud:
            subprocess.run(["pkill", "-KILL", "-f", "--", f"slurmd .*-f {self.conf} -N {name}"], check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def words(self):
        """The ends of all logs, for who reads a failure."""
        told = []
        for name in sorted(os.listdir(os.path.join(self.root, "log"))):
            with open(os.path.join(self.root, "log", name), errors="replace") as file:
                told.append(f"--- {name}\n{file.read()[-1500:]}")
        return "\n".join(told)
