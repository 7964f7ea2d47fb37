# SPDX-License-Identifier: GPL-2.0-or-later
# Process 1 of a lab: reaps what daemons leave behind, and holds the
# namespaces until it is killed.
trap 'exit 0' TERM INT
while :; do
    sleep 3600 &
    wait $!
done
