# SPDX-License-Identifier: Apache-2.0
"""A small client of the Kubernetes API: plain HTTP and JSON, one kept-alive connection a thread."""
import http.client
import json
import ssl
import threading
import urllib.parse

import yaml

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


class Refused(Exception):
    """The API server answers with something else than 2xx."""

    def __init__(self, method, path, status, body):
        self.status = status
        self.body = body
        try:
            self.reason = json.loads(body).get("reason", "")
        except ValueError:
            self.reason = ""
        super().__init__(f"{method} {path}: {status}: {body[:1000].decode(errors='replace')}")


class Api:
    """kubeconfig is not read here: url, ca (a file) and token are what it has."""

    def __init__(self, url, ca, token, timeout=60):
        self.parts = urllib.parse.urlsplit(url)
        self.context = ssl.create_default_context(cafile=ca)
        self.headers = {"Authorization": "Bearer " + token, "User-Agent": "tarn-tests", "Accept": "application/json"}
        self.timeout = timeout
        self.local = threading.local()
        self.kinds = {}  # (apiVersion, kind) to what discovery says of it

    # ---- requests ----

    def connection(self):
        return http.client.HTTPSConnection(self.parts.hostname, self.parts.port or 443, timeout=self.timeout, context=self.context)

    def exchange(self, method, path, body=None, kind="application/json"):
        """Status and body. A kept connection that the server has closed is opened again, once."""
        words = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = dict(self.headers, **({"Content-Type": kind} if words is not None else {}))
        for attempt in (1, 2):
            kept = getattr(self.local, "connection", None)
            connection = self.local.connection = kept or self.connection()
            try:
                connection.request(method, path, words, headers)
                reply = connection.getresponse()
                return reply.status, reply.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                if attempt == 2 or not kept:
                    raise

    def raw(self, method, path, body=None, kind="application/json"):
        status, reply = self.exchange(method, path, body, kind)
        if not 200 <= status < 300:
            raise Refused(method, path, status, reply)
        return reply

    def ask(self, method, path, body=None, kind="application/json"):
        return json.loads(self.raw(method, path, body, kind))

    def get(self, path, **query):
        return self.ask("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def post(self, path, body):
        return self.ask("POST", path, body)

    def put(self, path, body):
        return self.ask("PUT", path, body)

    def patch(self, path, body, kind=MERGE):
        return self.ask("PATCH", path, body, kind)

    def delete(self, path, grace=None, **options):
        """What is not there is deleted."""
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            return self.ask("DELETE", path, options or None)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def find(self, path):
        """None: there is none."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def watch(self, path, version=None, **query):
        """Events of a list from a version on, until the server ends the stream."""
        query = dict(query, watch="1", **({"resourceVersion": version} if version else {}))
        connection = self.connection()
        connection.timeout = 600  # nothing may happen for long
        try:
            connection.request("GET", path + "?" + urllib.parse.urlencode(query), headers=self.headers)
            reply = connection.getresponse()
            if reply.status != 200:
                raise Refused("GET", path, reply.status, reply.read())
            rest = b""
            while piece := self.piece(reply):
                *lines, rest = (rest + piece).split(b"\n")
                yield from map(json.loads, lines)
        finally:
            connection.close()

    @staticmethod
    def piece(reply):
        """Of a stream; b"" also when the server has gone away in the middle."""
        try:
            return reply.read1(1 << 16)
        except http.client.IncompleteRead:
            return b""

    # ---- objects ----

    def describe(self, version, kind):
        """Path of the version, name of the resource, and whether it is in namespaces."""
        base = ("/api/" if "/" not in version else "/apis/") + version
        if (version, kind) not in self.kinds:
            for one in self.get(base)["resources"]:
                if "/" not in one["name"]:
                    self.kinds[version, one["kind"]] = (base, one["name"], one["namespaced"])
        if (version, kind) not in self.kinds:
            raise LookupError(f"{version} {kind}: the API server has no such kind")
        return self.kinds[version, kind]

    def path(self, version, kind, namespace=None, name=None):
        base, resource, namespaced = self.describe(version, kind)
        words = [base] + (["namespaces", namespace or "default"] if namespaced else []) + [resource] + ([name] if name else [])
        return "/".join(words)

    def path_of(self, thing, namespace=None, with_name=True):
        meta = thing["metadata"]
        return self.path(thing["apiVersion"], thing["kind"], meta.get("namespace") or namespace, meta["name"] if with_name else None)

    def create(self, thing, namespace=None):
        return self.post(self.path_of(thing, namespace, with_name=False), thing)

    def apply(self, manifests, namespace=None):
        """Server-side apply of a text or a list of objects; an object without a namespace gets this one."""
        things = [thing for thing in yaml.safe_load_all(manifests) if thing] if isinstance(manifests, str) else manifests
        return [self.patch(self.path_of(thing, namespace) + "?fieldManager=tests&force=true", thing, APPLY) for thing in things]

    def remove(self, manifests, namespace=None):
        things = [thing for thing in yaml.safe_load_all(manifests) if thing] if isinstance(manifests, str) else manifests
        for thing in reversed(things):
            self.delete(self.path_of(thing, namespace), propagationPolicy="Background")

    # ---- what tests ask for most ----

    def namespace(self, name, **labels):
        return self.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}])[0]

    def pods(self, namespace=None, **query):
        return self.get(f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods", **query)["items"]

    def pod(self, name, namespace="default"):
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def logs(self, name, namespace="default", **query):
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
        return self.raw("GET", path + ("?" + urllib.parse.urlencode(query) if query else "")).decode(errors="replace")
