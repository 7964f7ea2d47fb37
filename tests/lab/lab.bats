#!/usr/bin/env bats
# time limit: 1200 s
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the lab itself.  They need root, iproute2 and Debian's Slurm, and
# are skipped where these are missing.  Bandwidths are compared with wide
# margins: what is asserted is who is slow, not how fast anything is.

setup_file() {
    export LAB="$BATS_TEST_DIRNAME/lab"
    export LAB_NAME="bats-$$"
    if reason=$(missing); then export LAB_MISSING=$reason; return; fi
    export HOST_BEFORE="$BATS_FILE_TMPDIR/before"
    host_state >"$HOST_BEFORE"
    "$LAB" up --torus 4x2x2 --slurm-conf 'MaxArraySize=77'
}

# A test that failed half-way must not leave its lab, either.
teardown_file() {
    local name
    [ -z "${LAB_MISSING:-}" ] || return 0
    for name in "$LAB_NAME" "$LAB_NAME-b" "$LAB_NAME-f" "$LAB_NAME-k"; do
        LAB_NAME=$name "$LAB" down 2>/dev/null || true
    done
}

setup() {
    [ -z "${LAB_MISSING:-}" ] || skip "$LAB_MISSING"
}

missing() {
    local program
    [ "$(id -u)" -eq 0 ] || { echo "needs root"; return; }
    for program in ip tc unshare nsenter setpriv slurmctld slurmd munged; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null ||
            { echo "$program is not installed"; return; }
    done
    return 1
}

# All of the machine that a lab might touch.
host_state() {
    ip -o link show | sed 's/@.*//'
    ip -4 route show table all
    hostname
    ls -A /run /run/netns /etc /etc/slurm /etc/munge /var/log /var/spool \
        /var/lib /dev 2>/dev/null | grep -v '^\(pts\|mqueue\)$'
    md5sum /etc/passwd /etc/group /etc/hosts /etc/nsswitch.conf
    cat /proc/self/mounts
}

# One TCP stream, median of five tests, bytes per second.  They are long enough
# for a machine on which either end waits for tenths of a second.
rate() {
    "$LAB" measure "$1" "$2" --ms 300 --warmup 50 --repeat 5 2>/dev/null | sort -n | sed -n 3p
}

