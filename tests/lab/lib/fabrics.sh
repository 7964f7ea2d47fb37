# SPDX-License-Identifier: GPL-2.0-or-later
# The fabrics there are: what was asked for, and its words for Taut and Slurm.
#
# A torus is wired and routed by torus.sh.  All others, and a torus without
# some of its links, are as Taut's own topology of the section written here
# has them: wiring.lua asks it for names, cables and routes.

MAX_ROUTERS=256 MAX_NODES=256

parse_fabric() {
    local given=("$TORUS" "$TREE" "$DRAGONFLY" "$HYPERX" "${FABRICS_FILE:+fabrics}") kind=''
    for kind in "${given[@]}"; do [ -z "$kind" ] || KIND+=" $kind"; done
    read -r -a given <<<"$KIND"
    [ ${#given[@]} -eq 1 ] ||
        die "up needs one of --torus, --tree, --dragonfly, --hyperx, --fabrics, for instance --torus 4x2x2"
    need_number --cables "$CABLES"
    need_number --pods "$PODS"
    if [ -n "$TORUS" ]; then KIND=torus; parse_torus "$TORUS"
    elif [ -n "$TREE" ]; then KIND=tree; parse_tree "$TREE"
    elif [ -n "$FABRICS_FILE" ]; then KIND=fabrics; parse_fabrics "$FABRICS_FILE"
    elif [ -n "$DRAGONFLY" ]; then KIND=dragonfly; parse_dragonfly "$DRAGONFLY"
    else KIND=hyperx; parse_hyperx "$HYPERX"; fi
    check_fabric
}

check_fabric() {
    [ $KIND = fabrics ] || NODES=$((${LEAVES:-$ROUTERS} * NODES_PER_ROUTER))
    [ -z "$ROUTING" ] || [ $KIND = tree ] || die "--$ROUTING is of trees only"
    [ "$PODS" -eq 0 ] || [ $KIND = tree ] || die "--pods is of trees only"
    [ "$CABLES" -eq 1 ] || [ $KIND != torus ] || die "--cables: not with --torus"
    [ "$CABLES" -ge 1 ] && [ "$CABLES" -le 16 ] || die "--cables $CABLES; 1 to 16 are possible"
    [ "$ROUTERS" -ge 1 ] && [ "$ROUTERS" -le $MAX_ROUTERS ] ||
        die "$FABRIC: $ROUTERS routers; 1 to $MAX_ROUTERS are possible"
    [ $NODES -ge 1 ] && [ $NODES -le $MAX_NODES ] ||
        die "$FABRIC: $NODES nodes; 1 to $MAX_NODES are possible"
}

# sizes TEXT LEAST MOST EXAMPLE: sets SIZES
sizes() {
    [[ $1 =~ ^[1-9][0-9]{0,2}(x[1-9][0-9]{0,2})*$ ]] || die "'$1': expected something like $4"
    IFS=x read -r -a SIZES <<<"$1"
    [ ${#SIZES[@]} -ge "$2" ] && [ ${#SIZES[@]} -le "$3" ] ||
        die "'$1': expected something like $4"
}

# LEAVESxSPINESxNODES, of each pod where there are pods.
parse_tree() {
    local SIZES
    sizes "$1" 3 3 4x4x2
    LEAVES=${SIZES[0]} SPINES=${SIZES[1]} NODES_PER_ROUTER=${SIZES[2]}
    ROUTING=${ROUTING:-static}
    FABRIC="tree $1, $ROUTING"
    ROUTERS=$((LEAVES + SPINES))
    if [ "$PODS" -gt 0 ]; then
        POD_LEAVES=$LEAVES LEAVES=$((LEAVES * PODS))
        ROUTERS=$((LEAVES + SPINES * PODS + SPINES * SPINES))
        FABRIC="tree of $PODS pods of $1, $ROUTING"
    fi
    [ "$CABLES" -eq 1 ] || FABRIC+=", $CABLES cables each"
}

# GROUPSxROUTERSxNODES
parse_dragonfly() {
    local SIZES
    sizes "$1" 3 3 4x2x2
    GROUP_COUNT=${SIZES[0]} GROUP_ROUTERS=${SIZES[1]} NODES_PER_ROUTER=${SIZES[2]}
    ROUTERS=$((GROUP_COUNT * GROUP_ROUTERS))
    FABRIC="dragonfly $1"
}

parse_hyperx() {
    local SIZES size
    sizes "$1" 1 3 4x4
    DIMS=("${SIZES[@]}") ROUTERS=1
    for size in "${DIMS[@]}"; do ROUTERS=$((ROUTERS * size)); done
    FABRIC="hyperx $1"
}

# A file with `fabrics = { … }' of taut.lua(5); nodes are n0 and on.
parse_fabrics() {
    local sizes
    [ -r "$1" ] || die "--fabrics $1 cannot be read"
    FABRICS_TEXT=$(<"$1") FABRIC="fabrics of ${1##*/}" LINK=()
    sizes=$(ask_engine sizes) || exit
    eval "$sizes"
}

# ---- what Taut's configuration says of it ----

topology_section() {
    [ $KIND != fabrics ] || { fabrics_section; return; }
    "${KIND}_section"
    echo "   nodes = \"$(node_list)\","
    echo "   capacity = $(capacity_words), -- what the lab shapes every cable to"
    [ "$ROUTING" != hash ] || addresses_section
    echo "}"
}

# By which addresses the ports answer who asks for the way, once they have some.
addresses_section() {
    local l ADDRESS
    [ -n "${LINK[0]:-}" ] || return 0
    echo "   addresses = {"
    for l in "${!LINK[@]}"; do
        port_address "$l"
        echo "      [\"${LINK[l]}\"] = \"$ADDRESS\","
    done
    echo "   },"
}

# The file's text; `-- ADDRESSES ib' in it stands for the addresses of fabric ib.
fabrics_section() {
    local line l ADDRESS
    while IFS= read -r line; do
        if [[ $line =~ ^\ *--\ ADDRESSES\ ([a-z]+)$ ]]; then
            [ -n "${LINK[0]:-}" ] || continue
            echo "      addresses = {"
            for l in "${!LINK[@]}"; do
                [ "${LINK[l]%%:*}" = "${BASH_REMATCH[1]}" ] || continue
                port_address "$l"
                echo "         [\"${LINK[l]#*:}\"] = \"$ADDRESS\","
            done
            echo "      },"
        else
            printf '%s\n' "$line"
        fi
    done <<<"$FABRICS_TEXT"
}

# `lab topology', of the lab that is up or of what the options say.
cmd_topology() { topology_section; }
print_topology() {
    declare_defaults
    parse_up "$@"
    parse_fabric
    read_rates
    topology_section
}

capacity_words() {
    awk -v t="$TX_BPS" -v r="$RX_BPS" -v l="$LINK_BPS" 'BEGIN {
        if (t == r && r == l) printf "%.9g * MB", t / 8e6
        else printf "{ tx = %.9g * MB, rx = %.9g * MB, link = %.9g * MB }", t / 8e6, r / 8e6, l / 8e6
    }'
}

tree_section() {
    local level="{ down = ${POD_LEAVES:-$LEAVES}, up = $SPINES, parallel = $CABLES }"
    [ "$PODS" -eq 0 ] || level+=", { down = $PODS, up = $SPINES, parallel = $CABLES }"
    echo "topology = fattree {"
    echo "   nodes_per_leaf = $NODES_PER_ROUTER,"
    echo "   levels = { $level },"
    case $ROUTING in
    static) echo '   routing = "dmodk",' ;;
    hash) echo '   routing = "ecmp",' ;;
    esac
}

# No real packet takes a detour here: routing in the lab is minimal.
dragonfly_section() {
    echo "topology = dragonfly {"
    echo "   groups = $GROUP_COUNT,"
    echo "   routers = $GROUP_ROUTERS,"
    echo "   nodes_per_router = $NODES_PER_ROUTER,"
    echo "   global_links = $CABLES,"
    echo '   routing = "minimal",'
}

hyperx_section() {
    local dims=${DIMS[*]}
    echo "topology = hyperx {"
    echo "   dims = { ${dims// /, } },"
    echo "   nodes_per_router = $NODES_PER_ROUTER,"
    echo "   links = $CABLES,"
    echo '   routing = "dor",'
}

# ---- what Slurm's says of it: topology/tree, or nothing ----

slurm_topology() {
    case $KIND in
    tree) slurm_tree ;;
    dragonfly) slurm_dragonfly ;;
    esac
}

