#!/usr/bin/env bats
# time limit: 1200 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Two fabrics under one Slurm: n0 and n1 are on a tree whose destinations choose the cable, n6 and n7
# on one whose switches choose by a hash, n2 to n5 on both.  All are in one partition.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash
load ../lib/each.bash

setup_file() {
    can_have_lab || return 0
    { sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua"
      echo 'metrics = { listen = "127.0.0.1:9832", components = 8 }'; } >"$BATS_FILE_TMPDIR/two.lua"
    lab_file fabrics lab up --fabrics "$BATS_TEST_DIRNAME/two_fabrics.lua" --node-cpus 1 \
        --slurm-conf 'PartitionName=fast Nodes=n[0-7] State=UP' \
        --health-interval 5 --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/two.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; JOBS_MOST=6 out=$BATS_TEST_TMPDIR/out; }
teardown() {
    lab_report
    [ -n "$LAB_MISSING" ] || { lab heal --all; cancel_all; } >/dev/null 2>&1 || true
}

# Tests of a node that were made, "SENDER RECEIVER ROUTE" a line.
tests_of() {
    lab exec taut explain "$1" --json | lab_json 'for _, t in ipairs(d.tests) do
        print(t.src, t.dst, t.route) end'
}

@test "each fabric is tested, whole, and nothing across" {
    local i n
    for i in 1 2 3; do
        lab exec --user alice srun -Q -N8 true
    done
    is_covered() { lab exec taut status | grep -q 'ib: 100% of 24 on 6 nodes'; }
    jobs_until 60 100 is_covered
    lab exec taut status >"$out"
    grep -q 'eth: 100% of 24 on 6 nodes' "$out"
    grep -Eq 'components  4[0-9] ok, 0 suspect, 0 slow' "$out"
    ! grep -q '^endpoint' "$out" || false
    for n in n0 n1; do
        tests_of $n >"$out"
        [ -s "$out" ]
        ! grep -Eq 'n6|n7|eth:' "$out" || false
    done
    for n in n6 n7; do
        tests_of $n >"$out"
        [ -s "$out" ]
        ! grep -Eq 'n0|n1|ib:' "$out" || false
    done
    tests_of n3 >"$out"
    # within a leaf its route has no link
    grep -q 'n3:1/' "$out"
    grep -q 'n3:2/' "$out"
    ! grep 'n3:1/' "$out" | grep -Eq 'ib:|:2/' || false
    ! grep 'n3:2/' "$out" | grep -Eq 'eth:|:1/' || false
    ! grep 'eth:' "$out" | grep -q 'ib:' || false
    nothing_drained
}

@test "a slow link of each is found, and is not the other's" {
    lab degrade ib:leaf0/3 25
    jobs_until 100 200 scene_is_state ib:leaf0/3 slow
    only ib:leaf0/3
    lab degrade eth:leaf2/4 25
    jobs_until 100 300 scene_is_state eth:leaf2/4 slow
    only eth:leaf2/4 ib:leaf0/3
    nothing_drained
    lab exec taut links | grep -Eq '^eth:leaf2/4 +slow at .*repair eth:leaf2/4 to eth:spine1'
    # a monitoring system sees them apart, too
    lab exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/9832; printf "GET /metrics HTTP/1.0\r\n\r\n" >&3
        cat <&3' >"$out"
    grep -Eq '^taut_components\{.*fabric="ib",kind="uplink",state="slow"\} 1$' "$out"
    grep -Eq '^taut_components\{.*fabric="eth",kind="uplink",state="slow"\} 1$' "$out"
    grep -Eq '^taut_component_left_ratio\{.*component="ib:leaf0/3",fabric="ib"' "$out"
    grep -Eq '^taut_coverage_ratio\{.*fabric="eth"\} ' "$out"

    # and advice on each keeps away from its own
    all_free() { lab exec taut advise -N 6 --fabric ib >/dev/null 2>&1; }
    wait_until 60 all_free
    lab exec taut advise -N 3 --fabric ib --json | lab_json 'assert(d.fabric == "ib")
        for _, c in ipairs(d.candidates[1].crosses) do assert(c ~= "ib:leaf0/3") end
        for _, c in ipairs(d.candidates) do assert(not c.nodelist:find "[67]", c.nodelist) end'
    lab exec taut advise -N 3 --fabric eth --json | lab_json 'assert(d.fabric == "eth")
        for _, c in ipairs(d.candidates[1].crosses) do assert(c ~= "eth:leaf2/4") end
        for _, c in ipairs(d.candidates) do assert(not c.nodelist:find "[01]", c.nodelist) end'
    lab exec taut topology draw >"$out"
    grep -q '>fabric ib: ' "$out"
    grep -q 'ib:leaf0/3 slow' "$out"
    grep -q 'eth:leaf2/4 slow' "$out"
    run lab exec taut topology show --fabric ib
    [[ $output == *"tests on service level 1 (dmodk), jobs on 0 (adaptive)"* ]]
    run lab exec taut topology show --fabric eth
    [[ $output == *"1 slow"* ]]
    # a restart knows both
    lab daemon restart tautd
    knows_both() { only eth:leaf2/4 ib:leaf0/3 >/dev/null 2>&1; }
    wait_until 30 knows_both
}

