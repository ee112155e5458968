# SPDX-License-Identifier: Apache-2.0
"""The programs of a Kubernetes cluster for tests: what they are built from, where they are, and how they are built.

The command is tools/kube/build."""
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES = "v1.34.4"  # the first with DRA as v1 whose kubelet still runs on version 1 of control groups
GO = (1, 25)  # the oldest that all of the table compile with

# What is built: name, module, version, package. A package that ends with .go is ours, and imports the module. Those of
# Kubernetes share one build; a target that ends with .test is a Go test program.
K8S = "k8s.io/kubernetes"
TABLE = {
    "kubebox": (K8S, KUBERNETES, "kubebox.go"),
    "kubelet": (K8S, KUBERNETES, K8S + "/cmd/kubelet"),
    "kubectl": (K8S, KUBERNETES, K8S + "/cmd/kubectl"),
    "kwok": ("sigs.k8s.io/kwok", "v0.7.0", "sigs.k8s.io/kwok/cmd/kwok"),
    "coredns": ("github.com/coredns/coredns", "v1.12.4", "coredns.go"),
    "helm": ("helm.sh/helm/v3", "v3.18.6", "helm.sh/helm/v3/cmd/helm"),
    "e2e.test": (K8S, KUBERNETES, K8S + "/test/e2e"),
    "agnhost": (K8S, KUBERNETES, K8S + "/test/images/agnhost"),
    "training-operator": ("github.com/kubeflow/training-operator", "v1.9.3", "github.com/kubeflow/training-operator/cmd/training-operator.v1"),
    "kuberay": ("github.com/ray-project/kuberay/ray-operator", "v1.4.2", "github.com/ray-project/kuberay/ray-operator"),
    "jobset": ("sigs.k8s.io/jobset", "v0.10.1", "sigs.k8s.io/jobset"),
    "kueue": ("sigs.k8s.io/kueue", "v0.14.0", "sigs.k8s.io/kueue/cmd/kueue"),
    "kai-scheduler": ("github.com/NVIDIA/KAI-scheduler", "v0.12.0", "github.com/NVIDIA/KAI-scheduler/cmd/scheduler"),
    "kai-binder": ("github.com/NVIDIA/KAI-scheduler", "v0.12.0", "github.com/NVIDIA/KAI-scheduler/cmd/binder"),
    "kai-podgrouper": ("github.com/NVIDIA/KAI-scheduler", "v0.12.0", "github.com/NVIDIA/KAI-scheduler/cmd/podgrouper"),
    "volcano-scheduler": ("volcano.sh/volcano", "v1.10.0", "volcano.sh/volcano/cmd/scheduler"),
    "volcano-controllers": ("volcano.sh/volcano", "v1.10.0", "volcano.sh/volcano/cmd/controller-manager"),
}
NEEDED = ("kubebox", "kubelet", "kubectl", "kwok", "coredns", "helm", "training-operator", "jobset", "kuberay", "e2e.test", "agnhost")
# Modules that our own programs import beside the one of the table, as its own go.mod has them.
BESIDE = ("go.etcd.io/etcd/server/v3", "github.com/spf13/cobra", "k8s.io/klog/v2")


def fail(words):
    sys.exit(f"tools/kube/build: {words}")


def cache():
    given = os.environ.get("TARN_KUBE_CACHE")
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return pathlib.Path(given).resolve() if given else home / "tarn" / "kube"


def stamp(target):
    """What a program was built from; another one means that it is built again."""
    module, version, package = TABLE[target]
    own = hashlib.sha256((HERE / "go" / package).read_bytes()).hexdigest()[:16] if package.endswith(".go") else ""
    return f"{module} {version} {package} {own}".strip() + "\n"


def is_built(target):
    file = cache() / "bin" / target
    try:
        return file.exists() and file.with_suffix(file.suffix + ".stamp").read_text() == stamp(target)
    except FileNotFoundError:
        return False


def missing(targets):
    return [target for target in targets if not is_built(target)]


def path(target):
    return str(cache() / "bin" / target)


def source(target):
    """The folder of its module, which has its CRDs and examples."""
    module, version, _ = TABLE[target]
    top = subprocess.run(["go", "env", "GOMODCACHE"], text=True, stdout=subprocess.PIPE).stdout.strip() if shutil.which("go") else "/"
    escaped = "".join("!" + letter.lower() if letter.isupper() else letter for letter in module)
    return pathlib.Path(top) / f"{escaped}@{version}"


