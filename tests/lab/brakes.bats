#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A brake that is acknowledged holds: through kill -9, a full disk, a database
# that cannot be read, and beside a second tautd.  What cannot be had now is said.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file brakes lab up --torus 2x2x1 --node-cpus 1 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }

setup() {
    lab_test
    fresh_tautd
    wait_until 20 lab exec test -s /var/lib/taut/brakes
    mark
}
teardown() { lab_report; }

# state: "MODE SWITCH" of taut status
state() { status 'print(s.mode .. " " .. s.switch)'; }
state_is() { [ "$(state)" = "$1" ]; }

kill_tautd() {
    lab exec bash -c 'kill -9 "$(</run/lab/pid/tautd)"'
    lab daemon stop tautd || true
}

# unreadable: the file is not a database any more
unreadable() { lab exec bash -c 'rm -f /var/lib/taut/taut.db-*; echo "no database" >/var/lib/taut/taut.db'; }

@test "brakes: observe holds through kill -9" {
    local i
    for i in 1 2 3; do
        lab exec taut policy drain
        state_is "enable on"
        lab exec taut policy observe
        kill_tautd
        start_tautd
        wait_until 20 state_is "observe on"
        lab exec taut policy | grep -Eq '^mode +observe'
    done
}

@test "brakes: off holds through kill -9, and so does what the database alone has" {
    local i
    for i in 1 2 3; do
        lab exec taut on
        lab exec taut off
        kill_tautd
        [ $i != 3 ] || lab exec rm /var/lib/taut/brakes
        start_tautd
        wait_until 20 state_is "enable off"
    done
    lab exec test -s /var/lib/taut/brakes
}

@test "brakes: what a full disk does not take is not stored, and said to be so" {
    lab daemon stop tautd
    lab exec bash -c 'mkdir -p /var/spool/full && mount -t tmpfs -o size=1m,mode=777 full /var/spool/full'
    conf_of "$BATS_FILE_TMPDIR/small.lua" '1i database = "/var/spool/full/taut.db"'
    start_tautd
    wait_until 20 lab exec test -s /var/spool/full/brakes
    lab exec bash -c 'cat /dev/zero >/var/spool/full/filler' 2>/dev/null || true
    local command
    for command in "policy observe" off; do
        # shellcheck disable=SC2086
        run lab exec taut $command
        echo "$output"
        [ "$status" -eq 1 ]
        [[ $output == *"not stored: "*"full"* || $output == *"not stored: "*"No space"* ]]
    done
    state_is "observe off" # it holds for this process
    lab exec taut status | grep -q '^brakes  *not stored: '
    lab exec rm /var/spool/full/filler
    lab exec taut policy observe
    kill_tautd
    start_tautd
    wait_until 20 state_is "observe off"
    lab daemon stop tautd
    lab exec umount /var/spool/full
    conf_of "$BATS_FILE_TMPDIR/small.lua"
    start_tautd
}

@test "brakes: the file is the last word where the database cannot be read" {
    lab exec taut policy observe
    lab exec taut off
    lab daemon stop tautd
    unreadable
    start_tautd
    state_is "observe off"
    run lab exec taut status
    [[ $output == *"cannot be read"* ]]
    run lab exec taut policy
    [[ $output == *"brakes"*"cannot be read"* ]]
    run lab exec taut off
    [ "$status" -eq 1 ]
    [[ $output == *"not stored: "* ]]
}

@test "brakes: with neither file nor database nothing is guessed" {
    lab daemon stop tautd
    unreadable
    lab exec bash -c 'echo "generation 3" >/var/lib/taut/brakes'
    mark
    start_tautd
    state_is "observe off"
    says tautd 'error: brakes: /var/lib/taut/brakes: it ends early'
    says tautd 'error: brakes: what was said of mode, on and off is not known'
    run lab exec taut status
    [[ $output == *"brakes"*"not known"* ]]
    lab exec timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/6825
        printf "GET /metrics HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n" >&3
        cat <&3' | tr -d '\r' | grep -Eqx 'taut_brakes_lost(\{cluster="lab"\})? 1'
}

@test "brakes: a second tautd is refused, and told who is there" {
    local pid
    pid=$(lab exec cat /run/lab/pid/tautd)
    run lab exec timeout 20 setpriv --reuid slurm --regid slurm --init-groups tautd -c /etc/taut/taut.lua
    [ "$status" -eq 1 ]
    [[ $output == *"/var/lib/taut: the tautd with pid $pid has it already"* ]]
    state_is "enable on"
}

@test "brakes: a node is given back while slurmctld stands still: that is said, not waited for" {
    lab daemon pause slurmctld
    run lab exec taut resume n0
    lab daemon resume slurmctld
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"n0 stays drained: slurmctld does not answer. "* ]]
}
