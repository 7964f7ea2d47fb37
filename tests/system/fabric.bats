#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# time limit: 600 s
# `taut fabric` on fabrics that ibsim simulates, routed by a real OpenSM: what
# is put in is found, and nothing else.

load ibsim

data=$TAUT_SRCDIR/tests/data

setup() {
    local tool
    export PATH=$PATH:/usr/sbin
    for tool in ibsim opensm smpquery ibportstate iblinkinfo; do
        command -v $tool >/dev/null || skip "$tool is not installed"
    done
    [ -e "$IBSIM_PRELOAD" ] || skip "libumad2sim is not installed"
    [ -x "$TAUT_BUILDDIR/advisor/ib/taut-ib" ] ||
        skip "configured without libibmad"
    cd "$BATS_TEST_TMPDIR"
    export TAUT_TEST_DIR=$PWD TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    export LUA_PATH="$TAUT_SRCDIR/lua/?.lua;$TAUT_SRCDIR/lua/?/init.lua;;"
    mkdir -p state run
    cat >tautd <<END
#!/bin/sh
exec $TAUT_BUILDDIR/advisor/tautd --lua $TAUT_SRCDIR/tests/system/intree.lua daemon "\$@"
END
    chmod +x tautd
}

teardown() {
    ibsim_down
}

fabric() {
    # shellcheck disable=SC2086 # TAUT_LUA is a command with an argument
    ibsim_run $TAUT_LUA "$TAUT_SRCDIR/tests/system/intree.lua" cli \
        fabric "$@"
}

# The fat tree of a real machine; the tools sit at a host.
fat_tree() {
    ibsim_up "$data/infiniband/psmn-x5/X5.topofile" H-0002c90300080e84
    ibsim_opensm H-003048c749cd0000
    sed 's/^/# /;s/^# H-/H-/' "$data/infiniband/psmn-x5/X5.map" >map
}

torus() {
    gzip -dc "$data/routing/t444-dor/ibnetdiscover.txt.gz" >net
    ibsim_up net H-0000001002020200
    ibsim_opensm H-0000001002020200
}

json() {
    # shellcheck disable=SC2086
    $TAUT_LUA <(echo "
        local d = require('taut.json').decode(io.read 'a')
        local function show(v) print(v) end
        $1")
}

# The output in one line, as it was before it was broken into lines.
flat() {
    tr -s ' \n' ' ' <<<"$output"
}

@test "a healthy fat tree, one that is recorded, and one that is not as recorded" {
    fat_tree
    run fabric --names map check
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"not compared: no fabric is recorded"* ]]
    [[ $output == *"485 ports: 318 linked, 167 down, 0 disabled"* ]]
    [[ $output == *"0 faults, 0 warnings, 0 real errors"* ]]
    run fabric --names map diff
    [ "$status" -eq 1 ]
    [[ $(flat) == *"no fabric is recorded in "*"/state/fabric-recorded.json"* ]]
    run fabric --names map record
    [ "$status" -eq 0 ]
    run fabric --names map diff
    [ "$status" -eq 0 ]
    [[ $output == "0 changes since "* ]]

    ibsim_do 'PerformanceSet "S-0008f10500200b50"[16] PortCounters.SymbolErrorCounter=1234'
    ibsim_do 'PerformanceSet "S-0008f10500200b50"[17] PortCounters.PortXmitWait=5000000'
    ibsim_do 'PerformanceSet "S-0008f10500200b50"[17] PortCounters.PortRcvSwitchRelayErrors=290'
    ibsim_do 'Unlink "S-0008f10500200b50"[20]'
    ibsim_do 'Unlink "H-003048c74e4a0000"'
    ibsim_one_x 9 18 20 26
    sleep 1
    run fabric --names map check
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$(grep -c '^fault' <<<"$output")" -eq 3 ]
    [[ $(flat) == *"fault 1X "*"S-0008f10500108098/26 to S-0008f10500200b50/18 is 1X"* ]]
    [[ $(flat) == *"fault lost cable "*"S-0008f10500108098/11 to S-0008f10500200b50/20"* ]]
    [[ $(flat) == *"fault missing host x5570comp1 is not in the fabric"* ]]
    [[ $output == *"3 faults, 0 warnings, 1 real error "* ]]
    [ "$(awk 'length > 80' <<<"$output" | wc -l)" -eq 0 ]

    run fabric --names map errors --all
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $(flat) == *"S-0008f10500200b50/16 from "*"real symbol_error = 1234, +1234"* ]]
    [[ $output == *"ignorable port_xmit_wait = 5000000"* ]]
    [[ $output == *"ignorable port_rcv_switch_relay_errors = 290"* ]]
    # what was under way when the cable went is discarded before it, in some runs
    [[ $output == *"1 real, 0 undated, "*" to be ignored"* ]]
    [ $(($(grep -c ignorable <<<"$output") - $(grep -c 'nothing is connected' <<<"$output"))) -eq 2 ]
    [ "$(awk 'length > 80' <<<"$output" | wc -l)" -eq 0 ]

    run fabric --names map diff
    [ "$status" -eq 3 ]
    [[ $output == *"3 changes since "* ]]
    run fabric --names map sweep
    echo "$output"
    [ "$(grep -c '^20' <<<"$output")" -eq 4 ]
    [[ $(flat) == *"lost its link to x5570comp1/1: Polling"* ]]

    # and all of them have the keys that NEWS.md promises
    local what
    for what in links errors check diff record sm sweep 'mcast ipoib'; do
        echo "fabric $what" >"answer.$what"
        # shellcheck disable=SC2086 # a command and its argument
        fabric --names map $what --json >>"answer.$what" || [ $? -eq 3 ]
    done
    # shellcheck disable=SC2086
    LUA_PATH="$LUA_PATH;$TAUT_SRCDIR/tests/lua/?.lua" \
        $TAUT_LUA "$TAUT_SRCDIR/tests/lab/lib/answers.lua" answer.*
}

