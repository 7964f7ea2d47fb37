#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# taut-probe's part of a survey: plans in rounds, reports to the owner, an end
# at any time; and peers that do not keep to it.  tautd is a fake, MUNGE real.

load node.bash

setup() {
    node_setup
    : >node.conf
    chmod 644 node.conf
    need_munged
}
teardown() { node_teardown; }

# survey NODE PROCID [ARGUMENT...]: its part of an audit in step 7.0 on n1 and n2
survey() {
    local node=$1 procid=$2
    shift 2
    SLURMD_NODENAME=$node SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=$procid \
        SLURM_STEP_NODELIST='n[1-2]' "$probe" survey audit --servers "$server" \
        --user "$(id -un)" --interface lo --run-as "${run_as:-nobody}" \
        --munge-socket "$dir/munge/socket" --conf "$dir/node.conf" "$@"
}

# both [ARGUMENT...]: n1 is the owner; its output is in n1.out
both() {
    survey n2 1 >n2.out 2>n2.err &
    local other=$!
    status=0
    survey n1 0 --owner '{"solo":true}' "$@" >n1.out 2>n1.err || status=$?
    wait $other
}

# Long enough for a machine where each process waits for its turn.
two_plans() {
    plan "$(plan_test 1 send n2 200 300)" >p1
    plan "$(plan_test 1 recv n1 200 300)" >p2
}

@test "plans come in rounds over one connection, reports go to the owner" {
    two_plans
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 3 --report '{"kind":"round"}'
    both
    [ $status -eq 0 ]
    [ "$(cat n1.out)" = $'{"kind":"round"}\n{"kind":"round"}\n{"kind":"round"}' ]
    [ ! -s n1.err ] && [ ! -s n2.out ] && [ ! -s n2.err ]
    [ "$(grep -c ^result tautd.out)" -eq 6 ]
    [ "$(number_in "$(result_of 2)" bytes)" -gt 0 ]
    [ "$(number_in "$(result_of 6)" bytes)" -gt 0 ]
}

@test "HELLO says step, rank and what the owner asks for" {
    start_tautd --nodes 2 --rounds 1
    both
    grep '"node":"n1"' tautd.out | grep -q '"options":{"solo":true}'
    grep '"node":"n1"' tautd.out | grep '"purpose":"audit"' | grep -q '"step":0'
    grep '"node":"n2"' tautd.out | grep -q '"procid":1'
    ! grep '"node":"n2"' tautd.out | grep -q options
}

@test "no hold-off file is looked at, none is written" {
    mkdir run
    echo "taut-holdoff 1 99999999999 60 $(cat /proc/sys/kernel/random/boot_id)" >run/holdoff
    start_tautd --nodes 2 --rounds 1
    both --rundir "$dir/run"
    [ $status -eq 0 ]
    server=127.0.0.1:1
    rm run/holdoff
    run survey n1 0 --owner '{}' --rundir "$dir/run"
    [ "$status" -eq 3 ]
    [[ $output == *"taut: n1: server 127.0.0.1:1: Connection refused"* ]]
    [ ! -e run/holdoff ]
}

@test "a user who is not root takes part" {
    [ "$EUID" -eq 0 ] || skip "needs root to become another user"
    two_plans
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 1 --report '{}'
    local folder=$dir
    until [ "$folder" = /tmp ] || [ "$folder" = / ]; do
        chmod o+x "$folder"
        folder=$(dirname "$folder")
    done
    nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
    "${nobody[@]}" test -x "$probe" || skip "nobody may not read the build tree"
    printf '#!/bin/sh\nexec %s %s "$@"\n' "${nobody[*]}" "$probe" >probe.sh
    chmod 755 probe.sh
    probe=$dir/probe.sh
    both
    [ $status -eq 0 ]
    [ "$(cat n1.out)" = '{}' ]
}

@test "SIGINT of the owner: what runs is finished, tautd is asked to stop" {
    plan "$(plan_test 1 send n2 20 1500)" >p1
    plan "$(plan_test 1 recv n1 20 1500)" >p2
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 5 --report '{}'
    survey n2 1 >n2.out 2>&1 &
    SLURMD_NODENAME=n1 SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 \
        SLURM_STEP_NODELIST='n[1-2]' bash -c 'trap - INT; exec "$@"' _ \
        "$probe" survey audit --servers "$server" --user "$(id -un)" --interface lo \
        --munge-socket "$dir/munge/socket" --conf "$dir/node.conf" --owner '{}' >n1.out 2>&1 &
    local owner=$!
    pids+=("$owner")
    wait_for 'grep -q {} n1.out'
    sleep 0.3
    kill -INT "$owner"
    wait "$owner"
    wait_for 'grep -q "^stop n1" tautd.out'
    [ "$(grep -c ^result tautd.out)" -ge 2 ]
    [ "$(number_in "$(result_of 1)" bytes)" -gt 0 ]
}

@test "a plan of an earlier round does not open" {
    two_plans
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 2 --how replay
    both
    [ $status -eq 3 ]
    grep -q "forged or damaged" n1.err
    [ "$(grep -c ^result tautd.out)" -eq 2 ]
}

@test "a node that is not the owner takes no reports" {
    two_plans
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 1 --report '{}' --how gossip
    both
    grep -q "REPORT to a node that is not the owner" n2.err
    [ ! -s n2.out ]
}

@test "a report that is no line of JSON ends it" {
    for report in 'x' '[1]' '{"a":1}
{"b":2}'; do
        start_tautd --nodes 2 --rounds 1 --report "$report"
        both
        [ $status -eq 3 ]
        [ ! -s n1.out ]
        grep -q "REPORT is not" n1.err
    done
}

@test "tautd goes in the middle: said in one line, status 3 for the owner" {
    two_plans
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2 --rounds 3 --how hangup
    both
    [ $status -eq 3 ]
    [ "$(wc -l <n1.err)" -eq 1 ]
    grep -q "tautd ended the survey" n1.err
    [ "$(wc -l <n2.err)" -eq 1 ]
}

@test "outside of a step it says what is missing" {
    run "$probe" survey audit --servers 127.0.0.1:1 --conf "$dir/node.conf"
    [ "$status" -eq 2 ]
    [[ $output == *"SLURMD_NODENAME is not set"* ]]
    run "$probe" audit --servers 127.0.0.1:1
    [ "$status" -eq 2 ]
    [[ $output == *"expected 'survey'"* ]]
    run "$probe" survey idle --servers 127.0.0.1:1 --conf "$dir/node.conf"
    [ "$status" -eq 2 ]
}
