# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of taut-probe: a munged of its own, a fake tautd, two nodes on
# loopback.

node_setup() {
    probe=$TAUT_BUILDDIR/plugin/taut-probe
    tautd=$TAUT_BUILDDIR/tests/fake/fake-tautd
    cd "$BATS_TEST_TMPDIR"
    dir=$PWD
    pids=()
}

node_teardown() {
    local pid
    for pid in "${pids[@]}"; do
        disown "$pid" 2>/dev/null || true
        kill -KILL "$pid" 2>/dev/null || true
    done
    [ ! -f munge/pid ] || kill "$(cat munge/pid)" 2>/dev/null || true
}

need_munged() {
    command -v munged >/dev/null || skip "munged is not installed"
    mkdir -m 755 munge
    (umask 077 && head -c 1024 /dev/urandom >munge/key)
    munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
        --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" \
        --seed-file="$dir/munge/seed" 2>/dev/null
    wait_for 'test -S munge/socket'
}

# wait_for COMMAND: until it succeeds, a minute at most
wait_for() {
    local i
    for i in $(seq 6000); do
        eval "$1" && return 0
        sleep 0.01
    done
    echo "in vain: $1"
    return 1
}

# start_tautd ARGUMENT...: sets $server; its lines go to tautd.out
start_tautd() {
    "$tautd" --munge-socket "$dir/munge/socket" "$@" >tautd.out 2>tautd.err &
    tautd_pid=$!
    pids+=("$tautd_pid")
    wait_for 'grep -q ^listening tautd.out'
    server=$(sed -n 's/^listening //p' tautd.out)
}

# check NODE [ARGUMENT...]: one prolog of job 7 on n1 and n2.  Its budget is not
# a node's second: where other programs run, munge and tautd may take all of it.
check() {
    local node=$1
    shift
    "$probe" prolog --servers "$server" --user "$(id -un)" --job 7 \
        --node "$node" --nodes 'n[1-2]' --interface lo \
        --rundir "$dir/run-$node" --run-as "${run_as:-nobody}" \
        --munge-socket "$dir/munge/socket" --budget-ms 10000 "$@"
}

# a plan's test: plan_test ID ROLE PEER START_MS DUR_MS
plan_test() {
    printf '{"id":%d,"role":"%s","peer":"@%s@","node":"%s","token":"%032x",' \
        "$1" "$2" "$3" "$3" "$1"
    printf '"start_ms":%d,"dur_ms":%d,"streams":%d}' "$4" "$5" "${6:-1}"
}

plan() {
    local IFS=,
    printf '{"v":1,"note":"","tests":[%s]}' "$*"
}

# result_of NUMBER: the JSON of the n-th RESULT that tautd heard
result_of() {
    sed -n 's/^result //p' tautd.out | sed -n "$1p"
}

# A value in it, by Lua pattern; JSON is compact and its keys are ordered.
number_in() {
    grep -o "\"$2\":[0-9]*" <<<"$1" | head -1 | cut -d: -f2
}
