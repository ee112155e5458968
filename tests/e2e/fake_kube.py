# SPDX-License-Identifier: Apache-2.0
"""An API server of Kubernetes in this process: it lists, watches, patches and binds objects, and has no controllers."""

import copy
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

HAS = ("/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/events", "/apis/batch/v1/jobs", "/apis/coordination.k8s.io/v1/leases")


def split(path):
    """The collection, namespace, name and what is below the object: /api/v1/namespaces/ml/pods/a/binding."""
    parts = path.strip("/").split("/")
    head = parts[:2] if parts[0] == "api" else parts[:3]
    rest = parts[len(head):]
    space = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        space, rest = rest[1], rest[2:]
    below = rest[2] if len(rest) > 2 else ""
    return "/" + "/".join(head + rest[:1]), space, rest[1] if len(rest) > 1 else "", below


def merged(old, patch):
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key) or {}, value) if isinstance(value, dict) else value
    return new


def pointed(old, operations):
    new = copy.deepcopy(old)
    for one in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        at = new
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        if one["op"] == "remove":
            at.pop(int(last) if isinstance(at, list) else last)
        elif one["op"] in ("add", "replace"):
            if isinstance(at, list):
                at.append(one["value"]) if last == "-" else at.__setitem__(int(last), one["value"])
            else:
                at[last] = one["value"]
    return new


class FakeKube:
    def __init__(self, root):
        self.lock = threading.Lock()
        self.objects, self.watchers, self.version = {}, [], 100
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = os.path.join(root, "kubeconfig")
        with open(self.kubeconfig, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "x"}}],
                       "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:%d" % self.server.server_port}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}]}, file)
        self.put("/api/v1/namespaces", "", {"metadata": {"name": "default"}})

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def put(self, collection, space, value, name=None):
        with self.lock:
            self.version += 1
            about = value.setdefault("metadata", {})
            about.setdefault("name", name or "made-%d" % self.version)
            if space:
                about["namespace"] = space
            about.setdefault("uid", "uid-" + about["name"])
            about.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            about["resourceVersion"] = str(self.version)
            kept = self.objects.setdefault(collection, {})
            event = "MODIFIED" if (space, about["name"]) in kept else "ADDED"
            kept[space, about["name"]] = value
            for wanted, events in self.watchers:
                if wanted == collection:
                    events.put({"type": event, "object": value})
        return value

    def get(self, collection, name, space="default"):
        with self.lock:
            return copy.deepcopy(self.objects.get(collection, {}).get((space, name)))

    def add_node(self, name, labels=None, annotations=None, **allocatable):
        amounts = {"cpu": "64", "memory": "500Gi", "pods": "110", **{key.replace("__", "/").replace("_", "."): value for key, value in allocatable.items()}}
        self.put("/api/v1/nodes", "", {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}, "annotations": annotations or {}},
            "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"bootID": name},
                       "addresses": [{"type": "InternalIP", "address": "10.0.0.%d" % (len(self.objects.get("/api/v1/nodes", {})) + 1)}]}})

    def add_pod(self, name, resources=None, labels=None, annotations=None, **spec):
        self.put("/api/v1/pods", "default", {
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}, "status": {"phase": "Pending"},
            "spec": {"schedulerName": "tarn", "containers": [{"name": "m", "image": "x", "resources": {"limits": resources or {}}}], **spec}})

    def pod(self, name):
        return self.get("/api/v1/pods", name)

    def node_of(self, name):
        return self.pod(name)["spec"].get("nodeName")

    def told(self, name):
        """What the condition PodScheduled says."""
        return " ".join(one.get("message", "") for one in self.pod(name)["status"].get("conditions", []) if one["type"] == "PodScheduled")

    def handler(kube):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, code, value):
                text = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def none(self):
                self.answer(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})

            def body(self):
                return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")

            def watch(self, collection):
                events = queue.Queue()
                with kube.lock:
                    kube.watchers.append((collection, events))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    while True:
                        line = json.dumps(events.get()).encode() + b"\n"
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                        self.wfile.flush()
                except OSError:
                    self.close_connection = True

            def do_GET(self):
                at = urlparse(self.path)
                collection, space, name, _ = split(at.path)
                if collection not in HAS:
                    return self.none()
                if name:
                    found = kube.get(collection, name, space)
                    return self.answer(200, found) if found else self.none()
                if parse_qs(at.query).get("watch"):
                    return self.watch(collection)
                with kube.lock:
                    items, version = list(kube.objects.get(collection, {}).values()), str(kube.version)
                    return self.answer(200, {"kind": "List", "metadata": {"resourceVersion": version}, "items": items})

            def do_POST(self):
                collection, space, name, below = split(urlparse(self.path).path)
                value = self.body()
                if below == "binding":
                    pod = kube.get(collection, name, space)
                    pod["spec"]["nodeName"] = value["target"]["name"]
                    pod["metadata"]["annotations"].update(value["metadata"].get("annotations") or {})
                    pod["status"].update(phase="Running", startTime="2026-01-01T00:00:01Z")
                    kube.put(collection, space, pod)
                    return self.answer(201, {"kind": "Status", "status": "Success"})
                return self.answer(201, kube.put(collection, space, value)) if collection in HAS else self.none()

            def do_PUT(self):
                collection, space, name, _ = split(urlparse(self.path).path)
                self.answer(200, kube.put(collection, space, self.body(), name))

            def do_PATCH(self):
                collection, space, name, _ = split(urlparse(self.path).path)
                patch, old = self.body(), kube.get(collection, name, space)
                if not old:
                    return self.none()
                return self.answer(200, kube.put(collection, space, (pointed if isinstance(patch, list) else merged)(old, patch)))

            def do_DELETE(self):
                self.answer(200, {})

        return Handler