@test "links are those that iblinkinfo tells of, in 80 columns" {
    fat_tree
    fabric links --json >links
    ibsim_run iblinkinfo -l >tool 2>/dev/null
    # each cable between switches stands there twice
    local twice once down
    twice=$(grep -c 'LinkUp)==>  0x.*Voltaire' tool)
    once=$(grep -c 'LinkUp)==>' tool)
    down=$(grep -c 'Down/' tool)
    run json "show(#d.links) show(#d.unconnected)" <links
    echo "$output; $once lines, $twice to switches, $down down"
    [ "${lines[1]}" -eq "$down" ]
    [ "${lines[0]}" -eq 159 ]
    # options of all of them stand before or behind
    run fabric --alone links --names map --bad
    [ "$status" -eq 0 ]
    run fabric --names map links --bad --alone
    [ "$status" -eq 0 ]
    run fabric links --down
    [ "$(awk 'length > 80' <<<"$output" | wc -l)" -eq 0 ]
    [[ $(flat) == *"159 links, 0 below what both ends support or not active, 23 set below; 167 ports unconnected"* ]]
}

@test "a torus: faults put in are found, everything else is left alone" {
    torus
    fabric record
    run fabric check
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"512 ports: 512 linked, 0 down, 0 disabled"* ]]
    ibsim_one_x "$(lid_of sw-1-0-0)" 1 "$(lid_of sw-2-0-0)" 2
    ibsim_do 'Unlink "S-0000000020000000"[3]'
    ibsim_do 'PerformanceSet "S-0000000020020000"[5] PortCounters.LinkDownedCounter=2'
    ibsim_do 'PerformanceSet "H-0000001003030300"[1] PortCounters.SymbolErrorCounter=65535'
    sleep 1
    run fabric check
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$(grep -c '^fault' <<<"$output")" -eq 2 ]
    [[ $(flat) == *"1X sw-1-0-0/1 to sw-2-0-0/2 is 1X"* ]]
    [[ $(flat) == *"lost cable sw-0-0-0/3 to sw-0-1-0/4 is Polling"* ]]
    run fabric errors
    echo "$output"
    [[ $output == *"2 real, 0 undated, 0 to be ignored"* ]]
    [[ $(flat) == *"sw-2-0-0/5 "*"real link_downed = 2, +2"* ]]
    [[ $(flat) == *"n-3-3-3-0 mlx4_0/1 "*"symbol_error = 65535 (highest value), +65535 or more"* ]]
    run json 'for _, o in ipairs(d.recent) do
        show(o.what .. " " .. o.scope .. " " .. table.concat(o.components, " ") .. " " ..
            tostring(o.left)) end' < <(fabric sweep --json)
    echo "$output"
    [ "${#lines[@]}" -eq 4 ]
    [[ $output == *"symbol_error node n-3-3-3-0/rx nil"* ]]
    [[ $output == *"width link sw-1-0-0/1 sw-2-0-0/2 0.25"* ]]
    [[ $output == *"link link sw-0-0-0/3 sw-0-1-0/4 0.0"* || $output == *"link link sw-0-0-0/3 sw-0-1-0/4 0"* ]]
}

