#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Links and nodes of the lab that lose packets, and what both ends of a test
# say of it: by the probe's own runner, and by jobs as tautd hears of them.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    if ! PATH=$PATH:/usr/sbin command -v nft >/dev/null; then
        export LAB_MISSING="nft is not installed"
    elif [ ! -x "${TAUT_BUILDDIR:-/nowhere}/tests/bench/bench-pair" ]; then
        export LAB_MISSING="no bench-pair in TAUT_BUILDDIR"
    else
        small_conf "$BATS_FILE_TMPDIR/conf" --torus 4x2 --nodes-per-router 1
        lab_file losses lab up --torus 4x2 --nodes-per-router 1 --node-cpus 1 \
            --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/conf" --health-interval 3600
    fi
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() {
    lab_report
    [ -n "$LAB_MISSING" ] || lab heal --all
}

# pair FROM TO OPTION…: five tests of 200 ms; a line for each, "test JSON".  A
# test whose handshake was lost has no account: it is made again.
pair() {
    local from=$1 to=$2 try
    shift 2
    for try in 1 2 3 4 5; do
        lab exec "$TAUT_BUILDDIR/tests/bench/bench-pair" --from "$(address "$from")" \
            --to "$(address "$to")" --from-net "/run/netns/$from" --to-net "/run/netns/$to" \
            --ms 200 --repeat 5 --pause-ms 20 "$@" >"$BATS_TEST_TMPDIR/out"
        sed -n 's/^test //p' "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/tests"
        [ "$(grep -c '"resent"' "$BATS_TEST_TMPDIR/tests")" -lt 4 ] || return 0
    done
    echo "after $try tries: $(cat "$BATS_TEST_TMPDIR/out")"
    return 1
}

address() { lab exec ip -n "$1" -4 -o address show dev hsn0 | sed 's/.*inet \([0-9.]*\).*/\1/'; }

# told LUA: with s and r, sums over the tests: of sender and receiver
told() {
    sed -e '1s/^/[/' -e '$!s/$/,/' -e '$s/$/]/' "$BATS_TEST_TMPDIR/tests" | lab_json '
        local s, r = {}, {}
        for _, t in ipairs(d) do
            for sum, one in pairs { [s] = t.send, [r] = t.recv } do
                for key, value in pairs(t.send.resent and one or {}) do
                    sum[key] = math.type(value) == "integer" and (sum[key] or 0) + value or value
                end
            end
        end
        '"$1"
}

# within LOW HIGH WHAT: a number of `told'
within() {
    told "local v = $3; if not (v >= $1 and v <= $2) then print('$3 is', v) os.exit(1) end"
}

@test "a healthy link: nothing is lost" {
    pair n0 n2
    within 0 0 's.resent - s.spurious'
    # a processor that was busy may have let a few segments pass each other
    within 0 0.02 'r.disordered / r.segments'
    within 0 1e9 'r.segments - s.segments'
    # nothing to explain
    within 0 0 'r.pruned or 0'
}

@test "a link that loses 3 %: both ends say so, and agree" {
    lab lose r0.0.0/X+ 3
    run lab status
    [[ $output = *"fault  r0.0.0/X+ loses 3%"* ]]
    pair n0 n2
    within 0.015 0.05 's.resent / s.segments'
    within 0.015 0.05 '(s.segments - r.segments) / s.segments'
    within 1 1e9 r.disordered
    within 0 0 r.pruned
    # the other direction is well
    pair n2 n0
    within 0 0 's.resent - s.spurious'
    lab heal r0.0.0/X+
    pair n0 n2
    within 0 0 's.resent - s.spurious'
}

@test "tx and rx of a node lose, and --both" {
    lab lose n2/tx 3
    pair n2 n0
    within 0.015 0.05 's.resent / s.segments'
    pair n0 n2 # acknowledgements get lost, and are made up for
    within 0 0.01 's.resent / s.segments'
    lab lose n2/rx 3 --both
    run lab status
    [[ $output = *"n2/rx loses 3%"* && $output = *"n2/tx loses 3%"* ]]
    pair n0 n2
    within 0.015 0.06 's.resent / s.segments'
    lab heal n2/rx --both
    run lab status
    [[ $output != *fault* ]]
}

