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

# Sets X Y Z of the router with that index.
coordinates() {
    Z=$(($1 % DIMS[2])) Y=$(($1 / DIMS[2] % DIMS[1]))
    X=$(($1 / DIMS[2] / DIMS[1]))
}

# The router's namespace and name.
router_name() {
    local X Y Z
    coordinates "$1"
    echo "r$X.$Y.$Z"
}

router_index() { echo $((($1 * DIMS[1] + $2) * DIMS[2] + $3)); }

# neighbour INDEX DIM STEP: index of the router STEP further in that ring.
neighbour() {
    local X Y Z c
    coordinates "$1"
    c=($X $Y $Z)
    c[$2]=$(((c[$2] + $3 + DIMS[$2]) % DIMS[$2]))
    router_index "${c[@]}"
}

# direction DIM FROM TO: + or -, the shorter way; a tie goes +.
direction() {
    local ahead=$((($3 - $2 + DIMS[$1]) % DIMS[$1]))
    if [ $((2 * ahead)) -le "${DIMS[$1]}" ]; then echo +; else echo -; fi
}

node_count() { echo $((ROUTERS * NODES_PER_ROUTER)); }
node_router() { echo $(($1 / NODES_PER_ROUTER)); }

# node_number n5: 5; complains about what is no node of this lab.
node_number() {
    [[ $1 =~ ^n(0|[1-9][0-9]*)$ ]] && [ "${BASH_REMATCH[1]}" -lt "$(node_count)" ] ||
        die "'$1' is no node of this lab: n0 to n$(($(node_count) - 1))"
    echo "${BASH_REMATCH[1]}"
}

node_address() {
    local X Y Z
    coordinates "$(node_router "$1")"
    echo "10.$X.$Y.$((4 * Z + 1 + $1 % NODES_PER_ROUTER))"
}

control_address() { echo "172.30.$((1 + $1 / 200)).$((1 + $1 % 200))"; }
node_mac() { printf '02:00:00:01:%02x:%02x' $(($1 / 256)) $(($1 % 256)); }

# The lines of `ip -batch` that make every namespace and every cable.
torus_wiring() {
    local i n r d other
    for ((i = 0; i < ROUTERS; i++)); do echo "netns add $(router_name $i)"; done
    for ((n = 0; n < $(node_count); n++)); do echo "netns add n$n"; done
    echo "link add br0 type bridge"
    echo "address add 172.30.0.1/16 dev br0"
    echo "link set br0 up"
    for ((i = 0; i < ROUTERS; i++)); do
        r=$(router_name $i)
        for d in 0 1 2; do
            other=$(router_name "$(neighbour $i $d 1)")
            ring_cable $i "$r" $d "$other"
        done
    done
    for ((n = 0; n < $(node_count); n++)); do
        r=$(router_name "$(node_router $n)")
        echo "link add name n$n netns $r address $PORT_MAC type veth" \
            "peer name hsn0 netns n$n address $(node_mac $n)"
        echo "link add name c$n type veth peer name eth0 netns n$n"
        echo "link set c$n master br0 up"
    done
}

ring_cable() {
    local i=$1 r=$2 d=$3 other=$4 name=${DIM_NAMES[$3]} far=- X Y Z c
    [ "${DIMS[$d]}" -gt 1 ] || return 0
    coordinates "$i"
    c=($X $Y $Z)
    if [ "${DIMS[$d]}" -eq 2 ]; then
        [ "${c[$d]}" -eq 0 ] || return 0
        far=+
    fi
    echo "link add name $name+ netns $r address $PORT_MAC type veth" \
        "peer name $name$far netns $other address $PORT_MAC"
}

# The ports of a router towards other routers.
router_ports() {
    local d
    for d in 0 1 2; do
        [ "${DIMS[$d]}" -gt 1 ] && echo "${DIM_NAMES[$d]}+"
        [ "${DIMS[$d]}" -gt 2 ] && echo "${DIM_NAMES[$d]}-"
    done
    return 0
}

router_nodes() {
    local k
    for ((k = 0; k < NODES_PER_ROUTER; k++)); do
        echo $(($1 * NODES_PER_ROUTER + k))
    done
}

