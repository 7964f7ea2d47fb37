# SPDX-License-Identifier: GPL-2.0-or-later
# The torus: names, addresses, wiring and routes.
#
# Router x.y.z has index (x*Y+y)*Z+z and the block 10.x.y.4z/30: its own
# address first, then its nodes'.  Dimension order is then longest-prefix
# routing: a /16 out of an X port, a /24 out of a Y port, a /30 out of a Z
# port.  In a ring of two the single cable is port + at both ends.

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
    [ "$NODES_PER_ROUTER" -ge 1 ] && [ "$NODES_PER_ROUTER" -le 3 ] ||
        die "--nodes-per-router $NODES_PER_ROUTER; 1 to 3 are possible"
    FABRIC="torus ${DIMS[0]}x${DIMS[1]}x${DIMS[2]}"
}

torus_tables() {
    local i n d X Y Z
    for ((i = 0; i < ROUTERS; i++)); do
        coordinates $i
        ROUTER[i]=r$X.$Y.$Z
        ROUTER_ADDRESS[i]=10.$X.$Y.$((4 * Z))
        for ((n = i * NODES_PER_ROUTER; n < (i + 1) * NODES_PER_ROUTER; n++)); do
            NODE_ROUTER[n]=$i
            NODE_ADDRESS[n]=10.$X.$Y.$((4 * Z + 1 + n % NODES_PER_ROUTER))
        done
    done
    for ((i = 0; i < ROUTERS; i++)); do
        for d in 0 1 2; do ring_cable $i $d; done
    done
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
    add_cable "$i" "$name+" "$INDEX" "$name$far"
}

# All routes of a router, as `ip -batch' takes them.
torus_routes() {
    local X Y Z
    coordinates "$1"
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

torus_section() {
    echo "topology = torus {"
    echo "   dims = { ${DIMS[0]}, ${DIMS[1]}, ${DIMS[2]} },"
    echo "   nodes_per_router = $NODES_PER_ROUTER,"
}
