#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# doc/first_hour.md, from `taut init` to a named link: a cluster whose Slurm knows the wiring as a
# tree, tautd with the file that init wrote and nothing else, the documented acceptance test.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

FABRIC=(--tree 4x2x2)

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua" "${FABRIC[@]}"
    lab_file hour lab up "${FABRIC[@]}" --node-cpus 1 --health-interval 5 \
        --slurm-conf SlurmctldParameters=enable_configless \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
    # What a site's Slurm has of it, in its folder.
    {
        for i in 0 1 2 3; do echo "SwitchName=leaf$i Nodes=n[$((2 * i))-$((2 * i + 1))]"; done
        echo "SwitchName=spine0 Switches=leaf[0-3]"
        echo "SwitchName=spine1 Switches=leaf[0-3]"
    } >"$BATS_FILE_TMPDIR/topology.conf"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# The folder of slurm.conf, in the lab.
folder() { lab exec scontrol show config | sed -n 's/^SLURM_CONF *= *\(.*\)\/slurm.conf$/\1/p'; }

# The commands of the document's block after a line that has some words.
document() {
    awk -v words="$1" 'index($0, words) { found = 1 }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' "$TAUT_SRCDIR/doc/first_hour.md" | sed 's/ *#.*//'
}

@test "init looks, says what it found, and writes nothing when it is asked to" {
    lab exec install -m 644 /dev/stdin "$(folder)/topology.conf" <"$BATS_FILE_TMPDIR/topology.conf"
    run lab exec taut init --dry-run --output /var/spool/hour
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"---- /var/spool/hour/taut.lua"*"-- Found: Slurm "*" 8 nodes"* ]]
    [[ $output == *"-- Found: the wiring, in "*"/topology.conf"* ]]
    ! lab exec test -e /var/spool/hour/taut.lua
}

@test "init writes files that tautd takes, and again changes nothing" {
    lab exec mkdir -p /var/spool/hour
    # it ends with what doctor says
    lab exec taut init --output /var/spool/hour >"$BATS_TEST_TMPDIR/out" || [ $? -le 2 ]
    cat "$BATS_TEST_TMPDIR/out"
    grep -qx "/var/spool/hour/taut.lua: written" "$BATS_TEST_TMPDIR/out"
    grep -q " as it should be, .* to mend$" "$BATS_TEST_TMPDIR/out"
    [ "$(lab exec stat -c %a /var/spool/hour/taut.lua)" = 644 ]
    lab exec taut config check --file /var/spool/hour/taut.lua ||
        lab exec tautd --check -c /var/spool/hour/taut.lua
    lab exec taut init --output /var/spool/hour >"$BATS_TEST_TMPDIR/out" || true
    grep -qx "/var/spool/hour/taut.lua: is up to date" "$BATS_TEST_TMPDIR/out"
    ! lab exec test -e /var/spool/hour/taut.lua.new || false
    # what somebody changed stays
    lab exec bash -c 'echo "mode = \"drain\"" >>/var/spool/hour/taut.lua'
    lab exec taut init --output /var/spool/hour >"$BATS_TEST_TMPDIR/out" || true
    grep -q "the new file is /var/spool/hour/taut.lua.new" "$BATS_TEST_TMPDIR/out"
    [ "$(lab exec tail -n 1 /var/spool/hour/taut.lua)" = 'mode = "drain"' ]
    lab exec mv /var/spool/hour/taut.lua.new /var/spool/hour/taut.lua
}

@test "the documented acceptance test names a slow link, and no other" {
    # the file of init; what the lab's network is like, which no Slurm tells, besides
    { lab exec cat /var/spool/hour/taut.lua
        echo 'listen = "172.30.0.1:6824"'
        echo 'refresh_s = 2'; } >"$BATS_TEST_TMPDIR/taut.lua"
    lab exec install -m 644 /dev/stdin /etc/taut/taut.lua <"$BATS_TEST_TMPDIR/taut.lua"
    lab daemon restart tautd
    up() { lab exec taut status >/dev/null 2>&1; }
    wait_until 20 up
    document "On idle nodes, in seconds" >"$BATS_TEST_TMPDIR/commands"
    cat "$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c '^taut verify' "$BATS_TEST_TMPDIR/commands")" -eq 3 ]
    clear_holdoff
    lab degrade leaf2/3 25
    named() {
        lab exec bash -c "$(head -n 1 "$BATS_TEST_TMPDIR/commands")" >"$BATS_TEST_TMPDIR/out"
        local status=$?
        tail -n 5 "$BATS_TEST_TMPDIR/out"
        [ $status -eq 3 ] && grep -q "^Slow: leaf2/" "$BATS_TEST_TMPDIR/out"
    }
    wait_until 60 named
    [ "$(grep -c '^Slow: ' "$BATS_TEST_TMPDIR/out")" -eq 1 ]
    lab heal --all
    well() {
        lab exec bash -c "$(sed -n 2p "$BATS_TEST_TMPDIR/commands")" >"$BATS_TEST_TMPDIR/out"
    }
    wait_until 60 well
}

# slurmd has plugstack.conf from slurmctld then, and nothing of Slurm on its disk; the plugin and
# the probe are its own.
@test "configless Slurm: nodes without a file of Slurm's have their checks" {
    local node before
    for node in n0 n1; do
        lab daemon stop "slurmd@$node"
        lab exec --node $node bash -c "mount -t tmpfs none /etc/slurm
            setsid slurmd -D -N $node --conf-server ctl:6817 >/var/spool/slurmd.$node 2>&1 </dev/null 3>&- 4>&- &"
    done
    both_idle() { [ "$(lab exec sinfo -h -n n[0-1] -t idle -o %D)" = 2 ]; }
    wait_until 20 both_idle
    before=$(status 'print(s.hellos)')
    heard() {
        clear_holdoff
        lab exec srun -Q -N2 -w n[0-1] --exclusive true || return
        [ "$(status 'print(s.hellos)')" -ge $((before + 2)) ]
    }
    wait_until 30 heard
    ! lab exec --node n0 test -e /etc/slurm/plugstack.conf
}
