#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `taut topology` as a program: files, exit status, what it says to bad input.

setup() {
    taut=$TAUT_BUILDDIR/advisor/taut
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    unset SLURM_CONF
    cd "$BATS_TEST_TMPDIR"
    umask 022
    cat >ring.lua <<'END'
topology = torus { dims = { 6 }, nodes_per_router = 1, nodes = "n[0-5]", capacity = 1 * GB }
END
}

# topology ARGUMENT...: about the ring
topology() {
    run "$taut" topology "$@" -m ring.lua
}

@test "every subcommand is in the help, and has its own" {
    run "$taut" topology --help
    [ "$status" -eq 0 ]
    local help=$output name
    for name in show route dependents exposed classes load diff check draw export import; do
        [[ $help == *"   $name "* ]]
        run "$taut" topology "$name" --help
        [ "$status" -eq 0 ]
        [[ $output == "Usage: taut topology $name"* ]]
        ! grep -E '.{80}' <<<"$output" || false
        grep -q "^\.Cm topology $name" "$TAUT_SRCDIR/doc/taut-topology.1"
    done
    run "$taut" topology
    [ "$status" -eq 2 ]
}

@test "what is not there is named, with an example of what is" {
    topology route n0 n6
    [ "$status" -eq 2 ]
    [[ $output == "taut: route: ring.lua has no node or router 'n6' (expected such as n0 or r0)" ]]
    topology dependents r9
    [ "$status" -eq 2 ]
    [[ $output == *"has no component 'r9'"*r5/X-* ]]
    topology show x
    [ "$status" -eq 2 ]
    [[ $output == *"has no router, node or component 'x'"* ]]
    topology show --fail r0/X+=1.5
    [ "$status" -eq 2 ]
    [[ $output == *"--fail: expected COMPONENT or COMPONENT=SHARE, with a share from 0 to 1"*"r0/X+=1.5"* ]]
    topology route n0 n1 --rail 2
    [ "$status" -eq 2 ]
    [[ $output == *"--rail: expected 1 to 1, got 2"* ]]
    topology load shift -w n0,n9
    [ "$status" -eq 2 ]
    [[ $output == *"has no node 'n9'"* ]]
    topology load nearest --grid 2x2
    [ "$status" -eq 1 ]
    [[ $output == *"grid 2x2 has 4 places, there are 6 nodes"* ]]
    topology draw --plane Y=1
    [ "$status" -eq 2 ]
    [[ $output == *"--plane: expected such as X=5, got 'Y=1'"* ]]
    topology export slurm --as ranks --order hilbertt
    [ "$status" -eq 1 ]
    output=$(tr -s '\n ' ' ' <<<"$output") # as one line
    [[ $output == *"order 'hilbertt' is not known"*"expected one of names, snake, hilbert"* ]]
}

@test "wrong arguments end with 2" {
    topology load storm
    [ "$status" -eq 2 ]
    topology load shift --by 0
    [ "$status" -eq 2 ]
    topology dependents r0/X+ --left 2
    [ "$status" -eq 2 ]
    topology export slurm --as names --format yaml
    [ "$status" -eq 2 ]
    topology export slurm --as names --prefix 'a b'
    [ "$status" -eq 2 ]
    topology draw --json
    [ "$status" -eq 2 ]
}

@test "a bad machine file is named with its line" {
    printf '\ntopology = torus { dims = { 6 }, nodes_per_router = 0, nodes = "n[0-5]" }\n' >bad.lua
    run "$taut" topology show -m bad.lua
    [ "$status" -eq 1 ]
    [[ $output == "taut: bad.lua:2: topology.nodes_per_router: expected"* ]]
    echo 'topology = os.exit()' >bad.lua
    run "$taut" topology show -m bad.lua
    [ "$status" -eq 1 ]
    [[ $output == "taut: bad.lua:1: "*"'os'"* ]]
    echo 'while true do end' >bad.lua
    run timeout 20 "$taut" topology show -m bad.lua
    [ "$status" -eq 1 ]
    [[ $output == *"bad.lua:1: more than 10000000 instructions"* ]]
    echo 'x = 1' >bad.lua
    run "$taut" topology show -m bad.lua
    [[ $output == *"bad.lua:1: topology: expected"* ]]
    chmod 666 ring.lua
    topology show
    [ "$status" -eq 1 ]
    [[ $output == *"ring.lua: is writable by others than its owner"* ]]
    run "$taut" topology show -m /nowhere/x.lua
    [ "$status" -eq 1 ]
    [[ $output == *"/nowhere/x.lua"* ]]
}