# ---- Go ----

def go(folder, *words, wants_output=False):
    """Run a command of go in a module."""
    environment = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=mod -buildvcs=false", GOWORK="off")
    done = subprocess.run(["nice", "-n", "10", "go", *words], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        fail(f"go {' '.join(words[:3])} failed; the proxy of modules is {proxy()}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout if wants_output else None


def proxy():
    return subprocess.run(["go", "env", "GOPROXY"], text=True, stdout=subprocess.PIPE).stdout.strip()


def check_go():
    if not shutil.which("go"):
        fail(f"go: not installed; expected Go {GO[0]}.{GO[1]} or later on PATH (https://go.dev/dl)")
    words = subprocess.run(["go", "env", "GOVERSION"], text=True, stdout=subprocess.PIPE).stdout.strip()
    numbers = words.removeprefix("go").split(".")
    if tuple(int(part) for part in numbers[:2] if part.isdigit()) < GO:
        fail(f"go: version {words}, expected {GO[0]}.{GO[1]} or later")


def module_file(module, version):
    """The go.mod of a module, parsed."""
    found = json.loads(go(cache(), "mod", "download", "-json", f"{module}@{version}", wants_output=True))
    return json.loads(go(cache(), "mod", "edit", "-json", found["GoMod"], wants_output=True))


def write_module(folder, module, version):
    """A module that depends on another one as if it were that one: replacements of a dependency do not count for its users."""
    described = module_file(module, version)
    requires, replaces = {module: version}, {}
    staged = version.replace("v1.", "v0.", 1)  # folders of Kubernetes' repository are published with the same number, as v0
    for one in described.get("Require") or []:
        if one["Path"] in BESIDE:
            requires[one["Path"]] = one["Version"]
        elif one["Version"] == "v0.0.0":
            requires[one["Path"]] = staged
    for one in described.get("Replace") or []:
        old, new = one["Old"]["Path"], one["New"]
        if new["Path"].startswith("."):
            replaces[old] = staged
        else:
            replaces[old] = f"{new['Path']} {new['Version']}"
    lines = ["module tarn.test/kube", f"go {described.get('Go', '1.24')}"]
    lines += [f"godebug {one['Key']}={one['Value']}" for one in described.get("Godebug") or []]
    lines += [f"require {path} {number}" for path, number in requires.items()]
    lines += [f"replace {path} => {words if ' ' in words else path + ' ' + words}" for path, words in replaces.items()]
    text = "\n".join(lines) + "\n"
    made = folder / "made"
    if not made.exists() or made.read_text() != text:
        (folder / "go.sum").unlink(missing_ok=True)
        (folder / "go.mod").write_text(text)
        made.write_text(text)


def flags(version):
    minor = version.split(".")[1]
    name = "k8s.io/component-base/version."
    words = [f"-X {name}gitVersion={version}", f"-X {name}gitMajor=1", f"-X {name}gitMinor={minor}", f"-X {name}gitTreeState=clean"]
    return ["-p", "2", "-trimpath", "-tags=providerless", "-ldflags", " ".join(["-s -w", *words])]


def build(target):
    module, version, package = TABLE[target]
    folder = cache() / "modules" / (module.replace("/", "_") + "@" + version)
    output = cache() / "bin" / target
    for one in (folder, output.parent):
        one.mkdir(parents=True, exist_ok=True)
    print(f"tools/kube/build: {target} from {module}@{version}", flush=True)
    write_module(folder, module, version)
    if package.endswith(".go"):
        place = folder / target
        place.mkdir(exist_ok=True)
        shutil.copy(HERE / "go" / package, place / "main.go")
        package = "./" + target
    words = ["test", "-c"] if target.endswith(".test") else ["build"]
    fresh = output.with_suffix(output.suffix + ".new")
    go(folder, *words, *flags(version), "-o", str(fresh), package)
    fresh.rename(output)
    output.with_suffix(output.suffix + ".stamp").write_text(stamp(target))


def make(targets):
    """Build those that are missing."""
    if not missing(targets):
        return
    check_go()
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another one that builds the same: wait for it
        for target in missing(targets):
            build(target)
