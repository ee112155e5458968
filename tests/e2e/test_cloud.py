# SPDX-License-Identifier: Apache-2.0
"""The samples of share/cloud, with programs that play three clouds (fake_cloud.py) and their metadata server."""
import datetime
import http.server
import json
import os
import shutil
import subprocess
import threading
import time

import pytest

import tarn_test
from tarn_test import TARN, read_file, wait_until

SHARE = os.path.abspath(os.path.join(tarn_test.HERE, "..", "..", "share", "cloud"))
OPTIONS = {"ec2": "--launch-template LaunchTemplateName=t4", "gcloud": "--source-instance-template=t4",
           "azure": "--size Standard_NC4as_T4_v3 --image gpu-node"}
NAMES = {"ec2": "tarn.%s", "gcloud": "%s", "azure": "%s"}


class Cloud:
    """A cloud, and Slurm's controller beside it."""

    def __init__(self, kind, programs=("aws", "gcloud", "az", "scontrol"), **settings):
        self.kind = kind
        self.root = tarn_test.make_folder()
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("state"))
        for name in programs:
            os.symlink(os.path.join(tarn_test.HERE, "fake_cloud.py"), self.path("bin", name))
        settings = dict({"CLOUD": kind, "CLUSTER": "tarn", "ZONE": "z1", "GROUP": "g1", "LOG": self.path("log"), "PAUSE": "0",
                         "INTERVAL": "0.05"}, **settings)
        with open(self.path("conf"), "w") as file:
            file.write("options() {\n    echo " + OPTIONS[kind] + "\n}\n")
            file.writelines(f"{name}='{value}'\n" for name, value in settings.items())
        self.environment = dict(os.environ, TARN_CLOUD_CONF=self.path("conf"), CLOUD_STATE=self.path("state"),
                                PATH=self.path("bin") + ":" + os.environ["PATH"])

    def path(self, *names):
        return os.path.join(self.root, *names)

    def let(self, name, text=""):
        """Make calls fail from now on."""
        with open(self.path("state", name), "w") as file:
            file.write(text)

    def run(self, program, nodes):
        return subprocess.run([os.path.join(SHARE, program), nodes], env=self.environment, timeout=tarn_test.PATIENCE_S,
                              stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).returncode

    def instances(self):
        """Node to market."""
        prefix = "i-" + NAMES[self.kind] % ""
        return {name[len(prefix):]: read_file(self.path("state", name)) for name in os.listdir(self.path("state"))
                if name.startswith(prefix)}

    def told(self):
        """What Slurm was told of nodes, and forget it."""
        calls = [json.loads(line) for line in read_file(self.path("state", "calls")).splitlines()]
        os.unlink(self.path("state", "calls"))
        return sorted(" ".join(words[2:]) for words in calls if words[:2] == ["scontrol", "update"])

    def log(self):
        return read_file(self.path("log"))


@pytest.fixture(params=["ec2", "gcloud", "azure"])
def cloud(request):
    cloud = Cloud(request.param)
    yield cloud
    tarn_test.remove_folder(cloud.root)


def test_nodes_are_of_the_spot_market_if_it_has_some(cloud):
    assert cloud.run("resume", "n1,n2") == 0
    assert cloud.instances() == {"n1": "spot", "n2": "spot"}
    assert cloud.told() == ["nodename=n1 nodeaddr=10.1.2.3", "nodename=n2 nodeaddr=10.1.2.3"]
    assert "node n1: created (spot)" in cloud.log()


def test_without_spot_capacity_a_node_is_on_demand(cloud):
    cloud.let("no-spot")
    assert cloud.run("resume", "n1") == 0
    assert cloud.instances() == {"n1": "on-demand"}
    assert cloud.told() == ["nodename=n1 nodeaddr=10.1.2.3"]
    assert "no spot capacity" in cloud.log() and "node n1: not created (spot)" in cloud.log()