@test "a taut.lua will do as a machine file" {
    printf 'mode = "observe"\nchecks = { test_ms = 20 }\n' >>ring.lua
    topology show
    [ "$status" -eq 0 ]
    [[ $output == *"torus 6, of ring.lua"* ]]
}

@test "pictures go to a file or to standard output" {
    topology draw -o ring.svg
    [ "$status" -eq 0 ]
    [[ $output == "ring.svg: 12 links, "*" bytes" ]]
    "$taut" topology draw -m ring.lua >stdout.svg
    cmp ring.svg stdout.svg
    head -c 5 ring.svg | grep -q '^<svg '
    topology draw -o /nowhere/ring.svg
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write /nowhere/ring.svg: No such file"* ]]
    topology draw -o /dev/full
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write /dev/full: No space left"* ]]
    topology export slurm -o /dev/full
    [ "$status" -eq 1 ]
}

@test "a hostile name of a file is text in a picture and a comment in topology.conf" {
    local evil=$'<b>&"\nSwitchName=x Nodes=n[0-5]'
    cp ring.lua "$evil.lua"
    run "$taut" topology draw -m "$evil.lua"
    [ "$status" -eq 0 ]
    [[ $output != *"<b>"* ]]
    [[ $output == *"&lt;b&gt;&amp;&quot;"* ]]
    run "$taut" topology export slurm -m "$evil.lua"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^SwitchName=x ' <<<"$output")" -eq 0 ]
    [[ ${lines[0]} == "# Made by taut topology export from <b>&\"?SwitchName=x"* ]]
}

@test "diff tells equal from different by its exit status" {
    run "$taut" topology diff ring.lua ring.lua
    [ "$status" -eq 0 ]
    sed 's/n\[0-5\]/n[1-6]/' ring.lua >other.lua
    run "$taut" topology diff ring.lua other.lua
    [ "$status" -eq 1 ]
    [[ $output == *"- node n0"*"+ node n6"* ]]
    run "$taut" topology diff ring.lua nowhere.lua
    [ "$status" -eq 2 ]
    [[ $output == *"nowhere.lua"* ]]
}

@test "diff of a model with what ibnetdiscover says of the fabric" {
    local recorded=$TAUT_SRCDIR/tests/data/routing/t444-dor/ibnetdiscover.txt.gz
    [ -f "$recorded" ] || skip "no recorded ibnetdiscover file"
    gunzip <"$recorded" >net.txt
    echo 'topology = torus { dims = { 4, 4, 4 }, nodes_per_router = 1, capacity = 4 * GB,
        nodes = "n-[0-3]-[0-3]-[0-3]-0" }' >model.lua
    run "$taut" topology diff model.lua ibnetdiscover:net.txt
    [ "$status" -eq 0 ]
    [[ $output == *"64 of 64 routers matched by the nodes on them"*"no differences" ]]
    # two hosts have changed places, and one cable runs at half its speed
    sed -e 's/n-2-2-2-0/n-tmp/' -e 's/n-3-2-2-0/n-2-2-2-0/' -e 's/n-tmp/n-3-2-2-0/' \
        -e '/^\[3\].*"sw-2-3-2"/s/4xQDR/4xDDR/' -e '/^\[4\].*"sw-2-2-2"/s/4xQDR/4xDDR/' \
        <net.txt >swapped.txt
    run "$taut" topology diff model.lua ibnetdiscover:swapped.txt
    [ "$status" -eq 1 ]
    [[ $output == *"! node n-2-2-2-0: on r2.2.2, there on "* ]]
    [[ $output == *"! node n-3-2-2-0: on r3.2.2, there on "* ]]
    [[ $output == *": 4.00 GB/s, there 2.00 GB/s"* ]]
    run "$taut" topology diff model.lua ibnetdiscover:/nowhere
    [ "$status" -eq 2 ]
    [[ $output == *"/nowhere"* ]]
}

