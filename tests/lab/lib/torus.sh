# SPDX-License-Identifier: GPL-2.0-or-later
# The torus: names, addresses, wiring and routes.
#
# Router x.y.z has index (x*Y+y)*Z+z and the block 10.x.y.4z/30: its own
# address first, then its nodes'.  Dimension order is then longest-prefix
# routing: a /16 out of an X port, a /24 out of a Y port, a /30 out of a Z
# port.  In a ring of two the single cable is port + at both ends.

# Every cable has two ends, so one address does for all router ports, and
# every neighbour entry is known beforehand: no ARP, ever.
PORT_MAC=02:00:00:00:00:01
CONTROLLER_MAC=02:00:00:02:ff:ff
HOP=10.255.255.1
DIM_NAMES=(X Y Z)

parse_torus() {
    local size
    [[ $1 =~ ^([0-9]+)(x([0-9]+))?(x([0-9]+))?$ ]] ||
        die "'$1' is no torus: expected something like 4x2x2"
    DIMS=("${BASH_REMATCH[1]}" "${BASH_REMATCH[3]:-1}" "${BASH_REMATCH[5]:-1}")
    for size in "${DIMS[@]}"; do
        [ "$size" -ge 1 ] && [ "$size" -le 60 ] ||
            die "torus $1: $size routers in a ring; 1 to 60 are possible"
    done
    ROUTERS=$((DIMS[0] * DIMS[1] * DIMS[2]))
    [ $ROUTERS -le 256 ] || die "torus $1: $ROUTERS routers; 256 at most"
}

