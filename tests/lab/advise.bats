#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# `taut advise` with a real slurmctld: what it names can be had, what it says
# Slurm would take is what Slurm takes, and what cannot be had is said.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua" --torus 4x2x1
    lab_file advise lab up --torus 4x2x1 --node-cpus 1 --health-interval 60 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() {
    lab_report
    cancel_all
    wait_until 30 no_jobs
}

# advised ARG… CODE: the answer d as Lua sees it
advised() {
    local code=${*: -1}
    lab exec taut advise "${@:1:$#-1}" --json >"$BATS_TEST_TMPDIR/json"
    lab_json "$code" <"$BATS_TEST_TMPDIR/json"
}
all_free() { [ "$(lab exec taut advise -N 16 --nodelist 2>/dev/null)" = "n[0-15]" ]; }
ready() { wait_until 30 all_idle && wait_until 20 all_free; }
hosts() { lab exec scontrol show hostnames "$1" | sort; }

@test "advise: a job runs on the nodes it names" {
    ready
    local nodes out
    nodes=$(lab exec taut advise -N 4 --nodelist)
    [ "$(hosts "$nodes" | wc -l)" -eq 4 ]
    out=$(lab exec taut advise -N 4 --sbatch)
    [ "$out" = "--nodes=4 --nodelist=$nodes" ]
    # shellcheck disable=SC2086
    lab exec sbatch -W $out -o /var/spool/home/advised.out --wrap "srun hostname"
    [ "$(lab exec sort /var/spool/home/advised.out)" = "$(hosts "$nodes")" ]
}

@test "advise: Slurm's choice is what Slurm takes" {
    ready
    lab exec sbatch -w 'n[2-3,9]' --wrap "sleep 60" -o /dev/null >/dev/null
    wait_until 20 eval '[ "$(lab exec squeue -h -t R -o %N)" = "n[2-3,9]" ]'
    wait_until 20 eval '[ "$(advised -N 2 "print(d.slurm.nodelist)")" = "n[0-1]" ]'
    local said asked
    for n in 1 4 6 8; do
        said=$(advised -N $n 'print(d.slurm.nodelist)')
        asked=$(advised -N $n 'print(d.asked and d.asked.nodelist or d.asked_error)')
        echo "$n nodes: emulated $said, Slurm says $asked"
        [ "$said" = "$asked" ]
    done
    said=$(advised -N 6 'print(d.slurm.nodelist)')
    lab exec sbatch -N 6 --wrap "sleep 60" -o /dev/null >/dev/null
    wait_until 20 eval '[ "$(lab exec squeue -h -t R | wc -l)" -eq 2 ]'
    [ "$(lab exec squeue -h -t R -o "%D %N" | sed -n 's/^6 //p')" = "$said" ]
}

@test "advise: only what is free, not excluded, of the reservation" {
    ready
    lab exec sbatch -w 'n[0-7]' --wrap "sleep 60" -o /dev/null >/dev/null
    wait_until 20 eval '[ "$(lab exec squeue -h -t R -o %N)" = "n[0-7]" ]'
    wait_until 20 eval 'lab exec taut advise -N 9 2>&1 | grep -q "^taut: 9 nodes asked for, 8 are free and healthy$"'
    [ "$(lab exec taut advise -N 8 --nodelist)" = "n[8-15]" ]
    [ "$(lab exec taut advise -N 4-40 --nodelist)" = "n[8-15]" ]
    run lab exec taut advise -N 8 -x n8
    [ "$status" -eq 1 ]
    [ "$output" = "taut: 8 nodes asked for, 7 are left: not excluded, free" ]
    lab exec scontrol create reservation ReservationName=mine StartTime=now Duration=10 \
        Users=root Nodes='n[12-15]' >/dev/null
    wait_until 20 eval 'lab exec taut advise -N 8 2>&1 | grep -q "4 are free and healthy"'
    [ "$(lab exec taut advise -N 4 --nodelist)" = "n[8-11]" ]
    [ "$(lab exec taut advise -N 4 --reservation mine --nodelist)" = "n[12-15]" ]
    lab exec scontrol delete ReservationName=mine
}

@test "advise: a pending job, and nodes that come free soon" {
    ready
    lab exec sbatch -N 16 -t 5 --wrap "sleep 60" -o /dev/null >/dev/null
    wait_until 20 eval '[ "$(lab exec squeue -h -t R -o %D)" = 16 ]'
    lab exec sbatch -N 4 -t 5 --wrap "sleep 60" -o /dev/null >/dev/null
    local id
    id=$(lab exec squeue -h -t PD -o %A)
    wait_until 20 eval 'lab exec taut advise --job '"$id"' 2>&1 | grep -q "4 nodes asked for, 0 are left: partition"'
    run lab exec taut advise --job 4711
    [ "$status" -eq 1 ]
    [ "$output" = "taut: Slurm has no pending job 4711" ]
    run lab exec taut advise --job "$id" -N 4
    [ "$status" -eq 2 ]
}

@test "advise: a set to compare, a picture, and what a person reads" {
    ready
    advised -N 2 --compare 'n[0,15]' 'assert(d.compare.nodelist == "n[0,15]" and
        d.compare.score >= d.candidates[1].score)'
    lab exec taut advise -N 4 --draw /var/spool/home/advice.svg >/dev/null
    lab exec grep -q '#0072b2' /var/spool/home/advice.svg
    run lab exec taut advise -N 6 --pattern halo3d:compute=0.3
    [ "$status" -eq 0 ]
    echo "$output"
    [[ ${lines[0]} == 1.\ n* && $output == *"x ideal time; "*"without advice: n"*"sbatch -N 6 --nodelist="* ]]
    [ "$(printf '%s\n' "$output" | wc -L)" -le 80 ]
    run lab exec taut advise -N 6 --pattern all-to-all:compute=0.99
    [[ $output == *"Not worth waiting for: with 99 % of its time in computation"* ]]
}

# A sentence, broken where a line of a terminal ends.
is_complaint() {
    [[ ${lines[0]} == "taut: "* ]] &&
        ! printf '%s\n' "${lines[@]}" | grep -E '.{81}' &&
        ! printf '%s\n' "${lines[@]:1}" | grep -Ev '^( {6}[^ ]|$)'
}

@test "advise: what is wrong is said in a sentence" {
    ready
    local command
    for command in '-N 17' '-N 0' '-N 8-4' '-N 2 -p nowhere' '-N 2 -x n99' '-N 2 -C nothing' \
        '-N 2 --reservation nobody' '-N 2 --pattern gossip' '-N 2 --pattern matrix:/nonexistent' \
        '-N 2 --per-router 1 --exclusive' '-N 2 --within 5' '-N 3 --compare n[0-1]' \
        '-N 2 --draw /nonexistent/x.svg' '--job 99999'; do
        # shellcheck disable=SC2086
        run lab exec taut advise $command
        echo "advise $command: $status: $output"
        [[ $status -eq 1 || $status -eq 2 ]] # 2: of an option's value
        is_complaint
    done
}
