#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# `taut audit` in a lab: what it prints, who may do it, what it finds, and what
# becomes of it when nodes, links, peers, users and tautd do not play along.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/base.lua"
    sed -i 's/mode = "drain"/mode = "observe"/' "$BATS_FILE_TMPDIR/base.lua"
    echo 'model.survey = { gather_ms = 5000 }' >>"$BATS_FILE_TMPDIR/base.lua"
    # Idle checks would measure the same links meanwhile.
    lab_file audit lab up --torus 2x2x1 --node-cpus 2 --health-interval 3600 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/base.lua"
}
teardown_file() { lab_file_end; }
setup() {
    lab_test
    [ -n "$LAB_MISSING" ] || lab heal --all
}
teardown() { lab_report; }

# audit [ARGUMENT...]: as root on all nodes; sets status, output in $out, $err
audit() { audit_as root -N8 -- "$@"; }

# audit_as USER SRUN-ARGUMENT... -- ARGUMENT...
audit_as() {
    local user=$1 args=()
    shift
    while [ "$1" != -- ]; do
        args+=("$1")
        shift
    done
    shift
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err status=0
    lab exec --user "$user" srun -Q --ntasks-per-node=1 "${args[@]}" taut audit "$@" \
        >"$out" 2>"$err" || status=$?
    echo $status >"$BATS_TEST_TMPDIR/status"
    cat "$out" "$err"
}

slow() { grep "^Slow: " "$out" || true; }
has() { grep -Eq -- "$1" "$out"; }
complains() { grep -Eq -- "$1" "$err"; }

