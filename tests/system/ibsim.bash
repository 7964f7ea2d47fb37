# SPDX-License-Identifier: GPL-2.0-or-later
# A simulated InfiniBand fabric: ibsim, and OpenSM where it is wanted.
# Sourced; everything is made in the current folder.

IBSIM_PRELOAD=
for IBSIM_PRELOAD in /usr/lib/*/umad2sim/libumad2sim.so \
    /usr/lib/umad2sim/libumad2sim.so /usr/lib64/umad2sim/libumad2sim.so; do
    [ -e "$IBSIM_PRELOAD" ] && break
done
IBSIM_PIDS=()

# ibsim_up NETFILE NODE: NODE is where the tools sit
ibsim_up() {
    export IBSIM_SOCKNAME=taut_$$_$RANDOM SIM_HOST=$2
    mkfifo console
    sleep 1000000 >console 2>/dev/null 3>&- &
    IBSIM_PIDS+=($!)
    ibsim -s -N 4096 -S 1024 -P 80000 -f ibsim.out "$1" <console \
        >ibsim.stdout 2>ibsim.err 3>&- &
    IBSIM_PIDS+=($!)
    local i
    for i in $(seq 300); do
        LD_PRELOAD=$IBSIM_PRELOAD timeout 5 smpquery nodeinfo -D 0 \
            >/dev/null 2>&1 && return 0
        kill -0 "${IBSIM_PIDS[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    echo "ibsim does not answer"
    cat ibsim.err
    return 1
}

# ibsim_do COMMAND: one line to its console, until it is done: it tells of a
# word it does not know, which follows
ibsim_do() {
    local i told
    told=$(grep -c "command 'done[0-9]*' unknown" ibsim.out || true)
    printf '%s\ndone%d\n' "$1" "$told" >console
    for i in $(seq 600); do
        ! grep -q "command 'done$told' unknown" ibsim.out || return 0
        sleep 0.1
    done
    echo "ibsim does not do: $1"
    return 1
}

# ibsim_run COMMAND...: with the simulated device
ibsim_run() {
    LD_PRELOAD=$IBSIM_PRELOAD timeout 60 "$@"
}

# ibsim_opensm NODE [ENGINE]: a subnet manager that stays, at NODE
ibsim_opensm() {
    mkdir -p osm
    SIM_HOST=$1 OSM_CACHE_DIR=$PWD/osm OSM_TMP_DIR=$PWD/osm \
        LD_PRELOAD=$IBSIM_PRELOAD opensm -R "${2:-minhop}" -f osm/log \
        >osm/stdout 2>&1 3>&- &
    IBSIM_SM=$!
    IBSIM_PIDS+=($!)
    local i
    for i in $(seq 300); do
        LD_PRELOAD=$IBSIM_PRELOAD timeout 5 smpquery portinfo -D 0 \
            2>/dev/null | grep -q 'LinkState:.*Active' && return 0
        sleep 0.1
    done
    echo "opensm does not bring the subnet up"
    tail -n 5 osm/stdout
    return 1
}

# ibsim_one_x LID PORT LID PORT: both ends of a cable down to 1X.  OpenSM is
# halted meanwhile: what it finds at one end only, it writes back.
ibsim_one_x() {
    local i
    for i in 1 2 3 4 5; do
        kill -STOP "$IBSIM_SM"
        ibsim_run ibportstate "$1" "$2" width 1 >/dev/null 2>&1 || true
        ibsim_run ibportstate "$3" "$4" width 1 >/dev/null 2>&1 || true
        kill -CONT "$IBSIM_SM"
        sleep 1
        ibsim_run smpquery portinfo "$1" "$2" 2>/dev/null |
            grep -q 'LinkWidthActive:.*1X' &&
            ibsim_run smpquery portinfo "$3" "$4" 2>/dev/null |
            grep -q 'LinkWidthActive:.*1X' && return 0
    done
    echo "a link does not stay at 1X"
    return 1
}

# ibsim_route [ENGINE]: one sweep of a subnet manager that goes away again; what
# it set is in osm/opensm-lfts.dump then
ibsim_route() {
    mkdir -p osm
    OSM_CACHE_DIR=$PWD/osm OSM_TMP_DIR=$PWD/osm ibsim_run opensm -o \
        -R "${1:-minhop}" -D 0x43 -f osm/log >osm/stdout 2>&1 3>&-
}

ibsim_down() {
    local pid
    for pid in "${IBSIM_PIDS[@]}"; do
        disown "$pid" 2>/dev/null || true
        kill -KILL "$pid" 2>/dev/null || true
    done
    IBSIM_PIDS=()
}
