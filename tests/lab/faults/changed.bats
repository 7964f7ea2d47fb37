#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# The machine changes, and what did not change stays: a node more.

load faults.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file changed lab up --torus 2x2x1 --node-cpus 1 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# what is known of the components that were there before, a line each
known() {
    local of='print(x.component, x.state, x.left, x.tests, x.low, x.last)'
    lab exec taut nodes --json | lab_json "for _, n in ipairs(d.nodes) do
        for _, x in ipairs { n.node ~= 'n7' and n.tx or nil, n.node ~= 'n7' and n.rx or nil } do
            print(n.node, n.ours); $of end end"
    lab exec taut links --json | lab_json "for _, x in ipairs(d.links) do $of end"
}

nothing_new() {
    local was
    was=$(known)
    sleep 2
    [ "$(known)" = "$was" ]
}

verdicts() { status 'for _, v in ipairs(s.verdicts) do print(v.component, v.state, v.left) end'; }

@test "the topology has a node more: a drained one stays drained with its verdict, all is known" {
    local before slow seed=1
    conf_of "$BATS_FILE_TMPDIR/small.lua" 's/^   nodes = /   service = "n7",\n&/'
    fresh_tautd
    lab degrade n1/tx 25
    while ! scene_is_drained n1; do
        # one that is asked for just before the drain would wait for ever
        lab exec --user alice timeout 20 srun -Q --exclusive -w 'n[0-6]' true || true
        seed=$((seed + 1))
        [ $seed -lt 60 ]
    done
    wait_until 60 no_jobs
    lab exec taut off # idle nodes would go on to test n1
    wait_until 30 nothing_new
    before=$(known)
    slow=$(verdicts)
    [[ $slow == n1/tx*slow* ]]

    conf_of "$BATS_FILE_TMPDIR/small.lua"
    run lab exec taut config reload --dry-run
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"refused:      needs a restart of tautd: topology"* ]]
    [[ $output == *"topology:     1 new node (n7); of 22 components 22 are unchanged"* ]]
    [[ $output != *forgotten* ]]
    [ "$(known)" = "$before" ]

    mark
    lab daemon restart tautd
    wait_until 20 says tautd 'the topology has changed: 1 new node \(n7\); of 22 components 22 are unchanged'
    diff <(echo "$before") <(known)
    [ "$(verdicts)" = "$slow" ]
    scene_is_drained n1
    [[ $(shown_reason n1) == 'taut: sends at '* ]]
    lab exec taut explain n1/tx | grep -q slow

    # and once more, on the same machine
    mark
    lab daemon restart tautd
    wait_until 20 says tautd '8 nodes, 24 components'
    ! says tautd 'the topology has changed' || false
    diff <(echo "$before") <(known)
    lab exec taut on
    lab heal --all
    lab exec taut resume n1
    wait_until 20 nothing_drained
}
