# SPDX-License-Identifier: GPL-2.0-or-later
# Taut's loop on any fabric: what fabrics.bats and fabrics_all.bats share.
# Each test has a lab of its own.

each_setup() {
    export LAB_NAME=${LAB_BASE:=${LAB_NAME:-test}}-fabrics-$$ # before a skip: teardown takes it down
    lab_test
}

each_teardown() {
    lab_report
    # the node that all of them slow down
    [ -n "${BATS_TEST_COMPLETED:-}" ] || lab exec taut explain n1/tx | head -n 60 || true
    lab down >/dev/null 2>&1 || true
}

# up FABRIC…: with Taut and its configuration $CONF (demo.lua), one job a node at
# a time, and jobs while all is well
up() {
    lab up "$@" --node-cpus 1 --taut "$TAUT_PREFIX" --health-interval 5 \
        --taut-conf "${CONF:-$SCENE_DIR/demo.lua}" 3>&- 4>&-
    JOBS_MOST=$(($(lab exec sinfo -h -o %D) * 3 / 4))
    scene_jobs 8 1 2 $JOBS_MOST
    nothing_drained
    [ -z "$(verdicts)" ]
}

# jobs_until MOST SEED CONDITION…: ordinary jobs until it holds
jobs_until() {
    local most=$1 seed=$2 ran=0
    shift 2
    while [ $ran -lt "$most" ]; do
        scene_jobs 4 $((seed + ran)) 2 $JOBS_MOST
        ran=$((ran + 4))
        ! "$@" || return 0
    done
    wait_until 20 "$@"
}

# Components called slow or failed, in one line.
verdicts() {
    status 'for _, v in ipairs(s.verdicts) do
        if v.state ~= "suspect" then print(v.component) end end' | sort | xargs
}

# only COMPONENT…: these are called slow or failed, and no others
only() {
    local c
    [ "$(verdicts)" = "$(printf '%s\n' "$@" | sort | xargs)" ] && return
    for c in $(verdicts); do
        lab exec taut explain "$c"
    done
    false
}

# finds_node: n1 sends at a quarter; it is drained, and nobody else
finds_node() {
    lab degrade n1/tx 25
    jobs_until 100 100 scene_is_drained n1
    [[ $(shown_reason n1) =~ ^taut:\ sends\ at\ [0-9]+%\; ]] || { full_reason n1; false; }
    [ "$(scene_drained | cut -d'|' -f1)" = n1 ]
}

# finds_link LINK [VERDICT]: it carries a quarter; it is avoided, besides
# VERDICT nothing else is called slow, and it is well again when it is healed
finds_link() {
    lab degrade "$1" 25
    jobs_until 100 200 scene_is_state "$1" slow
    lab exec taut links | grep -Eq "^$1 +slow at (1[5-9]|2[0-9]|3[0-5])% +avoid .*repair $1 to " ||
        { lab exec taut links; false; }
    only "${@:2}" "$1"
    lab heal "$1"
    jobs_until 60 300 scene_is_state "$1" ok
}

# one_of_set LINK WORDS: where nobody can ask for ways the set it is one of is
# named, and no link
one_of_set() {
    lab degrade "$1" 25
    named() { lab exec taut status | tr -s '\n ' ' ' | grep -Fq "$1"; }
    jobs_until 120 400 named "$2"
    [ -z "$(verdicts)" ]
    nothing_drained
}

# prints WORDS COMMAND…: what it prints has the words, however its lines are broken
prints() {
    local words=$1
    shift
    lab exec "$@" >"$BATS_TEST_TMPDIR/printed" || true
    tr -s '\n ' ' ' <"$BATS_TEST_TMPDIR/printed" | grep -Fq -e "$words" ||
        { cat "$BATS_TEST_TMPDIR/printed"; false; }
}