# Switches i to j and the nodes on them.
slurm_leaves() {
    local i first
    for ((i = 0; i < LEAVES; i++)); do
        first=$((i * NODES_PER_ROUTER))
        echo "SwitchName=leaf$i Nodes=n[$first-$((first + NODES_PER_ROUTER - 1))]"
    done
}

# A switch has one above it: all spines of a pod, or of the tree, are one.
slurm_tree() {
    local p
    slurm_leaves
    if [ "$PODS" -eq 0 ]; then
        echo "SwitchName=spines Switches=leaf[0-$((LEAVES - 1))]"
        return
    fi
    for ((p = 0; p < PODS; p++)); do
        echo "SwitchName=pod$p Switches=leaf[$((p * POD_LEAVES))-$(((p + 1) * POD_LEAVES - 1))]"
    done
    echo "SwitchName=spines Switches=pod[0-$((PODS - 1))]"
}

slurm_dragonfly() {
    local g per=$((GROUP_ROUTERS * NODES_PER_ROUTER))
    for ((g = 0; g < GROUP_COUNT; g++)); do
        echo "SwitchName=group$g Nodes=n[$((g * per))-$(((g + 1) * per - 1))]"
    done
    echo "SwitchName=all Switches=group[0-$((GROUP_COUNT - 1))]"
}

slurm_topology_plugin() {
    case $KIND in
    tree | dragonfly) echo "TopologyPlugin=topology/tree" ;;
    esac
}