# Tables by router index and node number: names and addresses are needed in
# loops where a subshell for each would take seconds.
torus_tables() {
    local i n X Y Z
    ROUTER=() NODE_ADDRESS=() NODE_MAC=() CONTROL_ADDRESS=() CONTROL_MAC=()
    for ((i = 0; i < ROUTERS; i++)); do
        coordinates $i
        ROUTER[i]=r$X.$Y.$Z
        for ((n = i * NODES_PER_ROUTER; n < (i + 1) * NODES_PER_ROUTER; n++)); do
            NODE_ADDRESS[n]=10.$X.$Y.$((4 * Z + 1 + n % NODES_PER_ROUTER))
            CONTROL_ADDRESS[n]=172.30.$((1 + n / 200)).$((1 + n % 200))
            printf -v "NODE_MAC[$n]" '02:00:00:01:%02x:%02x' $((n / 256)) $((n % 256))
            printf -v "CONTROL_MAC[$n]" '02:00:00:02:%02x:%02x' $((n / 256)) $((n % 256))
        done
    done
    NODES=${#NODE_ADDRESS[@]}
}

# Sets X Y Z of the router with that index.
coordinates() {
    Z=$(($1 % DIMS[2])) Y=$(($1 / DIMS[2] % DIMS[1]))
    X=$(($1 / DIMS[2] / DIMS[1]))
}

# Sets INDEX of the router at these coordinates.
router_index() { INDEX=$((($1 * DIMS[1] + $2) * DIMS[2] + $3)); }

# neighbour FROM DIM STEP: sets INDEX, of the router STEP further in the ring.
neighbour() {
    local X Y Z c
    coordinates "$1"
    c=($X $Y $Z)
    c[$2]=$(((c[$2] + $3 + DIMS[$2]) % DIMS[$2]))
    router_index "${c[@]}"
}

# direction DIM FROM TO: sets SIGN to the shorter way; a tie goes +.
direction() {
    local ahead=$((($3 - $2 + DIMS[$1]) % DIMS[$1]))
    SIGN=-
    [ $((2 * ahead)) -gt "${DIMS[$1]}" ] || SIGN=+
}

# node_number n5: 5; complains about what is no node of this lab.
node_number() {
    [[ $1 =~ ^n(0|[1-9][0-9]*)$ ]] && [ "${BASH_REMATCH[1]}" -lt "$NODES" ] ||
        die "'$1' is no node of this lab: n0 to n$((NODES - 1))"
    echo "${BASH_REMATCH[1]}"
}

# The lines of `ip -batch` that make every namespace and every cable.
torus_wiring() {
    local i n d r
    for r in "${ROUTER[@]}"; do echo "netns add $r"; done
    for ((n = 0; n < NODES; n++)); do echo "netns add n$n"; done
    echo "link add br0 address $CONTROLLER_MAC type bridge"
    echo "address add 172.30.0.1/16 dev br0"
    echo "link set br0 up"
    for ((i = 0; i < ROUTERS; i++)); do
        for d in 0 1 2; do ring_cable $i $d; done
    done
    for ((n = 0; n < NODES; n++)); do
        echo "link add name n$n netns ${ROUTER[n / NODES_PER_ROUTER]}" \
            "address $PORT_MAC type veth" \
            "peer name hsn0 netns n$n address ${NODE_MAC[n]}"
        echo "link add name c$n type veth peer name eth0 netns n$n" \
            "address ${CONTROL_MAC[n]}"
        echo "link set c$n master br0 up"
    done
    control_neighbours br0
}

# All of the control bridge know each other beforehand, too: with 64 nodes what
# they learn by ARP is more than the kernel keeps, which is 1024 entries for all
# namespaces together, and connections fail for seconds when it is full.
control_neighbours() {
    local n
    echo "neighbour add 172.30.0.1 lladdr $CONTROLLER_MAC dev $1 nud permanent"
    for ((n = 0; n < NODES; n++)); do
        echo "neighbour add ${CONTROL_ADDRESS[n]} lladdr ${CONTROL_MAC[n]}" \
            "dev $1 nud permanent"
    done
}

# The cable from a router's + port of that dimension.
ring_cable() {
    local i=$1 d=$2 name=${DIM_NAMES[$2]} far=- INDEX X Y Z c
    [ "${DIMS[$d]}" -gt 1 ] || return 0
    if [ "${DIMS[$d]}" -eq 2 ]; then
        coordinates "$i"
        c=($X $Y $Z)
        [ "${c[$d]}" -eq 0 ] || return 0
        far=+
    fi
    neighbour "$i" "$d" 1
    echo "link add name $name+ netns ${ROUTER[i]} address $PORT_MAC type veth" \
        "peer name $name$far netns ${ROUTER[INDEX]} address $PORT_MAC"
}

# Sets PORTS, of any router towards others.
router_ports() {
    local d
    PORTS=()
    for d in 0 1 2; do
        [ "${DIMS[$d]}" -le 1 ] || PORTS+=("${DIM_NAMES[$d]}+")
        [ "${DIMS[$d]}" -le 2 ] || PORTS+=("${DIM_NAMES[$d]}-")
    done
}

# The lines of `ip -batch` for one router.
router_setup() {
    local i=$1 X Y Z PORTS port n
    coordinates "$i"
    router_ports
    echo "link set lo up"
    echo "address add 10.$X.$Y.$((4 * Z))/32 dev lo"
    for port in "${PORTS[@]}"; do
        echo "link set $port up"
        echo "neighbour add $HOP lladdr $PORT_MAC dev $port nud permanent"
    done
    for ((n = i * NODES_PER_ROUTER; n < (i + 1) * NODES_PER_ROUTER; n++)); do
        echo "link set n$n up"
        echo "route add ${NODE_ADDRESS[n]}/32 dev n$n"
        echo "neighbour add ${NODE_ADDRESS[n]} lladdr ${NODE_MAC[n]}" \
            "dev n$n nud permanent"
    done
    ring_routes 0 $X "10.%d.0.0/16"
    ring_routes 1 $Y "10.$X.%d.0/24"
    ring_routes 2 $Z "10.$X.$Y.%d/30" 4
}

# ring_routes DIM HERE FORMAT [FACTOR]: one route for each other coordinate.
ring_routes() {
    local d=$1 here=$2 format=$3 factor=${4:-1} there prefix SIGN
    for ((there = 0; there < DIMS[d]; there++)); do
        [ $there -ne "$here" ] || continue
        # shellcheck disable=SC2059
        printf -v prefix "$format" $((there * factor))
        direction "$d" "$here" $there
        echo "route add $prefix via $HOP onlink dev ${DIM_NAMES[$d]}$SIGN"
    done
}

node_setup() {
    local n=$1
    echo "link set lo up"
    echo "address add ${CONTROL_ADDRESS[n]}/16 dev eth0"
    echo "link set eth0 up"
    echo "$CONTROL_NEIGHBOURS"
    echo "address add ${NODE_ADDRESS[n]}/32 dev hsn0"
    # Large segments would pass the shapers as one piece.
    echo "link set hsn0 up gso_max_segs $GSO_SEGMENTS"
    echo "neighbour add $HOP lladdr $PORT_MAC dev hsn0 nud permanent"
    # No stream has more packets under way than its share of a port's queue,
    # as credits would have it in a real fabric: nothing is lost by one
    # stream alone, and little is left to drain when it ends.
    echo "route add 10.0.0.0/8 via $HOP dev hsn0 onlink src ${NODE_ADDRESS[n]}" \
        "cwnd lock $WINDOW_PACKETS initcwnd $WINDOW_PACKETS"
}

# set_up NAMESPACE ROLE: from the two batches of that namespace.
set_up() {
    in_net "$1" bash "$LAB_DIR/lib/namespace.sh" "$2" \
        "$LAB_RUN/setup/$1.ip" "$LAB_RUN/setup/$1.tc"
}

step_torus() {
    local i n CONTROL_NEIGHBOURS
    CONTROL_NEIGHBOURS=$(control_neighbours eth0)
    torus_wiring | ip -batch - && mkdir -p $LAB_RUN/setup || return
    for ((i = 0; i < ROUTERS; i++)); do
        router_setup $i >"$LAB_RUN/setup/${ROUTER[i]}.ip"
        router_shaping $i >"$LAB_RUN/setup/${ROUTER[i]}.tc"
        set_up "${ROUTER[i]}" router || return
    done
    for ((n = 0; n < NODES; n++)); do
        node_setup $n >$LAB_RUN/setup/n$n.ip
        node_shaping >$LAB_RUN/setup/n$n.tc
        set_up n$n node || return
    done
    printf '%s routers, %s nodes' "$ROUTERS" "$NODES"
}
