#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A user's job that fills a link at its own pace: nothing is called slow for it,
# and nobody loses a node, though the site drains for links.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

LINK=leaf0/5 # to spine 0, which all even nodes of other leaves are reached by

setup_file() {
    can_have_lab || return 0
    sed -e 's/cap_nodes = 4/router_link = "drain", &/' "$SCENE_DIR/demo.lua" \
        >"$BATS_FILE_TMPDIR/busy.lua"
    lab_file busy lab up --tree 4x2x4 --node-cpus 1 --health-interval 0 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/busy.lua"
}
teardown_file() { lab_file_end; }
setup() {
    lab_test
    mark
}
teardown() { lab_report; }

none_is_slow() {
    [ "$(status 'for _, v in ipairs(s.verdicts) do
        if v.state == "slow" or v.state == "failed" then print(v.component) end
        end')" = "" ] && [ -z "$(scene_drained)" ]
}

keeps_pace() { lab exec bash -c 'pid=$(pgrep -x fake-pace) && chrt -f -p 10 $pid'; }

@test "busy: a job that sends at 70 % for as long as it runs" {
    local job round
    scene_jobs 12 100 2 8
    none_is_slow
    # shellcheck disable=SC2016
    job=$(lab exec --user bob sbatch --parsable -w n0,n4 -N 2 -o /dev/null --wrap "srun bash -c '
        [ \$SLURMD_NODENAME = n0 ] || exec sleep 600
        exec $TAUT_BUILDDIR/tests/fake/fake-pace 10.64.0.5 9 8750000'")
    # a node of its own would keep the pace whatever others do on this machine
    wait_until 30 keeps_pace
    for ((round = 0; round < 40; round++)); do
        scene_jobs 6 $((200 + round)) 4 10
        none_is_slow
        [ $round -lt 8 ] || ! scene_is_state $LINK suspect || break
    done
    scene_is_state $LINK suspect
    # as long as it runs, whatever is still missing (its job, in the end), and
    # when it has ended
    for ((round = 0; round < 4; round++)); do
        scene_jobs 6 $((300 + round)) 4 10
        none_is_slow
    done
    lab exec taut explain $LINK | grep 'missing for a verdict' || true
    lab exec scancel "$job"
    for ((round = 0; round < 10; round++)); do
        scene_jobs 6 $((400 + round)) 4 10
        none_is_slow
        ! scene_is_state $LINK ok || break
    done
    scene_is_state $LINK ok
    ! since tautd | grep -q 'drained' || false
}
