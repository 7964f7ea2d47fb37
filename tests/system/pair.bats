# SPDX-License-Identifier: GPL-2.0-or-later
# `taut-probe pair`: tests between two nodes by hand, here two network namespaces.
bats_require_minimum_version 1.5.0

probe=$TAUT_BUILDDIR/plugin/taut-probe
modules=$TAUT_BUILDDIR/plugin/.libs

setup() {
    a=pair-a-$$ b=pair-b-$$
    export TAUT_PAIR_KEY=a-key-of-this-test-alone
}
teardown() {
    ip netns delete "$a" 2>/dev/null || true
    ip netns delete "$b" 2>/dev/null || true
}

two_nodes() {
    [ "$(id -u)" = 0 ] || skip "network namespaces are root's"
    ip netns add "$a" 2>/dev/null || skip "no network namespaces here"
    ip netns add "$b"
    ip link add hsn0 netns "$a" type veth peer name hsn0 netns "$b"
    ip -n "$a" address add 10.9.0.1/24 dev hsn0
    ip -n "$b" address add 10.9.0.2/24 dev hsn0
    for net in "$a" "$b"; do
        ip -n "$net" link set lo up
        ip -n "$net" link set hsn0 up
    done
}

# meet ARG…: both nodes; sets status and output, of the caller
meet() {
    ip netns exec "$b" "$probe" pair --interface hsn0 --modules "$modules" "$@" >"$BATS_TEST_TMPDIR/b" 2>&1 &
    run ip netns exec "$a" "$probe" pair 10.9.0.2 --interface hsn0 --modules "$modules" "$@"
    wait "$!" || true
    echo "$output"
    sed 's/^/b: /' "$BATS_TEST_TMPDIR/b"
}

@test "two nodes: streams both ways, and a round trip" {
    two_nodes
    meet --ms 200
    [ "$status" = 0 ]
    [ "$(grep -c '[0-9] [MG]B/s *[0-9.]* [MG]B/s' <<<"$output")" = 2 ]
    grep -q 'round trip *[0-9.]* us *[0-9.]* us' <<<"$output"
    [ ! -s "$BATS_TEST_TMPDIR/b" ]
}

@test "two nodes over libfabric: how long it took to open, too" {
    [ -e "$modules/taut-ofi.so" ] || skip "built without libfabric"
    two_nodes
    meet --ms 200 --transport ofi --provider tcp
    [ "$status" = 0 ]
    [ "$(grep -c '^libfabric, tcp on .*: open after [0-9]* ms' <<<"$output")" = 2 ]
    [ "$(grep -c '[0-9] [MG]B/s *[0-9.]* [MG]B/s' <<<"$output")" = 2 ]
}

@test "what one cannot open, both say" {
    [ -e "$modules/taut-ofi.so" ] || skip "built without libfabric"
    two_nodes
    meet --transport ofi --provider nosuch
    [ "$status" = 2 ]
    grep -q "has no provider 'nosuch'" <<<"$output"
    grep -q "has no provider 'nosuch'" "$BATS_TEST_TMPDIR/b"
}

@test "who does not know the key tests nothing, and is not waited for" {
    two_nodes
    ip netns exec "$b" "$probe" pair --interface hsn0 --repeat 1 --ms 50 >"$BATS_TEST_TMPDIR/b" 2>&1 &
    run ip netns exec "$a" "$probe" pair 10.9.0.2 --interface hsn0 --key another-key-of-somebody
    echo "$output"
    [ "$status" = 2 ]
    [[ $output == *"the other node has another key"* ]]
    run -0 ip netns exec "$a" "$probe" pair 10.9.0.2 --interface hsn0 --repeat 1 --ms 50
    wait "$!"
}

@test "a wrong command line is said, with limits" {
    run -0 "$probe" pair --help
    [[ $output == "usage: taut-probe pair A B "* ]]
    run -2 "$probe" pair a b c
    [[ $output == *"more than two nodes: c"* ]]
    run -2 "$probe" pair --ms 4
    [[ $output == *"--ms: expected 5 to 2000, got '4'"* ]]
    run -2 "$probe" pair --nosuch 4
    [[ $output == *nosuch* ]]
    run -2 "$probe" pair --key short
    [[ $output == *"the key: expected 16 to 64 characters, got 5"* ]]
    run -2 env -u TAUT_PAIR_KEY "$probe" pair
    [[ $output == *"no key: "* ]]
    run -2 "$probe" pair --task
    [[ $output == *"--task is what srun is given"* ]]
}
