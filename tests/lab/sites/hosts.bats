#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts as they are.  n6 and n7 are Slurm's dynamic nodes, all that leaf3 has.  n0 and n1 have a bond
# (a bridge, where the kernel has no bonding) of two fast ports, and every node a slower interface to
# the controller: each finds out what is its fabric (interface=auto).

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/all.lua" --tree 4x2x2
    sed 's/^   nodes = .*/&\n   dynamic = "n[6-7]",/' "$BATS_FILE_TMPDIR/all.lua" \
        >"$BATS_FILE_TMPDIR/hosts.lua"
    lab_file hosts lab up --tree 4x2x2 --node-cpus 4 --dynamic 2 --bond 2 --health-interval 5 \
        --slurm-conf TopologyPlugin=topology/none \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/hosts.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; out=$BATS_TEST_TMPDIR/out; }
teardown() {
    lab_report
    [ -n "$LAB_MISSING" ] || { lab heal --all; cancel_all; resume_all; } >/dev/null 2>&1 || true
}

job() { lab exec --user alice timeout 30 srun -Q -N"$1" true; }
status_has() { lab exec taut status | grep -Eq "$1"; }
take_away() {
    lab daemon stop "slurmd@$1"
    lab exec scontrol delete nodename="$1"
}

# bytes that tautd says a job sent by n0's hsn0
sent_by_n0() {
    lab exec "$TAUT_PREFIX/bin/taut" --lua /dev/stdin <<'END'
local db = assert(require("DBI").Connect("SQLite3", "/var/lib/taut/taut.db"))
local rows = assert(db:prepare("SELECT counters FROM growth WHERE node = 'n0' AND interface = 'hsn0'"))
assert(rows:execute())
local most = 0
for row in rows:rows(true) do
   most = math.max(most, require("taut.json").decode(row.counters).tx_bytes or 0)
end
print(most)
END
}
# Past fault: the 1 Gb/s management network was tested in place of a bond, silently.
@test "auto takes the bond of the fast ports, and counts what goes over it" {
    lab exec --node n0 ls /sys/class/net/hsn0/ | grep -q lower_port1
    [ "$(lab exec --node n0 cat /sys/class/net/eth0/speed)" = 1000 ]
    well() { job 8; sleep 2; status_has '32 ok, 0 suspect'; }
    wait_until 60 well
    lab load n0 n2 --steady --seconds 4
    lab exec --user alice timeout 30 srun -Q -w n0,n2 -N2 sleep 2
    counted() { [ "$(sent_by_n0)" -gt 5000000 ]; }
    wait_until 30 counted
    lab load --stop
    # what is wrong with the bond's cable is found, by tests that went over it
    lab degrade n0/rx 25
    found() { scene_is_drained n0 || { lab exec timeout 20 srun -Q -N8 true; scene_is_drained n0; }; }
    wait_until 40 found
    [[ $(shown_reason n0) == 'taut: recv at '[123]?%* ]]
    lab heal n0/rx
    lab exec taut resume n0
    wait_until 20 all_idle
}

@test "a dynamic node that leaves is not missed, and comes back untested" {
    all_ok() { job 8; sleep 2; status_has "32 ok, 0 suspect"; }
    wait_until 60 all_ok
    mark
    take_away n7
    wait_until 30 status_has 'nodes +7 here, 1 of .dynamic. away'
    status_has 'coverage +100% of 30 components'
    take_away n6
    wait_until 30 status_has '28 ok, 0 suspect, 0 slow, 0 lossy, 0 failed, 0 unknown'
    says tautd 'a node left: n6'
    # nobody misses them: neither advice, nor a survey, nor doctor
    ! lab exec taut advise -N 7 >"$out" 2>&1 || false
    grep -q '6 are free' "$out"
    lab exec taut audit --all >"$out" 2>&1
    grep -q '12 of 12 links measured' "$out"
    ! grep -q 'left out' "$out" || false
    ! lab exec taut doctor | grep -q 'Slurm does not know' || false
    # tautd was not restarted
    mark
    lab daemon start slurmd@n6
    wait_until 30 status_has 'components +28 ok, .* 2 unknown'
    says tautd 'a node joined, untested: n6'
    tested() { job 7; sleep 2; status_has '0 suspect.* 0 unknown'; }
    wait_until 30 tested
    lab exec taut advise -N 7 | grep -q 'n\[0-6\]'
}

@test "a slow dynamic node that is taken away is not drained when another has its name" {
    lab degrade n6/tx 25
    found() { scene_is_drained n6 || { lab exec timeout 20 srun -Q -N7 true; scene_is_drained n6; }; }
    wait_until 40 found
    take_away n6
    wait_until 30 status_has 'nodes +6 here'
    lab heal n6/tx
    mark
    lab daemon start slurmd@n6
    wait_until 30 says tautd 'a node joined, untested: n6'
    wait_until 30 eval '[ "$(lab exec sinfo -h -n n6 -o %T)" = idle ]'
    sleep 4 # another look at Slurm
    [ "$(lab exec sinfo -h -n n6 -o %T)" = idle ]
    lab exec taut policy log -n n6 | grep -q 'the node left'
    status_has '0 suspect, 0 slow'
}
