# SPDX-License-Identifier: GPL-2.0-or-later
# Rates and faults of the ports.

# A rate is what a TCP stream carries: 1448 bytes of each frame of 1514 on the
# wire.
#
# tbf BPS PERCENT: sets TBF, the shaper of a port.  The burst lets a late
# timer catch up, and is gone in the first moments of a stream; the queue is
# the same number of bytes however slow the port became, so that it still
# holds as many streams.
tbf() {
    local wire=$(($1 * 1514 / 1448 * $2 / 100)) burst
    burst=$((wire / 8 * BURST_US / 1000000))
    # Two packets at least, or it would never have the tokens for one.
    [ $burst -ge 3100 ] || burst=3100
    TBF="tbf rate ${wire}bit burst $burst limit $QUEUE_BYTES"
}

router_shaping() {
    local l n DEV TBF
    for l in "${!LINK[@]}"; do
        [ "${LINK_FROM[l]}" -eq "$1" ] || continue
        device "${LINK[l]}"
        tbf "${LINK_SPEED[l]}" 100
        echo "qdisc replace dev $DEV root $TBF"
    done
    tbf "$RX_BPS" 100
    for ((n = 0; n < NODES; n++)); do
        [ "${NODE_ROUTER[n]}" -ne "$1" ] || echo "qdisc replace dev n$n root $TBF"
    done
    for l in "${!EXTRA_NODE[@]}"; do
        [ "${EXTRA_ROUTER[l]}" -ne "$1" ] || echo "qdisc replace dev x$l root $TBF"
    done
}

node_shaping() {
    local l TBF DEV
    tbf "$TX_BPS" 100
    echo "qdisc replace dev hsn0 root $TBF"
    for l in "${!EXTRA_NODE[@]}"; do
        [ "${EXTRA_NODE[l]}" -eq "$1" ] || continue
        extra_device "$l"
        echo "qdisc replace dev $DEV root $TBF"
    done
}

# Sets NS, DEV and BPS of a component, OPPOSITE to the component's name the
# other way.
find_component() {
    local n
    case $1 in
    n*:*/[tr]x) find_end "$1" ;;
    n*/tx) n=$(node_number "${1%/*}") || exit
        NS=n$n DEV=hsn0 BPS=$TX_BPS OPPOSITE=n$n/rx ;;
    n*/rx) n=$(node_number "${1%/*}") || exit
        NS=${ROUTER[NODE_ROUTER[n]]} DEV=n$n BPS=$RX_BPS
        OPPOSITE=n$n/tx ;;
    */*) find_link "$1" ;;
    *) die "'$1' is not a component: expected ${LINK[0]:-n1/tx}, n0/tx or n0/rx" ;;
    esac
}

# n5:2/tx, of several fabrics.
find_end() {
    local n rail=${1#*:} way=${1##*/} l found=''
    n=$(node_number "${1%%:*}") || exit
    rail=${rail%/*}
    OPPOSITE=n$n:$rail/$([ "$way" = tx ] && echo rx || echo tx)
    if [ "${NODE_RAIL[n]:-}" = "$rail" ]; then found=n$n DEV=hsn0 NS=${ROUTER[NODE_ROUTER[n]]}; fi
    for l in "${!EXTRA_NODE[@]}"; do
        [ "${EXTRA_NODE[l]}" -eq "$n" ] && [ "${EXTRA_RAIL[l]}" = "$rail" ] || continue
        extra_device "$l"
        found=x$l NS=${ROUTER[EXTRA_ROUTER[l]]}
    done
    [ -n "$found" ] || die "$1: n$n has no rail $rail"
    if [ "$way" = tx ]; then NS=n$n BPS=$TX_BPS
    else DEV=$found BPS=$RX_BPS; fi
}

find_link() {
    local l router ports=''
    for l in "${!LINK[@]}"; do
        router=${LINK[l]%/*}
        if [ "${LINK[l]}" = "$1" ]; then
            device "$1"
            NS=$router BPS=${LINK_SPEED[l]} OPPOSITE=${LINK[LINK_BACK[l]]}
            return
        fi
        [ "$router" != "${1%/*}" ] || ports+=" ${LINK[l]#*/}"
    done
    [ -z "$ports" ] || die "$1: no such port; there are: $(xargs -n1 <<<"$ports" | sort -V | xargs)"
    die "$1: no such router in $FABRIC"
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
    local NS DEV BPS OPPOSITE TBF
    find_component "$1"
    stop_losing "$1"
    case $2 in
    healthy) tbf "$BPS" 100 ;;
    # Takes every packet, says it was sent, and forgets it: the sender
    # learns nothing, no route changes, nothing arrives.
    failed) TBF=blackhole ;;
    *) tbf "$BPS" "${2%\%}" ;;
    esac
    set_port "$1" "$2" "$TBF"
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
