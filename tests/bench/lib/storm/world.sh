# SPDX-License-Identifier: GPL-2.0-or-later
# A machine of which only the controller is real: tautd, munged, and a
# taut-slurm of slurm.lua; its nodes are addresses that bench-nodes binds to.
# Sourced after bench.sh, in a network namespace of its own (storm_alone).
# tautd runs as root; the machine is a fat tree of three levels, or with
# STORM_TORUS a three-dimensional torus with two nodes a router.
SERVER=10.255.0.1
RATE=12500000000 # bytes a second: what each link of it carries

# storm_alone ARG…: begin anew in a network namespace of its own
storm_alone() {
    [ -z "${STORM_ALONE:-}" ] || return 0
    rm -rf "$TMP"
    STORM_ALONE=yes exec unshare --net -- "$0" "$@"
}

storm_end() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    wait
    rm -rf "$TMP"
}

storm_machine() {
    case $1${STORM_TORUS:+ torus} in
    "19200 torus") machine='torus { dims = { 25, 16, 24 }, nodes_per_router = 2' ;; # Titan's
    "2000 torus") machine='torus { dims = { 10, 10, 10 }, nodes_per_router = 2' ;;
    19200) machine='fattree { nodes_per_leaf = 40, levels = { { down = 24, up = 20 }, { down = 20, up = 24 } }' ;;
    2000) machine='fattree { nodes_per_leaf = 20, levels = { { down = 10, up = 10 }, { down = 10, up = 10 } }' ;;
    *) die "no machine of $1 nodes" ;;
    esac
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "n%05d 10.128.%d.%d\n", i, i / 250, i % 250 + 1 }' >"$TMP/nodes"
}

# storm_world NODES: sets SOCK, TAUTD
storm_world() {
    local nodes=$1 lib
    pids=()
    trap storm_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    ip link set lo up
    ip address add "$SERVER/32" dev lo
    ip route add local 10.128.0.0/9 dev lo
    storm_machine "$nodes"
    echo "1 1 0" >"$TMP/jobs"
    dd if=/dev/urandom of="$TMP/key" bs=64 count=1 2>/dev/null
    chmod 0400 "$TMP/key"
    chmod 0755 "$TMP"
    munged --foreground --force --key-file="$TMP/key" --socket="$TMP/munge" \
        --pid-file="$TMP/munged.pid" --log-file="$TMP/munged.log" \
        --seed-file="$TMP/seed" --num-threads=10 2>/dev/null &
    MUNGED=$!
    pids+=($MUNGED)
    lib=$TMP/libexec
    mkdir "$lib"
    printf '#!/bin/sh\nexec "%s" --lua "%s" "%s" "%s"\n' "$TAUT_PREFIX/bin/taut" \
        "$BENCH_DIR/lib/storm/slurm.lua" "$TMP/nodes" "$TMP/jobs" >"$lib/taut-slurm"
    chmod +x "$lib/taut-slurm"
    SOCK=$TMP/socket
    cat >"$TMP/taut.lua" <<CONF
topology = $machine, nodes = "n[00001-$(printf %05d "$nodes")]", capacity = 12.5 * GB }
listen = "$SERVER:6824"
socket = "$SOCK"
database = "$TMP/taut.db"
munge_socket = "$TMP/munge"
refresh_s = 10
${STORM_CONF:-}
CONF
    LUA_PATH="$BENCH_DIR/lib/?.lua;$TAUT_PREFIX/share/taut/lua/?.lua;$TAUT_PREFIX/share/taut/lua/?/init.lua;;" \
        LD_PRELOAD="${STORM_PRELOAD:-}" "$TAUT_PREFIX/sbin/tautd" --lua "$BENCH_DIR/lib/bench_tautd.lua" "$lib" "$TMP/taut.lua" \
        2>"$TMP/log" &
    TAUTD=$!
    pids+=($TAUTD)
    bench_wait_tautd "$SOCK" $TAUTD "$TMP/log"
}

# storm_cpu: NAME NANOSECONDS of tautd and each of its helpers, all threads
storm_cpu() {
    local pid
    for pid in "$TAUTD" $(cat "/proc/$TAUTD/task/$TAUTD/children"); do
        echo "$(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c 1-200)" \
            "$(cat /proc/"$pid"/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f", n }')"
    done | awk '{ n = split($1, path, "/"); name = path[n]
        if (match($0, / --(store|addresses|alps|fabric|ingest)/))
            name = substr($0, RSTART + 3, RLENGTH - 3)
        print name, $NF }'
}

# storm_mb: resident megabytes of tautd alone
storm_mb() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$TAUTD/status"; }

# storm_begin OPTION…: bench-nodes, which makes its credentials; what it says is
# read from STORM_OUT.  storm_go when it has said "begin", storm_over at its end.
# They call STORM_PORT of SERVER, tautd's by default.
storm_begin() {
    [ -p "$TMP/in" ] || mkfifo "$TMP/in" "$TMP/out"
    "$TAUT_BUILDDIR/tests/bench/bench-nodes" --server "$SERVER:${STORM_PORT:-6824}" --uid 0 \
        --munge "$TMP/munge" --nodes "$TMP/nodes" --rate $RATE "$@" \
        <"$TMP/in" >"$TMP/out" &
    STORM_PID=$!
    exec {STORM_IN}>"$TMP/in" {STORM_OUT}<"$TMP/out"
}
storm_go() { echo >&"$STORM_IN"; }
storm_over() {
    exec {STORM_IN}>&- {STORM_OUT}<&-
    wait "$STORM_PID" || die "bench-nodes failed"
}