# The lines of `ip -batch` for one router.
router_setup() {
    local i=$1 X Y Z port n
    coordinates "$i"
    echo "link set lo up"
    echo "address add 10.$X.$Y.$((4 * Z))/32 dev lo"
    for port in $(router_ports); do
        echo "link set $port up"
        echo "neighbour add $HOP lladdr $PORT_MAC dev $port nud permanent"
    done
    for n in $(router_nodes "$i"); do
        echo "link set n$n up"
        echo "route add $(node_address "$n")/32 dev n$n"
        echo "neighbour add $(node_address "$n") lladdr $(node_mac "$n")" \
            "dev n$n nud permanent"
    done
    ring_routes 0 $X "10.%d.0.0/16"
    ring_routes 1 $Y "10.$X.%d.0/24"
    ring_routes 2 $Z "10.$X.$Y.%d/30" 4
}

# ring_routes DIM HERE FORMAT [FACTOR]: one route for each other coordinate.
ring_routes() {
    local d=$1 here=$2 format=$3 factor=${4:-1} there prefix
    for ((there = 0; there < DIMS[d]; there++)); do
        [ $there -ne "$here" ] || continue
        # shellcheck disable=SC2059
        printf -v prefix "$format" $((there * factor))
        echo "route add $prefix via $HOP onlink" \
            "dev ${DIM_NAMES[$d]}$(direction "$d" "$here" $there)"
    done
}

node_setup() {
    local n=$1
    echo "link set lo up"
    echo "address add $(control_address "$n")/16 dev eth0"
    echo "link set eth0 up"
    echo "address add $(node_address "$n")/32 dev hsn0"
    echo "link set hsn0 up gso_max_segs $GSO_SEGMENTS"
    echo "neighbour add $HOP lladdr $PORT_MAC dev hsn0 nud permanent"
    # No stream has more packets under way than its share of a port's queue,
    # as credits would have it in a real fabric: nothing is lost by one
    # stream alone, and nothing has to be waited for when it ends.
    echo "route add 10.0.0.0/8 via $HOP dev hsn0 onlink" \
        "src $(node_address "$n") cwnd lock $WINDOW_PACKETS initcwnd $WINDOW_PACKETS"
}

# Set up the namespace this runs in.  IPv6 goes first: its neighbour
# discovery would move the counters of an idle port.
apply_setup() {
    local what=$1 number=$2 net=/proc/sys/net
    if [ -e $net/ipv6 ]; then
        echo 1 >$net/ipv6/conf/all/disable_ipv6
        echo 1 >$net/ipv6/conf/default/disable_ipv6
    fi
    echo 0 >$net/ipv4/conf/all/rp_filter
    echo 0 >$net/ipv4/conf/default/rp_filter
    if [ "$what" = router ]; then
        echo 1 >$net/ipv4/ip_forward
        echo 0 >$net/ipv4/conf/all/send_redirects
        echo 0 >$net/ipv4/conf/default/send_redirects
        router_setup "$number" | ip -batch - && router_shaping "$number" | tc -batch -
    else
        # Some machines default to BBR, which probes for bandwidth.
        echo cubic >$net/ipv4/tcp_congestion_control 2>/dev/null ||
            echo reno >$net/ipv4/tcp_congestion_control
        # A test must not inherit what an earlier one learnt of its peer.
        echo 1 >$net/ipv4/tcp_no_metrics_save
        node_setup "$number" | ip -batch - && node_shaping | tc -batch -
    fi
}

step_torus() {
    local i n
    torus_wiring | ip -batch - || return
    for ((i = 0; i < ROUTERS; i++)); do
        in_net "$(router_name $i)" "$LAB_DIR/lab" --inside step router $i || return
    done
    for ((n = 0; n < $(node_count); n++)); do
        in_net n$n "$LAB_DIR/lab" --inside step node $n || return
    done
    printf '%s routers, %s nodes' "$ROUTERS" "$(node_count)"
}

step_router() { apply_setup router "$1"; }
step_node() { apply_setup node "$1"; }
