#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Something is slow, and others send over it all the time: it is found for what
# it is, although no test ever has its port, or the link, to itself.

load lib/tests.bash

setup_file() { ! can_have_lab || lab_file loaded scene_up; }
setup() { lab_test; }
teardown_file() { lab_file_end; }
teardown() {
    [ -z "$LAB_MISSING" ] || return 0
    lab load --stop
    lab_report
}

# found COMPONENT: at 19 % it is called slow, and nothing else is
found() {
    fresh_tautd
    mark
    lab degrade "$1" 19
    lab load n1 n18 --steady --streams 3
    scene_find 31 80 scene_is_state "$1" slow
    one_line tautd ' is (slow|failed)[:,]'
    wait_until 20 scene_is_drained "${1%/*}"
    [[ $(shown_reason "${1%/*}") =~ ^taut:\ (sends|recv)\ at\  ]]
}

@test "the receiver's port" {
    found n18/rx
    lab exec taut explain n18/rx | grep -q 'of what it should in all'
}

@test "the sender's port" {
    found n1/tx
}
