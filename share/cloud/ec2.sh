# SPDX-License-Identifier: Apache-2.0
# Amazon EC2, with the AWS CLI. The tag Name of an instance is its node, tarn-cluster its cluster.

find_instances() { # NODE FIELD
    aws ec2 describe-instances --output text --query "Reservations[].Instances[].$2" --filters \
        "Name=tag:Name,Values=$1" "Name=tag:tarn-cluster,Values=$CLUSTER" \
        "Name=instance-state-name,Values=pending,running"
}

cloud_find() {
    find_instances "$1" PrivateIpAddress
}

cloud_create() {
    flags=
    [ "$2" != spot ] || flags="--instance-market-options MarketType=spot"
    aws ec2 run-instances --count 1 $(options "$1") $flags --tag-specifications \
        "ResourceType=instance,Tags=[{Key=Name,Value=$1},{Key=tarn-cluster,Value=$CLUSTER}]" \
        --user-data "#!/bin/sh
hostnamectl set-hostname $1
systemctl restart slurmd" \
        --output text --query "Instances[0].PrivateIpAddress"
}

cloud_delete() {
    instances=$(find_instances "$1" InstanceId) || return 1
    [ -z "$instances" ] || aws ec2 terminate-instances --output text --instance-ids $instances > /dev/null
}

cloud_notice() {
    token=$(curl -sf -m 2 -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 60" "$METADATA/latest/api/token") &&
        notice=$(curl -sf -m 2 -H "X-aws-ec2-metadata-token: $token" \
            "$METADATA/latest/meta-data/spot/instance-action") || return 0 # 404: no notice
    # A proxy or another server may answer with anything: a notice has an action and a time.
    at=$(echo "$notice" | jq -r 'select(.action == "terminate" or .action == "stop" or .action == "hibernate").time') || return 0
    [ -z "$at" ] || seconds_until "$at"
}
