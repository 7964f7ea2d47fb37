# SPDX-License-Identifier: GPL-2.0-or-later
# Streams over verbs, between two network namespaces with soft RoCE, in a virtual
# machine (tests/vm); more of them: tests/vm/pairs.bats, tests/vm/all.
bats_require_minimum_version 1.5.0

load ../vm/tests.bash

@test "two nodes test over connections of verbs, with 4 MB of locked memory" {
    run -0 pair 'ulimit -l 4096; without="setpriv --bounding-set -ipc_lock"; streams --provider verbs'
    echo "$output"
    [ "$(figures)" -ge 4 ]
}
