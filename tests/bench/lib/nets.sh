# SPDX-License-Identifier: GPL-2.0-or-later
# Two network namespaces joined by a pair of veth that nothing shapes, gone when
# the benchmark ends.  Sourced after bench.sh; FIRST is what programs in there
# are run by (chrt …), or nothing.

A=tb$$a B=tb$$b FROM=10.99.0.1 TO=10.99.0.2 FIRST=()
in_a() { ip netns exec $A "${FIRST[@]}" "$@"; }
in_b() { ip netns exec $B "${FIRST[@]}" "$@"; }

nets_down() {
    ip netns del $A 2>/dev/null
    ip netns del $B 2>/dev/null
}

nets_up() {
    ip netns add $A && ip netns add $B &&
        ip -n $A link add eth0 type veth peer name eth0 netns $B &&
        ip -n $A addr add $FROM/24 dev eth0 && ip -n $B addr add $TO/24 dev eth0 &&
        ip -n $A link set eth0 up && ip -n $B link set eth0 up &&
        ip -n $A link set lo up && ip -n $B link set lo up || die "no namespaces"
}

# nets_pair OPTION…: tests of the engine from the first to the second
nets_pair() {
    "${FIRST[@]}" "$TAUT_BUILDDIR/tests/bench/bench-pair" --from $FROM --to $TO \
        --from-net /run/netns/$A --to-net /run/netns/$B \
        --libexec "$TAUT_PREFIX/libexec/taut" "$@"
}