@test "advice is on the fabric that the partition or the nodes need, and never on two" {
    lab exec taut advise -N 4 -p fast --json | lab_json 'assert(d.fabric == "ib")'
    lab exec taut advise -N 2 -x 'n[2-7]' --json | lab_json 'assert(d.fabric == "ib")'
    lab exec taut advise -N 2 -x 'n[0-5]' --json | lab_json 'assert(d.fabric == "eth")'
    run lab exec taut advise -N 7
    [ "$status" -eq 2 ]
    [[ $output == *"1 to 6, which is all there are"*"on"*"fabric"* ]]
    run lab exec taut advise --compare n0,n7
    [ "$status" -eq 1 ]
    [[ $output == *"no fabric has all of these nodes"* ]]
    run lab exec taut topology route n0 n7
    [ "$status" -eq 2 ]
    [[ $output == *"no route leads from one to another"* ]]
}

@test "a node depends on each of its fabrics" {
    lab degrade n4:2/tx 25 # its InfiniBand; its Ethernet is well
    jobs_until 100 400 scene_is_drained n4
    [ "$(scene_drained | cut -d'|' -f1)" = n4 ]
    lab exec taut nodes | tr -s '\n ' ' ' >"$out"
    grep -Eq 'n4 eth:leaf1 ok ok .* ib:leaf2 slow at [0-9]+% ok' "$out"
    lab heal --all
    lab exec taut resume n4
    wait_until 60 nothing_drained
}

@test "audit and matrix measure each fabric by itself" {
    lab heal --all
    wait_until 60 all_idle
    run lab exec timeout -s INT 120 taut audit --all
    [[ $output == *"12 of 24 links measured, 6 of 6 sets of links measured"* ]]
    run lab exec bash -c 'cd /tmp && timeout -s INT 120 taut matrix --all'
    [[ $output == *"matrix of 6 nodes, rail 1: 30 of 30 pairs"*"matrix of 6 nodes, rail 2: 30 of 30"* ]]
}

@test "an interface that no fabric takes is said" {
    lab exec --node n0 ip address add 10.99.0.1/32 dev hsn0
    lab exec --node n0 ip address del 10.71.0.1/32 dev hsn0
    lab exec --user alice srun -Q -w n0,n1 -N2 true
    said() {
        lab exec taut status | tr -s '\n ' ' ' |
            grep -q 'endpoint n0 has interface hsn0 with 10.99.0.1, which no fabric that it is in takes'
    }
    wait_until 30 said
    lab exec --node n0 ip address add 10.71.0.1/32 dev hsn0
    lab exec --node n0 ip address del 10.99.0.1/32 dev hsn0
}
