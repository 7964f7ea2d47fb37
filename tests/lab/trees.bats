#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Trees, dragonflies and HyperX of the lab, without Slurm: by which links
# packets really go, by the counters of the ports.

load lib/tests.bash

setup_file() { can_have_lab || true; }
setup() { lab_test; }
teardown() {
    lab_report_up
    lab down >/dev/null 2>&1 || true
}
lab_report_up() { [ -n "${BATS_TEST_COMPLETED:-}" ] || lab status || true; }

# up FABRIC…
up() {
    export LAB_NAME=${LAB_NAME:-trees-$$}
    lab up "$@" --no-slurm
    lab topology >"$BATS_TEST_TMPDIR/taut.lua"
}

# The links that carry a stream from one node to another, sorted.
links_used() {
    lab counters >"$BATS_TEST_TMPDIR/a"
    lab measure "$1" "$2" --ms 60 >/dev/null
    lab counters >"$BATS_TEST_TMPDIR/b"
    # Acknowledgements go the other way and are a few kilobytes.
    paste -d ' ' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" |
        awk '$1 !~ /x$/ && $5 - $2 > 60000 { print $1 }' | sort | xargs
}

# ways PAIR…: "FROM TO LINK|LINK LINK …", the links of each stage of Taut's
# route from FROM to TO, for each of the pairs n0:n7; see ways.lua
ways() {
    TAUT_TOPOLOGY=$BATS_TEST_TMPDIR "$TAUT_PREFIX/bin/taut" --lua "$SCENE_DIR/lib/ways.lua" \
        "$BATS_TEST_TMPDIR/taut.lua" "$@"
}

# goes_as_taut_says PAIR…: of each stage one link (of what is not sure, at
# most one), and no other
goes_as_taut_says() {
    local from to stages
    while read -r from to stages; do
        fits "$(links_used "$from" "$to")" "$stages" ||
            { echo "$from to $to: not $stages"; return 1; }
    done < <(ways "$@")
}

fits() {
    local stage link n all=0
    for stage in $2; do
        n=0
        for link in $1; do
            [[ "|$stage|" != *"|$link|"* ]] || n=$((n + 1))
        done
        all=$((all + n))
        [ $n -eq 1 ] || [[ $n -eq 0 && $stage = *"|?" ]] || { echo "used: $1"; return 1; }
    done
    [ $all -eq "$(wc -w <<<"$1")" ] || { echo "used: $1"; return 1; }
}

@test "a static tree: the destination chooses the spine" {
    up --tree 4x4x2
    # Nodes are on ports 1 and 2 of their leaf, spines on 3 to 6: n7 is the
    # eighth destination, and so the fourth spine's.
    [ "$(links_used n0 n7)" = "leaf0/6 spine3/4" ]
    [ "$(links_used n1 n7)" = "leaf0/6 spine3/4" ]
    [ "$(links_used n0 n4)" = "leaf0/3 spine0/3" ]
    [ "$(links_used n0 n1)" = "" ]
    goes_as_taut_says n0:n2 n2:n0 n3:n5 n7:n6 n6:n1
}

@test "parallel cables of a static tree are links of their own" {
    up --tree 2x2x4 --cables 2
    # Ports 5 and 6 are the first cables to both spines, 7 and 8 the second.
    [ "$(links_used n0 n4)" = "leaf0/5 spine0/3" ]
    [ "$(links_used n0 n6)" = "leaf0/7 spine0/4" ]
    goes_as_taut_says n0:n5 n0:n7 n1:n6 n7:n3 n6:n2
}

@test "a hashed tree: a five-tuple keeps its way, others take others" {
    local k ports way seen=''
    up --tree 2x4x2 --hash --cables 2
    goes_as_taut_says n0:n2 n3:n1
    for k in 40001 40002 40003 40004 40005 40006; do
        way=$(port=$k links_used_by n0 n2)
        [ "$way" = "$(port=$k links_used_by n0 n2)" ]
        seen+=$way$'\n'
    done
    [ "$(sort -u <<<"$seen" | grep -c leaf0)" -ge 2 ]
}

# As links_used, from source port $port.
links_used_by() {
    lab counters >"$BATS_TEST_TMPDIR/a"
    lab measure "$1" "$2" --ms 30 --port "$port" >/dev/null
    lab counters >"$BATS_TEST_TMPDIR/b"
    paste -d ' ' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" |
        awk '$1 !~ /x$/ && $5 - $2 > 60000 { print $1 }' | sort | xargs
}

