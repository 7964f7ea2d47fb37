# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Two nodes, network namespaces a and b, each with a device of type rxe ($rdma, or siw) on
# hsn0; sourced in the virtual machine.
"${TAUT_VM_DIR:-$(dirname "${BASH_SOURCE[0]}")}/stubs" || exit

ip netns add a
ip netns add b
ip link add hsn0 netns a type veth peer name hsn0 netns b
ip -n a address add 10.0.0.1/24 dev hsn0
ip -n b address add 10.0.0.2/24 dev hsn0
for net in a b; do
    ip -n $net link set lo up
    ip -n $net link set hsn0 up
done
# siw takes no notice of a carrier that comes later
sleep 0.5
for net in a b; do
    ip netns exec $net rdma link add ${rdma:=rxe}_$net type $rdma netdev hsn0
done

# streams ARG…: tests of a stream from a to b; a JSON object a test
streams() {
    # shellcheck disable=SC2086 # words
    timeout 100 ${without:-} "$TAUT_BUILDDIR/tests/bench/bench-pair" --from 10.0.0.1 --to 10.0.0.2 \
        --from-net /run/netns/a --to-net /run/netns/b --transport ofi \
        --provider "verbs;ofi_rxm" --libexec "$TAUT_BUILDDIR/plugin/.libs" \
        --ms 500 --repeat 5 --pause-ms 50 "$@"
}

# by_hand ARG…: `taut-probe pair` from a to b
by_hand() {
    local probe=$TAUT_BUILDDIR/plugin/taut-probe
    export TAUT_PAIR_KEY=a-key-of-this-machine
    set -- --transport ofi --modules "$TAUT_BUILDDIR/plugin/.libs" "$@"
    ip netns exec b "$probe" pair "$@" &
    ip netns exec a "$probe" pair 10.0.0.2 "$@"
}

# second_rail: hsn1 of both nodes, with a device of its own
second_rail() {
    local net
    ip link add hsn1 netns a type veth peer name hsn1 netns b
    ip -n a address add 10.0.1.1/24 dev hsn1
    ip -n b address add 10.0.1.2/24 dev hsn1
    for net in a b; do ip -n $net link set hsn1 up; done
    sleep 0.5
    for net in a b; do ip netns exec $net rdma link add ${rdma}1_$net type $rdma netdev hsn1; done
}
