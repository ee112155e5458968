# SPDX-License-Identifier: Apache-2.0
"""Whole machines that a queue can always have, on one that is real to the daemon."""

import pytest

from tarn_test import Refused

SHAPE = {"queues": {"research": {"shape": [{"cell": "node", "model": "h100", "gpus": 8}]}, "vision": {}}}


@pytest.fixture
def api(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:8")
    daemon.start()
    return daemon.api


def test_a_whole_machine_is_kept_for_its_queue_and_others_are_told(api):
    api.put("/v1/config", SHAPE)
    research = next(q for q in api.get("/v1/queues")["queues"] if q["name"] == "research")
    assert research["guarantee"] == 8
    assert api.get("/v1/config")["queues"]["research"]["shape"] == [
        {"cell": "node", "model": "h100", "gpus": 8, "count": 1}]
    firm = api.submit(run="sleep 600", gpus=1, cpus=0, queue="vision")
    lent = api.submit(run="sleep 600", gpus=1, cpus=0, queue="vision", preemptible=True)
    api.wait_state(lent, "running")
    why = api.get("/v1/jobs/%d/why" % firm)
    assert why["kind"] == "shape"
    assert why["text"].startswith("would split a whole h100 node that is guaranteed to queue research")
    owner = api.submit(run="sleep 600", gpus=8, cpus=0, queue="research")
    api.wait_state(owner, "running")
    assert api.job(lent)["state"] == "queued"


def test_a_shape_that_is_not_there_changes_nothing(api):
    two = {"queues": {"research": {"shape": [{"cell": "node", "model": "h100", "gpus": 8, "count": 2}]}}}
    with pytest.raises(Refused) as refused:
        api.put("/v1/config", two)
    assert "queue research: shape: 2 of cell node of 8 h100 wanted" in str(refused.value)
    assert "expected at most 1" in str(refused.value)
    assert "research" not in api.get("/v1/config").get("queues", {})


@pytest.mark.parametrize("cell, words", [
    ({"cell": "nod", "model": "h100", "gpus": 8}, "cell: 'nod', expected pair, island, node or rack"),
    ({"cell": "pair", "model": "h100", "gpus": 3}, "a pair has 2"),
    ({"cell": "node", "gpus": 8}, "expected cell (pair, island, node or rack), model and gpus"),
])
def test_a_bad_cell_is_named(api, cell, words):
    with pytest.raises(Refused) as refused:
        api.put("/v1/config", {"queues": {"research": {"shape": [cell]}}})
    assert words in str(refused.value)
