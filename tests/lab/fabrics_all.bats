#!/usr/bin/env bats
# time limit: 7200 s
# SPDX-License-Identifier: GPL-2.0-or-later
# What Taut does on a torus, on each other fabric: the main loop, links and nodes
# that carry nothing, others' traffic, observe, audit, matrix and verify, learned
# capacities.  Weekly and before a release: quickstart check all.

load lib/tests.bash
load lib/each.bash

setup_file() { can_have_lab || true; }
setup() { each_setup; }
teardown() { each_teardown; }

@test "a static tree" {
    everything 32 leaf1/6 spine2/3 --tree 4x4x4
}

@test "a static tree of three levels" {
    everything 48 leaf1/6 mid1/3 --tree 2x2x4 --pods 3
}

@test "a static tree with parallel cables" {
    everything 24 leaf1/7 spine0/4 --tree 3x2x4 --cables 2
}

@test "a dragonfly" {
    everything 24 r1.0/local1 r0.1/global2 --dragonfly 3x3x2
}

@test "a HyperX" {
    everything 36 r1.0/X2 r0.1/Y2 --hyperx 3x3
}

@test "a hashed tree" {
    in_a_lab main_loop leaf1/8 spine0/3 -- --tree 4x4x4 --hash
    in_a_lab set_becomes_cable leaf2/7 'one of 4 uplinks of leaf2 is slow' -- --tree 4x4x4 --hash
    in_a_lab others_send n0 n7 n4 n10 n6 n1 -- --tree 4x4x4 --hash
    in_a_lab watched -- --tree 4x4x4 --hash
    in_a_lab learned -- --tree 4x4x4 --hash
}