def test_a_node_that_cannot_be_had_is_given_up_and_the_others_start(cloud):
    assert cloud.run("resume", "n1") == 0
    cloud.told()
    cloud.let("no-spot")
    cloud.let("no-on-demand")
    assert cloud.run("resume", "n1,n2") == 1
    assert cloud.instances() == {"n1": "spot"}
    assert cloud.told() == ["nodename=n1 nodeaddr=10.1.2.3", f"nodename=n2 state=power_down_force reason=no instance: see {cloud.path('log')}"]
    assert "no on-demand capacity" in cloud.log()


def test_a_node_that_runs_is_not_created_again(cloud):
    for _ in range(2):
        assert cloud.run("resume", "n1") == 0
        assert cloud.told() == ["nodename=n1 nodeaddr=10.1.2.3"]
    assert cloud.instances() == {"n1": "spot"} and cloud.log().count("created") == 1


def test_nothing_is_created_while_the_cloud_does_not_say_what_runs(cloud):
    cloud.let("no-answer")
    assert cloud.run("resume", "n1") == 1
    assert cloud.instances() == {} and "state=power_down_force" in cloud.told()[0]
    assert "the cloud does not answer" in cloud.log()


def test_instances_are_deleted_once(cloud):
    assert cloud.run("resume", "n1,n2,n3") == 0
    assert cloud.run("suspend", "n1,n2") == 0
    assert cloud.instances() == {"n3": "spot"}
    assert cloud.run("suspend", "n1,n2") == 0  # there are none any more
    assert cloud.instances() == {"n3": "spot"}


def test_a_deletion_that_fails_is_repeated_and_told_in_the_end(cloud):
    assert cloud.run("resume", "n1") == 0
    cloud.let("no-delete", "2")
    assert cloud.run("suspend", "n1") == 0 and cloud.instances() == {}
    assert cloud.run("resume", "n1") == 0
    cloud.let("no-delete", "3")
    assert cloud.run("suspend", "n1") == 1 and cloud.instances() == {"n1": "spot"}
    assert "node n1: not deleted; its instance still costs money" in cloud.log()


def test_instances_of_another_cluster_with_the_same_name_are_left_alone():
    cloud = Cloud("ec2")
    try:
        cloud.let("i-other.n1", "spot")
        assert cloud.run("resume", "n1") == 0 and cloud.run("suspend", "n1") == 0
        assert os.path.exists(cloud.path("state", "i-other.n1")) and cloud.instances() == {}
    finally:
        tarn_test.remove_folder(cloud.root)


def test_settings_without_a_cloud_are_refused(cloud):
    with open(cloud.path("conf"), "w"):
        pass
    done = subprocess.run([os.path.join(SHARE, "resume"), "n1"], env=cloud.environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=tarn_test.PATIENCE_S)
    assert done.returncode != 0 and "CLOUD is missing; expected ec2, gcloud or azure" in done.stdout, done


# The notice that a spot node is taken away


class Metadata(http.server.BaseHTTPRequestHandler):
    """The metadata server of all three; `notices` of its server is set when a notice has come."""

    def answer(self, status, text=""):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        is_token = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self.answer(200 if is_token else 404, "token-1")

    def do_GET(self):
        self.server.asked += 1
        if self.server.odd is not None:
            return self.answer(200, self.server.odd)
        in_100_s = time.gmtime(time.time() + 100)
        has_notice = self.server.has_notice
        if self.path == "/latest/meta-data/spot/instance-action":
            if self.headers["X-aws-ec2-metadata-token"] != "token-1":
                self.answer(401)
            elif has_notice:
                self.answer(200, json.dumps({"action": "terminate", "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", in_100_s)}))
            else:
                self.answer(404, "<html>not found</html>")
        elif self.path == "/computeMetadata/v1/instance/preempted" and self.headers["Metadata-Flavor"] == "Google":
            self.answer(200, "TRUE" if has_notice else "FALSE")
        elif self.path == "/metadata/scheduledevents?api-version=2020-07-01" and self.headers["Metadata"] == "true":
            event = {"EventId": "1", "EventStatus": "Scheduled", "EventType": "Preempt", "ResourceType": "VirtualMachine",
                     "NotBefore": time.strftime("%a, %d %b %Y %H:%M:%S GMT", in_100_s)}
            events = [dict(event, Resources=["another"]), dict(event, EventType="Reboot", Resources=[self.server.node])]
            if has_notice:
                events.append(dict(event, Resources=["another", self.server.node]))
            self.answer(200, json.dumps({"DocumentIncarnation": 1, "Events": events}))
        else:
            self.answer(400)

    def log_message(self, *words):
        pass


