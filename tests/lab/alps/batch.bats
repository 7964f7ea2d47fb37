#!/usr/bin/env bats
# time limit: 1200 s
# SPDX-License-Identifier: GPL-2.0-or-later
# ALPS without Slurm: batch jobs in TORQUE's order of calls, taut-alps-prologue,
# and taut-alps in taut-slurm's place.

load alps.bash
KIND=batch

setup_file() {
    can_have_lab || return 0
    alps_conf >"$BATS_FILE_TMPDIR/batch.lua"
    lab_file alps lab up --alps --no-slurm --torus 4x2x2 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/batch.lua"
    lab exec cp /etc/alps/prologue /etc/alps/ours
}
teardown_file() { lab_file_end; }
setup() {
    alps_test
    [ -n "$LAB_MISSING" ] || lab exec cp /etc/alps/ours /etc/alps/prologue
}
teardown() {
    [ -n "$LAB_MISSING" ] || lab_report
    [ -n "$LAB_MISSING" ] || alps_clean
}

@test "alps: a slow node is set admindown, and given back" { a_slow_node; }
@test "alps: a slow link is avoided" { a_slow_link; }
@test "alps: tickets of others are refused" { hostile_tickets; }

@test "alps: what somebody else took down is left alone" {
    lab exec xtprocadmin -k s admindown -n 20
    ! lab exec taut resume nid00020 || false
    lab exec taut drain nid00020 || true
    [ "$(node_state nid00020)" = admindown ]
    lab exec xtprocadmin -k s up -n 20
}

@test "alps: a job starts without tautd" { without_tautd; }
@test "alps: a job starts while munged hangs" { without_munge; }

# while_it FAULT: the prologue, while ALPS has that fault (a batch system that
# cannot reserve starts no job)
while_it() {
    lab exec install -m 755 /dev/stdin /etc/alps/prologue <<SH
#!/bin/sh
touch /run/lab/alps/$1
TAUT_HARD_STOP_S=6 /etc/alps/ours "\$1"
rm /run/lab/alps/$1
SH
}

@test "alps: a job starts where aprun is refused" {
    while_it dead.aprun
    runs
    says syslog 'nid[0-9]*: aprun: apsched: claim refused'
}

@test "alps: a job starts while aprun hangs, and it is killed" {
    while_it hang.aprun
    runs
    says syslog 'not done after 4700 ms; stopped'
}

@test "alps: a job starts while apbasil hangs" {
    while_it hang.apbasil
    runs
}
