# SPDX-License-Identifier: GPL-2.0-or-later
# A lab whose fabric is InfiniBand as far as sweeps see: ibsim has the switches, adapters and cables
# of it, OpenSM routes them, ibnetdiscover finds them, and what `taut topology import` makes of that
# is the lab's wiring.  Packets go over the lab, sweeps over ibsim.  Sourced after lib/tests.bash.

# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../../system/ibsim.bash"

# Where the tools and the subnet manager sit: an administration host of a leaf's, which is not a
# node.
IB_ADMIN=H-000000000000ad00

# ib_missing: what a lab with ibsim lacks here
ib_missing() {
    local tool
    for tool in ibsim opensm smpquery ibportstate ibnetdiscover; do
        PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "$tool is not installed"; return; }
    done
    [ -e "$IBSIM_PRELOAD" ] || { echo "libumad2sim is not installed"; return; }
    [ -x "$TAUT_PREFIX/libexec/taut/taut-ib" ] || echo "configured without libibmad"
}

# ib_net LEAVES SPINES NODES: the net file of a tree, as ibnetdiscover writes it.  A leaf's first
# ports are its nodes', those after them the spines'; leaf0 has the administration host behind them.
ib_net() {
    awk -v L="$1" -v S="$2" -v N="$3" '
    function begins(guid, name, lid) {
        printf "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\n", guid, guid, guid
        printf "Switch\t40 \"S-%016x\"\t\t# \"%s\" enhanced port 0 lid %d lmc 0\n", guid, name, lid
    }
    function to_switch(port, guid, far, name, lid) {
        printf "[%d]\t\"S-%016x\"[%d]\t\t# \"%s\" lid %d 4xHDR\n", port, guid, far, name, lid
    }
    function to_host(port, guid, name, lid) {
        printf "[%d]\t\"H-%016x\"[1](%x) \t\t# \"%s mlx5_0\" lid %d 4xHDR\n", port, guid, guid + 1, name, lid
    }
    function host(guid, name, lid, l, port) {
        printf "\nvendid=0x2c9\ndevid=0x101b\nsysimgguid=0x%x\ncaguid=0x%x\n", guid, guid
        printf "Ca\t1 \"H-%016x\"\t\t# \"%s mlx5_0\"\n", guid, name
        printf "[1](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc 0 \"leaf%d\" lid %d 4xHDR\n",
            guid + 1, leaf + l, port, lid, l, 1 + l
    }
    BEGIN {
        leaf = 1048576; spine = 2097152; node = 3145728; admin = 44288 # 0x100000 …, 0xad00
        lids = 1 + L + S
        for (l = 0; l < L; l++) {
            begins(leaf + l, "leaf" l, 1 + l)
            for (i = 0; i < N; i++)
                to_host(i + 1, node + 256 * (l * N + i), "n" l * N + i, lids + l * N + i)
            for (s = 0; s < S; s++) to_switch(N + s + 1, spine + s, l + 1, "spine" s, 1 + L + s)
            if (l == 0) to_host(N + S + 1, admin, "admin", lids + L * N)
        }
        for (s = 0; s < S; s++) {
            begins(spine + s, "spine" s, 1 + L + s)
            for (l = 0; l < L; l++) to_switch(l + 1, leaf + l, N + s + 1, "leaf" l, 1 + l)
        }
        for (i = 0; i < L * N; i++)
            host(node + 256 * i, "n" i, lids + i, int(i / N), i % N + 1)
        host(admin, "admin", lids + L * N, 0, N + S + 1)
    }'
}

# ib_import DIR ROUTING: the fabric of DIR/net, routed by OpenSM as a fat tree and found by
# ibnetdiscover, as a section of taut.lua; ROUTING is what `routing' says
ib_import() (
    cd "$1" || return
    trap ibsim_down EXIT
    {
        ibsim_up net "$IB_ADMIN"
        ibsim_route ftree
        ibsim_run ibnetdiscover >found
    } >import.out 2>&1 || { cat import.out >&2; return 1; }
    "$TAUT_PREFIX/bin/taut" topology import ibnetdiscover found \
        --with opensm-lfts:osm/opensm-lfts.dump --nodes 'n[0-7]' --capacity 12.5MB 2>>import.out |
        sed "\$s/^}/   capacity = 12.5 * MB, routing = { $2 },\n}/"
)

# ib_lab DIR: ibsim and OpenSM beside the lab that is up, and the lab's taut-ib on them
ib_lab() {
    in_lab "$1" ib_begin
    lab exec mount --bind /run/ib/taut-ib "$TAUT_PREFIX/libexec/taut/taut-ib"
}

# in_lab DIR COMMAND…: in the lab's namespaces, where its ibsim is
in_lab() {
    lab exec bash -c 'cd "$1" && . "$2" && { [ ! -e sim ] || . ./sim; } && shift 2 && "$@"' _ \
        "$1" "$BATS_TEST_DIRNAME/infiniband.bash" "${@:2}"
}

ib_begin() {
    rm -rf osm console
    ibsim_up net "$IB_ADMIN" && ibsim_opensm "$IB_ADMIN" ftree || return
    declare -p IBSIM_SOCKNAME SIM_HOST IBSIM_SM >sim
    # tautd is not root, and the simulated device keeps files where its program runs
    mkdir -p /run/ib/files
    cp "$TAUT_PREFIX/libexec/taut/taut-ib" /run/ib/real
    printf '#!/bin/sh\nexport IBSIM_SOCKNAME=%s SIM_HOST=%s LD_PRELOAD=%s\ncd /run/ib/files && exec /run/ib/real\n' \
        "$IBSIM_SOCKNAME" "$SIM_HOST" "$IBSIM_PRELOAD" >/run/ib/taut-ib
    chmod 755 /run/ib /run/ib/*
    chmod 1777 /run/ib/files
}

# ib_switch NAME: leaf2 as ibsim calls it
ib_switch() {
    local first=0x100000
    [[ $1 != spine* ]] || first=0x200000
    printf 'S-%016x' $((first + ${1//[a-z]/}))
}
