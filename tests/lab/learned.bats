#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A machine of which taut.lua says no capacity: it is learned, a fault is still
# found, and what was learned outlives tautd.  And what is known of a port
# without any test: suspect, not drained.

load lib/tests.bash

LOG=/var/log/kernel.log

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    sed -i -e '/capacity = /d' -e 's/^   diagnosis = {/&\n      learn_peers = 4,/' \
        "$BATS_FILE_TMPDIR/small.lua"
    cat >>"$BATS_FILE_TMPDIR/small.lua" <<EOF
events = { follow = { { "kernel", "$LOG", trusted = true } } }
model.events = { follow_s = 0.3 }
EOF
    lab_file learned lab up --torus 2x2x1 --node-cpus 1 --health-interval 3600 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

job() {
    clear_holdoff
    lab exec srun -Q -N 8 true
}
# says PATTERN COMMAND…: in one of its lines
says() { lab exec taut "${@:2}" | grep -Eq -- "$1"; }

# learned LUA: of `taut status`, r being the rows by class
learned() {
    lab exec taut status --json | lab_json "local r = {}
        for _, k in ipairs(d.learned) do r[k.class] = k end $1"
}

# after a job: every class has a value, of all its components
all_learned() {
    job
    [ "$(learned 'local n = 0
        for _, k in pairs(r) do n = n + (k.settled and k.peers == k.of and 1 or 0) end
        print(n, r.tx.of, r.X.of)')" = $'4\t8\t4' ]
}

@test "at first nobody knows anything, and nobody is to blame" {
    says 'tx: nothing expected yet: 0 of 8 peers tested, 4 needed' status
    says 'n5/tx is unknown' explain n5/tx
    says 'components  0 ok, 0 suspect, 0 slow, 0 lossy, 0 failed, 24 unknown' status
}

@test "what components carry is learned from their peers" {
    wait_until 120 all_learned
    learned 'for _, k in pairs(r) do print(k.class, k.Bps, k.spread) end'
    [ "$(learned 'for _, k in pairs(r) do
        if k.Bps < 9e6 or k.Bps > 15e6 then print(k.class, k.Bps) end end')" = "" ]
    says 'expected 1[0-9.]+ MB/s \(learned from 8 of 8 peers\)' explain n5/tx
    says 'learned +X: expected 1[0-9.]+ MB/s \(learned from 4 of 4 peers\)' topology classes
    says '^tx +8 +1[0-9.]+ MB/s' topology show
}

@test "it outlives tautd" {
    local before
    before=$(learned 'print(r.tx.Bps, r.rx.Bps, r.X.Bps, r.Y.Bps)')
    lab daemon stop tautd
    start_tautd
    wait_until 20 says 'learned +X: expected' status
    [ "$(learned 'print(r.tx.Bps, r.rx.Bps, r.X.Bps, r.Y.Bps)')" = "$before" ]
}

@test "a slow node is found all the same, and drained" {
    lab degrade n5/tx 25
    slow() { job; says '^n5/tx +slow' status; }
    wait_until 200 slow
    # a drain is stored before Slurm is asked for it
    drained() { lab exec sinfo -h -R -o '%E|%N' | grep -Eq '^taut: sends at [23][0-9]%;.*\|n5$'; }
    wait_until 10 drained
    [ "$(scene_drained | wc -l)" -eq 1 ]
    lab heal --all
    lab exec taut resume n5
}

@test "only administrators have it learned anew" {
    run lab exec --user alice taut relearn
    [ "$status" -eq 1 ]
    run lab exec taut relearn fast
    [ "$status" -eq 1 ]
    [[ $output == *"'fast' is not learned; learned are: X, Y, rx, tx"* ]]
    run lab exec taut relearn tx
    [ "$output" = "8 components will be learned anew; until then they are unknown" ]
    [ "$(lab exec taut relearn tx --json | lab_json 'print(d.components)')" = 8 ]
    says 'tx: nothing expected yet' status
    says 'n3/tx is unknown' explain n3/tx
    says 'relearn.*capacity of class' policy log
}

log_line() {
    lab exec bash -c 'echo "$(date "+%b %e %H:%M:%S") '"$1"' kernel: [1.5] ixgbe 0000:08:00.0 hsn0: NIC Link is '"$2"'" >>'$LOG
}

@test "what is known without any test is suspect and said, not drained" {
    lab exec bash -c ": >>$LOG"
    wait_until 10 eval 'lab log tautd --stderr | grep -q "kernel.log can be followed again"'
    log_line n6 Down
    wait_until 20 says '^n6/tx +suspect.*alert' status
    lab exec taut explain n6/tx | sed -n '3,9p' |
        grep -q -- '- link of n6/hsn0 is down: 0% of its capacity is left'
    says 'n6/tx is suspect: link of n6/hsn0 is' status
    nothing_drained
    log_line n6 Up
    wait_until 20 eval '! says "^n6/tx +suspect" status'
}
