# SPDX-License-Identifier: Apache-2.0
"""Images for the containers of real nodes, made from files of this machine; nothing is downloaded."""
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

PAUSE = "docker.io/tarn/pause:1"
TOOLS = "docker.io/tarn/tools:1"
PROGRAMS = ("bash", "sh", "cat", "date", "echo", "env", "false", "hostname", "id", "ls", "mkdir", "rm", "sleep", "sort", "test", "touch", "true")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# The process that keeps the namespaces of a pod, and ends when it is told to.
PAUSE_C = r"""
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number)
{
    (void)number;
    _exit(0);
}

static void reap(int number)
{
    (void)number;
    while (waitpid(-1, 0, WNOHANG) > 0)
        ;
}

int main(void)
{
    signal(SIGINT, end);
    signal(SIGTERM, end);
    signal(SIGCHLD, reap);
    for (;;)
        pause();
}
"""


def libraries(program):
    """The shared libraries of a program, with its loader."""
    done = subprocess.run(["ldd", program], text=True, capture_output=True)
    return {word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/")}


def files_of(programs):
    """Where each file goes to where it is, for programs by name and what they need."""
    found = {}
    for name in programs:
        source = shutil.which(name)
        if not source:
            raise FileNotFoundError(f"{name}: no such program; an image for tests needs it")
        found[f"usr/bin/{name}"] = source
        found.update({library.lstrip("/"): library for library in libraries(source)})
    return found


def layer(files, links):
    """A layer, as bytes. The same files give the same bytes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for name in ("tmp", "etc", "proc", "sys", "dev", "usr", "usr/bin"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(entry)
        for name, target in sorted(links.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for name, source in sorted(files.items()):
            words = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(words)
            entry.mode = 0o755 if isinstance(source, bytes) or os.access(source, os.X_OK) else 0o644
            tar.addfile(entry, io.BytesIO(words))
    return output.getvalue()


def archive(path, tags, files, links=None, command=("/usr/bin/sh",), entrypoint=()):
    """An image with one layer, in the form that `ctr images import` reads."""
    content = layer(files, links or {})
    digest = hashlib.sha256(content).hexdigest()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    settings = {"Env": [f"PATH={PATH}"], "Cmd": list(command), "Entrypoint": list(entrypoint)}
    config = json.dumps({"architecture": machine, "os": "linux", "config": settings,
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    listing = json.dumps([{"Config": name, "RepoTags": list(tags), "Layers": [f"{digest}.tar"]}]).encode()
    with tarfile.open(path, "w") as tar:
        for member, words in ((name, config), (f"{digest}.tar", content), ("manifest.json", listing)):
            entry = tarfile.TarInfo(member)
            entry.size = len(words)
            tar.addfile(entry, io.BytesIO(words))
    return path


def basic(folder):
    """Archives of the images that each real node has: the pause container, and a shell with a few programs."""
    pause, tools = folder / "pause.tar", folder / "tools.tar"
    if not tools.exists():
        program = folder / "pause"
        subprocess.run(["cc", "-Os", "-static", "-o", str(program), "-x", "c", "-"], input=PAUSE_C, text=True, check=True)
        archive(pause, [PAUSE], {"pause": str(program)}, entrypoint=["/pause"], command=[])
        archive(tools, [TOOLS], files_of(PROGRAMS), links={"bin": "usr/bin"})
    return [pause, tools]
