#!/usr/bin/env bats
# time limit: 1500 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Two nodes over verbs, in the virtual machine: what takes longer than
# tests/system/verbs.bats, for `./quickstart check all`.
bats_require_minimum_version 1.5.0

load tests.bash

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

@test "what of /dev/infiniband is missing, or root's alone, is said" {
    run pair 'chmod 600 /dev/infiniband/uverbs*; by_hand --interface hsn0 --provider verbs; wait'
    echo "$output"
    grep -q "cannot open /dev/infiniband/uverbs[01] as uid" <<<"$output"
    run pair 'rm /dev/infiniband/rdma_cm; by_hand --interface hsn0 --provider verbs; wait'
    echo "$output"
    grep -q "no /dev/infiniband/rdma_cm: the module rdma_ucm is not loaded" <<<"$output"
}

# What the filter of system calls refuses would end it, and a peer that has gone
# is waited for no longer than a test.
@test "a device that goes in the middle of it ends no process, and holds up none" {
    run pair '(sleep 6; ip netns exec b rdma link delete rxe_b) &
        SECONDS=0; by_hand --interface hsn0 --provider verbs --repeat 100 --ms 50; echo "status $?"
        wait; echo "after $SECONDS s"'
    echo "$output"
    grep -q "^status [12]$" <<<"$output"
    ! grep -q "Bad system call\|Segmentation\|not over" <<<"$output" || false
    [ "$(sed -n 's/^after \([0-9]*\) s$/\1/p' <<<"$output")" -le 150 ]
}
