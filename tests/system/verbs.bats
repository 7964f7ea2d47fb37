# SPDX-License-Identifier: GPL-2.0-or-later
# Streams over verbs, between two network namespaces with soft RoCE, in a virtual
# machine (tests/vm).
bats_require_minimum_version 1.5.0

vm=${BATS_TEST_DIRNAME%/system}/vm

setup() {
    [ -e "$TAUT_BUILDDIR/plugin/.libs/taut-ofi.so" ] || skip "built without libfabric"
    [ "$(id -u)" = 0 ] || skip "the virtual machine reads what root can"
    "$vm/kernel" --find >/dev/null 2>&1 || skip "no kernel: tests/vm/kernel --build"
    make -s -C "$TAUT_BUILDDIR" tests/bench/bench-pair
}

# pair COMMAND: in the machine, with two nodes a and b; 'streams ARG…' makes tests
pair() {
    "$vm/run" --seconds 200 bash -c '. "$1"; shift; eval "$1"' _ "$vm/pair.bash" "$1"
}

# siw COMMAND: the same with soft iWARP
siw() {
    "$vm/run" --seconds 200 bash -c 'rdma=siw; . "$1"; shift; eval "$1"' _ "$vm/pair.bash" "$1"
}

# both_ways: rows in the output with two rates, or two round trips
both_ways() { grep -c ' [0-9.]* \([MG]B/s\|us\)  *[0-9.]* \([MG]B/s\|us\)' <<<"$output"; }

# figures: of how many tests in the output both ends counted bytes
figures() { grep -c '"bytes":[1-9][0-9]*.*"bytes":[1-9]' <<<"$output"; }

@test "two nodes test over connections of verbs, with 4 MB of locked memory" {
    run -0 pair 'ulimit -l 4096; without="setpriv --bounding-set -ipc_lock"; streams --provider verbs'
    echo "$output"
    [ "$(figures)" -ge 4 ]
}

@test "two nodes test over ofi_rxm over verbs" {
    run -0 pair 'ulimit -l unlimited; streams'
    echo "$output"
    # the first test may come before its stream is open
    [ "$(figures)" -ge 2 ]
}

@test "over verbs the device is the interface's, never another one" {
    run pair 'ip netns exec a rdma link delete rxe_a; ulimit -l unlimited; streams'
    echo "$output"
    grep -q "no /dev/infiniband/uverbs\|no RDMA device has the address 10.0.0.1" <<<"$output"
}

@test "too little locked memory is said, and how much" {
    # root's processes may lock what they like, but for those without CAP_IPC_LOCK
    run pair 'ulimit -l 2048; without="setpriv --bounding-set -ipc_lock"; streams'
    echo "$output"
    grep -q "2048 kB of locked memory are allowed (RLIMIT_MEMLOCK)" <<<"$output"
}

@test "two rails, each over its own device: streams and round trips" {
    run -0 pair 'second_rail; by_hand --interface hsn0,hsn1 --provider verbs; wait'
    echo "$output"
    [ "$(both_ways)" = 6 ]
    [ "$(grep -c '^2  *hsn1 ' <<<"$output")" = 3 ]
}

@test "two nodes test over soft iWARP, which has other connections" {
    run -0 siw 'by_hand --interface hsn0 --provider verbs'
    echo "$output"
    [ "$(both_ways)" = 3 ]
}

# What the filter of system calls refuses would end it, and a peer that has gone
# is waited for no longer than a test.
@test "a device that goes in the middle of it ends no process, and holds up none" {
    run pair '(sleep 6; ip netns exec b rdma link delete rxe_b) &
        SECONDS=0; by_hand --interface hsn0 --provider verbs --repeat 100 --ms 50; echo "status $?"
        wait; echo "after $SECONDS s"'
    echo "$output"
    grep -q "^status [12]$" <<<"$output"
    ! grep -q "Bad system call\|Segmentation\|not over" <<<"$output"
    [ "$(sed -n 's/^after \([0-9]*\) s$/\1/p' <<<"$output")" -le 150 ]
}
