# SPDX-License-Identifier: Apache-2.0
"""Images for the containers of real nodes, made from files of this machine; nothing is downloaded."""
import gzip
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


def add_member(tar, name, words=b"", mode=0o644, kind=tarfile.REGTYPE, link=""):
    """An entry that says nothing about who made it, and when."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.type, entry.linkname = len(words), mode, kind, link
    tar.addfile(entry, io.BytesIO(words))


def folders_of(names):
    """Those that files are in, from the outside."""
    found = {"dev", "etc", "proc", "sys", "tmp", "usr", "usr/bin"}
    for name in names:
        found.update(str(folder) for folder in pathlib.PurePath(name).parents if str(folder) != ".")
    return sorted(found)


def layer(files, links):
    """A layer, as bytes. The same files give the same bytes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for name in folders_of([*files, *links]):
            if name not in links:
                add_member(tar, name, mode=0o1777 if name == "tmp" else 0o755, kind=tarfile.DIRTYPE)
        for name, target in sorted(links.items()):
            add_member(tar, name, mode=0o777, kind=tarfile.SYMTYPE, link=target)
        for name, source in sorted(files.items()):
            words = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
            is_program = not isinstance(source, bytes) and os.access(source, os.X_OK)
            add_member(tar, name, words, mode=0o755 if is_program else 0o644)
    return output.getvalue()


def archive(path, tags, files, links=None, command=("/usr/bin/sh",), entrypoint=(), user="", labels=None):
    """An image with one layer, as an archive of an OCI layout, which `ctr images import`, skopeo and podman read. files: where each goes to
    where it is, or to its bytes. Returns the digest of its manifest."""
    blobs = {}

    def blob(kind, words):
        digest = "sha256:" + hashlib.sha256(words).hexdigest()
        blobs[digest] = words
        return {"mediaType": kind, "digest": digest, "size": len(words)}

    def document(kind, value):
        return blob(kind, json.dumps(value, sort_keys=True).encode())

    content = layer(files, links or {})
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    settings = {"Env": [f"PATH={PATH}"], "Cmd": list(command), "Entrypoint": list(entrypoint), "User": user, "Labels": labels or {}}
    config = document("application/vnd.oci.image.config.v1+json", {
        "architecture": machine, "os": "linux", "config": settings,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]}})
    packed = blob("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(content, 6, mtime=0))
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = document(kind, {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": [packed]})
    named = [dict(manifest, annotations={"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag.rpartition(":")[2]})
             for tag in tags]
    with tarfile.open(path, "w") as tar:
        add_member(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        add_member(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": named}, sort_keys=True).encode())
        for digest, words in sorted(blobs.items()):
            add_member(tar, "blobs/" + digest.replace(":", "/"), words)
    return manifest["digest"]


def basic(folder):
    """Archives of the images that each real node has: the pause container, and a shell with a few programs."""
    pause, tools = folder / "pause.tar", folder / "tools.tar"
    if not tools.exists():
        program = folder / "pause"
        subprocess.run(["cc", "-Os", "-static", "-o", str(program), "-x", "c", "-"], input=PAUSE_C, text=True, check=True)
        archive(pause, [PAUSE], {"pause": str(program)}, entrypoint=["/pause"], command=[])
        archive(tools, [TOOLS], files_of(PROGRAMS), links={"bin": "usr/bin"})
    return [pause, tools]
