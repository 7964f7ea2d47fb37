#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Real counters of real interfaces, and a log that is followed: what becomes of
# them, and who was there.

load lib/tests.bash

LOG=/var/log/kernel.log

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    cat >>"$BATS_FILE_TMPDIR/small.lua" <<'EOF'
events = { follow = { { "kernel", "/var/log/kernel.log", trusted = true } } }
model.events = { follow_s = 0.3 }
EOF
    lab_file events lab up --torus 2x2x1 --node-cpus 1 --health-interval 3600 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# flap NODE TIMES: its link goes down and up; its routes stay as they are.
flap() {
    lab exec --node "$1" bash -c '
        routes=$(ip route show dev hsn0) neighbours=$(ip neigh show dev hsn0)
        for ((i = 0; i < '"$2"'; i++)); do
            ip link set hsn0 down
            ip link set hsn0 up
        done
        while read -r a mac; do
            [ -z "$a" ] || ip neigh replace $a dev hsn0 ${mac/ PERMANENT/ nud permanent}
        done <<<"$neighbours"
        while read -r route; do
            [ -z "$route" ] || ip route replace $route dev hsn0
        done <<<"$routes"'
}

# events ARGUMENT… LUA: of `taut events`, o being the list
events() {
    local lua=${*: -1}
    lab exec taut events "${@:1:$#-1}" --json | lab_json "local o = d.observations $lua"
}
count() { [ "$(events "${@:1:$#-1}" 'print(#o)')" = "${*: -1}" ]; }

# flaps ARGUMENT… COUNT: so many events tell of changes of the carrier
flaps() {
    [ "$(events "${@:1:$#-1}" 'local n = 0
        for _, e in ipairs(o) do n = n + (e.what == "carrier_changes" and 1 or 0) end
        print(n)')" = "${*: -1}" ]
}
# flap_of ARGUMENT… LUA: of the first of them, e
flap_of() {
    events "${@:1:$#-1}" "for _, e in ipairs(o) do
        if e.what == 'carrier_changes' then ${*: -1} break end
    end"
}

@test "a link that flaps under a job is that job's event, and its node's" {
    local id
    clear_holdoff
    lab exec srun -Q -w 'n[0-3]' -N 4 bash -c \
        '[ $SLURM_PROCID != 0 ] || echo $SLURM_JOB_ID; sleep 4' >"$BATS_TEST_TMPDIR/id" &
    wait_until 20 test -s "$BATS_TEST_TMPDIR/id"
    id=$(<"$BATS_TEST_TMPDIR/id")
    flap n1 5
    wait $!
    wait_until 10 flaps --job "$id" 1
    [ "$(flap_of --job "$id" 'print(e.node, e.amount >= 10, e.class, e.during)')" = \
        $'n1\ttrue\tdegrading\tjob' ]
    [ "$(flap_of --node n1 'print(e.jobs[1])')" = "$id" ]
    flaps --link n1/tx 1
    count --node n2 0
    lab exec taut explain n1 | grep -Eq "^[0-9: -]+  +$id  degrading +carrier_changes of n1/hsn0 grew by 1"
    lab exec taut explain n1 | grep -Eq "^[0-9: -]+  +$id  good "
    lab exec taut explain --job "$id" |
        grep -Eq '^4 nodes, sent .* errors, worst n1 \(carrier_changes \+1[0-9]\)'
}

@test "a link that flaps between jobs belongs to no job" {
    clear_holdoff
    flap n2 6
    lab exec srun -Q -w 'n[2-3]' -N 2 true
    wait_until 10 flaps --node n2 1
    [ "$(flap_of --node n2 'print(e.during, #e.jobs)')" = $'idle\t0' ]
}

log_line() {
    lab exec bash -c 'echo "$(date "+%b %e %H:%M:%S") '"$1"' kernel: [1.5] ixgbe 0000:08:00.0 '"${3:-hsn0}"': NIC Link is '"$2"'" >>'$LOG
}
says() { lab exec taut "${@:2}" | grep -Eq -- "$1"; }

@test "a log is followed over rotation and a restart; evidence stands until it ends" {
    lab exec bash -c ": >$LOG"
    wait_until 10 eval 'lab log tautd --stderr | grep -q "kernel.log can be followed again"'
    sleep 1
    log_line n0 Down eth9 # n0 has told which interface it tests
    log_line n5 Down
    wait_until 10 says '^n5/tx +0% .*link of n5/hsn0 is down' status
    says 'n5/tx is .*0% left' explain n5/tx
    run says '^n0/' status
    [ "$status" -ne 0 ]
    count --node n0 1
    lab exec mv $LOG $LOG.1
    log_line n6 Down
    wait_until 10 says '^n6/tx +0% ' status
    lab daemon stop tautd
    log_line n5 Up
    lab exec mv $LOG $LOG.1
    log_line n7 Down
    lab daemon start tautd
    wait_until 20 says '^n7/tx +0% ' status
    wait_until 10 eval '! says "^n5/tx" status'
    says '^n6/tx +0% ' status
    # each line once
    count --node n5 2
    # a terminal is no wider for them, other programs get a line each
    cd "$BATS_TEST_TMPDIR"
    lab exec taut events --node n5 --limit 1 >list 2>said
    [ "$(wc -l <list)" -eq 2 ]
    [ "$(<said)" = "taut: these are the latest 1, there are more (--since, --limit)" ]
    run lab exec script -qec 'stty cols 80; taut events --node n5' /dev/null
    [[ ${lines[1]} =~ ^\ {4}link\ of\ n5/hsn0\ is\ up ]]
    [ "$(awk 'length > 81' <<<"$output" | wc -l)" -eq 0 ]
    count --node n6 1
    count --node n7 1
}

@test "a log is read in one go, and handed over by root only" {
    lab exec bash -c 'echo "130325 15:51:00 c0-0c0s0g0l45 c0-0c0s0g1l42 1 RX lanemask=3" >/tmp/netwatch'
    lab exec taut ingest netwatch /tmp/netwatch |
        grep -q 'degrading *92%  c0-0c0s0g1l42 to c0-0c0s0g0l45 (Y-): 2 of 3 lanes'
    run lab exec --user alice taut ingest --record netwatch /tmp/netwatch
    [ "$status" -eq 1 ]
    lab exec taut ingest --record netwatch /tmp/netwatch
    [ "$(events --since 2013-01-01 --link c0-0c0s0g1l42 'print(#o, o[1].source)')" = $'1\tnetwatch' ]
    count --since 2013-03-27 --link c0-0c0s0g1l42 0
}

@test "wrong arguments, and names with quotes in them" {
    local bad
    for bad in '--job x' '--since yesterday' '--limit x'; do
        # shellcheck disable=SC2086
        run lab exec taut events $bad
        [ "$status" -eq 2 ]
    done
    run lab exec taut events --node "n'1"
    [ "$status" -eq 2 ]
    [ "$output" = "taut: node 'n'1' is not in the topology" ]
    run lab exec taut events --link "x' OR '1'='1"
    [ "$status" -eq 0 ]
    [ "$output" = "no events in the last day" ]
    run lab exec taut events --job 0
    [ "$status" -eq 2 ]
    [[ $output == *"expected a whole number from 1 to 4294967295, got 0"* ]]
    run lab exec taut events --limit 0
    [ "$status" -eq 2 ]
    [[ $output == *"expected a whole number from 1 to 100000, got 0"* ]]
    run lab exec taut ingest dmesg /dev/null
    [ "$status" -eq 2 ]
    [ "$output" = "taut: ingest: log format 'dmesg' is not known (known: kernel, netwatch, opensm)" ]
}