# soon COMMAND…: poll until it succeeds, for two minutes at most
soon() {
    local end=$((SECONDS + 120))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

# between LOW HIGH VALUE
between() {
    awk -v l="$1" -v h="$2" -v v="$3" 'BEGIN { exit !(v >= l && v <= h) }' ||
        { echo "$3 is not within $1 .. $2"; return 1; }
}

# users_of mnt|net NUMBER: the processes that are in that namespace, as files.
users_of() {
    stat -Lc '%i %n' /proc/[0-9]*/ns/"$1" 2>/dev/null | sed -n "s/^$2 //p"
}

# The links that carry a stream from one node to another, in no order.
links_used() {
    "$LAB" counters >"$BATS_TEST_TMPDIR/a"
    "$LAB" measure "$1" "$2" --ms 60 >/dev/null
    "$LAB" counters >"$BATS_TEST_TMPDIR/b"
    # Acknowledgements go the other way and are a few kilobytes.
    paste -d ' ' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" |
        awk '$1 ~ /^r/ && $5 - $2 > 60000 { print $1 }' | sort | tr '\n' ' '
}

@test "routes go X, then Y, then Z, the shorter way" {
    # n0 is on r0.0.0; n22 on r2.1.1, half a ring of four away in X: tie, +.
    [ "$(links_used n0 n22)" = "r0.0.0/X+ r1.0.0/X+ r2.0.0/Y+ r2.1.0/Z+ " ]
    # Back from r2.1.1: the tie goes + again, through r3.
    [ "$(links_used n22 n0)" = "r0.0.1/Z+ r0.1.1/Y+ r2.1.1/X+ r3.1.1/X+ " ]
    # r3 is one step below r0.
    [ "$(links_used n0 n24)" = "r0.0.0/X- " ]
    [ "$(links_used n0 n1)" = "" ]
}

@test "an idle torus carries nothing" {
    "$LAB" counters >"$BATS_TEST_TMPDIR/a"
    sleep 2
    "$LAB" counters | diff "$BATS_TEST_TMPDIR/a" -
}

@test "degrade: one direction of a link, heal restores it" {
    "$LAB" degrade r0.0.0/X+ 25
    between 2.2e6 4e6 "$(rate n0 n8)"
    between 9e6 14e6 "$(rate n8 n0)"
    run "$LAB" status
    [[ $output = *"fault  r0.0.0/X+ 25%"* ]]
    "$LAB" heal r0.0.0/X+
    between 9e6 14e6 "$(rate n0 n8)"
    run "$LAB" status
    [[ $output != *fault* ]]
}

@test "degrade: tx and rx of a node, and --both" {
    "$LAB" degrade n5/tx 50
    between 4.5e6 8e6 "$(rate n5 n4)"
    between 9e6 14e6 "$(rate n4 n5)"
    "$LAB" heal n5/tx
    "$LAB" degrade n5/rx 25 --both
    between 2.2e6 4e6 "$(rate n4 n5)"
    between 2.2e6 4e6 "$(rate n5 n4)"
    "$LAB" heal --all
    between 9e6 14e6 "$(rate n4 n5)"
    between 9e6 14e6 "$(rate n5 n4)"
}

@test "degrade under load does not wedge a port" {
    # A tbf changed in place waited for ever for tokens it could not hold.
    "$LAB" load n0 n8 --steady --streams 2
    for percent in 100 50 25 100 50 25 10; do
        "$LAB" degrade r0.0.0/X+ $percent
        sleep 0.1
    done
    "$LAB" load --stop
    sleep 0.2
    between 0.8e6 2e6 "$(rate n0 n8)"
    "$LAB" heal --all
}

@test "fail: nothing arrives, no route changes, heal restores" {
    "$LAB" fail r0.0.0/Z+
    [ "$(rate n0 n2)" = 0 ]
    between 9e6 14e6 "$(rate n0 n8)"
    "$LAB" heal r0.0.0/Z+
    [ "$(links_used n0 n2)" = "r0.0.0/Z+ " ]
    "$LAB" fail n7/rx
    [ "$(rate n6 n7)" = 0 ]
    "$LAB" heal --all
    between 9e6 14e6 "$(rate n6 n7)"
}

@test "--both fails a cable in a ring of two and in a ring of four" {
    "$LAB" fail r1.0.0/Y+ --both
    run "$LAB" status
    [[ $output = *"r1.0.0/Y+ failed"* && $output = *"r1.1.0/Y+ failed"* ]]
    "$LAB" heal r1.1.0/Y+ --both
    "$LAB" fail r0.0.0/X- --both
    run "$LAB" status
    [[ $output = *"r0.0.0/X- failed"* && $output = *"r3.0.0/X+ failed"* ]]
    [[ $output != *Y+* ]]
    "$LAB" heal --all
}

@test "wrong components are named, with what is possible" {
    run "$LAB" fail r9.0.0/X+
    [ "$status" -ne 0 ]
    [[ $output = *"r9.0.0/X+: no such router in torus 4x2x2"* ]]
    run "$LAB" fail r0.0.0/Y-
    [[ $status -ne 0 && $output = *"X+ X- Y+ Z+"* ]]
    run "$LAB" degrade n32/tx 50
    [[ $status -ne 0 && $output = *"n0 to n31"* ]]
    run "$LAB" degrade n3/tx 101
    [[ $status -ne 0 && $output = *"1 to 100"* ]]
    run "$LAB" degrade n3 50
    [[ $status -ne 0 && $output = *"is not a component"* ]]
}

@test "load is seen by the counters of its ports, and stops" {
    "$LAB" load n10 n18 --steady --streams 3
    run "$LAB" status
    [[ $output = *"load   n10-n18: streams 3"* ]]
    "$LAB" counters >"$BATS_TEST_TMPDIR/a"
    busy() {
        "$LAB" counters >"$BATS_TEST_TMPDIR/b"
        [ "$(paste -d ' ' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" |
            awk '$5 - $2 > 3000000 { print $1 }' | sort | tr '\n' ' ')" = "$1" ]
    }
    soon busy "n10/tx n18/rx r1.0.1/X+ "
    "$LAB" load --stop n10 n18
    run "$LAB" status
    [[ $output != *load* ]]
}

@test "load in bursts pauses" {
    "$LAB" load n10 n18 --seed 7
    # microseconds and bytes
    sent() { "$LAB" counters | awk -v us="${EPOCHREALTIME/./}" '$1 == "n10/tx" { print us, $2 }'; }
    sleep 0.2
    sent >"$BATS_TEST_TMPDIR/a"
    sleep 4
    sent >"$BATS_TEST_TMPDIR/b"
    "$LAB" load --stop
    # some of the time, not all of it: at full rate these are 13 MB/s
    between 0.25e6 11e6 "$(paste -d ' ' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" |
        awk '{ print int(1e6 * ($4 - $2) / ($3 - $1)) }')"
}

@test "load of limited length ends" {
    "$LAB" load n10 n18 --steady --seconds 1
    ended() { ! "$LAB" status | grep -q load; }
    soon ended
}

@test "20 jobs of an ordinary user run, on several nodes each" {
    "$LAB" exec --user alice bash -c '
        for i in {1..20}; do
            sbatch -Q -N$((2 + i % 5)) -o job-%j.out --wrap "srun hostname; id -un"
        done
        for i in {1..600}; do
            [ -n "$(squeue -h)" ] || break
            sleep 0.2
        done' >/dev/null
    run "$LAB" exec bash -c 'scontrol show jobs | grep -c JobState=COMPLETED'
    [ "$output" -ge 20 ]
    run "$LAB" exec --user alice sh -c 'cat job-*.out | grep -cx alice'
    [ "$output" -eq 20 ]
    run "$LAB" exec --user alice sh -c 'cat job-*.out | grep -c "^n[0-9]"'
    [ "$output" -eq 80 ]
}