@test "check needs the slurm.conf it is given, and looks for the usual one" {
    topology check --slurm-conf nowhere.conf
    [ "$status" -eq 2 ]
    [[ $output == *"nowhere.conf: No such file"* ]]
    echo 'NodeName=n[0-4]' >slurm.conf
    SLURM_CONF=$PWD/slurm.conf topology check
    [ "$status" -eq 1 ]
    [[ $output == *"nodes that are not in slurm.conf: 1"*"n5"* ]]
    echo 'NodeName=n[0-' >slurm.conf
    topology check --slurm-conf slurm.conf
    [ "$status" -eq 2 ]
    [[ $output == *"slurm.conf:1: NodeName: "* ]]
    topology check --slurm-conf -
    [ "$status" -eq 0 ]
}

@test "JSON is one document on standard output" {
    local command
    for command in show 'show r0' 'show n0' 'show r0/X+' 'route n0 n3 --back' \
        'dependents r0/X+ --cable' 'exposed r0/X+ --routes 2' classes 'load ring' \
        'check --slurm-conf -' 'export slurm' 'draw -o p.svg'; do
        # shellcheck disable=SC2086 # words
        "$taut" topology $command -m ring.lua --fail r1/X+=0.5 --json >out.json
        echo 'assert(require("taut.json").decode(assert(io.open(arg[1])):read "a"))' >decode.lua
        "$TAUT_BUILDDIR/advisor/tautd" --lua decode.lua out.json
    done
    "$taut" topology diff ring.lua ring.lua --json >out.json
    "$TAUT_BUILDDIR/advisor/tautd" --lua decode.lua out.json
}

@test "without tautd health is unknown, and that is said" {
    cat >scene.lua <<'END'
local scene = require "taut.cli.topology.scene"
scene.installed = function() return arg[1] end
local s = assert(scene.open { socket = arg[2] })
assert(not s.has_health and s:verdict(1) == "-")
print(s.note)
END
    run "$TAUT_BUILDDIR/advisor/tautd" --lua scene.lua "$PWD/ring.lua" "$PWD/no.sock"
    [ "$status" -eq 0 ]
    [[ $output == "health unknown: tautd does not answer at $PWD/no.sock: "* ]]
}

# A machine of two fabrics, nodes 4 to 6 in both.
two_fabrics() {
    cat >two.lua <<'END'
fabrics = {
   ib = fattree { nodes_per_leaf = 2, levels = { { down = 3, up = 2 } }, nodes = "n[1-6]",
      capacity = 25 * GB },
   eth = fattree { nodes_per_leaf = 3, levels = { { down = 2, up = 2 } }, nodes = "n[4-9]",
      capacity = 3 * GB, routing = "ecmp" },
}
END
    # each alone, as it is written there
    sed -n '/ib = /,/GB }/p' two.lua | sed 's/ib = /topology = /; $s/,$//' >ib.lua
    sed -n '/eth = /,/ecmp/p' two.lua | sed 's/eth = /topology = /; $s/,$//' >eth.lua
}

@test "several fabrics: each is shown, checked and exported as it is alone" {
    two_fabrics
    run "$taut" topology check -m two.lua --slurm-conf -
    [ "$status" -eq 0 ]
    [[ $output == "fabric eth"*"fabric ib"* ]]
    run "$taut" topology export slurm -m two.lua
    [ "$status" -eq 2 ]
    [[ $output == *"--fabric is needed: two.lua has several (eth, ib)"* ]]
    local f form
    for f in eth ib; do
        "$taut" topology show -m two.lua --fabric "$f" --json | sed '/"fabric": /d; /"file"/d; /wiring/d' >got
        "$taut" topology show -m "$f.lua" --json | sed '/"file"/d; /wiring/d' >want
        cmp got want
        for form in tree block names ranks; do
            "$taut" topology export slurm --as "$form" -m two.lua --fabric "$f" | sed 1d >got
            "$taut" topology export slurm --as "$form" -m "$f.lua" | sed 1d >want
            cmp got want
        done
    done
    run "$taut" topology show -m two.lua --fabric ethernet
    [ "$status" -eq 2 ]
    [[ $output == *"--fabric: expected one of eth, ib, got 'ethernet'"* ]]
    run "$taut" topology show -m ib.lua --fabric ib
    [ "$status" -eq 2 ]
    [[ $output == *"--fabric: ib.lua has one topology, and no 'fabrics'"* ]]
}

