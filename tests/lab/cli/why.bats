#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# "Was it the network?" of real jobs: who may ask, of what, from where; a node whose processes
# compute longer; a link that is slow.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    local with=()
    can_have_lab || return 0
    WHY_FOLDER=$(mktemp -d /tmp/taut-why.XXXXXX) # alice's jobs go there
    export WHY_FOLDER WHY_JOB=$WHY_FOLDER/why_job
    chmod 1777 "$WHY_FOLDER"
    cc -std=gnu11 -O2 -o "$WHY_JOB" "$SCENE_DIR/../bench/why_job.c"
    sed -e 's/^mode = .*/mode = "observe"/' -e 's/^refresh_s = .*/refresh_s = 1/' \
        "$SCENE_DIR/demo.lua" >"$BATS_FILE_TMPDIR/why.lua"
    { echo 'metrics = { listen = "127.0.0.1:6825" }'
      echo 'events = { job_comment = "why" }'; } >>"$BATS_FILE_TMPDIR/why.lua"
    ! has_accounting || with=(--accounting)
    lab_file why lab up "${with[@]}" --torus 4x2x2 --node-cpus 1 --health-interval 0 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/why.lua"
}
teardown_file() {
    lab_file_end
    [ -z "${WHY_FOLDER:-}" ] || rm -rf "$WHY_FOLDER"
}
setup() { lab_test; }
teardown() { [ -n "$LAB_MISSING" ] || lab_report; }

has_accounting() { [ -n "$(type -P slurmdbd mariadbd mariadb-install-db | sed -n 3p)" ]; }

# batch USER NODES NAME COMMAND [OPTION…]: a job that is over; prints its number
batch() {
    local id
    id=$(lab exec --user "$1" sbatch --parsable -D / -N "$2" -J "$3" -o /dev/null "${@:5}" \
        --wrap "srun -n $2 $4")
    # as etc/job_submit.lua notes what --comm said
    [ -z "${COMM:-}" ] || lab exec scontrol update jobid="$id" admincomment="taut: comm=$COMM"
    wait_until 60 over "$id"
    echo "$id"
}
over() { [ -z "$(lab exec squeue -h -j "$1" -o %i 2>/dev/null)" ]; }
why() { lab exec --user "$1" taut why "${@:2}"; }
knows() { why "$1" "$2" --json 2>/dev/null | grep -q '"state": "ended"'; }
# of WORDS: the answer's field, in Lua
of() { why alice "$1" --json | lab_json "print($2)"; }

@test "why: a user asks of his own jobs, also from elsewhere, and of nobody else's" {
    local id
    id=$(batch alice 4 short 'sleep 1')
    wait_until 20 knows alice "$id"
    run why alice "$id"
    [ "$status" -eq 0 ]
    [[ $output == "job $id, short of alice, 4 nodes"* ]]
    [[ $output == *"No: all that it moved takes at most"* ]]
    [ "$(why alice --json | lab_json 'print(d.job.id)')" = "$id" ] # his last one
    run lab exec --user alice --node n1 taut --server ctl why "$id"
    [[ $status -eq 0 && $output == *"short of alice"* ]]
    run why bob "$id"
    [[ $status -eq 1 && $output == *"is not yours: only root and SlurmUser see those of others"* ]]
    run lab exec taut why "$id"
    [ "$status" -eq 0 ]
    run why bob
    [[ $status -eq 1 && $output == *"tautd knows no job of yours"* ]]
    run why alice 4000000
    [[ $status -eq 1 && $output == *"nothing is stored of job 4000000"* ]]
    run why alice 'x; rm'
    [ "$status" -eq 2 ]
}

