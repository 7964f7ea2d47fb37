#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Machines as they are: two islands that nothing joins, with nodes that are switched off, reserved,
# or in partitions of their own.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    local n m
    cat >"$BATS_FILE_TMPDIR/two-roots.conf" <<END
SwitchName=ibA Switches=leafA[1-2]
SwitchName=leafA1 Nodes=n[0-1]
SwitchName=leafA2 Nodes=n[2-3]
SwitchName=ibB Switches=leafB[1-2]
SwitchName=leafB1 Nodes=n[4-5]
SwitchName=leafB2 Nodes=n[6-7]
END
    { sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua"
      "$TAUT_PREFIX/bin/taut" topology import slurm-conf "$BATS_FILE_TMPDIR/two-roots.conf" \
          --capacity 12.5MB 2>/dev/null; } >"$BATS_FILE_TMPDIR/islands.lua"
    lab_file sites lab up --tree 4x2x2 --node-cpus 4 --health-interval 5 \
        --slurm-conf SuspendProgram=/bin/true --slurm-conf ResumeProgram=/bin/true \
        --slurm-conf SuspendTime=86400 --slurm-conf ResumeTimeout=60 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/islands.lua"
    for n in 0 1 2 3; do
        for m in 4 5 6 7; do
            lab exec --node n$n ip route add unreachable 10.64.0.$((m + 1))/32
            lab exec --node n$m ip route add unreachable 10.64.0.$((n + 1))/32
        done
    done
}
teardown_file() { lab_file_end; }
setup() { lab_test; out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err; }
teardown() {
    lab_report
    [ -n "$LAB_MISSING" ] || put_back >/dev/null 2>&1 || true
}

put_back() {
    lab exec bash -c 'for r in pm course; do scontrol delete reservationname=$r; done
        scontrol update nodename=n6 state=resume; scontrol update nodename=n7 state=POWER_UP'
    cancel_all
    wait_until 5 all_idle
}

# survey [SECONDS] WORDS...: as root; sets status, output in $out, $err
survey() {
    status=0
    lab exec timeout -s INT "$1" taut "${@:2}" >"$out" 2>"$err" || status=$?
    cat "$out" "$err"
}

@test "between islands nothing is tested, advised or drawn" {
    local i
    for i in 1 2 3; do
        lab exec --user alice srun -Q -w 'n[0-3]' -N4 true
        lab exec --user alice srun -Q -w 'n[4-7]' -N4 true
        sleep 6 # an idle cycle
    done
    wait_until 30 all_idle
    lab exec taut status | grep -Eq '24 ok, 0 suspect, 0 slow'
    lab exec taut links | grep -q 'top' && return 1
    lab exec taut advise -N 4 | grep -Eq 'n\[0-3\]|n\[4-7\]'
    ! lab exec taut advise -N 6 >"$out" 2>&1 || false
    grep -q 'no 6 free nodes have routes between them' "$out"
    # both islands were tested, whole
    survey 60 audit --all
    [ "$status" -eq 0 ]
    grep -q '8 of 8 links measured' "$out"
    survey 60 matrix --all
    [ "$status" -eq 0 ]
    grep -q '24 of 24' "$out"
    grep -q '32 pairs are left out' "$out" "$err"
}

@test "an audit begins before a maintenance that is announced" {
    lab exec scontrol create reservation ReservationName=pm StartTime=now+20hours Duration=240 \
        Users=root Flags=MAINT,IGNORE_JOBS Nodes=ALL
    lab exec scontrol update partitionname=batch maxtime=UNLIMITED defaulttime=UNLIMITED
    survey 60 audit --all
    [ "$status" -eq 0 ]
}

@test "an audit leaves out what is reserved or switched off, and says so" {
    lab exec scontrol create reservation ReservationName=course StartTime=now Duration=30 \
        Users=root Nodes='n[0-1]'
    lab exec scontrol update nodename=n7 state=POWER_DOWN
    lab exec scontrol update nodename=n6 state=drain reason=mine
    is_off() { lab exec sinfo -h -N -n n7 -o %T | grep -Eq '~|powered_down'; }
    wait_until 60 is_off
    survey 60 audit --all
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
    grep -q 'left out, in reservation course: n\[0-1\]' "$err"
    grep -q 'left out, switched off to save power, or not yet on again: n7' "$err"
    grep -q 'left out, drained: n6' "$err"
    survey 60 audit --all --reservation course
    grep -q 'n0' "$out"
    survey 20 audit --all --reservation nothing
    [ "$status" -eq 1 ]
    grep -q "there is no reservation 'nothing'" "$err"
    # neither woken nor offered
    is_off
    lab exec taut advise -N 2 --top 20 >"$out"
    ! grep -q n7 "$out"
}

@test "an audit of several partitions says which to give" {
    lab exec bash -c 'sed -i "s/^PartitionName=batch.*/PartitionName=a Nodes=n[0-3] Default=YES State=UP\nPartitionName=b Nodes=n[4-7] State=UP/" /etc/slurm/slurm.conf; scontrol reconfigure'
    sleep 3
    survey 20 audit --all
    [ "$status" -eq 1 ]
    tr -s ' \n' ' ' <"$err" | grep -Eq 'no partition has all .* -p a \(4 nodes\)' 
    survey 60 audit --all -p a
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
}

@test "a survey that waits says Slurm's reason" {
    # what is asked for is not what is free: somebody was quicker
    lab exec --user alice sbatch -Q -p a -N 4 --exclusive -o /dev/null --wrap 'sleep 300'
    wait_until 20 eval '[ -n "$(lab exec squeue -h -t running -o %A)" ]'
    lab exec scontrol update partitionname=a state=UP maxtime=5
    cancel_all
    wait_until 60 no_jobs
    survey 12 audit --all -p a --limit 30
    grep -Eq 'audit: job [0-9]+ waits: PartitionTimeLimit' "$err"
}

@test "that MUNGE is away is said at once" {
    lab daemon stop tautd
    lab daemon stop munged
    mark
    lab daemon start tautd
    wait_until 20 says tautd 'MUNGE does not answer here, so no node can be authenticated'
    lab exec taut status | grep -q '^munge .*does not answer'
    lab exec taut doctor | grep -q 'auth/slurm does not take its place'
    lab daemon start munged
    wait_until 30 says tautd 'MUNGE answers again'
}
