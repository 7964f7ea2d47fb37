#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# InfiniBand whose switches choose among the ways: one cable is slow, tests see that one of a leaf's
# uplinks is, and what a sweep reads off the switches says which.  The lab carries the packets, by a
# hash where a switch would choose adaptively; ibsim, OpenSM and taut-ib are the fabric of the sweeps.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash
load ../lib/each.bash
load infiniband.bash

setup_file() { can_have_lab || true; }
setup() {
    local missing
    each_setup
    missing=$(ib_missing)
    [ -z "$missing" ] || skip "$missing"
    JOBS_MOST=6 dir=$BATS_TEST_TMPDIR out=$BATS_TEST_TMPDIR/out
}
teardown() { each_teardown; }

# ib_up ROUTING: a lab of 4 leaves, 2 spines and 8 nodes with Taut, swept every 5 s
ib_up() {
    ib_net 4 2 2 >"$dir/net"
    ib_import "$dir" "$1" >"$dir/fabric.lua"
    { sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua"
      echo 'fabric = { sweep_s = 5 }'
      cat "$dir/fabric.lua"; } >"$dir/taut.lua"
    lab up --fabrics "$dir/fabric.lua" --node-cpus 1 --taut "$TAUT_PREFIX" --health-interval 5 \
        --taut-conf "$dir/taut.lua" 3>&- 4>&-
    ib_lab "$dir"
    is_swept() { lab exec taut status | grep -q 'fabric *swept .* s ago, 15 nodes, 17 links'; }
    wait_until 30 is_swept
}

# errors_of SWITCH PORT COUNT: symbols that arrive broken at a port, and the sweep that reads them
errors_of() {
    in_lab "$dir" ibsim_do \
        "PerformanceSet \"$(ib_switch "$1")\"[$2] PortCounters.SymbolErrorCounter=$3"
    read_them() { lab exec taut events --link "$1/$2" | grep -q "symbol_error of $1/$2 grew by $3"; }
    wait_until 30 read_them "$@"
}

# Nothing but leaf2/4 has a verdict, and no node is drained.
only_the_cable() {
    only leaf2/4
    nothing_drained
    [ -z "$(status 'for _, s in ipairs(s.sets) do print(s.text) end')" ]
}

@test "tests name the set, a sweep's counters the cable; a node that hangs on one is drained" {
    ib_up '[0] = "adaptive"'
    one_of_set leaf2/4 'one of 2 links of leaf2 is slow'
    # what would tell them apart is not an address
    prints 'is adaptive: 16 links are tested in 8 sets only' taut doctor
    prints 'a service level with tables for tests' taut links
    prints '`taut fabric errors`' taut repair leaf2
    # no counter has grown, and what grows elsewhere says nothing of it: an end counts what the
    # other sent
    errors_of spine1 2 700
    errors_of leaf2 3 900
    [ -z "$(verdicts)" ]
    errors_of spine1 3 1200
    wait_until 30 scene_is_state leaf2/4 slow
    only_the_cable
    lab exec taut links >"$out"
    grep -Eq '^leaf2/4 +slow at (1[5-9]|2[0-9]|3[0-5])% .* avoid .*repair leaf2/4 to spine1/3' "$out"
    prints 'one of 2 links of leaf2 is slow; of these links only this one has errors' \
        taut explain leaf2/4
    prints 'symbol_error of spine1/3 grew by 1200' taut explain leaf2/4
    lab exec taut status >"$out"
    grep -Eq 'components  .* [0-9]+ suspect, 1 slow, 0 lossy, 0 failed, 0 unknown' "$out"
    ! grep -q '0 of 0 tests' "$out" || false

    # a host's only cable trains to one lane: the sweep sees it before any test
    lab degrade n1/tx 25
    lab degrade n1/rx 25
    in_lab "$dir" ibsim_one_x 1 2 8 1 # LID and port of leaf0, of n1
    jobs_until 60 300 scene_is_drained n1
    [ "$(scene_drained | cut -d'|' -f1)" = n1 ]
    [[ $(full_reason n1) =~ ^taut:\ IB\ 1X\ of\ 4X\; ]] || { full_reason n1; false; }
    ! lab exec taut links | grep -E '^leaf' | grep -v '^leaf2/4 ' || false
}

@test "a service level with tables for tests: they name the cable by themselves" {
    ib_up '[0] = "adaptive", [1] = "tables", tests = 1'
    run lab exec taut topology show
    [[ $output == *"tests on service level 1 (tables), jobs on 0 (adaptive)"* ]]
    lab degrade leaf2/4 25
    jobs_until 100 200 scene_is_state leaf2/4 slow
    only_the_cable
    lab exec taut links | grep -Eq '^leaf2/4 +slow at (1[5-9]|2[0-9]|3[0-5])% .*repair leaf2/4 to spine1/3'
    # tests over OpenSM's tables have no set to tell of, and no counter was asked
    status 'assert(s.links_in_sets == 0)'
    [ -z "$(lab exec taut events --json | lab_json 'for _, o in ipairs(d.observations) do
        if o.source == "fabric" then print(o.text) end end')" ]
}
