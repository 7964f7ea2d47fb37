#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A restart resumes: what tautd said before a clean stop, or before kill -9, it
# says after it.  tests/lua/core/test_resume.lua lists every fact.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file resume lab up --torus 2x2x1 --node-cpus 1 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# facts: states and coverage; of each link and node what is known and since when
facts() {
    status 'local n = s.states
        print(n.ok, n.suspect, n.slow, n.failed, n.unknown, s.coverage, s.mode)
        for _, v in ipairs(s.verdicts) do print(v.component, v.state, v.left, v.remark) end'
    lab exec taut links --json | lab_json 'for _, l in ipairs(d.links) do
        print(l.component, l.state, l.low, l.tests, l.last, l.since, l.remark) end'
    lab exec taut nodes --json | lab_json 'for _, n in ipairs(d.nodes) do
        print(n.node, n.tx.state, n.tx.tests, n.rx.state, n.rx.last) end'
}

tested() { [ "$(status 'print(s.states.ok)')" -gt "$1" ]; }
some_jobs() {
    local i
    for i in 1 2 3; do
        clear_holdoff
        lab exec srun -Q -N 4 true
    done
    wait_until 30 tested 8
}
written() { [ "$(status 'print(s.store.waiting)')" = 0 ]; }

@test "resume: a clean stop forgets nothing" {
    lab degrade r0.0.0/X+ 30
    some_jobs
    local before
    before=$(facts)
    lab daemon stop tautd
    start_tautd
    diff <(echo "$before") <(wait_until 20 tested 8 && facts)
}

@test "resume: kill -9 forgets nothing that was written" {
    some_jobs
    wait_until 20 written
    sleep 1 # a batch that is on its way
    local before
    before=$(facts)
    lab exec bash -c 'kill -9 "$(</run/lab/pid/tautd)"'
    lab daemon stop tautd || true
    start_tautd
    diff <(echo "$before") <(wait_until 20 tested 8 && facts)
}

verdict_of() { [ "$(status "for _, v in ipairs(s.verdicts) do
    if v.component == '$1' then print(v.state) end end")" = "$2" ]; }
slow_job() {
    clear_holdoff
    lab exec srun -Q -N 4 true
    wait_until 10 no_jobs
    verdict_of n1/tx slow
}
kept_drained() { [ "$(status 'for _, d in ipairs(s.drained) do print(d.node) end')" = "$1" ]; }
is_free() { ! scene_is_drained n1; }

# slurmctld stands still while tautd asks it for a drain: it is then not known whether it will be
# made.
@test "resume: killed between deciding a drain and its being made, it is made once and can be undone" {
    fresh_tautd
    lab exec taut policy observe
    lab degrade n1/tx 25
    wait_until 60 slow_job
    kept_drained ""
    lab daemon pause slurmctld
    lab exec taut policy drain
    sleep 2
    lab exec bash -c 'kill -9 "$(</run/lab/pid/tautd)"'
    lab daemon stop tautd || true
    lab daemon resume slurmctld
    start_tautd
    wait_until 60 scene_is_drained n1
    wait_until 20 kept_drained n1
    [ "$(scene_drained | wc -l)" -eq 1 ]
    lab heal n1/tx
    lab exec taut policy observe
    lab exec taut resume n1
    wait_until 20 is_free
    kept_drained ""
}