@test "the way that is asked for is the way that is taken" {
    local port spine
    [ -x "${TAUT_BUILDDIR:-}/tests/lab/labway" ] || skip "labway is not built: make check-build"
    up --tree 2x4x2 --hash --cables 2
    for port in 40001 40002 40003 40004; do
        # the first router is asked by the node itself, by no link
        lab exec --node n0 setpriv --reuid nobody --clear-groups \
            "$TAUT_BUILDDIR/tests/lab/labway" 10.64.0.1:$port 10.64.0.3:5201 3 |
            tail -n +2 >"$BATS_TEST_TMPDIR/answers"
        [ "$(lab wiring | grep -wFf "$BATS_TEST_TMPDIR/answers" | cut -d' ' -f1 | sort | xargs)" = \
            "$(port=$port links_used_by n0 n2)" ]
    done
    # one that may pass more routers than there are ends at the other node
    [ "$(lab exec --node n0 "$TAUT_BUILDDIR/tests/lab/labway" \
        10.64.0.1:40005 10.64.0.3:5201 9 | wc -l)" -eq 3 ]
}

@test "ports that are aimed at a link take it" {
    local link ports port
    [ -x "${TAUT_BUILDDIR:-}/tests/lab/labway" ] || skip "labway is not built: make check-build"
    up --tree 2x4x2 --hash --cables 2
    # the last cable up, the first down: of the second and the third router
    for link in leaf0/10 spine2/3; do
        ports=$(lab exec --node n0 setpriv --reuid nobody --clear-groups \
            "$TAUT_BUILDDIR/tests/lab/labway" 10.64.0.1:41000 10.64.0.3:5201 \
            $([ $link = leaf0/10 ] && echo 2 || echo 3) \
            "$(lab wiring | awk -v l=$link '$1 == l { print $4 }')" 100)
        [ "$(wc -w <<<"$ports")" -ge 4 ]
        for port in $(head -n 3 <<<"$ports"); do
            [[ " $(port=$port links_used_by n0 n2) " == *" $link "* ]]
        done
    done
}

# forge_on NODE OPTION…: until end_forge
forge_on() {
    mkfifo "$BATS_TEST_TMPDIR/forge"
    lab exec --node "$1" "$TAUT_BUILDDIR/tests/fake/fake-forge" "${@:2}" \
        <"$BATS_TEST_TMPDIR/forge" >"$BATS_TEST_TMPDIR/forged" 2>&1 3>&- &
    FORGER=$!
    exec {FORGE_FD}>"$BATS_TEST_TMPDIR/forge"
    wait_until 10 grep -q begins "$BATS_TEST_TMPDIR/forged"
}
end_forge() {
    exec {FORGE_FD}>&-
    wait "$FORGER"
    rm "$BATS_TEST_TMPDIR/forge"
    [ "$(sed -n 's/ sent$//p' "$BATS_TEST_TMPDIR/forged")" -gt "$1" ]
}

way_of() {
    lab exec --node n0 setpriv --reuid nobody --clear-groups \
        "$TAUT_BUILDDIR/tests/lab/labway" 10.64.0.1:"$1" 10.64.0.3:5201 3
}

ways_of() {
    local port
    for port in {40001..40012}; do way_of $port; done
}

@test "answers that are forged elsewhere are not taken, those on the node itself are" {
    [ -x "${TAUT_BUILDDIR:-}/tests/fake/fake-forge" ] || skip "fake-forge is not built: make check-build"
    command -v nft >/dev/null || skip "nft is not installed"
    up --tree 2x4x2 --hash --cables 2
    ways_of >"$BATS_TEST_TMPDIR/before"
    # root of another node, who knows everything but the sequence number …
    forge_on n1 blind 10.65.0.99 10.64.0.1 10.64.0.3 5201 40001 12
    ways_of >"$BATS_TEST_TMPDIR/during"
    diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/during"
    # … and finds no router in his way
    lab exec --node n0 nft -f - <<'NFT'
table ip forge {
    chain in {
        type filter hook input priority 0
        icmp type time-exceeded ip saddr != 10.65.0.99 drop
    }
}
NFT
    ways_of >"$BATS_TEST_TMPDIR/during"
    end_forge 10000
    ! grep -qv '^-$' "$BATS_TEST_TMPDIR/during" || false
    # root of the node that asks: the ways of its own tests are its word, and
    # SECURITY.md takes them for no more
    forge_on n0 see 10.65.0.99 hsn0
    way_of 40001 >"$BATS_TEST_TMPDIR/during"
    end_forge 1
    grep -q '^10.65.0.99$' "$BATS_TEST_TMPDIR/during"
}

@test "three levels, static: leaf, pod, spine" {
    up --tree 2x2x2 --pods 2
    [ "$(links_used n0 n2)" = "leaf0/3 mid0/2" ]
    [ "$(links_used n0 n7)" = "leaf0/4 mid1/4 mid3/2 spine3/2" ]
    goes_as_taut_says n0:n4 n5:n0 n6:n3
}

