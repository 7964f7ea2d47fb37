#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# `taut matrix` as a step of jobs: what it finds, what it writes, how it ends.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    cat >"$BATS_FILE_TMPDIR/conf" <<'CONF'
listen = "172.30.0.1:6824"
topology = torus { dims = { 4, 2 }, nodes_per_router = 1, nodes = "n[0-7]",
   capacity = 12.5 * MB }
checks = { link_time = false }
model = { survey = { gather_ms = 5000 } }
CONF
    lab_file matrix lab up --torus 4x2 --nodes-per-router 1 --node-cpus 1 \
        --health-interval 0 --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/conf"
}
teardown_file() { lab_file_end; }
setup() {
    lab_test
    out=$BATS_TEST_TMPDIR
    chmod a+rwx "$out" # alice writes there
    chmod a+rx "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test
}
teardown() {
    lab_report
    lab heal --all >/dev/null || true
}

# matrix NODES OPTION…: alice's
matrix() {
    local nodes=$1
    shift
    lab exec --user alice srun -Q -N "$nodes" --ntasks-per-node=1 \
        taut matrix --progress none "$@"
}

# found: "kind name confirmed" of each finding in the JSON file
found() {
    lab_json 'for _, f in ipairs(d.findings) do print(f.kind, f.name, f.confirmed) end' \
        <"$out/m.json"
}

# slow: what was slow again when it was measured alone; on a machine that is too
# busy a pair may be slow once
slow() { found | grep -P '\ttrue$' | sort; }

@test "matrix: a healthy fabric; all files; every pair both ways" {
    run matrix 8 --csv "$out/m.csv" --json "$out/m.json" --svg "$out/m.svg"
    echo "$output"
    # on a machine that is too busy a pair may stay void: 4; or be low once: 3
    [[ $output == *"56 of 56 pairs measured"* ]]
    [ -z "$(slow)" ]
    case $status in
    0 | 4) [[ $output == *"no pair is slow"* ]] ;;
    3) [[ $output == *"not slow when measured again alone"* ]] ;;
    *) false ;;
    esac
    [ "$(wc -l <"$out/m.csv")" -eq 57 ]
    [ "$(tail -n +2 "$out/m.csv" | cut -d, -f1,2 | sort -u | wc -l)" -eq 56 ]
    [ "$(head -n 1 "$out/m.csv" | tr -d '\r')" = \
        from,to,bw_Bps,expected_Bps,ratio,class,measured_again,why ]
    [ "$(lab_json 'print(#d.nodes, #d.bw_Bps, d.summary.good > 50)' <"$out/m.json")" = \
        $'8\t8\ttrue' ]
    grep -q '<svg' "$out/m.svg"
}

@test "matrix: PNG of the heat map" {
    command -v rsvg-convert >/dev/null || skip "rsvg-convert is not installed (Debian: librsvg2-bin)"
    run matrix 4 --png "$out/m.png"
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
    [ "$(head -c 8 "$out/m.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
}

@test "matrix: a slow tx and a slow link are named, and nothing else" {
    lab degrade n5/tx 25
    lab degrade r2.0.0/X+ 50
    run matrix 8 --json "$out/m.json"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *"slow from n5 to all others"* ]]
    [ "$(slow)" = $'link\tr2.0/X+\ttrue\ntx\tn5/tx\ttrue' ]
}

@test "matrix: classic steps find them, too" {
    lab degrade n5/tx 25
    run matrix 8 --steps --json "$out/m.json"
    [ "$status" -eq 3 ]
    [ "$(found | head -n 1)" = $'tx\tn5/tx\ttrue' ]
    [ "$(lab_json 'print(d.info.steps)' <"$out/m.json")" = true ]
}

@test "matrix: SIGINT to the step ends it with what there is" {
    lab exec --user alice bash -c '
        srun -Q -N 8 --ntasks-per-node=1 taut matrix --progress none --time 400 --csv "$1" &
        until [ -e "$1" ]; do sleep 0.1; done
        scancel -s INT "$(squeue -h -s -o %i | grep "\.0$")"
        wait $!
        echo "status $?"' _ "$out/m.csv" >"$out/said" 2>&1
    cat "$out/said"
    grep -q 'status 4' "$out/said"
    grep -q 'ended early: stopped by its owner' "$out/said"
    [ "$(grep -c ,good, "$out/m.csv")" -gt 0 ]
    [ "$(grep -c ,none, "$out/m.csv")" -gt 0 ]
}