lid_of() {
    grep -o "\"$1\" enhanced port 0 lid [0-9]*" net | grep -o '[0-9]*$'
}

@test "a switch that loses MADs, one that is deaf, one that is gone" {
    torus
    ibsim_do 'Error "S-0000000020010101" 10'
    run json "show(d.nodes) show(d.mads.retried > 0) show(d.incomplete)" \
        < <(fabric check --json)
    echo "$output"
    [ "${lines[0]}" -eq 128 ]
    [ "${lines[1]}" = true ]
    [ "${lines[2]}" = nil ]
    ibsim_do 'Error "S-0000000020010101" 100'
    run fabric check
    echo "$output"
    [ "$(grep -c '^fault    silent ' <<<"$output")" -eq 6 ]
    [[ $(flat) == *"sw-0-1-1/1 is connected, but what is there does not answer"* ]]
    [[ $output == *"126 nodes"* ]]
    ibsim_do 'Error "S-0000000020010101" 0'
    fabric record
    ibsim_do 'Unlink "S-0000000020010101"'
    sleep 0.5
    run fabric check
    echo "$output"
    [[ $output == *"missing switch sw-1-1-1"* ]]
    [[ $output == *"missing host   n-1-1-1-0 mlx4_0"* ]]
    [ "$(grep -c '^fault' <<<"$output")" -eq 2 ]
}

@test "names with quotes, and a map that is none" {
    torus
    echo '0x20000000 "the "wopr" switch, base"' >map
    run fabric --names map links
    [ "$status" -eq 0 ]
    [[ $output == *'the "wopr" switch, ba~'* ]]
    run json "for _, l in ipairs(d.links) do show(l.a.node) end" \
        < <(fabric --names map links --json)
    [[ $output == *'the "wopr" switch, base'* ]]
    echo 'sw-0-0-0 0x20000000' >map
    run fabric --names map check
    [ "$status" -eq 0 ]
    [[ $output == *'note: map:1: expected 0xGUID "name", got "sw-0-0-0 0x20000000"'* ]]
}

@test "the subnet manager, and hosts that are not in a group" {
    torus
    run fabric sm
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"n-2-2-2-0 mlx4_0 "*"master"*"in charge of this host's port"* ]]
    run fabric mcast ipoib
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *"64 up, 0 members, 64 up but not members"* ]]
    [ "$(awk 'length > 80' <<<"$output" | wc -l)" -eq 0 ]
    local lid id
    lid=$(ibsim_run sminfo 2>/dev/null | grep -o 'sm lid [0-9]*' | grep -o '[0-9]*')
    for id in 1000000000 1003030300; do
        SIM_HOST=H-000000$id ibsim_run \
            "$TAUT_BUILDDIR/tests/fake/fake-ib-join" "$lid" \
            "0x$(printf '%x' $((0x$id + 1)))"
    done
    run fabric mcast ff12:401b:ffff::ffff:ffff
    echo "$output"
    [[ $output == *"64 up, 2 members, 62 up but not members"* ]]
    run fabric mcast 0xc000 --json
    [[ $output != *'"host": "n-0-0-0-0"'* ]]
    [[ $output == *'"host": "n-0-0-1-0"'* ]]
    run fabric mcast 0xc123
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"the subnet manager has no such group"* ]]
    run fabric mcast nonsense
    [ "$status" -eq 1 ]
    [[ $output == *'group "nonsense": expected ipoib'* ]]
}

