#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing is degraded, but the network is busy: no node is drained, and nothing
# is called slow.

load lib/tests.bash

setup_file() { ! can_have_lab || lab_file quiet scene_up; }
setup() { lab_test; }
teardown_file() { lab_file_end; }
teardown() {
    [ -z "$LAB_MISSING" ] || return 0
    lab load --stop
    lab_report
}

# ever STATES: has a component ever been in one of these states?
ever() { lab log tautd --stderr | grep -E " is ($1)[:,]"; }

@test "200 jobs while others send in bursts: no drain, no link called slow" {
    lab load n0 n20 --seed 1
    lab load n9 n30 --streams 2 --seed 2
    lab load n13 n2 --seed 3
    lab load n27 n6 --streams 3 --seed 4
    lab load n17 n10 --seed 5
    scene_jobs 200 7 2 24 4
    nothing_drained
    ! ever 'slow|lossy|failed' || false
    [ "$(status 'print(s.states.slow + s.states.failed, #s.drained, #s.held)')" = $'0\t0\t0' ]
    # a node that has to wait too long for a processor starts unchecked
    [ "$(status 'print(s.jobs_heard >= 190, s.tests.good > 500)')" = $'true\ttrue' ]
}

steady() {
    fresh_tautd
    lab load n1 n18 --steady --streams "$1"
    scene_jobs 40 "$2" 2 24 4
    # idle checks go after suspects
    sleep 15
    nothing_drained
    ! ever 'slow|lossy|failed' || false
    [ "$(status 'print(s.states.slow + s.states.failed, #s.drained, #s.held)')" = $'0\t0\t0' ]
}

@test "a steady load of one stream: suspect (busy?) at most" {
    steady 1 31
}

@test "a steady load of three streams: suspect (busy?) at most" {
    steady 3 32
}
