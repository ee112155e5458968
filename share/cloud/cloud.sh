# SPDX-License-Identifier: Apache-2.0
# For resume, suspend and watch-spot: the settings, the log, and the functions of the cloud.
#
# Each cloud is a file CLOUD.sh with the functions
#   cloud_find NODE           print the address of the node's instance; nothing: there is none
#   cloud_create NODE MARKET  create one (MARKET: spot or on-demand) and print its address
#   cloud_delete NODE         delete it; success if there is none
#   cloud_notice NODE         on the node: print the seconds until it is taken away; nothing: no notice
# They fail, with a message on stderr, if the cloud does not do what is asked.

PATH=$PATH:/usr/local/bin:/usr/bin:/bin
LOG=/var/log/tarn-cloud.log
MARKETS="spot on-demand"
PAUSE=10
METADATA=http://169.254.169.254
INTERVAL=2
TARN=tarn
. "${TARN_CLOUD_CONF:-/etc/tarn/cloud.conf}" || exit 1
. "$here/${CLOUD:?cloud.conf: CLOUD is missing; expected ec2, gcloud or azure}.sh" || exit 1

log() {
    echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $*" >&2
}

# Run a function for each node of Slurm's host list at the same time. Fails if one of them fails.
for_each() {
    function=$1 is_failed=0 children=
    nodes=$(scontrol show hostnames "$2") || return 1
    for node in $nodes; do
        "$function" "$node" &
        children="$children $!"
    done
    for child in $children; do
        wait "$child" || is_failed=1
    done
    return $is_failed
}

# Seconds until a time of day, in any form that date reads, or until "now"; at least 1. What is
# neither fails: date would read the empty string as midnight. So does a time that is a day away or
# more: clouds announce minutes before.
seconds_until() {
    case $1 in
    now | *[0-9]:[0-9][0-9]*) ;;
    *) return 1 ;;
    esac
    at=$(date -d "$1" +%s) || return 1
    left=$((at - $(date +%s)))
    [ "$left" -lt 86400 ] || return 1
    echo $((left > 1 ? left : 1))
}