@test "three levels, hashed: routers choose each for itself" {
    local k
    up --tree 2x2x2 --pods 2 --hash
    goes_as_taut_says n0:n4 n1:n7 n6:n0
    # With one hash for all, spines 1 and 2 of the four would never be seen.
    for k in 1 2 3 4 5 6 7 8 9 10 11 12; do links_used n0 n4; done | grep -o 'spine[0-9]' |
        sort -u >"$BATS_TEST_TMPDIR/spines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/spines")" -ge 3 ]
}

@test "a dragonfly: minimal, over the one link between two groups" {
    up --dragonfly 4x3x2
    # one global link a router: r0.0 has that to group 1, r0.1 to 2, r0.2 to 3
    [ "$(links_used n0 n6)" = "r0.0/global1" ]
    [ "$(links_used n0 n23)" = "r0.0/local2 r0.2/global3 r3.0/local2" ]
    goes_as_taut_says n0:n4 n2:n8 n5:n18 n20:n1 n15:n16
}

@test "a dragonfly with several links between groups: hashed among equals" {
    up --dragonfly 3x2x2 --cables 2
    goes_as_taut_says n0:n4 n1:n11 n8:n3
}

@test "a HyperX: one hop a dimension, in their order" {
    up --hyperx 3x3 --cables 2 --nodes-per-router 1
    [ "$(links_used n0 n8)" = "r0.0/X2 r2.0/Y2" ]
    [ "$(links_used n8 n0)" = "r0.2/Y0 r2.2/X0" ]
    goes_as_taut_says n0:n1 n4:n8 n7:n2
}

@test "links taken out: their cables are not there, and routes go around" {
    up --tree 4x4x2 --without leaf0/6 --without spine0/2
    [ "$(links_used n0 n7)" != "leaf0/6 spine3/4" ]
    [ "$(links_used n0 n7 | wc -w)" -eq 2 ]
    [ "$(links_used n2 n7)" = "leaf1/6 spine3/4" ]
    run lab fail spine3/1
    [[ $status -ne 0 && $output = *"no such port"* ]]
    run lab up --name trees-out --tree 2x1x1 --no-slurm --without leaf0/2
    [[ $status -ne 0 && $output = *"have no route"* ]]
    run lab up --name trees-out --tree 2x1x1 --no-slurm --without leaf7/2
    [[ $status -ne 0 && $output = *"no such link"* ]]
}

@test "a torus without a link: the other way round" {
    up --torus 4 --without r0.0.0/X+
    [ "$(links_used n0 n2)" = "r0.0.0/X- r2.0.0/X- r3.0.0/X-" ]
    [ "$(links_used n2 n4)" = "r1.0.0/X+" ]
}

@test "faults and names: degrade, fail, heal, status, wiring" {
    up --tree 2x2x2 --cables 2
    lab degrade leaf0/5 25 --both
    run lab status
    [[ $output = *"fault  leaf0/5 25%"* && $output = *"fault  spine0/2 25%"* ]]
    [ "$(lab measure n0 n2 --repeat 3 | sort -n | sed -n 2p)" -lt 4000000 ]
    lab heal --all
    lab fail leaf0/5
    [ "$(lab measure n0 n2)" = 0 ]
    lab heal --all
    [ "$(lab measure n0 n2 --repeat 3 | sort -n | sed -n 2p)" -gt 9000000 ]
    [ "$(lab wiring | wc -l)" -eq 16 ]
    lab wiring | grep -qx 'leaf1/5 leaf1 spine0 10\.65\.0\.[0-9]*'
    run lab fail leaf2/3
    [[ $status -ne 0 && $output = *"leaf2/3: no such router in tree 2x2x2"* ]]
    run lab fail leaf0/9
    [[ $status -ne 0 && $output = *"there are: 3 4 5 6"* ]]
}

@test "an idle tree carries nothing" {
    up --tree 2x2x2 --hash
    lab counters >"$BATS_TEST_TMPDIR/a"
    sleep 2
    lab counters | diff "$BATS_TEST_TMPDIR/a" -
}

@test "what fits no fabric is refused with what is expected" {
    local words
    while IFS='|' read -r words expected; do
        # shellcheck disable=SC2086
        run lab up --no-slurm --name trees-no $words
        [ "$status" -ne 0 ]
        [[ $output = *"$expected"* ]] || { echo "$words: $output"; false; }
    done <<'CASES'
|up needs one of --torus, --tree
--tree 4x4|expected something like 4x4x2
--tree 4x4x2 --torus 4|up needs one of
--torus 4 --hash|--hash is of trees only
--hyperx 4x4 --pods 2|--pods is of trees only
--torus 4 --cables 2|--cables: not with --torus
--tree 99x200x2|299 routers; 1 to 256
--dragonfly 4x4x999|nodes; 1 to 256
--hyperx 0x4|expected something like
CASES
}
