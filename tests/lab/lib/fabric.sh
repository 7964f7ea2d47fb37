# SPDX-License-Identifier: GPL-2.0-or-later
# Rates and faults of the ports.

# A rate is what a TCP stream carries: 1448 bytes of each frame of 1514.
wire_bps() { echo $(($1 * 1514 / 1448)); }

# tbf BPS PERCENT: the shaper of a port.  The burst lets a late timer catch
# up, yet is short against a test; the queue is the same number of bytes
# however slow the port became, so it still holds the same streams.
tbf() {
    local wire burst
    wire=$(($(wire_bps "$1") * $2 / 100))
    burst=$((wire / 8 * BURST_US / 1000000))
    [ $burst -ge 3100 ] || burst=3100
    echo "tbf rate ${wire}bit burst $burst limit $QUEUE_BYTES"
}

router_shaping() {
    local port n
    for port in $(router_ports); do
        echo "qdisc replace dev $port root $(tbf "$LINK_BPS" 100)"
    done
    for n in $(router_nodes "$1"); do
        echo "qdisc replace dev n$n root $(tbf "$RX_BPS" 100)"
    done
}

node_shaping() { echo "qdisc replace dev hsn0 root $(tbf "$TX_BPS" 100)"; }

# Sets NS, DEV and BPS of a component, OPPOSITE to the component's name the
# other way.
find_component() {
    local n
    case $1 in
    n*/tx) n=$(node_number "${1%/*}") || exit
        NS=n$n DEV=hsn0 BPS=$TX_BPS OPPOSITE=n$n/rx ;;
    n*/rx) n=$(node_number "${1%/*}") || exit
        NS=$(router_name "$(node_router "$n")") DEV=n$n BPS=$RX_BPS
        OPPOSITE=n$n/tx ;;
    r*/*) find_link "$1" ;;
    *) die "'$1' is no component: expected r0.0.0/X+, n0/tx or n0/rx" ;;
    esac
}

find_link() {
    local x y z port index d
    [[ $1 =~ ^r([0-9]+)\.([0-9]+)\.([0-9]+)/([XYZ][+-])$ ]] ||
        die "'$1' is no component: expected r0.0.0/X+, n0/tx or n0/rx"
    x=${BASH_REMATCH[1]} y=${BASH_REMATCH[2]} z=${BASH_REMATCH[3]}
    port=${BASH_REMATCH[4]}
    [ "$x" -lt "${DIMS[0]}" ] && [ "$y" -lt "${DIMS[1]}" ] && [ "$z" -lt "${DIMS[2]}" ] ||
        die "$1: no such router in a torus of ${DIMS[0]}x${DIMS[1]}x${DIMS[2]}"
    [[ " $(router_ports | tr '\n' ' ')" = *" $port "* ]] ||
        die "$1: no such port; a router here has: $(router_ports | tr '\n' ' ')"
    NS=r$x.$y.$z DEV=$port BPS=$LINK_BPS
    case $port in X*) d=0 ;; Y*) d=1 ;; *) d=2 ;; esac
    index=$(router_index "$x" "$y" "$z")
    if [ "${port:1}" = + ]; then index=$(neighbour "$index" $d 1)
    else index=$(neighbour "$index" $d -1); fi
    OPPOSITE=$(router_name "$index")/${port:0:1}
    if [ "${DIMS[$d]}" -eq 2 ] || [ "${port:1}" = - ]; then OPPOSITE+=+
    else OPPOSITE+=-; fi
}

# set_port COMPONENT STATE QDISC: by way of a blackhole, because a tbf that is
# only changed keeps its queue, and waits for ever on a packet at its head
# that is longer than the new burst.
set_port() {
    local component=$1 state=$2 NS DEV BPS OPPOSITE
    find_component "$component"
    printf 'qdisc replace dev %s root %s\n' "$DEV" blackhole "$DEV" "$3" |
        tc -n "$NS" -batch - || die "cannot change $component"
    if [ "$state" = healthy ]; then rm -f "$LAB_RUN/faults/${component//\//_}"
    else echo "$component $state" >"$LAB_RUN/faults/${component//\//_}"; fi
}

# change_port COMPONENT STATE both|one: STATE is healthy, failed or N%.
change_port() {
    local NS DEV BPS OPPOSITE qdisc
    find_component "$1"
    case $2 in
    healthy) qdisc=$(tbf "$BPS" 100) ;;
    # Takes every packet, says it was sent, and forgets it: the sender
    # learns nothing, no route changes, nothing arrives.
    failed) qdisc=blackhole ;;
    *) qdisc=$(tbf "$BPS" "${2%\%}") ;;
    esac
    set_port "$1" "$2" "$qdisc"
    [ "$3" != both ] || change_port "$OPPOSITE" "$2" one
}

both_option() {
    case ${1:-} in
    '') echo one ;;
    --both) echo both ;;
    *) die "unknown option $1" ;;
    esac
}

cmd_degrade() {
    local both
    [ $# -ge 2 ] || die "usage: lab degrade COMPONENT PERCENT [--both]"
    local percent=${2%\%}
    need_number "degrade $1" "$percent"
    [ "$percent" -ge 1 ] && [ "$percent" -le 100 ] ||
        die "degrade $1: $percent percent; 1 to 100 are possible"
    both=$(both_option "${3:-}") || exit
    change_port "$1" "$percent%" "$both"
}

cmd_fail() {
    local both
    [ $# -ge 1 ] || die "usage: lab fail COMPONENT [--both]"
    both=$(both_option "${2:-}") || exit
    change_port "$1" failed "$both"
}

cmd_heal() {
    local file component both
    [ $# -ge 1 ] || die "usage: lab heal COMPONENT [--both] | --all"
    if [ "$1" != --all ]; then
        both=$(both_option "${2:-}") || exit
        change_port "$1" healthy "$both"
        return
    fi
    for file in "$LAB_RUN"/faults/*; do
        read -r component _ <"$file"
        change_port "$component" healthy one
    done
}