@pytest.fixture
def metadata():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    server.asked, server.has_notice, server.node, server.odd = 0, False, None, None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("jq"), reason="curl or jq is not installed")
@pytest.mark.parametrize("kind, seconds", [("ec2", 100), ("gcloud", 30), ("azure", 100)])
def test_a_notice_of_the_cloud_is_one_of_tarn(make_daemon, metadata, kind, seconds):
    daemon = make_daemon()
    cloud = Cloud(kind, METADATA=f"http://127.0.0.1:{metadata.server_port}", TARN=TARN)
    cloud.environment["TARN_SOCKET"] = daemon.socket
    daemon.start()
    node = lambda: daemon.api.get("/v1/nodes")["nodes"][0]
    metadata.node = node()["name"]
    daemon.kill()  # the first call of tarn fails
    watching = subprocess.Popen([os.path.join(SHARE, "watch-spot"), metadata.node], env=cloud.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until("it has asked some times", lambda: metadata.asked >= 3)
        assert watching.poll() is None
        noticed = time.time()
        metadata.has_notice = True
        asked = metadata.asked
        wait_until("it goes on while tarn does not answer", lambda: metadata.asked >= asked + 3)
        assert watching.poll() is None
        daemon.start()
        assert watching.wait(tarn_test.PATIENCE_S) == 0
    finally:
        watching.kill()
        watching.wait()
        tarn_test.remove_folder(cloud.root)
    going_at = datetime.datetime.strptime(node()["going_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    assert noticed - 2 <= going_at.timestamp() - seconds <= time.time() + 2, node()


ODD_REPLIES = ("", "<html>welcome</html>", "{", "{}", "[]", '"x"', "null", '{"action": "terminate"}', '{"action": "terminate", "time": ""}',
               '{"action": "terminate", "time": "soon"}', '{"time": "2030-01-01T00:00:00Z"}', '{"action": "rest", "time": "2030-01-01T00:00:00Z"}',
               '{"action": "terminate", "time": "2030-11-28T99:00:00Z"}', '{"action": "stop", "time": "x1:99"}',
               '{"action": "terminate", "time": "9999-01-01T00:00:00Z"}',
               '{"Events": [{"EventType": "Preempt", "Resources": ["NODE"], "NotBefore": "Sat, 28 Nov 2026 99:00:00 GMT"}]}',
               '{"Events": 5}', '{"Events": [{"EventType": "Preempt", "Resources": ["NODE"], "NotBefore": "soon"}]}', "true")


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("jq"), reason="curl or jq is not installed")
@pytest.mark.parametrize("kind", ["ec2", "gcloud", "azure"])
def test_a_reply_that_is_no_notice_takes_no_node_away(metadata, kind):
    """A proxy, or another server at this address, answers any request with 200."""
    cloud = Cloud(kind, METADATA=f"http://127.0.0.1:{metadata.server_port}", TARN=TARN)
    script = 'here=%s; . $here/cloud.sh; cloud_notice n1' % SHARE
    try:
        for odd in ODD_REPLIES:
            metadata.odd = odd.replace("NODE", "n1")
            done = subprocess.run(["sh", "-c", script], env=cloud.environment, capture_output=True, text=True, timeout=60)
            assert done.stdout == "", (odd, done)
        assert metadata.asked >= len(ODD_REPLIES)
    finally:
        tarn_test.remove_folder(cloud.root)
