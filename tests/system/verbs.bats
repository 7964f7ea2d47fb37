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

# figures: of how many tests in the output both ends counted bytes
figures() { grep -c '"bytes":[1-9][0-9]*.*"bytes":[1-9]' <<<"$output"; }

@test "two nodes test over connections of verbs, with 3 MB of locked memory" {
    run -0 pair 'ulimit -l 3072; without="setpriv --bounding-set -ipc_lock"; streams --provider verbs'
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
