#!/usr/bin/env bats
# time limit: 1800 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Taut's loop on small trees and a small dragonfly: a slow node and a slow link
# found by ordinary jobs.  fabrics_all.bats has more of it, on larger ones.

load lib/tests.bash
load lib/each.bash

setup_file() { can_have_lab || true; }
setup() { each_setup; }
teardown() { each_teardown; }

@test "a static tree: a slow node is drained, slow links are avoided, advice and audit" {
    up --tree 4x2x2
    finds_node
    # ports 3 and 4 of a leaf lead to spines 0 and 1
    finds_link leaf1/4 n1/tx
    finds_link spine0/3 n1/tx
    comes_back n1
    lab degrade leaf2/3 25
    # what the audit of a busy machine cannot measure leaves status 4 to the rest
    run lab exec srun -Q -N8 --ntasks-per-node=1 taut audit
    [ "$status" -eq 3 ]
    # second looks by other pairs tell it from the next link on the first's way
    [[ $output == *"Slow: leaf2/3 at "* && $output == *"Audit: 16 of 16 links measured, 1 slow"* ]]
    jobs_until 100 400 scene_is_state leaf2/3 slow
    # tautd hears a moment later that the jobs' nodes are free; with a few it has no choice
    all_free() { lab exec taut advise -N 8 >/dev/null 2>&1; }
    wait_until 60 all_free
    lab exec taut advise -N 4 --json | lab_json 'local best = d.candidates[1]
        for _, name in ipairs(best.crosses) do assert(name ~= "leaf2/3") end'
}

@test "a hashed tree: a slow node is drained, slow links are avoided" {
    up --tree 4x2x2 --hash
    finds_node
    # which of the links a test took is asked for
    finds_link leaf1/4 n1/tx
    finds_link spine0/3 n1/tx
    comes_back n1
}

@test "a hashed tree: one of a set, and the cable once ways can be asked for" {
    without_addresses --tree 4x2x2 --hash
    up --tree 4x2x2 --hash
    set_becomes_cable leaf2/4 'one of 2 uplinks of leaf2 is slow'
}

@test "a dragonfly: a slow node is drained, slow local and global links are avoided" {
    up --dragonfly 3x2x2
    finds_node
    finds_link r1.0/local1 n1/tx
    finds_link r0.0/global1 n1/tx
    comes_back n1
}
