#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A study as a job array, by several processes, and by one: the same table.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file study lab up --torus 2x2x1 --node-cpus 1 --health-interval 0 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# study NAME OPTION…: the same small studies each time
study() {
    local name=$1
    shift
    case $name in
    links) set -- --failed 10,30 --split 1,4 --seeds 2 "$@" ;;
    real) name=links && set -- --trace "$BATS_FILE_TMPDIR/trace" --seeds 2 "$@" ;;
    detune) set -- -p ring --bytes 64k,1Mi,4Mi --kind global "$@" ;;
    latency) set -- --failed 0,30 --load 5,10 --seeds 2 "$@" ;;
    repair) set -- --split 4 --fail r0.0/global1 --maintenance 10 --most 8 --seeds 2 "$@" ;;
    outlook) set -- --split 1 --per-day 2 --most 8 --seeds 2 "$@" ;;
    esac
    # shellcheck disable=SC2086 # words
    lab exec ${FIRST:-} taut study "$name" -m "$BATS_FILE_TMPDIR/dragonfly.lua" "$@"
}

machine() {
    echo 'topology = dragonfly { groups = 9, routers = 4, nodes_per_router = 4,
        global_links = 2, nodes = "d[000-143]",
        capacity = { link = 1 * GB, tx = 4 * GB, rx = 4 * GB } }' \
        >"$BATS_FILE_TMPDIR/dragonfly.lua"
    printf '1 0 0 100 64 -1 -1 64\n2 0 0 100 27 -1 -1 27\n' >"$BATS_FILE_TMPDIR/trace"
}

is_running() { [ -n "$(lab exec squeue -h -t R -o %i)" ]; }
is_stored() { lab exec taut profile | grep -q sleep; }

@test "jobs that run, and those of tautd's store, load a machine" {
    machine
    clear_holdoff
    lab exec srun -Q -N4 sleep 20 &
    local pid=$!
    wait_until 30 is_running
    lab measure n0 n2 >/dev/null # or nothing would be known of the job
    lab exec taut study links --running --seeds 1 --failed 5 -p ring | grep "^1 jobs of two"
    sleep 3 # a job that is over within a second tells nothing
    lab exec scancel --me || lab exec scancel -u root
    wait $pid || true
    wait_until 30 is_stored
    lab exec taut study detune --stored 1 -p ring | grep "^1 jobs of two nodes or more"
}

@test "an array job, several processes and one give the same table" {
    local name w
    machine
    clear_holdoff
    for name in links real detune latency repair outlook; do
        w=$BATS_TEST_TMPDIR/$name
        study $name >"$w.one"
        study $name --work "$w.jobs" --jobs 2 >"$w.two"
        diff "$w.one" "$w.two"
        ls "$w".jobs/part-[12].jsonl
        study $name --work "$w.array" --sbatch 3
        lab exec sh "$w.array/submit"
    done
    grep -q '^halo3d26.* 4 ' "$BATS_TEST_TMPDIR/links.one"
    for name in links real detune latency repair outlook; do
        w=$BATS_TEST_TMPDIR/$name
        wait_until 120 same "$w.one" "$w.array/table.txt"
        ls "$w".array/part-[123].jsonl
    done
}
same() { [ -e "$2" ] && diff "$1" "$2"; }

@test "a study that was killed goes on where it was" {
    local w=$BATS_TEST_TMPDIR/w
    machine
    # the program itself, in the lab: killing what waits for it would leave it
    printf '%s\n' '"$@" >/dev/null &' \
        "until grep -qs result '$w/part-1.jsonl'; do sleep 0.1; done" 'kill -9 $!' >"$w.sh"
    FIRST="sh $w.sh" study links --seeds 400 --work "$w"
    lines() { grep -c result "$w/part-1.jsonl"; }
    local before
    before=$(lines)
    head -n "$before" "$w/part-1.jsonl" >"$w/before"
    study links --seeds 400 --work "$w" >"$w.resumed"
    head -n "$before" "$w/part-1.jsonl" | diff - "$w/before"
    [ "$(lines)" -eq 800 ]
    study links --seeds 400 | diff - "$w.resumed"
}

@test "a step with --comm is told to inject less, where the site says so" {
    lab exec sed -i 's/$/ injection=APRUN_BALANCED_INJECTION=70/' /etc/slurm/plugstack.conf
    local say='echo "[$APRUN_BALANCED_INJECTION]"'
    [ "$(lab exec srun -Q -N1 --comm=halo3d sh -c "$say")" = "[70]" ]
    [ "$(lab exec srun -Q -N1 sh -c "$say")" = "[]" ]
    [ "$(lab exec srun -Q -N1 --comm=halo3d --export=ALL,APRUN_BALANCED_INJECTION=90 \
        sh -c "$say")" = "[90]" ]
    lab exec sed -i 's/injection=.*/injection=MPIR_CVAR_ALLTOALL_THROTTLE=22/' \
        /etc/slurm/plugstack.conf
    [ "$(lab exec srun -Q -N1 --comm=halo3d sh -c 'echo "$MPIR_CVAR_ALLTOALL_THROTTLE"')" = 22 ]
    lab exec sed -i 's/injection=.*/injection=APRUN_BALANCED_INJECTION=70/' \
        /etc/slurm/plugstack.conf
    [ "$(lab exec salloc -Q -N1 --comm=halo3d srun -Q sh -c "$say")" = "[70]" ]
}