@test "a node sees its own interface, hostname, /run and MUNGE" {
    run "$LAB" exec --node n3 sh -c 'hostname; ls /sys/class/net; ls /run/lab'
    [[ $output = n3* && $output = *hsn0* ]]
    [[ $output = *"cannot access '/run/lab'"* ]]
    "$LAB" exec --node n3 sh -c 'touch /run/mine; munge -n' | "$LAB" exec unmunge >/dev/null
    run "$LAB" exec --node n4 ls /run/mine
    [ "$status" -ne 0 ]
}

@test "nobody learns an address by ARP" {
    local node
    for node in n0 n7; do
        run "$LAB" exec --node $node ip neighbour show
        [ "$status" -eq 0 ]
        [ "$(grep -c 'eth0 .*PERMANENT' <<<"$output")" -ge 8 ]
        [ "$(grep -cv PERMANENT <<<"$output")" -eq 0 ]
    done
    run "$LAB" exec ip neighbour show dev br0
    [ "$status" -eq 0 ]
    [ "$(grep -c PERMANENT <<<"$output")" -ge 8 ]
    [ "$(grep -cv PERMANENT <<<"$output")" -eq 0 ]
}

@test "a --slurm-conf line takes the default's place" {
    run "$LAB" exec scontrol show config
    [[ $output = *"MaxArraySize            = 77"* ]]
}

@test "syslog(3) stays in the lab" {
    "$LAB" exec --node n1 logger -p daemon.warning -t labtest "mark-$$"
    written() { "$LAB" log syslog | grep -q "labtest: mark-$$"; }
    soon written
}

@test "daemons stop, hang and start again" {
    "$LAB" daemon pause munged
    run "$LAB" daemon status munged
    [[ $output = "munged paused "* ]]
    run timeout 2 "$LAB" exec munge -n
    [ "$status" -eq 124 ]
    "$LAB" daemon resume munged
    "$LAB" exec munge -n >/dev/null
    "$LAB" daemon restart munged
    "$LAB" exec --node n2 munge -n >/dev/null
    "$LAB" daemon stop slurmd@n5
    run "$LAB" daemon status slurmd@n5
    [ "$output" = "slurmd@n5 stopped" ]
    "$LAB" daemon start slurmd@n5
    "$LAB" exec srun -w n5 true
    run "$LAB" daemon stop nonsense
    [[ $status -ne 0 && $output = *"no daemon 'nonsense'"* ]]
}

@test "a second lab runs beside, with faults and jobs of its own" {
    LAB_NAME=$LAB_NAME-b "$LAB" up --torus 3 --nodes-per-router 1
    LAB_NAME=$LAB_NAME-b "$LAB" fail n1/tx
    between 9e6 14e6 "$(rate n1 n0)"
    run env LAB_NAME="$LAB_NAME-b" "$LAB" exec srun -N3 hostname
    [ "${#lines[@]}" -eq 3 ]
    LAB_NAME=$LAB_NAME-b "$LAB" down
    "$LAB" exec srun -N2 true
}

@test "a lab with a name in use is refused" {
    run "$LAB" up --torus 4 --no-slurm
    [[ $status -ne 0 && $output = *"is up already"* ]]
    "$LAB" exec true
}

@test "an up that fails says where and leaves nothing" {
    run env LAB_NAME="$LAB_NAME-f" "$LAB" up --torus 2 \
        --slurm-conf 'SelectType=select/nonsense'
    [ "$status" -ne 0 ]
    [[ $output = *"slurmctld"*"failed"*"select/nonsense"* ]]
    [[ $output = *"nothing is left"* ]]
    run env LAB_NAME="$LAB_NAME-f" "$LAB" exec true
    [[ $status -ne 0 && $output = *"no lab named"* ]]
}

@test "killing the lab's init leaves nothing" {
    export LAB_NAME=$LAB_NAME-k
    "$LAB" up --torus 2x2 --nodes-per-router 1
    "$LAB" load n0 n3 --steady
    local pid file init=''
    for file in /proc/[0-9]*/cmdline; do
        IFS= read -r -d '' name 2>/dev/null <"$file" || continue
        [ "$name" != "taut-lab $LAB_NAME" ] || init=${file//[!0-9]/}
    done
    [ -n "$init" ]
    # The numbers of its mount and network namespaces; a network namespace of
    # a router has no process, it goes with the mounts that name it.
    local mnt net
    mnt=$(stat -Lc %i "/proc/$init/ns/mnt")
    net=$(stat -Lc %i "/proc/$init/ns/net")
    local inside=()
    mapfile -t inside < <(users_of mnt "$mnt" && users_of net "$net")
    [ "${#inside[@]}" -gt 6 ]
    kill -KILL "$init"
    # Those that came in from outside end a little after what they wait for.  The
    # namespaces' numbers may be another lab's by then.
    gone() {
        local file
        for file in "/proc/$init/ns/mnt" "${inside[@]}"; do
            [ ! -e "${file%/ns/*}" ] || return 1
        done
    }
    soon gone
    run "$LAB" status
    [[ $status -ne 0 && $output = *"no lab named"* ]]
}

@test "the machine is as it was before" {
    host_state | diff "$HOST_BEFORE" -
}
