# SPDX-License-Identifier: Apache-2.0
"""tarn mcp: the tools for an AI assistant, spoken to by a small client of our own (test_plugins.py has the official one)."""

import json
import os
import re
import subprocess

import pytest

import tarn_test
from test_door import Box, log_in
from tarn_test import PATIENCE_S, TARN, WHY_NOT_AS_OTHERS, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
ACTIONS = {"submit", "cancel", "hold", "release", "requeue"}


class ToolError(Exception):
    pass


class Assistant:
    def __init__(self, environment, *options, user=None):
        self.process = subprocess.Popen([TARN, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                                        env=environment, user=user, extra_groups=[] if user else None)
        self.number = 0

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message)
        return message

    def ask(self, method, **params):
        self.number += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        message = self.hear()
        assert message["id"] == self.number
        return message

    def text(self, tool, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        [content] = result["content"]
        assert content["type"] == "text"
        if result["isError"]:
            raise ToolError(content["text"])
        return content["text"]

    def tool(self, name, **arguments):
        return json.loads(self.text(name, **arguments))

    def act(self, name, **arguments):
        return self.tool(name, confirm=self.tool(name, **arguments)["confirm"], **arguments)

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list")["result"]["tools"]}

    def stop(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0
        self.process.stdout.close()


@pytest.fixture
def make_assistant():
    made = []

    def make(environment, *options, **keys):
        made.append(Assistant(environment, *options, **keys))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def assistant(daemon, make_assistant):
    return make_assistant(daemon.environment())


def test_a_client_with_a_handshake_gets_its_version_or_the_newest(assistant):
    for wanted, given in (("2025-11-25", "2025-11-25"), ("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25")):
        result = assistant.ask("initialize", protocolVersion=wanted, capabilities={}, clientInfo={"name": "t", "version": "1"})["result"]
        assert result["protocolVersion"] == given and "tools" in result["capabilities"]
        assert result["serverInfo"]["name"] == "tarn" and "confirm" in result["instructions"]
    assistant.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')  # has no reply
    assert assistant.ask("ping")["result"] == {}
    assert "ttlMs" not in assistant.ask("tools/list")["result"]


def test_a_client_without_a_handshake_states_its_version_in_each_request(assistant):
    meta = {VERSION_KEY: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    result = assistant.ask("server/discover", _meta=meta)["result"]
    assert result["supportedVersions"] == ["2026-07-28"] and result["resultType"] == "complete"
    result = assistant.ask("tools/list", _meta=meta)["result"]
    assert result["resultType"] == "complete" and result["ttlMs"] > 0 and result["cacheScope"] == "private"
    result = assistant.ask("tools/call", _meta=meta, name="whoami", arguments={})["result"]
    assert result["resultType"] == "complete" and json.loads(result["content"][0]["text"])["by"] == "peer"
    error = assistant.ask("tools/list", _meta={VERSION_KEY: "2027-01-01"})["error"]
    assert error["code"] == -32022 and error["data"] == {"supported": ["2026-07-28"], "requested": "2027-01-01"}


def test_what_is_no_request_is_refused_and_the_next_one_is_served(assistant):
    for line, code, words in (("{", -32700, "line 1"), ("[]", -32600, "expected a request"), ("7", -32600, "expected a request"),
                              ('{"id":[],"method":"ping"}', -32600, "an id"), ('"' + "x" * (5 << 20) + '"', -32700, ""),
                              ('{"id":1,"method":"nothing"}', -32601, "method 'nothing': not supported"),
                              ('{"id":1,"method":"tools/call","params":{"name":"nothing"}}', -32602, "tool 'nothing': there is none"),
                              ('{"id":1,"method":"tools/call"}', -32602, "tool '': there is none")):
        assistant.say(line)
        error = assistant.hear()["error"]
        assert error["code"] == code and words in error["message"], (line[:60], error)
    for line in ("", '{"method":"notifications/cancelled"}', '{"id":9,"result":{}}'):
        assistant.say(line)
    assert assistant.ask("ping")["result"] == {}


def test_each_tool_of_the_table_is_listed_with_a_schema_of_its_own(assistant):
    with open(os.path.join(ROOT, "src", "daemon", "mcp", "tools.def")) as file:
        rows = re.findall(r"^TOOL\((\w+), \w+, (\w+),", file.read(), re.MULTILINE)
    tools = assistant.tools()
    assert list(tools) == [name for name, _ in rows]
    assert {name for name, kind in rows if kind != "READ"} == ACTIONS
    assert "$ref" not in json.dumps(tools)
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and set(schema.get("required", ())) <= set(schema["properties"])
        assert ("confirm" in schema["properties"]) == (name in ACTIONS) != tool["annotations"]["readOnlyHint"]
    assert "follow" not in tools["logs"]["inputSchema"]["properties"]
    assert {"run", "gpus", "stages"} <= set(tools["submit"]["inputSchema"]["properties"])
    assert tools["cancel"]["annotations"]["destructiveHint"] and not tools["hold"]["annotations"]["destructiveHint"]


def test_each_tool_that_reads_gives_the_reply_of_the_api(assistant, api):
    running, waiting = api.submit(run="echo said; sleep 600", gpus=4), api.submit(run="true", gpus=4)
    wait_until("the job writes", lambda: "said" in assistant.text("logs", job=running))
    given = {"job": {"job": running}, "why": {"job": str(waiting)}, "when": {"job": waiting}, "logs": {"job": running},
             "gpu_history": {"gpu": 0}, "estimate": {"run": "true", "gpus": 1}, "choose": {"run": "true", "gpus": 1},
             "whatif": {"add_nodes": "1:h100:4"}, "report": {"by": "queue"}}
    for name, tool in assistant.tools().items():
        if tool["annotations"]["readOnlyHint"]:
            assert assistant.text(name, **given.get(name, {})), name
    assert assistant.tool("why", job=waiting)["text"] == api.get("/v1/jobs/%d/why" % waiting)["text"]
    assert assistant.tool("pools") == api.get("/v1/pools")
    assert assistant.tool("report", by="queue")["by"] == "queue"


def test_lists_are_short_unless_more_is_asked_for(assistant, api):
    ids = [api.submit(run="true", hold=True) for _ in range(60)]
    listed = assistant.tool("jobs")
    assert [job["id"] for job in listed["jobs"]] == ids[-50:] and listed["older"]
    assert [job["id"] for job in assistant.tool("jobs", limit=2, newest=False)["jobs"]] == ids[:2]
    assert [job["id"] for job in assistant.tool("jobs", limit=2, after=ids[3])["jobs"]] == ids[4:6]
    assert assistant.tool("jobs", state="running")["jobs"] == []


def test_a_reply_that_is_too_long_is_refused_with_advice(assistant, api):
    job = api.submit(run="yes " + "x" * 1000 + " | head -400")
    wait_until("the job ends", lambda: api.get("/v1/jobs/%d" % job)["state"] == "ended")
    assert len(assistant.text("logs", job=job)) > 50000
    with pytest.raises(ToolError, match="logs: the reply has 391 KiB; expected at most 256"):
        assistant.text("logs", job=job, tail=400)


def test_logs_are_what_a_terminal_shows(assistant, api):
    job = api.submit(run=r"printf '1%%\r2%%\r\033[1m100%%\033[0m\n'")
    wait_until("the job ends", lambda: api.get("/v1/jobs/%d" % job)["state"] == "ended")
    assert assistant.text("logs", job=job) == "100%\n"
    assert assistant.text("logs", job=job, plain=False).startswith("1%\r")


def test_wrong_arguments_are_explained(assistant):
    for name, arguments, words in (("job", {}, "job: argument job: expected number of a job"), ("job", {"job": True}, "argument job"),
                                   ("why", {"job": "../gpus"}, "argument job"), ("gpu_history", {"gpu": "0?last=1h"}, "argument gpu"),
                                   ("jobs", {"all": "yes"}, "jobs: argument all: expected true or false"),
                                   ("jobs", {"limit": [1]}, "jobs: argument limit: expected a number"),
                                   ("jobs", {"user": 1.5}, "jobs: argument user: expected text"),
                                   ("logs", {"job": 1, "follow": True}, "logs: it has no argument 'follow'"),
                                   ("jobs", {"colour": "red"}, "jobs: it has no argument 'colour'"), ("jobs", {"limit": 0}, "limit"),
                                   ("job", {"job": 99}, "99"), ("submit", {"rnu": "x"}, "did you mean 'run'"),
                                   ("submit", {"run": "x", "gpus": 99}, "gpus"),
                                   ("submit", {"run": "x", "confirm": 1}, "submit: argument confirm: expected the text of a preview")):
        with pytest.raises(ToolError) as failure:
            assistant.text(name, **arguments)
        assert words in str(failure.value), (name, arguments)


def test_an_action_needs_the_confirm_of_its_preview(assistant, api):
    preview = assistant.tool("submit", run="sleep 600", gpus=1)
    assert preview["to"]["submitted"][0]["id"] is None and preview["acting_as"]["by"] == "peer"
    assert assistant.tool("jobs", all=True)["jobs"] == []
    with pytest.raises(ToolError, match="for a call of submit with other arguments"):
        assistant.tool("submit", run="sleep 601", gpus=1, confirm=preview["confirm"])
    with pytest.raises(ToolError, match="for a call of submit with other arguments"):
        assistant.tool("cancel", job=1, confirm=preview["confirm"])
    with pytest.raises(ToolError, match="not known, used already, or older than 10 minutes"):
        assistant.tool("submit", run="sleep 600", gpus=1, confirm="x" * 43)
    [submitted] = assistant.tool("submit", run="sleep 600", gpus=1, confirm=preview["confirm"])["submitted"]
    with pytest.raises(ToolError, match="not known, used already"):
        assistant.tool("submit", run="sleep 600", gpus=1, confirm=preview["confirm"])
    assert [job["id"] for job in api.get("/v1/jobs?all=1")["jobs"]] == [submitted["id"]]


def test_the_environment_of_the_assistant_does_not_reach_the_job(daemon, make_assistant):
    assistant = make_assistant(dict(daemon.environment(), MODEL_KEY="secret"))
    [submitted] = assistant.act("submit", run="pwd; echo key=$MODEL_KEY")["submitted"]
    wait_until("the job ends", lambda: assistant.tool("job", job=submitted["id"])["state"] == "ended")
    assert assistant.text("logs", job=submitted["id"]) == "/\nkey=\n"


def test_jobs_are_held_released_cancelled_and_run_again(assistant, api):
    api.submit(run="sleep 600", gpus=4)
    job = api.submit(run="true", gpus=4)

    def state():
        return assistant.tool("job", job=job)["state"]

    preview = assistant.tool("hold", job=job)
    assert preview["to"]["state"] == "queued" == state() and preview["to"]["name"] == "true"
    assert assistant.tool("hold", job=job, confirm=preview["confirm"])["changed"] == [job]
    assert state() == "held"
    assistant.act("release", job=job)
    assert state() == "queued"
    assistant.act("cancel", job=job)
    assert assistant.tool("job", job=job)["result"] == "cancelled"
    assistant.act("requeue", job=job)
    assert state() == "queued"


def test_an_array_is_shown_and_cancelled_as_a_whole(assistant, api):
    array = api.submit(run="true", array="0-9", hold=True)
    preview = assistant.tool("cancel", job=array)
    assert preview["to"]["kind"] == "array" and preview["to"]["job_count"] == 10
    assert len(assistant.tool("cancel", job=array, confirm=preview["confirm"])["changed"]) == 10


def test_what_changed_after_its_preview_is_not_done(assistant, api):
    api.submit(run="sleep 600", gpus=4)
    job = api.submit(run="true", gpus=4)
    preview = assistant.tool("cancel", job=job)
    api.post("/v1/jobs/%d/hold" % job)
    with pytest.raises(ToolError, match=r"the job has changed since its preview \(state\)"):
        assistant.tool("cancel", job=job, confirm=preview["confirm"])
    assert assistant.tool("job", job=job)["state"] == "held"
    with pytest.raises(ToolError, match="not known, used already"):
        assistant.tool("cancel", job=job, confirm=preview["confirm"])


def test_with_read_only_there_are_no_actions(daemon, make_assistant):
    assistant = make_assistant(daemon.environment(), "--read-only")
    assert not ACTIONS & set(assistant.tools())
    for name in ACTIONS:
        error = assistant.ask("tools/call", name=name, arguments={"run": "true", "job": 1})["error"]
        assert error["code"] == -32602 and "there is none" in error["message"]


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_the_rights_are_those_of_the_user_who_runs_it(make_daemon, make_assistant):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    job = daemon.api.submit(run="sleep 600")
    environment = dict(daemon.own_environment(), TARN_SOCKET=daemon.socket)
    assistant = make_assistant(environment, user=65534)
    who = assistant.tool("whoami")
    assert who["user"] == "nobody" and not who["administrator"]
    with pytest.raises(ToolError, match="job %d" % job):
        assistant.act("cancel", job=job)
    assert daemon.api.get("/v1/jobs/%d" % job)["state"] != "ended"


def test_a_daemon_may_start_and_restart_meanwhile(make_daemon, make_assistant):
    daemon = make_daemon()
    assistant = make_assistant(dict(daemon.own_environment(), TARN_SOCKET=daemon.socket))
    with pytest.raises(ToolError, match="no daemon is running at .*; tarn up starts one"):
        assistant.tool("jobs")
    daemon.start()
    confirm = assistant.tool("submit", run="true", hold=True)["confirm"]
    daemon.kill()
    with pytest.raises(ToolError):
        assistant.tool("submit", run="true", hold=True, confirm=confirm)
    daemon.start()
    assert assistant.tool("submit", run="true", hold=True, confirm=confirm)["submitted"][0]["id"] == 1


def test_a_token_to_read_reads_a_daemon_elsewhere_and_changes_nothing(make_assistant):
    box = Box(tarn_test.make_folder())
    try:
        job = box.daemon.api.submit(run="true", hold=True)
        environment = {key: value for key, value in box.daemon.own_environment().items() if not key.startswith("TARN_")}
        environment.update(HOME=box.home, TARN_HOST=box.url)
        log_in(box, scope="read")
        assistant = make_assistant(environment)
        assert assistant.tool("whoami")["scope"] == "read"
        assert assistant.tool("job", job=job)["state"] == "held"
        for name, arguments in (("submit", {"run": "true"}), ("cancel", {"job": job})):
            with pytest.raises(ToolError, match="the scope of the token is 'read'; expected 'submit'"):
                assistant.act(name, **arguments)
        assert [one["state"] for one in box.daemon.api.get("/v1/jobs?all=1")["jobs"]] == ["held"]
        assistant.stop()
    finally:
        box.stop()
        tarn_test.remove_folder(box.root)
