# SPDX-License-Identifier: GPL-2.0-or-later
# Streams over the fabric, and what the ports count.

SINK_PORT=5201

sink_up() {
    local n=$1 program
    pid_of "sink@n$n" >/dev/null && return
    program=$(lab_program labstream) || exit
    spawn "sink@n$n" nsenter --net=/run/netns/n"$n" -- "$program" sink $SINK_PORT
    wait_for 5 sink_listens "$n" || die "no sink on n$n: $(cat "/var/log/lab/sink@n$n.out")"
}

sink_listens() { in_net "n$1" ss -Hltn "sport = :$SINK_PORT" | grep -q .; }

# Sets A and B, the numbers of two different nodes.
two_nodes() {
    A=$(node_number "$1") || exit
    B=$(node_number "$2") || exit
    [ "$A" -ne "$B" ] || die "a stream needs two different nodes"
}

cmd_load() {
    local A B args=(--bursts) streams=1 program
    [ "${1:-}" != --stop ] || { shift; stop_load "$@"; return; }
    [ $# -ge 2 ] || die "usage: lab load A B [--streams N] [--steady] [--seconds S] [--seed N]"
    two_nodes "$1" "$2"
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
        --steady) args=("${args[@]/--bursts/}"); shift; continue ;;
        --streams) need_value "$@"; need_number "$1" "$2"; streams=$2 ;;
        --seconds | --seed) need_value "$@"; need_number "$1" "$2"; args+=("$1" "$2") ;;
        *) die "unknown option $1" ;;
        esac
        shift 2
    done
    program=$(lab_program labstream) || exit
    stop_load "n$A" "n$B"
    sink_up "$B"
    # shellcheck disable=SC2086
    spawn "load@n$A-n$B" nsenter --net="/run/netns/n$A" -- "$program" send \
        "${NODE_ADDRESS[B]}" $SINK_PORT --streams "$streams" ${args[*]}
}

# stop_load [A B]: without nodes, all load.
stop_load() {
    local file pid name=load@*
    [ $# -lt 2 ] || { two_nodes "$1" "$2"; name=load@n$A-n$B; }
    # shellcheck disable=SC2231
    for file in "$LAB_RUN"/pid/$name; do
        pid=$(pid_of "${file##*/}") && kill -KILL -- "-$pid"
        rm -f "$file"
    done
}

cmd_measure() {
    local A B program
    [ $# -ge 2 ] || die "usage: lab measure A B [--ms D] [--warmup W] [--repeat R] [--port P]"
    two_nodes "$1" "$2"
    shift 2
    program=$(lab_program labstream) || exit
    sink_up "$B"
    in_net "n$A" "$program" measure "${NODE_ADDRESS[B]}" $SINK_PORT "$@"
}

# --- counters ---------------------------------------------------------

# COMPONENT BYTES PACKETS out of every port, in the order of routers.
cmd_counters() {
    local r n
    for r in "${ROUTER[@]}"; do
        in_net "$r" cat /proc/self/net/dev |
            awk -v r="$r" '/:/ && !/ lo:/ && !/ y[0-9]+[ab]:/ {
                sub(/:/, " "); sub(/^ *p/, ""); name = $1 ~ /^n[0-9]/ ? $1 "/rx" : r "/" $1
                print name, $10, $11 }'
    done
    for ((n = 0; n < NODES; n++)); do
        in_net n$n cat /proc/self/net/dev |
            awk -v n=n$n '/hsn0:/ { sub(/:/, " "); print n "/tx", $10, $11 }'
    done
}

# LINK FROM TO ADDRESS, of the port where it ends: who asks a router for the
# way is answered from there
cmd_wiring() {
    local l ADDRESS
    for l in "${!LINK[@]}"; do
        port_address "${LINK_BACK[l]}"
        echo "${LINK[l]} ${ROUTER[LINK_FROM[l]]} ${ROUTER[LINK_TO[l]]} $ADDRESS"
    done
}
