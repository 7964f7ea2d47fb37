#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# All of Taut over verbs: a lab of 6 nodes, each with a soft RoCE device.  tests/vm/all runs it
# in the virtual machine:
#
#   tests/vm/run --memory 3000 --seconds 1800 bats tests/vm/lab.bats

bats_require_minimum_version 1.5.0

VM_DIR=$BATS_TEST_DIRNAME
SCENE_DIR=$VM_DIR/../lab
load ../lab/lib/tests.bash
load scene.bash
FABRIC=(--tree 3x2x2)

setup_file() {
    can_have_lab || return 0
    if [ ! -e /dev/infiniband/rdma_cm ]; then
        export LAB_MISSING="no RDMA here: tests/vm/run bats tests/vm/lab.bats"
        return 0
    fi
    lab_file verbs verbs_up rxe "$BATS_FILE_TMPDIR/conf" "${FABRIC[@]}"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() {
    lab_report
    lab heal --all >/dev/null || true
    resume_all
}

# as_alice NODES COMMAND…: a job; its id goes to $BATS_TEST_TMPDIR/id
as_alice() {
    local nodes=$1
    shift
    lab exec --user alice bash -c 'cd / && exec timeout 120 srun -Q -N "$1" "${@:2}"' _ "$nodes" "$@"
}

# found WHAT STATE…: jobs until it is named, as one of these, and nothing else is
found() {
    run -0 inside until_jobs is_named "$1"
    run inside verdicts
    echo "${lines[*]}"
    [ ${#lines[@]} = 1 ]
    [[ " ${*:2} " == *" ${lines[0]#"$1" } "* ]]
}

# What is known of a job: a test with a figure, and counters of adapters?
has_both() {
    lab exec taut explain --job "$1" --json >"$BATS_TEST_TMPDIR/job"
    lab_json 'for _, t in ipairs(d.tests) do
        has = has or t.class == "good" or t.class == "low"
    end
    for _, g in ipairs(d.growth) do
        counts = counts or g.source == "ib" and g.counters.sent_pkts
    end
    os.exit(has and counts and true or false)' <"$BATS_TEST_TMPDIR/job"
}

@test "a job's nodes test over verbs, and tell what their adapters counted" {
    local try job
    # the first does not know yet how long libfabric takes to open, and a busy machine
    # may open connections, or read counters, late
    for try in 1 2 3 4 5 6 7 8; do
        job=$(as_alice 2 bash -c 'echo $SLURM_JOB_ID; sleep 1' | head -n 1)
        ! wait_until 2 has_both "$job" || return 0
    done
    cat "$BATS_TEST_TMPDIR/job"
    return 1
}

@test "matrix: all pairs of three nodes, bandwidth and latency" {
    chmod a+rwx "$BATS_TEST_TMPDIR"
    chmod a+rx "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test
    run as_alice 3 --ntasks-per-node=1 taut matrix --progress none --time 100
    echo "$output"
    [[ $output == *"6 of 6 pairs measured"* ]]
    run as_alice 3 --ntasks-per-node=1 taut matrix --progress none --latency --time 100
    echo "$output"
    [[ $output == *"6 of 6 pairs measured"* ]]
}

@test "a device that goes in the middle of a check costs no job, and is said" {
    lab exec bash -c 'sleep 1; ip netns exec n1 rdma link delete rxe_n1' &
    run -0 as_alice 6 true
    wait
    run -0 as_alice 6 true
    run lab exec bash -c 'grep -h taut: /var/log/slurm/slurmd.n1.log | tail -n 5'
    echo "$output"
    [[ $output == *"/dev/infiniband/uverbs"* || $output == *"no RDMA device has the address"* ]]
    lab exec ip netns exec n1 rdma link add rxe_n1 type rxe netdev hsn0
    run -0 as_alice 6 true
}

@test "a slow tx is found by ordinary jobs over verbs, and well when it is healed" {
    lab degrade n3/tx 25
    found n3/tx slow failed
    lab heal n3/tx
    resume_all
    run -0 inside until_jobs is_well
}

# Half of all pairs of these go over leaf0/3: the machine is slow, and a job takes seconds.
over_leaf0_3=n0,n1,n2,n4

@test "a slow link is found by ordinary jobs over verbs" {
    lab degrade leaf0/3 25
    JOBS_NODES=$over_leaf0_3 found leaf0/3 slow failed
}

# Soft RoCE that has lost a packet twice waits for seconds (rdma_cm's timer of RoCE), so that
# tests have no figure at all: it is lossy by the counters only where it loses less.
@test "a link that loses packets is found by ordinary jobs over verbs" {
    lab lose leaf0/3 1
    JOBS_NODES=$over_leaf0_3 found leaf0/3 slow failed lossy
}
