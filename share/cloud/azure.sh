# SPDX-License-Identifier: Apache-2.0
# Microsoft Azure, with the az CLI. The name of a virtual machine is that of its node.

cloud_find() {
    az vm list --resource-group "$GROUP" --show-details --output tsv --query "[?name=='$1'].privateIps"
}

cloud_create() {
    flags=
    [ "$2" != spot ] || flags="--priority Spot --eviction-policy Delete --max-price -1"
    az vm create --resource-group "$GROUP" --name "$1" $(options "$1") $flags --public-ip-address "" \
        --nic-delete-option Delete --os-disk-delete-option Delete --output tsv --query privateIpAddress
}

cloud_delete() {
    address=$(cloud_find "$1") || return 1
    [ -z "$address" ] || az vm delete --resource-group "$GROUP" --name "$1" --yes
}

cloud_notice() {
    notice=$(curl -sf -m 5 -H "Metadata: true" "$METADATA/metadata/scheduledevents?api-version=2020-07-01" |
        jq -r --arg node "$1" 'first(.Events[] | select(.EventType == "Preempt" and (.Resources | index($node))) |
            if .NotBefore == "" then "now" else .NotBefore end)') || return 0
    [ -z "$notice" ] || seconds_until "$notice"
}
