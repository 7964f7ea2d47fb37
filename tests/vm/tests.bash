# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What tests of two nodes in the virtual machine share.

vm=${BATS_TEST_DIRNAME%/*}/vm

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
