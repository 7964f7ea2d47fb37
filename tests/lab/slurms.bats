#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Every release series of Slurm that is there (/opt/slurm-*, or the prefixes
# in TAUT_SLURMS): Taut builds against it, prologs of real jobs find a slow
# node, sinfo -R says so, the node comes back, also through a reboot (24.11),
# advice names nodes that a job gets.  `taut-slurm' (tests/system) asks the installed Slurm everything.

load lib/tests.bash

KNOWN="23.11 24.11 25.11 26.05"

setup() {
    LAB_MISSING=$(what_is_missing)
    [ -z "$LAB_MISSING" ] || skip "$LAB_MISSING"
}
teardown() {
    [ -z "${series_up:-}" ] || { lab_report; lab down; }
}

# Slurm over ALPS is tried by a file of its own.
prefixes() {
    local prefix
    for prefix in ${TAUT_SLURMS:-/opt/slurm-[0-9]*}; do
        [ -x "$prefix/sbin/slurmctld" ] && [[ $prefix != *-alps ]] && echo "$prefix"
    done
}

# The release series of the Slurm below a prefix: 26.05
series_of() { "$1/sbin/slurmctld" -V | sed -E 's/.* ([0-9]+\.[0-9]+)\..*/\1/'; }

# What was compiled with a header of Slurm's: a program and the plugin, of all
# that Taut is.
forget_slurm() {
    local deps object
    grep -rlE --include='*.P*o' '/slurm/(slurm|spank)[a-z_]*\.h' . |
        while read -r deps; do
            object=${deps/.deps\//}
            rm -f "${object%.P*o}".o "${object%.P*o}".lo
        done
}

# build PREFIX: Taut for that Slurm, warnings being errors, into ./inst; what was
# compiled for the Slurm before and has nothing of it stays
build() {
    mkdir -p "$BATS_FILE_TMPDIR/build" && cd "$BATS_FILE_TMPDIR/build" || return
    forget_slurm
    rm -rf inst
    "$TAUT_SRCDIR/configure" --enable-werror --with-slurm="$1" --prefix="$PWD/inst" \
        --disable-unit-tests --sysconfdir=/etc --localstatedir=/var --runstatedir=/run \
        >configure.log 2>&1 || { tail -n 20 configure.log; return 1; }
    make -j2 >make.log 2>&1 || { tail -n 40 make.log; return 1; }
    make install sysconfdir="$PWD/inst/etc" localstatedir="$PWD/inst/var" \
        runstatedir="$PWD/inst/run" >install.log 2>&1 || { tail -n 20 install.log; return 1; }
}

up() {
    small_conf "$BATS_TEST_TMPDIR/small.lua"
    export LAB_NAME=slurms-$BATS_TEST_NUMBER-$$
    series_up=yes
    lab up --torus 2x2x1 --slurm "$1" --taut "$PWD/inst" \
        --taut-conf "$BATS_TEST_TMPDIR/small.lua" --health-interval 5 \
        --slurm-conf RebootProgram=/bin/true
}

# A job that is asked for just before n5 is drained would wait for ever.
job_on_all() { lab exec timeout 20 srun -N8 true; }
found() { scene_is_drained n5 || { job_on_all; scene_is_drained n5; }; }
all_free() { [ "$(lab exec taut advise -N 8 --nodelist 2>/dev/null)" = "n[0-7]" ]; }

is_rebooting() { lab exec scontrol show node "$1" | grep -q 'State=.*REBOOT'; }
is_drained_again() {
    ! is_rebooting n5 && scene_is_drained n5 &&
        whole_log tautd | grep -q 'n5 was rebooted, not repaired: drained again'
}

# A rolling update of the kernel gives a drained node back without a repair
# (policy.bats tries the installed Slurm).
reboots() {
    lab exec scontrol reboot ASAP nextstate=RESUME n5 || return
    wait_until 10 is_rebooting n5 || return
    sleep 4 # as long as tautd takes to look at Slurm again; a boot takes minutes
    lab daemon stop slurmd@n5 || return
    lab exec --node n5 slurmd -b -N n5 || return
    wait_until 30 is_drained_again || return
    [[ $(lab exec sinfo -R -h -o %E) == "taut: sends at "[123]?%\;\ *n5* ]] || return
    [[ $(lab exec taut explain n5/tx) == *'slow at '[123]?%* ]] || return
    lab exec --node n5 bash -c 'kill "$(cat /run/slurmd.pid)"'
    lab daemon start slurmd@n5
}

# try PREFIX: the whole of it
try() {
    build "$1" && up "$1" || return
    lab exec scontrol version
    lab degrade n5/tx 25
    wait_until 120 found || return
    [[ $(lab exec sinfo -R -h -o %E) == "taut: sends at "[123]?%\;\ *n5* ]] || return
    # a job starts beside the drained node, and the plugin leaves no error
    lab exec timeout 60 srun -N7 true || return
    ! lab exec grep -h 'spank.*error' -r /var/log/slurm || return
    [ "$(series_of "$1")" != 24.11 ] || reboots || return
    lab heal n5/tx
    lab exec taut resume n5 || return
    wait_until 60 all_idle || return
    wait_until 60 all_free || return
    local nodes
    nodes=$(lab exec taut advise -N 4 --nodelist) || return
    [ "$(lab exec timeout 60 srun -N4 --nodelist="$nodes" hostname | wc -l)" -eq 4 ] || return
}

# series NUMBER: the prefix of that series
series() {
    local prefix
    for prefix in $(prefixes); do
        [ "$(series_of "$prefix")" != "$1" ] || { try "$prefix"; return; }
    done
    skip "Slurm $1 is not there (/opt/slurm-$1)"
}

@test "slurms: 23.11" { series 23.11; }
@test "slurms: 24.11" { series 24.11; }
@test "slurms: 25.11" { series 25.11; }
@test "slurms: 26.05" { series 26.05; }

@test "slurms: every other" {
    local prefix others=0
    for prefix in $(prefixes); do
        [[ " $KNOWN " == *" $(series_of "$prefix") "* ]] && continue
        others=$((others + 1))
        try "$prefix" && lab down && series_up='' || return
    done
    [ $others -gt 0 ] || skip "no other Slurm is there"
}