@test "why: one line in AdminComment, where nobody else wrote one" {
    local id
    has_accounting || skip "no slurmdbd or no mariadbd"
    comment() { lab exec sacct -n -P -X -j "$1" -o admincomment; }
    id=$(batch alice 4 fine 'sleep 1')
    # a busy machine may make one of its nodes slower
    says() { [[ $(comment "$id") == "taut: network fine"* ]]; }
    wait_until 20 says || { comment "$id"; false; }
    id=$(lab exec --user alice sbatch --parsable -D / -N 2 -o /dev/null --wrap 'srun sleep 2')
    lab exec scontrol update jobid="$id" admincomment="of the site"
    wait_until 30 knows alice "$id"
    sleep 1
    [ "$(comment "$id")" = "of the site" ]
}

@test "why: a task of an array by its own name; a hostile name is text" {
    local id name=$'\e[31m%s"; DROP TABLE job; --<b>'
    id=$(batch alice 2 "$name" 'sleep 0.5' --array=3-4)
    wait_until 20 knows alice "${id}_3"
    run why alice "${id}_3"
    [ "$status" -eq 0 ]
    [[ $output == "job ${id}_3, "* ]]
    [[ $output == *'DROP TABLE job; --<b>'* && $output != *$'\e'* ]]
    run why alice "$id"
    [[ $status -eq 1 && $output == *"is an array: say which of its 2 tasks"* ]]
}

@test "why: jobs that wait and that run" {
    local id
    id=$(lab exec --user alice sbatch --parsable -D / -N 2 --begin=now+1hour -o /dev/null --wrap true)
    # slurmctld gives its reason when it has looked at the queue
    waits() { why alice "$id" | grep -q "It has not started: Slurm says BeginTime"; }
    wait_until 20 waits || { why alice "$id"; false; }
    lab exec scancel "$id"
    id=$(lab exec --user alice sbatch --parsable -D / -N 2 -o /dev/null --wrap 'srun sleep 15')
    running() { why alice "$id" | grep -q "running since"; }
    wait_until 20 running
    run why alice "$id"
    [[ $output == *"Not known yet: it runs"* ]]
    lab exec scancel "$id"
}

@test "why: the node whose processes took longer is named" {
    local id
    # 3 s of processor time, however fast the machine is
    # shellcheck disable=SC2016 # expanded in the job
    id=$(batch alice 4 uneven "bash -c 'ulimit -c 0; [ \$SLURM_PROCID != 2 ] || (ulimit -t 3; while :; do :; done); true'" \
        -w 'n[0-3]')
    wait_until 20 knows alice "$id"
    run why alice "$id"
    [[ $output == *"one node: "*"the processes on n2 took"* ]]
    [ "$(of "$id" 'd.verdict.cause')" = node ]
    [ "$(of "$id" 'd.verdict.network')" = no ]
}

@test "why: a slow link is named, and what it cost, where the bytes allow it" {
    local id
    lab degrade r0.0.0/X+ 20
    slow() {
        lab exec --user alice srun -Q -N8 -w 'n[0-1,4-5,8-9,12-13]' sleep 0.2
        scene_is_state r0.0.0/X+ slow
    }
    wait_until 90 slow
    # of what n0 sends four of seven messages go over it
    id=$(COMM=all-to-all batch alice 8 send "$WHY_JOB $WHY_FOLDER all-to-all 300000 8 5" \
        -w 'n[0,2,4,6,8,10,12,14]')
    wait_until 20 knows alice "$id"
    run why alice "$id"
    [[ $output == *"component: +"*"predicted"*"r0.0.0/X+ was slow at 2"* ]]
    [ "$(of "$id" 'd.verdict.component')" = r0.0.0/X+ ]
    run lab exec taut why --slow
    [[ $status -eq 0 && $output == *"component"*"r0.0.0/X+"* ]]
    run why alice --slow
    [[ $status -eq 1 && $output == *"only root and SlurmUser may do this"* ]]
    run lab exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/6825; printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3'
    [[ $output == *'taut_job_lost_node_seconds_total{'*'cause="component"'* ]]
    lab heal r0.0.0/X+
}
