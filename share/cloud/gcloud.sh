# SPDX-License-Identifier: Apache-2.0
# Google Cloud, with the gcloud CLI. The name of an instance is that of its node.

cloud_find() {
    gcloud compute instances list --quiet --zones="$ZONE" --format="value(networkInterfaces[0].networkIP)" \
        --filter="name=$1 AND status=(PROVISIONING STAGING RUNNING)"
}

cloud_create() {
    flags=
    [ "$2" != spot ] || flags="--provisioning-model=SPOT --instance-termination-action=DELETE"
    gcloud compute instances create "$1" --quiet --zone="$ZONE" $(options "$1") $flags \
        --format="value(networkInterfaces[0].networkIP)"
}

cloud_delete() {
    address=$(cloud_find "$1") || return 1
    [ -z "$address" ] || gcloud compute instances delete "$1" --quiet --zone="$ZONE"
}

cloud_notice() {
    notice=$(curl -sf -m 2 -H "Metadata-Flavor: Google" "$METADATA/computeMetadata/v1/instance/preempted")
    [ "$notice" != TRUE ] || echo 30
}
