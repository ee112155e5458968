# SPDX-License-Identifier: Apache-2.0
"""Programs of others that work with tarn, as they come from PyPI. Skipped where they cannot be had."""

import json
import os
import subprocess

import pytest

import pypi
import tarn_test
from tarn_test import PATIENCE_S, TARN

ROOT = os.path.abspath(os.path.join(tarn_test.HERE, "..", ".."))
PACKAGES = ["mcp==2.3.0"]


@pytest.fixture(scope="session")
def programs():
    """The folder with a Python that has the packages, and that of tarn as its wheel installs it."""
    folder, why = pypi.install("plugins", *PACKAGES)
    if folder is None:
        pytest.skip("the packages cannot be installed: " + why)
    made = tarn_test.make_folder()
    for command in ([os.path.join(ROOT, "tools", "wheel"), made],
                    [os.path.join(folder, "pip"), "install", "-q", "--no-index", "--no-deps", "--force-reinstall", "--find-links", made, "tarn"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip("the wheel cannot be installed: " + done.stdout[-500:])
    yield folder
    tarn_test.remove_folder(made)


class Programs:
    def __init__(self, folder, daemon):
        self.folder = folder
        self.daemon = daemon

    def run(self, source, *words, status=0):
        """A program of this text, which jobs can import; its output."""
        path = os.path.join(self.daemon.root, "program.py")
        with open(path, "w") as file:
            file.write(source)
        environment = dict(self.daemon.own_environment(), TARN_SOCKET=self.daemon.socket, **self.daemon.env())
        environment["PATH"] = os.path.dirname(TARN) + os.pathsep + environment["PATH"]
        done = subprocess.run([os.path.join(self.folder, "python"), path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.daemon.root, env=environment, timeout=PATIENCE_S * 4)
        assert done.returncode == status, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stdout


@pytest.fixture
def run(programs, daemon):
    return Programs(programs, daemon).run


# ---- the Model Context Protocol ----

MCP = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command="tarn", args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server), mode=sys.argv[1]) as client:
        tools = (await client.list_tools()).tools
        preview = json.loads((await client.call_tool("submit", {"run": "echo said", "gpus": 1})).content[0].text)
        done = await client.call_tool("submit", {"run": "echo said", "gpus": 1, "confirm": preview["confirm"]})
        wrong = await client.call_tool("job", {"job": "99"})
        print(json.dumps({"version": client.protocol_version, "tools": [tool.name for tool in tools],
                          "submitted": json.loads(done.content[0].text)["submitted"][0]["id"], "is_error": wrong.is_error,
                          "wrong": wrong.content[0].text}))

asyncio.run(main())
"""


@pytest.mark.parametrize("mode, version", [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_client_of_mcp_uses_the_tools(run, api, mode, version):
    said = json.loads(run(MCP, mode))
    assert said["version"] == version
    assert {"jobs", "why", "submit", "cancel"} <= set(said["tools"])
    assert api.get("/v1/jobs/%d" % said["submitted"])["gpus"] == "1"
    assert said["is_error"] and "99" in said["wrong"]
