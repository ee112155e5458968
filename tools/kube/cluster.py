# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster on this machine: control plane, fake nodes (kwok) and real nodes (containerd and kubelet).

    from kube.cluster import Cluster        # with tools/ on sys.path; root
    cluster = Cluster(fake=100, real=2)     # nodes gpu-0000... with 8 GPUs each, and real-0, real-1
    cluster.start()                         # cluster.kubeconfig, cluster.url, cluster.token, cluster.api (kube/api.py)
    cluster.api.apply(open("pod.yaml").read())
    cluster.kill("kube-apiserver"); cluster.launch_api_server()
    cluster.stop()                          # ends what it started, and removes it

It runs in namespaces of its own, in a folder below /tmp, and is reached at an address of its own. kube-scheduler runs, too,
for pods that name no other scheduler; scheduler=False leaves it out.

Cluster(users=("tarn",)) has more administrators, whose requests it counts: cluster.tokens["tarn"], cluster.requests("tarn").
"""
import collections
import http.client
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile

from . import nodes, programs
from .api import Api, Refused
from .namespaces import SERVICES, Namespaces, group_name, missing as missing_namespaces, remove_groups
from .waiting import PATIENCE_S, wait_until

ADMISSION = ("--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true")


def missing(real=True):
    """Why there can be no cluster here, or None."""
    absent = programs.missing(["kubebox", "kwok"] + (["kubelet", "coredns"] if real else []))
    if absent:
        return f"{', '.join(absent)} not built: tools/kube/build"
    for program in ("openssl", "unshare", "nsenter", "ip") + (("containerd", "runc", "ctr") if real else ()):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"{program} is not installed: tools/packages kube"
    return missing_namespaces()


class Cluster(Namespaces):
    def __init__(self, fake=0, real=0, gpus=8, scheduler=True, users=(), heartbeat_s=10, api_options=(), scheduler_options=(), controller_options=()):
        """heartbeat_s: of the fake nodes."""
        super().__init__(tempfile.mkdtemp(prefix="kube", dir="/tmp"))
        self.fake, self.real, self.gpus, self.scheduler = fake, real, gpus, scheduler
        self.api_options, self.scheduler_options, self.controller_options = list(api_options), list(scheduler_options), list(controller_options)
        self.tokens = {user: secrets.token_hex(16) for user in ("admin", *users)}
        self.token, self.heartbeat_s = self.tokens["admin"], heartbeat_s
        self.url = self.api = None
        self.kubeconfig = str(self.folder / "kubeconfig")
        self.group = group_name(self.folder)
        self.box = programs.path("kubebox")

    # ---- the control plane ----

    def start(self):
        os.chmod(self.folder, 0o755)
        super().start()
        self.url = f"https://{self.address}"
        self.make_keys()
        self.launch_etcd()
        self.launch_api_server()
        self.launch_controllers()
        if self.scheduler:
            self.launch_scheduler()
        if self.real:
            nodes.start_real(self, self.real)
        if self.fake:
            nodes.start_kwok(self)
            nodes.add_fake(self, self.fake)
        wait_until("all nodes are ready", lambda: len(self.ready_nodes()) >= self.fake + self.real)
        wait_until("namespaces have their service account", lambda: self.api.find("/api/v1/namespaces/default/serviceaccounts/default"))
        return self

    def make_keys(self):
        pki = self.folder / "pki"
        pki.mkdir()
        subprocess.run(["openssl", "genrsa", "-out", str(pki / "accounts.key"), "2048"], check=True, stderr=subprocess.DEVNULL)
        (pki / "tokens.csv").write_text("".join(f"{token},{user},{user},system:masters\n" for user, token in self.tokens.items()))
        users = [user for user in self.tokens if user != "admin"]
        if users:
            rules = [{"level": "Metadata", "users": users}, {"level": "None"}]
            (pki / "audit.json").write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}))
            self.api_options += [f"--audit-policy-file={pki}/audit.json", f"--audit-log-path={self.folder}/audit.log", "--audit-log-maxsize=8192"]
        self.write_kubeconfig(self.kubeconfig, self.token)

    @property
    def authority(self):
        """The certificate that the API server has signed for itself."""
        return str(self.folder / "pki" / "apiserver.crt")

    def write_kubeconfig(self, path, token):
        """One that shows this token; of a service account, for example."""
        pathlib.Path(path).write_text(f"""apiVersion: v1
