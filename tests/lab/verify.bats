#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# `taut verify`: a component is tested by the next idle cycle, or by a job.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file verify lab up --torus 2x2x1 --node-cpus 1 --health-interval 5 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

@test "a marked component is tested by an idle cycle" {
    run lab exec taut verify r0.0.0/X+
    [ "$status" = 0 ]
    [ "$output" = "r0.0.0/X+ is marked: it is tested by the next idle check or job that can" ]
    tested() {
        clear_holdoff
        [ "$(lab exec taut verify r0.0.0/X+ --json | lab_json 'print(d.good + d.low > 0)')" = true ]
    }
    wait_until 60 tested
}

@test "with --now a job of SlurmUser's tests it" {
    local i
    for i in 1 2 3 4 5; do
        clear_holdoff
        run lab exec taut verify --now r0.1.0/X+
        [[ $output != *": 0 good, 0 low"* ]] && break
    done
    echo "$output"
    [ "$status" = 0 ]
    [[ $output =~ ^"r0.1.0/X+: "[0-9]+" good, "[0-9]+" low, "[0-9]+" discarded tests" ]]
    [[ $output != *": 0 good, 0 low"* ]]
}

@test "all links of a router are tested at once" {
    clear_holdoff
    run lab exec taut verify r0.0.0
    echo "$output"
    [ "$status" = 0 ] || [ "$status" -ge 3 ]
    [[ $output == *"Audit: 8 of 8 links measured"* ]]
}

@test "what cannot be tested is said" {
    run lab exec taut verify r9.9.9/X+
    [ "$status" = 2 ]
    [[ $output == *"component 'r9.9.9/X+' is not in the topology"* ]]
    run lab exec taut verify --now --wait never n0/tx
    [ "$status" = 2 ]
    [[ $output == *"expected seconds from 1 to 86400"* ]]
    run lab exec taut off
    run lab exec taut verify n0/tx
    [ "$status" = 1 ]
    [[ $output == *"n0/tx: checks are off"* ]]
}