# sets_everywhere LINK WORDS: a set with a slow link is said wherever a link would be
sets_everywhere() {
    local switch=${1%/*} i
    prints "${2% is slow} slow at " taut links
    prints "$2" taut check
    prints "$2" taut report
    prints "$2" taut repair "$switch"
    prints "($2)" taut repair "$1"
    prints "addresses are missing" taut doctor
    prints " sets of links in the last " taut status
    prints "$2" taut report --html -
    prints 'state="slow"} 1 taut_sets' bash -c 'exec 3<>/dev/tcp/127.0.0.1/6825 &&
        printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && grep -a ^taut_sets <&3'
    # a link that no test tells from others is verified as its set, by a survey of its switch
    for i in 1 2 3 4; do
        lab exec taut verify "$1" >"$BATS_TEST_TMPDIR/verified" || true
        ! grep -q "^Slow: .*; ${2% is slow}: " "$BATS_TEST_TMPDIR/verified" || break
    done
    cat "$BATS_TEST_TMPDIR/verified"
    grep -q "^$1 is one of .*, which no test tells apart" "$BATS_TEST_TMPDIR/verified"
    grep -q "^Slow: .*; ${2% is slow}: [0-9]* of [0-9]* flows" "$BATS_TEST_TMPDIR/verified"
}

# set_becomes_cable LINK WORDS: the same, until ways can be asked for
set_becomes_cable() {
    one_of_set "$@"
    sets_everywhere "$@"
    cat "$SCENE_DIR/demo.lua" <(lab topology) >"$BATS_TEST_TMPDIR/asked.lua"
    lab exec install -m 644 "$BATS_TEST_TMPDIR/asked.lua" /etc/taut/taut.lua
    lab daemon restart tautd
    jobs_until 100 800 scene_is_state "$1" slow
    [ "$(verdicts)" = "$1" ]
    # what was told before the restart is among the alerts still
    ! lab exec taut status | sed '/^last alerts/q' | tr -s '\n ' ' ' | grep -F "$2" || false
}

# comes_back NODE: healed and released, it runs jobs again
comes_back() {
    lab heal --all
    lab exec taut resume "$1"
    scene_jobs 8 900 2 $JOBS_MOST
    nothing_drained
    [ -z "$(verdicts)" ]
}

# ---- what fabrics_all.bats tries on each fabric ----

# everything LINKS LINK LINK FABRIC…: a lab for each; LINKS is how many an audit
# measures, the two LINKs are those that become slow
everything() {
    local links=$1 a=$2 b=$3
    shift 3
    in_a_lab main_loop "$a" "$b" -- "$@"
    in_a_lab failed_ones "$a" -- "$@"
    in_a_lab others_send n0 n7 n4 n10 n6 n1 -- "$@"
    in_a_lab watched -- "$@"
    in_a_lab measured "$links" "$a" -- "$@"
    in_a_lab learned -- "$@"
}

# in_a_lab FUNCTION ARG… -- FABRIC…
in_a_lab() {
    local function=$1 args=()
    shift
    while [ "$1" != -- ]; do
        args+=("$1")
        shift
    done
    shift
    echo "# $function ${args[*]}, on $*"
    CONF=$SCENE_DIR/demo.lua
    [ $function != learned ] || without_capacities "$@"
    [ $function != set_becomes_cable ] || without_addresses "$@"
    up "$@"
    $function "${args[@]}"
    lab down
}

without_capacities() {
    CONF=$BATS_TEST_TMPDIR/learned.lua
    sed 's/^   diagnosis = {/&\n      learn_peers = 4,/' "$SCENE_DIR/demo.lua" >"$CONF"
    lab topology "$@" | sed '/capacity = /d' >>"$CONF"
}

# Ports have addresses only once there is a lab.
without_addresses() {
    CONF=$BATS_TEST_TMPDIR/unasked.lua
    cat "$SCENE_DIR/demo.lua" <(lab topology "$@") >"$CONF"
}

# main_loop LINK…: a node, links, and everything back
main_loop() {
    local link
    finds_node
    for link; do finds_link "$link" n1/tx; done
    comes_back n1
}

# failed_ones LINK: a link and a node that carry nothing.  A stream needs both
# directions for its handshake, so either name of the cable is right.
failed_ones() {
    local back failed
    back=$(lab_back "$1")
    lab fail "$1"
    lab fail n2/tx
    failed() { status 'for _, v in ipairs(s.verdicts) do
        if v.state == "failed" then print(v.component) end end'; }
    found() { failed | grep -Fqx -e "$1" -e "$back" && scene_is_drained n2; }
    jobs_until 120 500 found "$1"
    [ "$(scene_drained | cut -d'|' -f1)" = n2 ]
    [[ $(shown_reason n2) =~ ^taut:\ nothing\ passes ]]
    ! failed | grep -Fvx -e "$1" -e "$back" -e n2/tx -e n2/rx || false
}

# lab_back LINK: the same cable's other direction
lab_back() {
    lab fail "$1" --both
    lab status | awk -v l="$1" '$1 == "fault" && $2 != l { print $2 }'
    lab heal --all
}

# others_send NODE NODE…: healthy jobs beside others' traffic between these
# pairs call nothing slow
others_send() {
    local seed=1
    while [ $# -ge 2 ]; do
        lab load "$1" "$2" --seed $seed --streams $((1 + seed % 3))
        seed=$((seed + 1))
        shift 2
    done
    scene_jobs 80 7 2 $JOBS_MOST 4
    nothing_drained
    ! lab log tautd --stderr | grep -E ' is (slow|lossy|failed)[:,]' || false
}

# watched: in mode observe nothing is drained, who would be is listed
watched() {
    lab exec taut policy observe
    lab degrade n1/tx 25
    held() { status 'for _, v in ipairs(s.held) do print(v.node .. "|" .. v.why) end' | sort; }
    is_held() { held | grep -qx 'n1|mode is observe'; }
    jobs_until 100 600 is_held
    nothing_drained
    lab exec taut policy drain
    wait_until 20 scene_is_drained n1
}

# measured COUNT LINK: an audit and a matrix see a healthy fabric, and verify
# tests LINK
measured() {
    local count=$1 link=$2 nodes
    nodes=$(lab exec sinfo -h -o %D)
    # on a machine that is too busy something may stay void: 4
    run lab exec srun -Q -N "$nodes" --ntasks-per-node=1 taut audit
    echo "$output"
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
    [[ $output == *" of $count links measured"* && $output != *"Slow: "* ]]
    run lab exec srun -Q -N "$nodes" --ntasks-per-node=1 taut matrix --progress none
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ]
    [[ $output == *"$((nodes * (nodes - 1))) of $((nodes * (nodes - 1))) pairs measured"* ]]
    run lab exec taut verify "$link"
    [ "$status" -eq 0 ]
    tested() {
        clear_holdoff
        [ "$(lab exec taut verify "$link" --json | lab_json 'print(d.good + d.low > 0)')" = true ]
    }
    wait_until 60 tested
}

# learned: without capacities they are learned, and a slow node found
learned() {
    all_learned() { ! lab exec taut status | grep -q 'nothing expected yet'; }
    jobs_until 60 700 all_learned
    finds_node
}
