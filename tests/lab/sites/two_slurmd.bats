#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Two slurmd on each host, as on test clusters, and where sockets or GPUs are nodes: two nodes of the
# topology share one address and one cable.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    local c n
    cat >"$BATS_FILE_TMPDIR/topology.conf" <<END
SwitchName=leaf0 Nodes=c[0-3]
SwitchName=leaf1 Nodes=c[4-7]
SwitchName=spines Switches=leaf[0-1]
END
    { sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua"
      "$TAUT_PREFIX/bin/taut" topology import slurm-conf "$BATS_FILE_TMPDIR/topology.conf" \
          --capacity 12.5MB 2>/dev/null; } >"$BATS_FILE_TMPDIR/two.lua"
    # the lab's own description first, as its nodes are n0 …
    small_conf "$BATS_FILE_TMPDIR/lab.lua" --tree 4x2x2
    lab_file slurmds lab up --tree 4x2x2 --node-cpus 4 --health-interval 60 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/lab.lua"
    for n in 0 1 2 3 4 5 6 7; do lab daemon stop slurmd@n$n; done
    lab daemon stop slurmctld
    lab daemon stop tautd
    lab exec bash -s <<'END'
sed -i "/^NodeName/d;/^PartitionName/d;s#^SlurmdPidFile.*#SlurmdPidFile=/run/slurmd.%n.pid#" /etc/slurm/slurm.conf
for c in 0 1 2 3 4 5 6 7; do
    h=$((c / 2))
    echo "NodeName=c$c NodeHostname=n$h NodeAddr=172.30.1.$((h + 1)) Port=1700$c CPUs=2 RealMemory=1000 State=UNKNOWN"
done >>/etc/slurm/slurm.conf
echo "PartitionName=batch Nodes=c[0-7] Default=YES State=UP" >>/etc/slurm/slurm.conf
rm -rf /var/spool/slurmctld/* /var/lib/taut/*
END
    lab exec install -m 644 /dev/stdin /etc/slurm/topology.conf <"$BATS_FILE_TMPDIR/topology.conf"
    lab exec install -m 644 /dev/stdin /etc/taut/taut.lua <"$BATS_FILE_TMPDIR/two.lua"
    lab daemon start slurmctld
    lab daemon start tautd
    for c in 0 1 2 3 4 5 6 7; do
        lab exec --node n$((c / 2)) slurmd -N c$c || {
            export TWO_MISSING="slurmd -N does not start: this Slurm has one slurmd a host"
            return 0
        }
    done
}
teardown_file() { lab_file_end; }
setup() { lab_test; [ -z "${TWO_MISSING:-}" ] || skip "$TWO_MISSING"; }
teardown() { lab_report; }

job() { lab exec --user alice timeout 60 srun -Q -N8 true; }

# what tests said of a component's node, oldest first
told() { lab exec taut explain "$1"; }

@test "two slurmd on one host are no pair, and their cable is found" {
    wait_until 30 all_idle
    lab degrade n1/tx 25
    found() {
        job
        sleep 2
        told c2/tx | grep -Eq 'is (suspect|slow)' || told c3/tx | grep -Eq 'is (suspect|slow)'
    }
    wait_until 30 found
    for c in c2 c3; do
        # nothing went from one to the other, and nothing showed more than there is
        ! told $c | grep -Eq 'c2>c3 [0-9]|c3>c2 [0-9]' || false
        ! told $c | grep -E ' good ' | grep -Eq '[0-9]{4,}% of expected' || false
    done
}

@test "an audit leaves pairs of one host out" {
    lab heal --all
    lab exec taut audit --all >"$BATS_TEST_TMPDIR/out" 2>&1 || true
    cat "$BATS_TEST_TMPDIR/out"
    grep -q 'are one host' "$BATS_TEST_TMPDIR/out"
    ! grep -Eq '^c0 to c1.*(MB|GB)/s in' "$BATS_TEST_TMPDIR/out"
}
