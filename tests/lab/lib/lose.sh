# SPDX-License-Identifier: GPL-2.0-or-later
# Components that lose a share of the packets, at random, one by one.
#
# nftables' random numbers do it, where a router forwards: behind the shaper of
# a node's tx, before those of links and of a node's rx.  So nobody who sends is
# told, as of a damaged packet on a real cable, and acknowledgements get lost as
# data do.  `netem' would do the same; many kernels are built without it.

# lose_parts PERCENT: of 100,000; sets PARTS
lose_parts() {
    [[ $1 =~ ^[0-9]{1,3}(\.[0-9]{1,3})?$ ]] ||
        die "lose: '$1' is no share: expected percent, such as 3 or 0.2"
    PARTS=$(awk -v p="$1" 'BEGIN { printf "%d", p * 1000 + 0.5 }')
    [ "$PARTS" -ge 1 ] && [ "$PARTS" -le 100000 ] ||
        die "lose: $1 percent; 0.001 to 100 are possible"
}

# Sets NS, the router that loses what a component carries, and MATCH, how
# nftables knows it there.
lose_place() {
    local n DEV BPS OPPOSITE
    find_component "$1"
    MATCH="oifname \"$DEV\""
    [[ $1 == */tx && $1 == n* ]] || return 0
    if [[ $1 == *:* ]]; then # of several fabrics: where its router takes it in
        find_end "${1%/tx}/rx"
        MATCH="iifname \"$DEV\""
        return
    fi
    n=${NS#n}
    NS=${ROUTER[NODE_ROUTER[n]]} MATCH="iifname \"n$n\""
}

# lose_rules ROUTER: what it loses, out of the faults there are, as nft reads it
lose_rules() {
    local file component state share NS MATCH PARTS rules=''
    for file in "$LAB_RUN"/faults/*; do
        read -r component state share <"$file"
        [ "$state" = loses ] || continue
        lose_place "$component"
        [ "$NS" = "$1" ] || continue
        lose_parts "${share%\%}"
        rules+="    $MATCH numgen random mod 100000 < $PARTS counter drop"$'\n'
    done
    printf 'table ip lab\ndelete table ip lab\n'
    [ -z "$rules" ] || printf 'table ip lab {\n  chain lose {\n    %s\n%s  }\n}\n' \
        'type filter hook forward priority 0;' "$rules"
}

# set_losses ROUTER: as the faults have it.
set_losses() {
    local nft out
    nft=$(PATH=$PATH:/usr/sbin:/sbin command -v nft) ||
        die "nft is not installed (Debian: nftables): nothing can be lost"
    out=$(lose_rules "$1" | in_net "$1" "$nft" -f - 2>&1) ||
        die "$1: this kernel has no nftables that choose packets at random" \
            "(CONFIG_NF_TABLES, CONFIG_NFT_NUMGEN): ${out%%$'\n'*}"
    set_segments
}

# A packet that a node hands over for several segments would be lost as one:
# while anything loses, nodes hand over single segments.
set_segments() {
    local n file segments=$GSO_SEGMENTS
    for file in "$LAB_RUN"/faults/*; do
        ! grep -q ' loses ' "$file" || segments=1
    done
    [ "$segments" != "$(cat "$LAB_RUN/segments" 2>/dev/null || echo "$GSO_SEGMENTS")" ] || return 0
    for ((n = 0; n < NODES; n++)); do
        ip -n "n$n" link set hsn0 gso_max_segs "$segments" || die "n$n: cannot set its segments"
    done
    echo "$segments" >"$LAB_RUN/segments"
}

# stop_losing COMPONENT: nothing where it loses nothing
stop_losing() {
    local file=$LAB_RUN/faults/${1//\//_} NS MATCH
    grep -qs ' loses ' "$file" || return 0
    lose_place "$1"
    rm -f "$file"
    set_losses "$NS"
}

# lose_one COMPONENT PERCENT: at its whole rate, whatever it was before.
lose_one() {
    local NS MATCH file=$LAB_RUN/faults/${1//\//_}
    change_port "$1" healthy one
    lose_place "$1"
    echo "$1 loses $2%" >"$file"
    # in a shell of its own: what is not lost must not be listed
    (set_losses "$NS") || { rm -f "$file"; exit 1; }
}

cmd_lose() {
    local both percent PARTS NS DEV BPS OPPOSITE
    [ $# -ge 2 ] || die "usage: lab lose COMPONENT PERCENT [--both]"
    percent=${2%\%}
    lose_parts "$percent"
    both=$(both_option "${3:-}") || exit
    find_component "$1"
    lose_one "$1" "$percent"
    [ "$both" != both ] || lose_one "$OPPOSITE" "$percent"
}
