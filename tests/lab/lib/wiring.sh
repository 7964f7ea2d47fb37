# SPDX-License-Identifier: GPL-2.0-or-later
# Namespaces, cables, addresses and routes, whatever the fabric.
#
# Tables say what it is made of: ROUTER (names), ROUTER_ADDRESS; NODE_ROUTER,
# NODE_ADDRESS, NODE_MAC, CONTROL_ADDRESS, CONTROL_MAC of nodes; of links, each
# directed, LINK (names), LINK_FROM, LINK_TO (routers), LINK_BACK (the same
# cable's other direction) and LINK_SPEED (bits per second).

# Every cable has two ends, so one MAC and one next hop do for all router
# ports, and every neighbour entry is known beforehand: no ARP, ever.
PORT_MAC=02:00:00:00:00:01
CONTROLLER_MAC=02:00:00:02:ff:ff
HOP=10.255.255.1

# The interface of a link's port: a number alone is not a name. device LINK: sets DEV
device() {
    DEV=${1#*/}
    [[ $DEV != [0-9]* ]] || DEV=p$DEV
}

# add_cable FROM PORT TO PORT: both directions of it, into the tables.
add_cable() {
    local l=${#LINK[@]}
    LINK+=("${ROUTER[$1]}/$2" "${ROUTER[$3]}/$4")
    LINK_FROM+=("$1" "$3")
    LINK_TO+=("$3" "$1")
    LINK_BACK+=($((l + 1)) "$l")
    LINK_SPEED+=("$LINK_BPS" "$LINK_BPS")
}

# Everything the lab is made of, into the tables.
fabric_tables() {
    local n i
    ROUTER=() ROUTER_ADDRESS=() NODE_ROUTER=() NODE_ADDRESS=() NODE_MAC=()
    CONTROL_ADDRESS=() CONTROL_MAC=()
    LINK=() LINK_FROM=() LINK_TO=() LINK_BACK=() LINK_SPEED=()
    if by_engine; then
        n=$(ask_engine tables) || exit
        eval "$n"
        for ((i = 0; i < ROUTERS; i++)); do
            ROUTER_ADDRESS[i]=10.66.$((i / 200)).$((1 + i % 200))
        done
        for ((n = 0; n < NODES; n++)); do
            NODE_ADDRESS[n]=$(end_address "${NODE_NET[n]}" $n)
        done
        for i in "${!EXTRA_NODE[@]}"; do
            EXTRA_ADDRESS[i]=$(end_address "${EXTRA_NET[i]}" "${EXTRA_NODE[i]}")
            printf -v "EXTRA_MAC[$i]" '02:00:00:03:%02x:%02x' $((i / 256)) $((i % 256))
        done
    else
        torus_tables
    fi
    for ((n = 0; n < NODES; n++)); do
        CONTROL_ADDRESS[n]=172.30.$((1 + n / 200)).$((1 + n % 200))
        printf -v "NODE_MAC[$n]" '02:00:00:01:%02x:%02x' $((n / 256)) $((n % 256))
        printf -v "CONTROL_MAC[$n]" '02:00:00:02:%02x:%02x' $((n / 256)) $((n % 256))
    done
}

# end_address FABRIC NODE: of a node on a fabric, each of which has a network.
end_address() {
    local net=64
    [ "$1" -eq 0 ] || net=$((70 + $1))
    echo 10.$net.$(($2 / 200)).$((1 + $2 % 200))
}

# Of the ends that nodes have besides their first: which is a node's, as the
# interface there; the router's port to it is x and the number of the end.
# extra_device NUMBER: sets DEV
extra_device() {
    local i before=0
    for ((i = 0; i < $1; i++)); do
        [ "${EXTRA_NODE[i]}" -ne "${EXTRA_NODE[$1]}" ] || before=$((before + 1))
    done
    DEV=hsn$((before + 1))
}

# Does Taut's own topology say how it is wired and routed?
by_engine() { [ $KIND != torus ] || [ ${#WITHOUT[@]} -gt 0 ]; }

# ask_engine tables|routes
ask_engine() (
    taut=${TAUT_PREFIX:-$ENGINE_PREFIX}/bin/taut
    [ -x "$taut" ] || die "$FABRIC needs Taut's topologies: set TAUT_PREFIX, the folder it is installed in"
    dir=$(mktemp -d) || exit # of root alone, or Taut will not read it
    trap 'rm -rf "$dir"' EXIT
    topology_section >"$dir/taut.lua"
    "$taut" --lua "$LAB_DIR/lib/wiring.lua" "$1" "$dir/taut.lua" "${WITHOUT[@]}"
)

# Address of the port that a link leaves by: who asks a router for the way is
# answered from that of the port he came in by.
# port_address LINK-NUMBER: sets ADDRESS
port_address() { ADDRESS=10.65.$(($1 / 200)).$((1 + $1 % 200)); }

# node_number n5: 5; complains about a node that is not in this lab.
node_number() {
    [[ $1 =~ ^n(0|[1-9][0-9]*)$ || $ALPS$1 =~ ^yesnid0{0,4}(0|[1-9][0-9]*)$ ]] &&
        [ "${BASH_REMATCH[1]}" -lt "$NODES" ] ||
        die "node '$1' is not in this lab: n0 to n$((NODES - 1))"
    echo "${BASH_REMATCH[1]}"
}

# ---- what `ip -batch' takes ----

# Every namespace and every cable.
wiring() {
    local n l r DEV near
    for r in "${ROUTER[@]}"; do echo "netns add $r"; done
    for ((n = 0; n < NODES; n++)); do echo "netns add n$n"; done
    echo "link add br0 address $CONTROLLER_MAC type bridge"
    echo "address add 172.30.0.1/16 dev br0"
    echo "link set br0 up"
    for l in "${!LINK[@]}"; do
        [ "$l" -lt "${LINK_BACK[l]}" ] || continue
        device "${LINK[l]}"
        near=$DEV
        device "${LINK[LINK_BACK[l]]}"
        echo "link add name $near netns ${ROUTER[LINK_FROM[l]]} address $PORT_MAC type veth" \
            "peer name $DEV netns ${ROUTER[LINK_TO[l]]} address $PORT_MAC"
    done
    for ((n = 0; n < NODES; n++)); do
        if [ $n -lt "$BOND" ]; then
            bond_cables $n
        else
            echo "link add name n$n netns ${ROUTER[NODE_ROUTER[n]]}" \
                "address $PORT_MAC type veth" \
                "peer name hsn0 netns n$n address ${NODE_MAC[n]}"
        fi
        echo "link add name c$n type veth peer name eth0 netns n$n" \
            "address ${CONTROL_MAC[n]}"
        echo "link set c$n master br0 up"
    done
    for l in "${!EXTRA_NODE[@]}"; do
        extra_device "$l"
        echo "link add name x$l netns ${ROUTER[EXTRA_ROUTER[l]]} address $PORT_MAC type veth" \
            "peer name $DEV netns n${EXTRA_NODE[l]} address ${EXTRA_MAC[l]}"
    done
    controller_wiring
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
    controller_neighbours "$1"
}

# What joins a bonded node's two ports: the bonding driver, or where the kernel
# has none a bridge, of which the second port is down.
bond_type() {
    if ip link add labbond type bond 2>/dev/null; then
        ip link delete labbond
        echo bond mode balance-xor xmit_hash_policy layer3+4
    else
        echo bridge
    fi
}

# bond_cables NODE: two cables in place of one; their ends are port0 and port1
# of the node, y5a and y5b of its router.
bond_cables() {
    local r=${ROUTER[NODE_ROUTER[$1]]}
    echo "link add name y$1a netns $r type veth peer name port0 netns n$1"
    echo "link add name y$1b netns $r type veth peer name port1 netns n$1"
    echo "link add name n$1 netns $r address $PORT_MAC type $BOND_TYPE"
    echo "link add name hsn0 netns n$1 address ${NODE_MAC[$1]} type $BOND_TYPE"
}

# bond_ports INTERFACE PORT PORT: of one end; a port joins while it is down.
bond_ports() {
    echo "link set $2 master $1"
    echo "link set $3 master $1"
    echo "link set $2 up"
    [ "$BOND_TYPE" = bridge ] || echo "link set $3 up"
}

# One router; its routes to other routers' nodes are in a file already, or are
# the torus' prefixes.
router_setup() {
    local i=$1 l n DEV ADDRESS
    echo "link set lo up"
    echo "address add ${ROUTER_ADDRESS[i]}/32 dev lo"
    for l in "${!LINK[@]}"; do
        [ "${LINK_FROM[l]}" -eq "$i" ] || continue
        device "${LINK[l]}"
        port_address "$l"
        echo "link set $DEV up"
        echo "address add $ADDRESS/32 dev $DEV"
        echo "neighbour add $HOP lladdr $PORT_MAC dev $DEV nud permanent"
    done
    for ((n = 0; n < NODES; n++)); do
        [ "${NODE_ROUTER[n]}" -eq "$i" ] || continue
        [ $n -ge "$BOND" ] || bond_ports n$n y${n}a y${n}b
        echo "link set n$n up"
        echo "route add ${NODE_ADDRESS[n]}/32 dev n$n"
        echo "neighbour add ${NODE_ADDRESS[n]} lladdr ${NODE_MAC[n]}" \
            "dev n$n nud permanent"
    done
    for l in "${!EXTRA_NODE[@]}"; do
        [ "${EXTRA_ROUTER[l]}" -eq "$i" ] || continue
        echo "link set x$l up"
        echo "route add ${EXTRA_ADDRESS[l]}/32 dev x$l"
        echo "neighbour add ${EXTRA_ADDRESS[l]} lladdr ${EXTRA_MAC[l]} dev x$l nud permanent"
    done
    by_engine || torus_routes "$i"
}

# The routes that Taut's topology knows: ROUTER NODE PORT … a line, on standard
# input; several ports share by hash.
engine_routes() {
    local i n ports port DEV line
    while read -r i n ports; do
        if [ "$n" -lt "$NODES" ]; then line="route add ${NODE_ADDRESS[n]}/32"
        else line="route add ${EXTRA_ADDRESS[n - NODES]}/32"; fi
        for port in $ports; do
            device "/$port"
            if [ "$port" = "$ports" ]; then line+=" via $HOP onlink dev $DEV"
            else line+=" nexthop via $HOP dev $DEV onlink"; fi
        done
        echo "$line" >>"$LAB_RUN/setup/${ROUTER[i]}.ip"
    done
}

node_setup() {
    local n=$1 l DEV
    echo "link set lo up"
    echo "address add ${CONTROL_ADDRESS[n]}/16 dev eth0"
    echo "link set eth0 up"
    echo "$CONTROL_NEIGHBOURS"
    [ "$n" -ge "$BOND" ] || bond_ports hsn0 port0 port1
    end_setup hsn0 "${NODE_ADDRESS[n]}"
    for l in "${!EXTRA_NODE[@]}"; do
        [ "${EXTRA_NODE[l]}" -eq "$n" ] || continue
        extra_device "$l"
        end_setup "$DEV" "${EXTRA_ADDRESS[l]}"
    done
}

# end_setup INTERFACE ADDRESS: of a node; of several fabrics it reaches the
# network of its own.
end_setup() {
    local to=10.0.0.0/8
    [ $KIND != fabrics ] || to=${2%.*.*}.0.0/16
    echo "address add $2/32 dev $1"
    # Large segments would pass the shapers as one piece.
    echo "link set $1 up gso_max_segs $GSO_SEGMENTS"
    echo "neighbour add $HOP lladdr $PORT_MAC dev $1 nud permanent"
    # No stream has more packets under way than its share of a port's queue,
    # as credits would have it in a real fabric: nothing is lost by one
    # stream alone, and little is left to drain when it ends.
    echo "route add $to via $HOP dev $1 onlink src $2" \
        "cwnd lock $WINDOW_PACKETS initcwnd $WINDOW_PACKETS"
}

# set_up NAMESPACE ROLE [SEED [RDMA]]: from the two batches of that namespace.
set_up() {
    in_net "$1" bash "$LAB_DIR/lib/namespace.sh" "$2" \
        "$LAB_RUN/setup/$1.ip" "$LAB_RUN/setup/$1.tc" "${3:-0}" "${4:-}"
}

# Standard input: the routes, where Taut's topology knows them.
step_fabric() {
    local i n CONTROL_NEIGHBOURS BOND_TYPE
    BOND_TYPE=$(bond_type)
    CONTROL_NEIGHBOURS=$(control_neighbours eth0)
    wiring | ip -batch - && mkdir -p $LAB_RUN/setup || return
    for ((i = 0; i < ROUTERS; i++)); do
        router_setup $i >"$LAB_RUN/setup/${ROUTER[i]}.ip"
        router_shaping $i >"$LAB_RUN/setup/${ROUTER[i]}.tc"
    done
    ! by_engine || engine_routes || return
    for ((i = 0; i < ROUTERS; i++)); do
        set_up "${ROUTER[i]}" router $((i + 1)) || return
    done
    for ((n = 0; n < NODES; n++)); do
        node_setup $n >$LAB_RUN/setup/n$n.ip
        node_shaping $n >$LAB_RUN/setup/n$n.tc
        set_up n$n node 0 "${RDMA:+$RDMA ${RDMA}_n$n}" || return
    done
    set_up_controllers || return
    printf '%s routers, %s nodes' "$ROUTERS" "$NODES"
}
