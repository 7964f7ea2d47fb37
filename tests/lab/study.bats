#!/usr/bin/env bats
# time limit: 300 s
# SPDX-License-Identifier: GPL-2.0-or-later
# A study as a job array, by several processes, and by one: the same table.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file study lab up --torus 2x2x1 --node-cpus 1 --health-interval 0 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

study() {
    lab exec taut study links -m "$BATS_FILE_TMPDIR/dragonfly.lua" --seeds 2 \
        --failed 10,30 --split 1,4 "$@"
}

@test "an array job, several processes and one give the same table" {
    echo 'topology = dragonfly { groups = 9, routers = 4, nodes_per_router = 4,
        global_links = 2, nodes = "d[000-143]",
        capacity = { link = 1 * GB, tx = 4 * GB, rx = 4 * GB } }' \
        >"$BATS_FILE_TMPDIR/dragonfly.lua"
    study >"$BATS_TEST_TMPDIR/one"
    grep -q '^halo3d26.* 4 ' "$BATS_TEST_TMPDIR/one"
    study --work "$BATS_TEST_TMPDIR/w" --jobs 2 >"$BATS_TEST_TMPDIR/two"
    diff "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
    ls "$BATS_TEST_TMPDIR"/w/part-[12].jsonl
    study --work "$BATS_TEST_TMPDIR/array" --sbatch 3
    clear_holdoff
    lab exec sh "$BATS_TEST_TMPDIR/array/submit"
    wait_until 120 grep -q '^brackets' "$BATS_TEST_TMPDIR/array/table.txt"
    diff "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/array/table.txt"
    ls "$BATS_TEST_TMPDIR"/array/part-[123].jsonl
}

@test "a step with --comm is told to inject less, where the site says so" {
    lab exec sed -i 's/$/ injection=APRUN_BALANCED_INJECTION=70/' /etc/slurm/plugstack.conf
    local say='echo "[$APRUN_BALANCED_INJECTION]"'
    [ "$(lab exec srun -Q -N1 --comm=halo3d sh -c "$say")" = "[70]" ]
    [ "$(lab exec srun -Q -N1 sh -c "$say")" = "[]" ]
    [ "$(lab exec srun -Q -N1 --comm=halo3d --export=ALL,APRUN_BALANCED_INJECTION=90 \
        sh -c "$say")" = "[90]" ]
    [ "$(lab exec salloc -Q -N1 --comm=halo3d srun -Q sh -c "$say")" = "[70]" ]
}