kind: Config
current-context: tests
contexts: [{{name: tests, context: {{cluster: tests, user: tests}}}}]
clusters: [{{name: tests, cluster: {{server: "{self.url}", certificate-authority: "{self.authority}"}}}}]
users: [{{name: tests, user: {{token: "{token}"}}}}]
""")

    def api_with(self, token):
        return Api(self.url, self.authority, token)

    def launch_etcd(self):
        client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
        self.launch("etcd", self.box, "etcd", "--name=tests", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={client}",
                    f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=tests={peer}", "--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes=4294967296")

    def launch_api_server(self, tries=5):
        """On a machine that is very slow it may give up while it starts."""
        self.start_api_server()
        process = self.processes["kube-apiserver"]
        wait_until("kube-apiserver answers", lambda: (process.poll() is not None and tries > 1) or self.is_ready())
        if process.poll() is not None and tries > 1:
            self.launch_api_server(tries - 1)

    def start_api_server(self):
        keys = self.folder / "pki" / "accounts.key"
        self.launch("kube-apiserver", self.box, "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0",
                    "--secure-port=443", f"--advertise-address={self.address}", f"--cert-dir={self.folder}/pki",
                    "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={keys}",
                    f"--service-account-signing-key-file={keys}", f"--token-auth-file={self.folder}/pki/tokens.csv",
                    "--authorization-mode=Node,RBAC", f"--service-cluster-ip-range={SERVICES}", "--endpoint-reconciler-type=none",
                    "--allow-privileged=true", "--profiling=false", "--kubelet-preferred-address-types=InternalIP",
                    *ADMISSION, *self.api_options)

    def is_ready(self):
        self.check_alive()
        if not os.path.exists(self.authority):
            return False
        try:  # the file of the authority may still be empty
            self.api = self.api or self.api_with(self.token)
            return self.api.exchange("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def check_alive(self):
        ended = self.ended()
        if ended:
            raise AssertionError(f"{', '.join(ended)} ended\n{self.words(*ended)}")

    def launch_controllers(self):
        self.launch("kube-controller-manager", self.box, "kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
                    "--bind-address=127.0.0.1", f"--cert-dir={self.folder}/pki/controllers", "--leader-elect=false",
                    f"--service-account-private-key-file={self.folder}/pki/accounts.key", f"--root-ca-file={self.authority}",
                    "--use-service-account-credentials=true", "--kube-api-qps=500", "--kube-api-burst=1000",
                    "--concurrent-job-syncs=10", "--profiling=false", *self.controller_options)

    def launch_scheduler(self):
        self.launch("kube-scheduler", self.box, "kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--bind-address=127.0.0.1",
                    f"--cert-dir={self.folder}/pki/scheduler", "--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=10000",
                    *self.scheduler_options)

    # ---- what tests ask ----

    def ready_nodes(self):
        return [node["metadata"]["name"] for node in self.api.get("/api/v1/nodes")["items"]
                if any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", []))]

    def wait_pods(self, namespace, phase, count, patience=PATIENCE_S, **query):
        """So many pods of a namespace are in this phase; which."""
        def found():
            pods = [pod for pod in self.api.pods(namespace, **query) if pod["status"]["phase"] == phase]
            return pods if len(pods) >= count else None
        return self.explained(namespace, f"{count} pods of {namespace} are {phase}", found, patience)

    def requests(self, user):
        """How often one of `users` has done what, such as ("create", "pods/binding"), with the status of the reply. Watches that are open count."""
        found = {}
        with open(self.folder / "audit.log", encoding="utf-8") as file:
            for line in file:
                event = json.loads(line) if line.endswith("\n") else {"user": {}}
                if event["user"].get("username") == user:
                    about = event.get("objectRef", {})
                    resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
                    found[event["auditID"]] = event["verb"], resource, event["responseStatus"]["code"]
        return collections.Counter(found.values())

    def explained(self, namespace, what, condition, patience=PATIENCE_S):
        """Wait; a failure shows the pods of a namespace."""
        try:
            return wait_until(what, condition, patience)
        except AssertionError as error:
            pods = sorted(self.api.pods(namespace), key=lambda pod: pod["status"]["phase"] == "Succeeded")
            pods = [f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}: {pod['status']['phase']} {self.reasons(pod)}" for pod in pods[:12]]
            raise AssertionError("\n".join([str(error), *pods])) from None

    @staticmethod
    def reasons(pod):
        """What keeps a pod, in few words."""
        return [f"{one['type']}: {one.get('reason')} {one.get('message', '')}" for one in pod["status"].get("conditions", []) if one["status"] != "True"]

    def end_namespace(self, name):
        """Delete it with all that is in it, and wait until its pods are gone; the rest takes seconds longer."""
        self.api.delete(f"/api/v1/namespaces/{name}")
        wait_until(f"the pods of namespace {name} are gone", lambda: self.delete_pods(name))

    def delete_pods(self, namespace):
        """Whether none is left. Very many are not deleted by one request."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        try:
            self.api.delete(path, grace=0)
        except Refused as refused:
            if refused.status != 504:
                raise
        except (OSError, http.client.HTTPException):
            pass  # the API server ended the request
        return not self.api.get(path, limit=1)["items"]

    def words(self, *names):
        """The ends of logs, for a person who reads a failure."""
        return "\n".join(f"--- {name}\n{(self.folder / 'log' / (name + '.log')).read_text(errors='replace')[-2000:]}" for name in names)

    def stop(self):
        super().stop()
        remove_groups(self.group)
        shutil.rmtree(self.folder, ignore_errors=True)


__all__ = ["Cluster", "Refused", "missing", "wait_until"]
