#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plays the command lines of three clouds, and scontrol: called as aws, gcloud, az or scontrol.

$CLOUD_STATE has a file for each instance, named by it, with the market it is of; `calls` has all calls. Arguments that
the real programs do not know, or that share/cloud does not use, are errors. Files there make calls fail: `no-spot`,
`no-on-demand`, `no-answer` (no list), and `no-delete` with the number of times. An executable `boot` is called with
the name of an instance that starts, and `halt` with that of one that is deleted."""
import argparse
import json
import os
import subprocess
import sys

STATE = os.environ["CLOUD_STATE"]
ADDRESS = os.environ.get("CLOUD_ADDRESS", "10.1.2.3")


def place(name):
    return os.path.join(STATE, name)


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def hook(name, instance):
    if os.path.exists(place(name)):
        subprocess.run([place(name), instance], check=True)


def create(name, market):
    if os.path.exists(place("no-" + market)):
        fail(f"InsufficientInstanceCapacity: no {market} capacity for {name}")
    path = place("i-" + name)
    if os.path.exists(path):
        fail(f"{name} already exists")
    with open(path, "w") as file:
        file.write(market)
    hook("boot", name)
    print(ADDRESS)


def show(name, text):
    if os.path.exists(place("no-answer")):
        fail("the cloud does not answer")
    if os.path.exists(place("i-" + name)):
        print(text)


def delete(name):
    if os.path.exists(place("no-delete")):
        with open(place("no-delete")) as file:
            left = int(file.read())
        if left > 0:
            with open(place("no-delete"), "w") as file:
                file.write(str(left - 1))
            fail("try again later")
    os.unlink(place("i-" + name))  # deleting what does not exist is an error
    hook("halt", name)


def read(words, *known):
    """known: names of options, each with one value, but the last words with several."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in known:
        if name.endswith("*"):
            parser.add_argument(name[:-1], nargs="+", default=[])
        elif name.endswith("?"):
            parser.add_argument(name[:-1], action="store_true")
        else:
            parser.add_argument(name)
    return parser.parse_args(words)


def aws(words):
    assert words[0] == "ec2"
    if words[1] == "run-instances":
        asked = read(words[2:], "--count", "--launch-template", "--instance-market-options", "--tag-specifications",
                     "--user-data", "--output", "--query")
        name = asked.tag_specifications.split("{Key=Name,Value=")[1].split("}")[0]
        cluster = asked.tag_specifications.split("{Key=tarn-cluster,Value=")[1].split("}")[0]
        assert asked.tag_specifications.startswith("ResourceType=instance,Tags=[") and asked.count == "1"
        assert asked.instance_market_options in (None, "MarketType=spot") and asked.launch_template
        assert f"hostnamectl set-hostname {name}\n" in asked.user_data and asked.query == "Instances[0].PrivateIpAddress"
        return create(f"{cluster}.{name}", "spot" if asked.instance_market_options else "on-demand")
    if words[1] == "describe-instances":
        asked = read(words[2:], "--output", "--query", "--filters*")
        filters = dict(text[5:].split(",Values=") for text in asked.filters)
        assert filters["instance-state-name"] == "pending,running" and asked.output == "text"
        name = filters["tag:tarn-cluster"] + "." + filters["tag:Name"]
        return show(name, {"Reservations[].Instances[].PrivateIpAddress": ADDRESS,
                           "Reservations[].Instances[].InstanceId": "id-" + name}[asked.query])
    assert words[1] == "terminate-instances"
    for instance in read(words[2:], "--output", "--instance-ids*").instance_ids:
        assert instance.startswith("id-")
        delete(instance[3:])
    print("TERMINATINGINSTANCES")


def gcloud(words):
    assert words[:2] == ["compute", "instances"]
    address = "value(networkInterfaces[0].networkIP)"
    if words[2] == "list":
        asked = read(words[3:], "--quiet?", "--zones", "--format", "--filter")
        name, rest = asked.filter.split(" AND ")
        assert rest == "status=(PROVISIONING STAGING RUNNING)" and asked.format == address and asked.zones == "z1"
        return show(name[len("name="):], ADDRESS)
    if words[2] == "create":
        asked = read(words[4:], "--quiet?", "--zone", "--source-instance-template", "--provisioning-model",
                     "--instance-termination-action", "--format")
        assert asked.zone == "z1" and asked.source_instance_template and asked.format == address
        assert (asked.provisioning_model, asked.instance_termination_action) in ((None, None), ("SPOT", "DELETE"))
        return create(words[3], "spot" if asked.provisioning_model else "on-demand")
    assert words[2] == "delete"
    asked = read(words[4:], "--quiet?", "--zone")
    assert asked.quiet and asked.zone == "z1"
    delete(words[3])


def az(words):
    assert words[0] == "vm"
    if words[1] == "list":
        asked = read(words[2:], "--resource-group", "--show-details?", "--output", "--query")
        assert asked.resource_group == "g1" and asked.show_details and asked.output == "tsv"
        start, end = "[?name=='", "'].privateIps"
        assert asked.query.startswith(start) and asked.query.endswith(end)
        return show(asked.query[len(start):-len(end)], ADDRESS)
    if words[1] == "create":
        asked = read(words[2:], "--resource-group", "--name", "--size", "--image", "--priority", "--eviction-policy", "--max-price",
                     "--public-ip-address", "--nic-delete-option", "--os-disk-delete-option", "--output", "--query")
        assert asked.resource_group == "g1" and asked.public_ip_address == "" and asked.size and asked.image
        assert asked.nic_delete_option == asked.os_disk_delete_option == "Delete" and asked.query == "privateIpAddress"
        assert (asked.priority, asked.eviction_policy, asked.max_price) in ((None, None, None), ("Spot", "Delete", "-1"))
        return create(asked.name, "spot" if asked.priority else "on-demand")
    assert words[1] == "delete"
    asked = read(words[2:], "--resource-group", "--name", "--yes?")
    assert asked.resource_group == "g1" and asked.yes
    delete(asked.name)


def scontrol(words):
    if words[:2] == ["show", "hostnames"]:
        print("\n".join(words[2].split(",")))


if __name__ == "__main__":
    PROGRAM = os.path.basename(sys.argv[0])
    with open(place("calls"), "a") as calls:
        calls.write(json.dumps([PROGRAM, *sys.argv[1:]]) + "\n")
    {"aws": aws, "gcloud": gcloud, "az": az, "scontrol": scontrol}[PROGRAM](sys.argv[1:])
