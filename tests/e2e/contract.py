# SPDX-License-Identifier: Apache-2.0
"""Compares requests and replies with the description of the API that the daemon serves (/v1/openapi.json).

A reply must have a status, a type and a shape that the description lists. A request that was accepted must have
been permitted by it.
"""

import json
import re
import urllib.parse

import jsonschema

ITEMS_MAX = 20  # of a list that are looked at: the first and the last

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
formats = jsonschema.FormatChecker(formats=())
formats.checks("date-time")(lambda value: not isinstance(value, str) or bool(TIME.match(value)))


def shorten(value):
    """The value with fewer items in its long lists."""
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > ITEMS_MAX:
            value = value[:ITEMS_MAX // 2] + value[-ITEMS_MAX // 2:]
        return [shorten(item) for item in value]
    return value


def explain(error):
    """The failure that says most, as one line: of several choices, that of the one that fits best."""
    while error.context:
        choices = {}
        for inner in error.context:
            choices.setdefault(inner.schema_path[0], []).append(inner)
        error = min(choices.values(), key=len)[0]
    place = "/".join(str(part) for part in error.absolute_path)
    return "%s: %s" % (place or "(all of it)", error.message[:600])


class Contract:
    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver.from_schema(document)
        self.validators = {}
        self.routes = []
        self.answered = {}  # operation -> the statuses that were seen
        for path, methods in document["paths"].items():
            pattern = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$")
            for method, operation in methods.items():
                self.routes.append((method.upper(), path.count("{"), pattern, operation))
        self.routes.sort(key=lambda route: route[1])

    def find(self, method, path):
        for wanted, _, pattern, operation in self.routes:
            if wanted == method and pattern.match(path):
                return operation
        return None

    def validate(self, what, schema, value):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(schema, resolver=self.resolver,
                                                                   format_checker=formats)
        error = jsonschema.exceptions.best_match(self.validators[key].iter_errors(shorten(value)))
        assert error is None, "%s: not as described: %s\n%s" % (what, explain(error), json.dumps(value)[:2000])

    def check_request(self, what, operation, query, body):
        known = {entry["name"]: entry for entry in operation["parameters"] if entry.get("in") == "query"}
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            assert name in known, "%s: accepted, but parameter %s is not described" % (what, name)
            schema = known[name]["schema"]
            if schema["type"] == "integer" and value:
                value = int(value)
            if value != "" or not known[name].get("allowEmptyValue"):
                self.validate("%s, parameter %s" % (what, name), schema, value)
        wanted = operation.get("requestBody")
        if body and wanted:
            self.validate(what + ", its body", wanted["content"]["application/json"]["schema"], json.loads(body))
        assert body or not wanted or not wanted["required"], what + ": accepted without a body"

    def check(self, method, target, body, status, content_type, reply):
        path, _, query = target.partition("?")
        operation = self.find(method, urllib.parse.unquote(path))
        what = "%s %s -> %d" % (method, target[:200], status)
        if operation is None:
            assert status in (403, 404, 405, 413, 414, 429, 503), what + ": not described"
            described = self.document["components"]["responses"]["Error"]
        else:
            self.answered.setdefault(operation["operationId"], set()).add(status)
            described = operation["responses"].get(str(status))
            if described and "$ref" in described:
                described = self.document["components"]["responses"][described["$ref"].split("/")[-1]]
            if described is None:
                assert status >= 400, what + ": a status that is not described"
                described = self.document["components"]["responses"]["Error"]
            else:
                self.check_request(what, operation, query, body)
        content = described.get("content")
        if not content:
            return
        assert content_type in content, "%s: type %s, not %s" % (what, content_type, list(content))
        if content_type == "application/json":
            self.validate(what, content[content_type]["schema"], json.loads(reply))

    def check_event(self, path, data):
        content = self.find("GET", path)["responses"]["200"]["content"]["text/event-stream"]
        self.validate("an event of " + path, content["x-event-data"], data)