@test "another fault takes its place, and healing ends both" {
    lab lose r0.0.0/X+ 3
    lab degrade r0.0.0/X+ 50
    run lab status
    [[ $output = *"r0.0.0/X+ 50%"* && $output != *loses* ]]
    pair n0 n2
    within 0 0 's.resent - s.spurious'
    lab lose r0.0.0/X+ 0.5
    run lab status
    [[ $output = *"r0.0.0/X+ loses 0.5%"* && $output != *50%* ]]
    lab heal --all
    [ -z "$(lab exec nsenter --net=/run/netns/r0.0.0 nft list ruleset)" ]
}

@test "single packets are lost while anything is" {
    segments() { lab exec ip -n n3 -d link show dev hsn0 | sed -n 's/.*gso_max_segs \([0-9]*\).*/\1/p'; }
    local before
    before=$(segments)
    [ "$before" -gt 1 ]
    lab lose r0.0.0/X+ 3
    lab lose n1/rx 1
    [ "$(segments)" -eq 1 ]
    lab heal n1/rx
    [ "$(segments)" -eq 1 ]
    lab heal r0.0.0/X+
    [ "$(segments)" -eq "$before" ]
}

@test "wrong shares are named, with what is possible" {
    run lab lose r0.0.0/X+ 101
    [[ $status -ne 0 && $output = *"0.001 to 100"* ]]
    run lab lose r0.0.0/X+ much
    [[ $status -ne 0 && $output = *"'much' is no share"* ]]
    run lab lose r0.0.0/Z7 3
    [[ $status -ne 0 && $output = *"no such port"* ]]
    run env PATH=/usr/bin:/bin SCENE_DIR="$SCENE_DIR" bash -c '"$SCENE_DIR/lab" lose r0.0.0 3'
    [[ $status -ne 0 && $output = *"is not a component"* ]]
    run lab status
    [[ $output != *fault* ]]
}

# Whatever a node's own choice is, a test's is the same everywhere.
@test "the probe takes its own congestion control" {
    local choice name
    name=$(told_congestion)
    [[ $name = cubic || $name = reno ]]
    for choice in $(lab exec --node n0 cat /proc/sys/net/ipv4/tcp_allowed_congestion_control); do
        lab exec --node n0 sh -c "echo $choice >/proc/sys/net/ipv4/tcp_congestion_control" || continue
        [ "$(told_congestion)" = "$name" ]
    done
    # a route's choice counts less, too
    lab exec ip -n n0 route change 10.0.0.0/8 via 10.255.255.1 dev hsn0 onlink congctl reno
    [ "$(told_congestion)" = "$name" ]
}
told_congestion() {
    pair n0 n2 >/dev/null && told 'print(s.congestion)'
}

# tautd as tests/lab/record has it: it writes down what RESULTs said.
recording_tautd() {
    lab daemon stop tautd
    lab exec install -m 644 /dev/stdin /tmp/record.lua <"$SCENE_DIR/lib/record.lua"
    lab exec bash -c "setpriv --reuid slurm --regid slurm --init-groups \
        $TAUT_PREFIX/sbin/tautd --lua /tmp/record.lua /var/lib/taut/checks.jsonl \
        -c /etc/taut/taut.lua >/tmp/record.log 2>&1 </dev/null 3>&- 4>&- &"
    wait_until 30 lab exec taut status >/dev/null
    lab exec bash -c 'rm -f /run/lab/run.n*/taut/holdoff'
}

# What jobs told over the lossy link so far, as pair() has it: enough of it.
has_heard() {
    lab exec srun -w n0,n2 true
    lab exec cat /var/lib/taut/checks.jsonl | grep '"op":"over"' |
        sed -e '1s/^/[/' -e '$!s/$/,/' -e '$s/$/]/' | lab_json '
        local json = require "taut.json"
        for _, line in ipairs(d) do
            for key, send in pairs(line.results.n0 or {}) do
                local recv = (line.results.n2 or {})[key:gsub("send", "recv")]
                if key:find "^send" and recv and send.segments and recv.segments then
                    print(json.encode { send = send, recv = recv })
                end
            end
        end' >"$BATS_TEST_TMPDIR/tests"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/tests")" -ge 6 ]
}

@test "jobs tell tautd of it" {
    recording_tautd
    lab lose r0.0.0/X+ 5
    wait_until 60 has_heard
    within 0.01 0.12 's.resent / s.segments'
    within 0.01 0.12 '(s.segments - r.segments) / s.segments'
    within 1 1e9 r.disordered
    told 'assert(s.congestion == "cubic" or s.congestion == "reno")'
}