# node_pid NODE NAME: of a process of a step on a node, not of those it started;
# a node may begin later than the first that is heard from
node_pid() {
    lab exec bash -c 'for _ in {1..100}; do
        for p in $(grep -lzx "SLURMD_NODENAME=$1" /proc/[0-9]*/environ 2>/dev/null); do
            p=${p#/proc/} p=${p%/environ}
            tr "\0" " " <"/proc/$p/cmdline" | grep -q -- "$2" && echo "$p"
        done | sort -n | head -n 1 | grep . && exit
        sleep 0.1
    done' _ "$1" "$2"
}

# background USER SRUN-ARGUMENT... -- ARGUMENT...: an audit that goes on while
# the test does something; `ended` waits for it
background() {
    audit_as "$@" >/dev/null 3>&- &
    background=$!
    wait_until 60 grep -q . "$BATS_TEST_TMPDIR/out"
}
ended() {
    wait $background || true
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
    cat "$out" "$err"
}

@test "a healthy machine: TopoBW's lines, each link, status 0" {
    audit
    [ $status -eq 0 ]
    has '^n0 --GE n1 \(nid00000 to nid00001\): 0\.0[0-9]+ seconds = [0-9.]+ MB/sec$'
    [ "$(grep -Ec '^n[0-7] [XY]\+CE n[0-7] .* MB/sec' "$out")" -ge 8 ]
    grep -Eq '^n[0-7] X\+CS n[0-7] ' "$out"
    has '^Bandwidth X min: [0-9.]+ on n[0-7] max: [0-9.]+ on n[0-7] avg: [0-9.]+$'
    has '^Bandwidth Y shared min: '
    has '^Audit: 8 of 8 links measured'
    complains 'audit: 8 nodes, 10 phases'
    complains '10 of 10 phases'
}

@test "slow links are found, and the next audit says what has changed" {
    lab degrade r0.0.0/X+ 25
    lab degrade r1.1.0/Y+ 50
    audit --solo
    [ $status -eq 3 ]
    [ "$(slow | wc -l)" -eq 2 ]
    slow | grep -Eq '^Slow: r0.0.0/X\+ at (2[3-7])%: .* of 12.50 MB/s, .*low tests; r0.0.0/X\+ to r1.0.0/X\+'
    slow | grep -q '^Slow: r1.1.0/Y+ at '
    # a busy machine may show a healthy link as changed, too: these two must be
    has '^Against the audit of .*: ([2-9]|1[0-6]) measurements changed, [0-9]+ as before'
    has '^  r0.0.0/X\+: n[01] to n[45]: was [1-9][0-9]\..*, is [23]'
    has '^  r1.1.0/Y\+: n[67] to n[45]: was '
    lab heal --all
    audit --solo
    [ $status -eq 0 ]
    has '^  r0.0.0/X\+: n[01] to n[45]: was [23]\.'
    has '^  r1.1.0/Y\+: n[67] to n[45]: was '
}

@test "a slow node is not taken for its links" {
    lab degrade n5/tx 30
    audit
    [ $status -eq 3 ]
    [ "$(slow | wc -l)" -eq 1 ]
    slow | grep -Eq '^Slow: n5/tx at (2[8-9]|3[0-3])%'
}

@test "--json is one value with all results" {
    audit --json --progress none
    [ $status -eq 0 ]
    [ ! -s "$err" ]
    lab_json 'assert(#d.results >= 32 and d.measured == 8 and #d.slow == 0 and d.complete)
        assert(d.results[1].class and d.results[1].expected_Bps == 12.5e6)' <"$out"
}

@test "a user sees his own results, and they enter no verdict" {
    local before after
    before=$(status 'print(s.tests.low)')
    lab degrade r0.0.0/X+ 25
    audit_as alice -N8 -- --solo
    [ $status -eq 3 ]
    slow | grep -q '^Slow: r0.0.0/X+'
    wait_until 20 no_jobs
    after=$(status 'print(s.tests.low)')
    # what is low by now comes from the job's own prolog
    [ "$after" -le $((before + 2)) ]
    lab heal --all
    audit --solo
    ! has 'r0.0.0/X\+: .*was 3'
}

@test "nobody audits another user's job" {
    local id
    lab exec --user alice sbatch -Q -N2 -o /dev/null --wrap 'sleep 30' >/dev/null
    running() { [ "$(lab exec squeue -h -t running | wc -l)" -eq 1 ]; }
    wait_until 20 running
    id=$(lab exec squeue -h -o %A)
    mark
    lab exec --user bob --node n0 env SLURMD_NODENAME=n0 SLURM_JOB_ID="$id" SLURM_STEP_ID=0 \
        SLURM_PROCID=0 SLURM_STEP_NODELIST=n0 \
        "$TAUT_PREFIX/libexec/taut/taut-probe" survey audit --owner '{}' >"$BATS_TEST_TMPDIR/out" \
        2>"$BATS_TEST_TMPDIR/err"
    grep -q "taut: n0: job $id is not yours" "$BATS_TEST_TMPDIR/err"
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
    wait_until 5 says tautd "refused a message.*audit by uid 30002: job $id is not yours"
    cancel_all
    wait_until 60 no_jobs
}

@test "outside of a step it says how; --all takes the idle nodes" {
    run lab exec taut audit
    [ "$status" -eq 1 ]
    [[ $output == *"srun -X --ntasks-per-node=1 taut audit"* ]]
    run lab exec taut audit --json
    [ $status -eq 1 ]
    [[ $output == *'"error": "audit: run it in a job: '* ]]
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
    lab exec taut audit --all --solo >"$out" 2>"$err"
    has '^Audit: 8 of 8 links measured'
    lab degrade r0.0.0/X+ 25
    run lab exec taut audit --all --solo
    [ "$status" -eq 3 ]
    run lab exec taut audit --all --partition nowhere
    [ "$status" -eq 2 ]
    [[ $output == *"there is no partition 'nowhere'"* ]]
    # srun refuses the step
    run lab exec env SLURM_CONSTRAINT=nowhere taut audit --all --json
    [ "$status" -eq 1 ]
    [[ $output == *'"error": "audit: its step ended without an answer, exit status 1"'* ]]
    run lab exec taut audit --time 3
    [ "$status" -eq 2 ]
}

@test "a node that dies is left out and named, the rest is measured" {
    background root -N8 -- --solo --time 1200
    lab exec kill -KILL "$(node_pid n5 'taut-probe survey')"
    ended
    complains 'n5 is left out: its process has ended'
    has '(n5 takes no part any more|n5 did not report)'
    has '^n0 Y\+CE|^n1 Y\+CE|^n2 Y\+CE'
    has '^Audit: '
    [ -z "$(slow)" ]
}

@test "a node that hangs is left out in time" {
    local pid told=''
    background root -N8 -- --solo --time 1500 # it must not be over before n5 is stopped
    pid=$(node_pid n5 'taut-probe survey')
    lab exec kill -STOP "$pid"
    wait_until 40 complains_now 'n5 is left out: its result did not come in time' && told=yes
    lab exec kill -KILL "$pid" # or the next audits would wait for it
    [ -n "$told" ]
    ended
    has '^Audit: '
}
complains_now() { grep -q "$1" "$BATS_TEST_TMPDIR/err"; }

@test "peers that say more than they did, or make no sense, speak against nobody" {
    local way
    for way in boast garble; do
        out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err status=0
        lab exec srun -Q -N8 --ntasks-per-node=1 bash -c 'if [ $SLURMD_NODENAME = n5 ]; then
            exec "$0" audit '$way' --servers ctl --user slurm --interface hsn0
        fi; exec taut audit --solo' "$TAUT_BUILDDIR/tests/fake/fake-node" >"$out" 2>"$err" || status=$?
        cat "$out" "$err"
        [ $status -eq 4 ]
        [ -z "$(slow)" ]
        has '^Audit: '
    done
    complains 'n5 is left out: its result was refused'
}

@test "two audits of the same nodes take turns" {
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
    lab exec srun -Q -N8 --ntasks-per-node=2 --cpus-per-task=1 bash -c '
        export SLURM_PROCID=$((SLURM_PROCID / 2)) SLURM_STEP_ID=$((SLURM_STEP_ID + SLURM_LOCALID))
        [ $SLURM_LOCALID = 0 ] || exec >/tmp/second.$SLURM_PROCID 2>&1
        exec taut audit --solo' >"$out" 2>"$err"
    cat "$out" "$err"
    has '^Audit: 8 of 8 links measured'
    [ "$(grep -c '^Audit: 8 of 8' "$out")" -eq 1 ]
    lab exec cat /tmp/second.0 | grep -q '^Audit: 8 of 8 links measured'
    ! has LOW
}

@test "fewer nodes than the topology has; one process per node is enough" {
    audit_as root -N4 -w 'n[0-3]' --
    [ $status -eq 0 ]
    has '^Audit: 2 of 8 links measured, 6 out of these nodes. reach'
    audit_as root -N1 --
    [ $status -eq 1 ]
    complains 'fewer than two nodes have come'
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
    # on a busy machine twice as many processes may leave some tests void: status 4
    lab exec srun -Q -N8 --ntasks-per-node=2 taut audit --solo >"$out" 2>"$err" || [ $? -eq 4 ]
    has '^Audit: [1-8] of 8 links measured'
    complains 'one process per node is enough'
}

@test "SIGINT ends it cleanly with what there is" {
    background root -N8 -- --time 1000
    lab exec kill -INT "$(node_pid n0 'taut audit')"
    ended
    complains 'stopping: what runs is finished first'
    has '^n0 --GE n1 .*MB/sec'
    has '^Audit \(stopped by its owner\): [0-7] of 8 links measured'
    has 'Not measured: r.*: stopped by its owner'
    wait_until 20 no_jobs
}

# srun_pid TAG: of the srun that has TAG among its arguments
srun_pid() {
    lab exec bash -c 'for p in $(pgrep -x srun); do
        tr "\0" "\n" </proc/$p/cmdline | grep -qx -- "$1" && echo $p && break
    done' _ "$1"
}

@test "one Ctrl-C in srun -X ends it cleanly, with status 4" {
    local tag=--job-name=ctrlc$$
    background root -X -N8 "$tag" -- --time 1000
    wait_until 20 grep -q MB/sec "$BATS_TEST_TMPDIR/out"
    lab exec kill -INT "$(srun_pid "$tag")"
    ended
    has '^Audit \(stopped by its owner\): [0-7] of 8 links measured'
    [ "$(cat "$BATS_TEST_TMPDIR/status")" -eq 4 ]
    wait_until 20 no_jobs
}

@test "Ctrl-C of --all, too" {
    out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
    lab exec taut audit --all --time 1000 >"$out" 2>"$err" 3>&- &
    local pid=$!
    wait_until 20 grep -q MB/sec "$out"
    lab exec bash -c 'kill -INT $(pgrep -f "[t]aut audit --all")'
    wait $pid || true
    cat "$out" "$err"
    has '^Audit \(stopped by its owner\): '
    wait_until 20 no_jobs
}

@test "tautd goes away in the middle: status 1 and a line" {
    background root -N8 -- --time 500
    lab daemon stop tautd
    ended
    complains 'tautd ended the survey|the survey did not finish'
    audit
    [ $status -eq 1 ]
    complains 'taut: n0: server .*Connection refused'
    start_tautd
}

@test "nodes the topology does not know are named, the rest is measured" {
    conf_of "$BATS_FILE_TMPDIR/base.lua" 's/n\[0-7\]/n[0-6],x7/'
    lab daemon restart tautd
    audit
    [ $status -eq 4 ]
    complains 'not in the topology: n7'
    has '^Audit: '
    conf_of "$BATS_FILE_TMPDIR/base.lua"
    lab daemon restart tautd
}

@test "an interface that is not there, one that is down" {
    lab exec --node n5 ip link set hsn0 down
    audit
    [ $status -eq 3 ]
    slow | grep -Eq '^Slow: n5/(tx|rx) or n5/(tx|rx) at 0%'
    [ "$(slow | wc -l)" -eq 1 ]
    lab exec --node n5 ip link set hsn0 name hsn9
    audit
    [ $status -eq 4 ]
    complains 'taut: n5: interface hsn0'
    complains 'audit: n5 did not come'
    has '^Audit: '
}