@test "several fabrics: a question goes to those that have what it names" {
    two_fabrics
    run "$taut" topology route n4 n6 -m two.lua --json
    [ "$status" -eq 0 ]
    jq -e '.fabrics | keys == ["eth", "ib"]' <<<"$output"
    jq -e '.fabrics.eth.stages | length == 2' <<<"$output"
    jq -e '[.fabrics.ib.stages[][].component] == ["n4:2/tx", "ib:leaf1/4", "ib:spine1/3", "n6:2/rx"]' \
        <<<"$output"
    run "$taut" topology route n1 n6 -m two.lua --json
    [ "$status" -eq 0 ]
    jq -e '.fabric == "ib"' <<<"$output"
    run "$taut" topology route n1 n9 -m two.lua
    [ "$status" -eq 2 ]
    [[ $output == *"no route leads from one to another (n1:"*"ib; n9: eth)"* ]]
    run "$taut" topology route n4 n6 -m two.lua --fabric ib --rail 1
    [ "$status" -eq 2 ]
    [[ $output == *"--rail: expected 2 to 2 in fabric ib, got 1"* ]]
    run "$taut" topology show eth:leaf0 -m two.lua
    [ "$status" -eq 0 ]
    [[ $output == "router      eth:leaf0"* ]]
    run "$taut" topology dependents leaf0 -m two.lua --fabric ib
    [ "$status" -eq 0 ]
    run "$taut" topology show leaf7 -m two.lua
    [ "$status" -eq 2 ]
    [[ $output == *"has no component 'leaf7'"* ]]
    # what fails in one fabric fails in that one
    run "$taut" topology check -m two.lua --slurm-conf - --fail ib:leaf0 --json
    [ "$status" -eq 1 ]
    jq -e '.fabrics.eth.findings == [] and .fabrics.ib.findings[0].kind == "unroutable"' <<<"$output"
    run "$taut" topology check -m two.lua --slurm-conf - --fail leaf0
    [ "$status" -eq 2 ]
    [[ $output == *"--fail: two.lua has no component 'leaf0'"* ]]
}

@test "several fabrics: nodes of slurm.conf may be in any of them" {
    two_fabrics
    echo 'NodeName=n[1-10]' >slurm.conf
    run "$taut" topology check -m two.lua --slurm-conf slurm.conf
    [ "$status" -eq 1 ]
    [[ $output == *"nodes in slurm.conf that are not in the topology: 1"*n10* ]]
    [ "$(grep -c n10 <<<"$output")" -eq 1 ]
    [[ $output == *"fabric ib"*"nothing to say" ]]
}

@test "several fabrics: one picture has all of them, or one" {
    two_fabrics
    run "$taut" topology draw -m two.lua --fail eth:leaf0/4=0.5 -o two.svg
    [ "$status" -eq 0 ]
    [[ $output == "two.svg: 20 links"* ]]
    grep -q '>fabric eth: 6 nodes, 4 routers, 8 links' two.svg
    grep -q '>fabric ib: 6 nodes, 5 routers, 12 links' two.svg
    grep -q '>eth:leaf0/4 slow, 50% left' two.svg
    run "$taut" topology draw -m two.lua --fabric ib -o ib.svg
    [ "$status" -eq 0 ]
    [[ $output == "ib.svg: 12 links"* ]]
    ! grep -q eth: ib.svg || false
    run "$taut" topology draw -m two.lua --plane Z=1
    [ "$status" -eq 2 ]
}

@test "several fabrics: what is wrong in one is named with its line" {
    two_fabrics
    sed -i 's/down = 2/down = 0/' two.lua
    run "$taut" topology show -m two.lua
    [ "$status" -eq 1 ]
    [[ $output == *"two.lua:4: fabrics.eth.levels"* ]]
    two_fabrics
    echo 'topology = torus { dims = { 2 }, nodes = "n[1-2]" }' >>two.lua
    run "$taut" topology show -m two.lua
    [ "$status" -eq 1 ]
    [[ $output == *"two.lua:1: fabrics: expected either this or 'topology', got both"* ]]
}
