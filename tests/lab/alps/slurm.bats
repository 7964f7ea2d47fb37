#!/usr/bin/env bats
# time limit: 1500 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm 17.02 with select/alps over the lab's ALPS: Taut is built for it, the
# batch script's slurmstepd starts the check, drains stand in sinfo -R.
# TAUT_ALPS_PREFIX: such a build that is there already.

load alps.bash
KIND=slurm
SLURM=/opt/slurm-17.02-alps

build() {
    mkdir -p "$BATS_FILE_TMPDIR/build" && cd "$BATS_FILE_TMPDIR/build" || return
    "$TAUT_SRCDIR/configure" --enable-werror --with-slurm=$SLURM --prefix="$PWD/inst" \
        --disable-unit-tests --sysconfdir=/etc --localstatedir=/var --runstatedir=/run \
        >configure.log 2>&1 || { tail -n 20 configure.log; return 1; }
    make -j2 >make.log 2>&1 || { tail -n 40 make.log; return 1; }
    make install sysconfdir="$PWD/inst/etc" localstatedir="$PWD/inst/var" \
        runstatedir="$PWD/inst/run" >install.log 2>&1 || { tail -n 20 install.log; return 1; }
}

setup_file() {
    can_have_lab || return 0
    if [ ! -x $SLURM/sbin/slurmctld ]; then
        export LAB_MISSING="Slurm 17.02 over ALPS is not there ($SLURM)"
        return 0
    fi
    if [ -n "${TAUT_ALPS_PREFIX:-}" ]; then TAUT_PREFIX=$TAUT_ALPS_PREFIX
    else build && TAUT_PREFIX=$BATS_FILE_TMPDIR/build/inst || return; fi
    export TAUT_PREFIX
    # where nodes are, Slurm says
    { alps_conf; echo 'topology = torus { from = "slurm", capacity = 12.5 * MB }'; } \
        >"$BATS_FILE_TMPDIR/from-slurm.lua"
    lab_file alps-slurm lab up --alps --torus 4x2x2 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/from-slurm.lua"
}
teardown_file() { lab_file_end; }
setup() { alps_test; }
teardown() {
    [ -n "$LAB_MISSING" ] || lab_report
    [ -n "$LAB_MISSING" ] || alps_clean
}

@test "alps, slurm: a slow node is drained, and given back" {
    a_slow_node
    # never through ALPS, which would kill the job
    [ "$(node_state nid00005)" = up ]
}
@test "alps, slurm: a slow link is avoided" { a_slow_link; }
@test "alps, slurm: tickets of others are refused" { hostile_tickets; }

lost() { [ "$(full_reason nid00005)" = none ]; }
ours() { [[ $(full_reason nid00005) == "taut: sends at "* ]]; }

@test "alps, slurm: our drain stays ours when Slurm forgets its reason" {
    lab degrade n5/tx 25
    hunt drained nid00005
    wait_until 10 ours
    lab exec scontrol reconfigure
    wait_until 20 ours
    lab daemon restart slurmctld
    wait_until 20 ours
    lab daemon stop tautd
    lab exec scontrol reconfigure
    wait_until 10 lost
    start_tautd
    wait_until 20 ours
    lab heal n5/tx
    lab exec taut resume nid00005
}

@test "alps, slurm: a node that ALPS has down is left alone" {
    lab exec xtprocadmin -k s admindown -n 20
    ! lab exec taut resume nid00020 || false
    [ "$(node_state nid00020)" = admindown ]
    lab exec xtprocadmin -k s up -n 20
    wait_until 30 all_idle
}

@test "alps, slurm: a job starts without tautd" { without_tautd; }
@test "alps, slurm: a job starts while aprun hangs, and it is killed" {
    lab exec touch /run/lab/alps/hang.aprun
    job 2 rm -f /run/lab/alps/no-such-file
    says nodes 'not done after 4700 ms; stopped'
}
@test "alps, slurm: a job starts where aprun is refused" {
    lab exec touch /run/lab/alps/dead.aprun
    job 2 true
    says nodes 'aprun: apsched: claim refused'
}

# salloc, and srun without a script: nothing checks, nothing is in the way
@test "alps, slurm: taut status says which jobs are not checked" {
    [[ $(lab exec taut status) == *"those of salloc and of srun"* ]]
}