@test "matrix: a node that dies is left out and named, the rest is measured" {
    lab exec --user alice bash -c '
        srun -N 8 --ntasks-per-node=1 bash -c "
            [ \$SLURMD_NODENAME = n3 ] || exec taut matrix --time 400 --csv \"$1\"
            taut matrix & sleep 4; kill -9 \$!" _ "$1"' _ "$out/m.csv" >"$out/said" 2>&1 || true
    cat "$out/said"
    grep -q 'n3 is left out: its process has ended' "$out/said"
    [ "$(grep -c ',n3 takes no part any more' "$out/m.csv")" -gt 0 ]
    [ "$(grep ,good, "$out/m.csv" | grep -vc n3)" -ge 42 ]
}

@test "matrix: a file that cannot be written is said before anything is measured" {
    run matrix 2 --csv /no/such/folder/m.csv
    [ "$status" -eq 1 ]
    [[ $output == *"/no/such/folder/m.csv"*"No such file or directory"* ]]
}

@test "matrix: fewer than two nodes, no step, wrong arguments" {
    run matrix 1
    [ "$status" -eq 1 ]
    [[ $output == *"at least 2 nodes"* ]]
    run lab exec --user alice taut matrix
    [ "$status" -eq 1 ]
    [[ $output == *"srun --ntasks-per-node=1 taut matrix"* ]]
    run lab exec --user alice taut matrix --time 4
    [ "$status" -eq 2 ]
    [[ $output == *"expected 5 to 2000, got 4"* ]]
}

@test "matrix: one rail of one; a rail that is not there; one process says what is wrong" {
    run matrix 2 --rail 1
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
    run matrix 2 --rail 2
    [ "$status" -eq 1 ]
    [[ $output == *"rail: expected 1, as this machine has one, got 2"* ]]
    run lab exec --user alice srun -Q -N 8 --ntasks-per-node=1 taut matrix --rail 65
    [ "$status" -eq 2 ]
    [ "$(grep -c 'expected 1 to 64, got 65' <<<"$output")" -eq 1 ]
}

@test "matrix: classic steps by root enter no verdict and no store" {
    lab degrade n5/tx 25
    run lab exec srun -Q -N 8 --ntasks-per-node=1 taut matrix --progress none --steps
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$(status 'print(#s.verdicts)')" = 0 ]
    # the tests of its prolog are there
    lab exec taut explain n5 --json >"$out/explain"
    ! grep -q '"kind": "matrix"' "$out/explain"
}

@test "matrix: alice's figures enter no verdict" {
    lab degrade n5/tx 25
    run matrix 8
    [ "$status" -eq 3 ]
    [ "$(status 'print(#s.verdicts)')" = 0 ]
}

# The step has no word of files: they are made where the user is.  The last one: what root measures
# counts.
@test "matrix: on all idle nodes, with files" {
    lab degrade n5/tx 25
    run lab exec env SLURM_LABELIO=1 taut matrix --all --progress none --csv "$out/m.csv" \
        --json "$out/m.json" --png "$out/m.png"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *"matrix of 8 nodes: 56 of 56 pairs measured"*"1. n5/tx: slow from n5 to all others"* ]]
    [ "$(wc -l <"$out/m.csv")" -eq 57 ]
    [ "$(found | head -n 1 | cut -f 1,2)" = $'tx\tn5/tx' ]
    [ "$(lab_json 'print(d.info.job ~= nil)' <"$out/m.json")" = true ]
    [ "$(head -c 8 "$out/m.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
    lab exec taut explain n5 --json | grep -q '"kind": "matrix"'
    run lab exec bash -c 'taut matrix --all --progress none --csv - 2>/dev/null'
    [ "$(grep -c , <<<"$output")" -eq 57 ]
    run lab exec taut matrix --all --csv /no/such/folder/m.csv
    [ "$status" -eq 1 ]
    run lab exec taut matrix --all --partition nowhere
    [ "$status" -eq 2 ]
    [[ $output != *"nothing was measured"* ]]
}
