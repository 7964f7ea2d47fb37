#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What `taut topology export slurm` writes, read by a real slurmctld.

load slurmctld.bash

setup() {
    taut=$TAUT_BUILDDIR/advisor/taut
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    ctld_setup
}

teardown() {
    ctld_teardown
}

machine() {
    (umask 022 && echo "topology = $1" >machine.lua)
}

# Names of a host list, one per line; slurmctld may fold them otherwise.
expand() {
    scontrol show hostnames "$1"
}

# The switches that slurmctld has are those of the file, with these nodes and
# children in this order, and it has nothing to complain about.
same_switches() {
    scontrol show topology >shown
    [ -z "$(complaints)" ] || { complaints; return 1; }
    local line name key value got n=0
    while read -r line; do
        [[ $line == SwitchName=* ]] || continue
        n=$((n + 1))
        name=${line%% *} value=${line#* }
        key=${value%%=*} value=${value#*=}
        got=$(grep -F "$name " shown | sed -n "s/.* $key=\\([^ ]*\\).*/\\1/p")
        [ "$(expand "$got")" = "$(expand "$value")" ] || {
            echo "$line, but slurmctld has: $got"
            return 1
        }
    done <topology.conf
    [ "$n" -eq "$(wc -l <shown)" ]
}

@test "the tree of a fat tree" {
    machine 'fattree { nodes_per_leaf = 4, nodes = "n[1-48]", capacity = 1e9,
        levels = { { down = 3, up = 2 }, { down = 4, up = 2 } } }'
    "$taut" topology export slurm -m machine.lua -o topology.conf
    ctld_start topology/tree 'NodeName=n[1-48] NodeAddr=127.0.0.1'
    same_switches
    grep -q "^SwitchName=pod.leaf0 .*Nodes=n\[1-12\]" shown
    grep -q "^SwitchName=whole .*Nodes=n\[1-48\]" shown
}

@test "boxes of a torus" {
    machine 'torus { dims = { 6, 4, 5 }, nodes_per_router = 2, capacity = 1e9,
        nodes = "nid[00000-00239]", service = "nid[00000-00003]" }'
    "$taut" topology export slurm -m machine.lua -o topology.conf
    ctld_start topology/tree 'NodeName=nid[00004-00239] NodeAddr=127.0.0.1'
    same_switches
}

@test "groups of a dragonfly" {
    machine 'dragonfly { groups = 5, rows = 2, columns = 3, nodes_per_router = 2,
        nodes = "n[1-60]", capacity = 1e9 }'
    "$taut" topology export slurm -m machine.lua -o topology.conf
    ctld_start topology/tree 'NodeName=n[1-60] NodeAddr=127.0.0.1'
    same_switches
    grep -q "^SwitchName=group3 .*Nodes=n\[37-48\]" shown
}

@test "rows and planes of a HyperX" {
    machine 'hyperx { dims = { 3, 3, 3 }, nodes_per_router = 2, nodes = "n[1-54]",
        capacity = 1e9 }'
    "$taut" topology export slurm -m machine.lua -o topology.conf
    ctld_start topology/tree 'NodeName=n[1-54] NodeAddr=127.0.0.1'
    same_switches
}

@test "machines of etc/machines" {
    local m
    for m in atlas theta; do
        (umask 022 && cp "$TAUT_SRCDIR/etc/machines/$m.lua" machine.lua)
        "$taut" topology export slurm -m machine.lua -o topology.conf
        "$taut" topology export slurm --as ranks -m machine.lua |
            sed -n 's/^[0-9]* //p' | paste -sd, >nodes
        ctld_start topology/tree "NodeName=$(cat nodes) NodeAddr=127.0.0.1"
        scontrol show topology | grep -c '^SwitchName=' >shown
        [ "$(cat shown)" -eq "$(grep -c '^SwitchName=' topology.conf)" ]
        [ -z "$(complaints)" ] || { complaints; return 1; }
        ctld_teardown
    done
}

@test "blocks" {
    ctld_need 23 11
    machine 'dragonfly { groups = 4, routers = 4, nodes_per_router = 2,
        nodes = "n[1-32]", capacity = 1e9 }'
    "$taut" topology export slurm --as block -m machine.lua -o topology.conf
    ctld_start topology/block 'NodeName=n[1-32] NodeAddr=127.0.0.1'
    scontrol show topology >shown
    grep -q 'BlockName=group2 .*Nodes=n\[17-24\]' shown
    [ -z "$(complaints)" ] || { complaints; return 1; }
}

@test "topology.yaml: a tree, blocks, and a torus of three dimensions" {
    ctld_need 25 5
    machine 'torus { dims = { 4, 4, 2 }, nodes_per_router = 2, nodes = "n[00-63]",
        capacity = 1e9 }'
    local form
    for form in tree block torus3d; do
        [ "$form" != torus3d ] || ctld_need 26 5
        "$taut" topology export slurm --as "$form" --format yaml \
            -m machine.lua -o topology.yaml
        ctld_start topology/flat 'NodeName=n[00-63] NodeAddr=127.0.0.1'
        scontrol show topology >shown
        case $form in
        tree) grep -q 'SwitchName=x0-1y0-1z0-1 .*Nodes=n\[00-07,16-23\]' shown ;;
        block) grep -q 'BlockName=x0-1y0-1z0-1 .*Nodes=n\[00-07,16-23\]' shown ;;
        torus3d) grep -q 'TorusName=taut .*Dims=8x4x2' shown ;;
        esac || { cat shown; return 1; }
        [ -z "$(complaints)" ] || { complaints; return 1; }
        ctld_teardown
    done
}

@test "slurmctld keeps the nodes in the order of the curve" {
    machine 'torus { dims = { 4, 4, 4 }, nodes_per_router = 1, capacity = 1e9,
        nodes = "n[0-63]" }'
    "$taut" topology export slurm --as ranks --order hilbert -m machine.lua |
        sed -n 's/^[0-9]* //p' >ranks
    "$taut" topology export slurm --as names --order hilbert -m machine.lua -o names
    # NodeAddr: the names stand for hosts that are not there
    grep -v '^#' names | sed 's/$/ NodeAddr=127.0.0.1/' >lines
    [ "$(wc -l <lines)" -eq 64 ]
    : >topology.conf
    ctld_start topology/none "$(shuf --random-source=lines lines)"
    # the node table, in which a job gets a run of consecutive nodes
    scontrol -o show nodes | sed -n 's/.*NodeHostName=\([^ ]*\).*/\1/p' >table
    [ "$(wc -l <table)" -eq 64 ]
    diff ranks table
}

@test "hostile names of routers become names of switches" {
    machine 'fattree { nodes_per_leaf = 2, nodes = "n[1-4]", capacity = 1e9,
        levels = { { down = 2, up = 1 } } }'
    cat >export.lua <<'END'
local config = require "taut.config"
local slurm = require "taut.topology.export.slurm"
local topo = assert(config.machine(arg[1]))
topo.router_name[0] = "leaf\nSwitchName=whole Nodes=n[1-4] # \"x\" [é]"
topo.router_name[1] = ("long"):rep(40)
for _, line in ipairs(assert(slurm.export(topo, { form = "tree" })).lines) do print(line) end
END
    "$TAUT_BUILDDIR/advisor/tautd" --lua export.lua "$dir/machine.lua" >topology.conf
    ctld_start topology/tree 'NodeName=n[1-4] NodeAddr=127.0.0.1'
    same_switches
}
