#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A user's job that fills a link at its own pace: nothing is called slow for it,
# and nobody loses a node, though the site drains for links.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

# What the job fills: the link to spine 0, which all even nodes of other leaves
# are reached by, and the one from there to its other node's leaf.
UP=leaf0/5 DOWN=spine0/2

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

# Either may be the one that tests meet; all of them meet the job.
is_noticed() { scene_is_state $UP suspect || scene_is_state $DOWN suspect; }
is_well() { scene_is_state $UP ok && scene_is_state $DOWN ok; }

keeps_pace() { lab exec bash -c 'pid=$(pgrep -x fake-pace) && chrt -f -p 10 $pid'; }

@test "busy: a job that sends at 70 % for as long as it runs" {
    local job round link
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
        [ $round -lt 8 ] || ! is_noticed || break
    done
    is_noticed
    # as long as it runs, whatever is still missing (its job, in the end), and
    # when it has ended
    for ((round = 0; round < 4; round++)); do
        scene_jobs 6 $((300 + round)) 4 10
        none_is_slow
    done
    for link in $UP $DOWN; do lab exec taut explain $link | grep 'missing for a verdict' || true; done
    lab exec scancel "$job"
    for ((round = 0; round < 10; round++)); do
        scene_jobs 6 $((400 + round)) 4 10
        none_is_slow
        ! is_well || break
    done
    is_well
    ! since tautd | grep -q 'drained' || false
}
