# SPDX-License-Identifier: GPL-2.0-or-later
# A tautd with a machine of etc/machines and a taut-slurm that tells of a state
# of cluster_state.lua.  Sourced after bench.sh.
MACHINES=$(cd "$BENCH_DIR/../../etc/machines" && pwd)
export BENCH_SEED=$SEED BENCH_QUICK=$QUICK
export LUA_PATH="$BENCH_DIR/lib/?.lua;$TAUT_PREFIX/share/taut/lua/?.lua;$TAUT_PREFIX/share/taut/lua/?/init.lua;;"

pids=()
finish() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
    wait
    rm -rf "$TMP"
}
trap finish EXIT

# big_tautd MACHINE STATE: sets sock, pid
big_tautd() {
    local dir=$TMP/$1-$2
    mkdir -p "$dir/libexec"
    sock=$dir/socket
    bench_lua cluster_state.lua "$MACHINES/$1.lua" "$2" >"$TMP/$1-$2.state" \
        2>"$TMP/said" || die "no state: $(cat "$TMP/said")"
    {
        cat "$MACHINES/$1.lua"
        echo "listen = \"127.0.0.1:$((20000 + RANDOM % 10000))\""
        echo "socket = \"$sock\""
        echo "database = \"$dir/taut.db\""
        echo "refresh_s = 3600"
    } >"$dir/taut.lua"
    printf '#!/bin/sh\nexec "%s" --lua "%s" "%s"\n' "$TAUT_PREFIX/bin/taut" \
        "$BENCH_DIR/lib/fake_slurm.lua" "$TMP/$1-$2.state" >"$dir/libexec/taut-slurm"
    chmod +x "$dir/libexec/taut-slurm"
    "$TAUT_PREFIX/sbin/tautd" --lua "$BENCH_DIR/lib/bench_tautd.lua" "$dir/libexec" \
        "$dir/taut.lua" 2>"$dir/log" &
    pid=$!
    pids+=($pid)
    bench_wait_tautd "$sock" $pid "$dir/log"
}

big_tautd_end() {
    kill "$pid"
    wait "$pid"
    pids=()
}