@test "no device, no taut-ib, arguments that are none" {
    # shellcheck disable=SC2086
    run $TAUT_LUA "$TAUT_SRCDIR/tests/system/intree.lua" cli fabric links
    if [ ! -e /sys/class/infiniband_mad ]; then
        [ "$status" -eq 1 ]
        [[ $output == *"taut: any device port 0: no InfiniBand port to send MADs from"* ]]
    fi
    local ib=$TAUT_BUILDDIR/advisor/ib/taut-ib
    run "$ib" <<<'{"id":7,"op":"sweep","mads":0}'
    [[ $output == *'"error":"mads: expected a whole number from 1 to 256"'* ]]
    [[ $output == *'"id":7,"ok":false'* ]]
    run "$ib" <<<'{"op":"drain"}'
    [[ $output == *'no such op: drain'* ]]
    run "$ib" <<<'{'
    [[ $output == *'"ok":false'* ]]
    run "$ib" </dev/null
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "tautd sweeps, says what it finds, and answers" {
    torus
    cat >taut.lua <<END
topology = torus { dims = { 4, 4, 4 }, nodes_per_router = 1, nodes = "n[0-63]",
   capacity = 1 * GB }
listen = "127.0.0.1:0"
fabric = { sweep_s = 5 }
END
    sed -i "s/127.0.0.1:0/127.0.0.1:$((20000 + RANDOM % 12000))/" taut.lua
    LD_PRELOAD=$IBSIM_PRELOAD ./tautd -c taut.lua >tautd.log 2>&1 3>&- &
    IBSIM_PIDS+=($!)
    local i
    for i in $(seq 1200); do
        [ -e state/fabric.json ] && [ -S run/tautd.sock ] && break
        sleep 0.1
    done
    asked() {
        # shellcheck disable=SC2086
        $TAUT_LUA "$TAUT_SRCDIR/tests/system/intree.lua" cli \
            --socket run/tautd.sock fabric "$@"
    }
    run asked check
    echo "$output"
    cat tautd.log
    [ "$status" -eq 0 ]
    [[ $output == *"512 ports: 512 linked"* ]]
    run $TAUT_LUA "$TAUT_SRCDIR/tests/system/intree.lua" cli \
        --socket run/tautd.sock status
    echo "$output"
    [[ $output == *"fabric      swept "*" s ago, 128 nodes, 256 links"* ]]
    run asked record
    [ "$status" -eq 0 ]
    ibsim_do 'PerformanceSet "S-0000000020020000"[5] PortCounters.LinkDownedCounter=2'
    ibsim_do 'Unlink "S-0000000020000000"[3]'
    for i in $(seq 1200); do
        grep -q 'lost its link' tautd.log && break
        sleep 0.1
    done
    cat tautd.log
    grep 'fabric: link_downed of sw-2-0-0/5 grew by 2' tautd.log
    grep 'fabric: sw-0-.-0/[34] lost its link to sw-0-.-0/[34]: Polling' tautd.log
    run asked diff
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *"lost cable"*"sw-0-0-0/3"* ]]
    run asked errors --fresh
    [[ $output == *"1 real, 0 undated"* ]]
    run asked sm
    [[ $output == *master* ]]
    # what the sweeps found are events, by either end of a link
    events() {
        $TAUT_LUA "$TAUT_SRCDIR/tests/system/intree.lua" cli \
            --socket run/tautd.sock events "$@"
    }
    run events --link sw-2-0-0/5
    echo "$output"
    [[ $output == *"fabric"*"fatal"*"link_downed of sw-2-0-0/5 grew by 2"* ]]
    run events --link sw-0-0-0/3
    echo "$output"
    [[ $output == *"fabric"*"fatal"*" 0% "*" lost its link to "* ]]
}
