#!/usr/bin/env bats
# time limit: 1200 s
# SPDX-License-Identifier: GPL-2.0-or-later
# What each `taut` command prints, on a cluster where nothing has happened yet
# and on one where something has.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    sed -i 's|^policy = {|&\n   on_event = { "/etc/taut/tell" },|' "$BATS_FILE_TMPDIR/small.lua"
    lab_file commands lab up --torus 2x2x1 --node-cpus 1 --health-interval 5 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
    lab exec install -d -m 777 /var/spool/told
    lab exec install -m 755 /dev/stdin /etc/taut/tell <<'END'
#!/bin/sh
{ cat; echo; } >>/var/spool/told/events
END
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# job SRUN-ARGUMENT…: a job whose nodes were heard; sets id.  On a machine that
# is too busy an idle check may just have begun a hold-off on one of them.
job() {
    local i
    for i in 1 2 3 4 5; do
        clear_holdoff
        id=$(lab exec srun -Q "$@" | head -n 1)
        wait_until 1 knows && return
    done
    false
}
knows() {
    [ "$(lab exec taut explain --job "$id" --json 2>/dev/null |
        lab_json 'print(d and #d.events > 0 and (d.events[1].heard or 2) == 2)')" = true ]
}

# is_json COMMAND…: it prints one JSON value, and succeeds; kept for the last test
is_json() {
    lab exec taut "$@" --json >"$BATS_TEST_TMPDIR/json"
    lab_json 'assert(type(d) == "table")' <"$BATS_TEST_TMPDIR/json"
    keep_answer "$@"
}

# keep_answer COMMAND…: what it printed, for the last test
keep_answer() {
    { echo "$*"; cat "$BATS_TEST_TMPDIR/json"; } >"$(mktemp "$BATS_FILE_TMPDIR/answer.XXXXXX")"
}

# json LUA: of what is_json left
json() { lab_json "$1" <"$BATS_TEST_TMPDIR/json"; }

# fits ARGUMENT…: on a terminal of 80 columns no line of a table (from its
# headings to an empty line) is longer; sentences may be, they wrap.
fits() {
    local line in_table=no too_long=0 LC_ALL=C.UTF-8
    lab exec script -qec "stty cols 80; exec taut $*" /dev/null >"$BATS_TEST_TMPDIR/typed"
    while read -r line; do
        line=${line%$'\r'}
        [[ ! $line =~ ^[A-Z]+\ +[A-Z]+ ]] || in_table=yes
        [ -n "$line" ] || in_table=no
        [ $in_table = no ] || [ ${#line} -le 80 ] || {
            echo "too wide: $line"
            too_long=1
        }
    done <"$BATS_TEST_TMPDIR/typed"
    grep -q . "$BATS_TEST_TMPDIR/typed" && [ $too_long = 0 ]
}

@test "fresh: status" {
    run lab exec taut status
    [ "$status" -eq 0 ]
    [[ $output == *"mode        drain"*"jobs        0 started, 0 of them heard from"* ]]
    [[ $output == *"components  0 ok, 0 suspect, 0 slow, 0 lossy, 0 failed, 24 unknown"* ]]
    fits status
    is_json status
    [ "$(json 'print(d.nodes, d.components, d.mode, d.switch, #d.drained, #d.verdicts, d.states.unknown)')" = \
        $'8\t24\tenable\ton\t0\t0\t24' ]
}

@test "fresh: links and nodes" {
    run lab exec taut links
    [ "$status" -eq 0 ]
    [ "$output" = "8 links: 0 ok, 8 never tested" ]
    run lab exec taut links -a
    [ "${#lines[@]}" -eq 10 ]
    fits links -a
    is_json links
    [ "$(json 'print(#d.links, d.links[1].state)')" = $'8\tunknown' ]
    run lab exec taut nodes -a
    # the probes' releases are below, once one was heard
    [ "$(grep -vc '^probes of' <<<"$output")" -eq 10 ]
    fits nodes -a
    is_json nodes
    [ "$(json 'print(#d.nodes, d.nodes[1].node, d.nodes[1].router)')" = $'8\tn0\tr0.0.0' ]
}

@test "fresh: topology, with what tautd knows" {
    run lab exec taut topology show
    [ "$status" -eq 0 ]
    [[ $output == *"machine     torus 2 x 2 x 1, of /etc/taut/taut.lua"* ]]
    [[ $output == *"health      0 ok, 0 suspect, 0 slow, 0 lossy, 0 failed, 24 unknown"* ]]
    fits topology show
    is_json topology show
    [ "$(json 'print(d.verdicts.unknown, d.nodes, d.note)')" = $'24\t8\tnil' ]
    run lab exec taut topology route n0 n7
    [ "$status" -eq 0 ]
    [[ $output == *"r0.0.0/X+ "*" unknown"* ]]
    run lab exec taut --socket /nonexistent topology show
    [ "$status" -eq 0 ]
    [[ $output == *"health unknown: tautd does not answer at /nonexistent: "* ]]
}

@test "fresh: explain and advise" {
    wait_until 20 eval 'lab exec taut explain n1 | grep -q "^n1 in Slurm: idle"'
    run lab exec taut explain n1
    [ "$status" -eq 0 ]
    [[ $output == *"n1 in Slurm: idle"*"n1/tx is unknown"*"n1/rx is unknown"*"no tests stored"* ]]
    run lab exec taut explain r0.0.0/X+
    [ "$status" -eq 0 ]
    [[ $output == "r0.0.0/X+ is unknown"*"no tests stored"* ]]
    is_json explain n1
    is_json explain r0.0.0/X+
    run lab exec taut explain --job 4711
    [ "$status" -eq 1 ]
    [ "$output" = "taut: nothing is stored of job 4711" ]
    run lab exec taut advise -N 4
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^1\.\ n\[ ]]
    [[ $output == *"sbatch -N 4 --nodelist="* ]]
    is_json advise -N 4
    [ "$(json 'print(#d.candidates > 0, d.count)')" = $'true\t4' ]
}

@test "changes: policy, off, on, resume, config" {
    run lab exec taut policy observe
    [ "$status" -eq 0 ]
    [ "$output" = "mode is observe" ]
    lab exec taut status | grep -q '^mode  *observe'
    is_json policy drain
    [ "$(json 'print(d.mode)')" = enable ]
    [ "$(lab exec taut policy continue)" = "nothing was stopped" ]
    fits policy
    is_json policy
    [ "$(json 'print(d.mode, d.partitions[1].name, d.partitions[1].cap)')" = $'enable\tbatch\t4' ]
    is_json policy log
    [ "$(json 'print(d.actions[1].action, d.actions[2].action)')" = $'mode enable\tmode observe' ]
    is_json policy --replay 1
    [ "$(json 'print(d.sums.drains)')" = 0 ]
    is_json repair n1
    run lab exec taut off
    [ "$output" = "checks are off" ]
    lab exec taut status | grep -q '^checks  *off'
    is_json on
    [ "$(json 'print(d.switch)')" = on ]
    run lab exec taut resume n1
    [ "$status" -eq 1 ]
    [[ $output == "taut: "*drain* ]]
    run lab exec taut config check
    [ "$status" -eq 0 ]
    [ "$output" = "/etc/taut/taut.lua is good: 8 nodes, 24 components, mode drain" ]
    run lab exec taut config reload
    [ "$output" = "in force: /etc/taut/taut.lua" ]
}

@test "report: text, JSON, a page; users and jobs only where they are asked for" {
    local page=$BATS_TEST_TMPDIR/page.html
    run lab exec taut report
    [ "$status" -eq 0 ]
    [[ $output == "links "*"nodes       8,"* ]]
    is_json report
    [ "$(json 'print(#d.days >= 14, d.days[#d.days].tests.good ~= nil, d.jobs)')" = $'true\ttrue\tnil' ]
    lab exec --user alice srun -Q -N 2 -J secret sleep 20 3>&- &
    wait_until 20 alice_is_told
    lab exec taut report --html "$page" >"$BATS_TEST_TMPDIR/said"
    [[ $(<"$BATS_TEST_TMPDIR/said") == "$page: 8 links, "* ]]
    grep -q 'This page names no users and no jobs' "$page"
    ! grep -q 'alice\|secret' "$page" || false
    lab exec taut report --private --html - >"$page"
    grep -Eq '<td[^>]*>alice</td><td[^>]*>secret</td>' "$page"
    # the page by mail, where sendmail is a program that keeps what it gets
    install -d "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\nexec cat >"%s"\n' "$BATS_TEST_TMPDIR/mail" >"$BATS_TEST_TMPDIR/bin/sendmail"
    chmod +x "$BATS_TEST_TMPDIR/bin/sendmail"
    lab exec sh -c "PATH=$BATS_TEST_TMPDIR/bin:\$PATH exec taut report --mail ops@site.example"
    grep -q '^To: ops@site.example' "$BATS_TEST_TMPDIR/mail"
    sed '1,/filename="taut.html"/d; /^--taut/d; /^Content/d' "$BATS_TEST_TMPDIR/mail" | base64 -d |
        grep -q 'This page names no users and no jobs'
    run lab exec taut report --since yesterday
    [ "$status" -eq 2 ]
    lab exec --user alice scancel -n secret
    wait
}
alice_is_told() {
    lab exec taut report --private --json |
        lab_json 'os.exit(#d.jobs == 1 and d.jobs[1].user == "alice" and #d.jobs[1].members == 2)'
}

@test "wrong arguments: status 2, and the usage" {
    local command
    for command in '' nonsense 'status --nonsense' 'links x' 'explain' \
        'explain n1 --job 3' 'explain --job x' 'explain --job' 'advise' \
        'advise -N x' 'advise -N 2 --top x' 'resume' 'resume n1 n2' \
        'policy --replay 0' 'policy --replay x' 'repair' 'repair n1 --resume' \
        'policy maybe' 'config' 'config nonsense' 'off now' 'topology' \
        'advise -N 0' 'advise -N 9' 'advise -N 8-4' 'advise -N 2 --top 0' 'advise -N 2 --pattern gossip' \
        'policy --replay 1 --set cap=1' 'verify n1/tx --now --wait 0' \
        'map n[0-1] --pattern gossip' 'map n[0-1 --pattern ring' 'topology draw --plane Q=1' \
        'topology route n0'; do
        # shellcheck disable=SC2086
        run lab exec taut $command
        [ "$status" -eq 2 ] || { echo "taut $command: status $status: $output"; false; }
        [[ $output == *[Uu]sage:* || $output == *"taut: "* ]]
    done
}

@test "what cannot be done: status 1, what is not there: 2; one message" {
    local command expected=1
    for command in 'explain --job 99999' 'policy --replay 1 -f /nonexistent' \
        '--socket /nonexistent status' 'config check /nonexistent' \
        'topology show -m /nonexistent' names: 'explain n99' 'explain r9.9.9/X+' \
        'advise -N 2 -p nowhere' 'resume n99' 'repair n99' 'verify n99' 'events --node n99' \
        'ack n99/tx --until 2099-01-01' 'topology show n99' 'topology route n0 n99' \
        'topology dependents n99/tx' 'topology exposed n99/tx'; do
        [ "$command" != names: ] || { expected=2; continue; }
        # shellcheck disable=SC2086
        run lab exec taut $command
        [ "$status" -eq "$expected" ] || { echo "taut $command: status $status: $output"; false; }
        [[ $output == "taut: "* ]]
        # the lines that follow go on with it
        [ "$(grep -cv '^      [^ ]' <<<"$output")" -eq 1 ]
    done
}

@test "checks that are off leave jobs alone, and explain says so" {
    lab exec taut off
    local id
    job -N 2 printenv SLURM_JOB_ID
    lab exec taut on
    run lab exec taut explain --job "$id"
    [[ $output == *"prolog of job $id on 2 nodes: not checked: off"* ]]
}

@test "a job's own traffic is in its counters" {
    local id
    # the job's first node sends 4 MB to its second, but for what is in iperf3's buffer at the end
    lab exec install -m 755 /dev/stdin /var/spool/traffic <<'END'
#!/bin/bash
echo "$SLURM_JOB_ID"
if [ "$SLURM_PROCID" = 1 ]; then
    exec timeout 30 iperf3 -s -1 -B "$1" >/dev/null
fi
for ((i = 0; i < 50; i++)); do
    iperf3 -c "$1" -n 4000000 -w 100K >/dev/null 2>&1 && exit
    sleep 0.1
done
exit 1
END
    local far
    far=$(lab exec --node n4 ip -4 -o address show hsn0 | sed 's/.*inet \([0-9.]*\).*/\1/')
    job -N 2 -w n0,n4 /var/spool/traffic "$far"
    grown() {
        is_json explain --job "$id" && [ "$(json 'print(#d.growth)')" = 2 ]
    }
    wait_until 20 grown
    json 'for _, g in ipairs(d.growth) do
        local c = g.counters
        print(g.node, c.tx_bytes, c.rx_bytes)
    end'
    json 'local sent, received = d.growth[1].counters, d.growth[2].counters
        assert(sent.tx_bytes > 3e6 and sent.tx_bytes < 8e6)
        assert(received.rx_bytes > 3e6 and received.rx_bytes < 8e6)
        assert(sent.rx_bytes < 1e6 and received.tx_bytes < 1e6)'
    run lab exec taut explain --job "$id"
    [ "$status" -eq 0 ]
    [[ $output == *"prolog of job $id on 2 nodes: 2 heard from, "*"counters from the end of the check to the epilog"* ]]
    [[ $output =~ n0\ +hsn0\ +[0-9.]+\ s\ +[3-7]\.[0-9]\ MB ]]
    [[ $output =~ n4\ +hsn0\ +[0-9.]+\ s\ +[0-9.]+\ kB\ +[3-7]\.[0-9]\ MB|n4\ +hsn0\ .*[3-7]\.[0-9]\ MB ]]
    fits explain --job "$id"
}

@test "map: ranks run where its host file says" {
    local hosts=$BATS_TEST_TMPDIR/hosts
    lab exec taut map 'n[0-7]' --pattern random-pairs:seed=4 -o "$hosts"
    [ "$(sort -u "$hosts" | wc -l)" = 8 ]
    [ "$(paste -sd ' ' "$hosts")" != 'n0 n1 n2 n3 n4 n5 n6 n7' ] # or it shows nothing
    lab exec env SLURM_HOSTFILE="$hosts" srun -Q -n 8 --distribution=arbitrary \
        bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort -n >"$BATS_TEST_TMPDIR/ran"
    awk '{ print NR - 1, $1 }' "$hosts" | diff - "$BATS_TEST_TMPDIR/ran"
    is_json map 'n[0-7]' --pattern halo2d --ntasks-per-node 2
    [ "$(json 'print(#d.hosts, d.gain >= 1)')" = $'16\ttrue' ]
}

# As an administrator tries a transport before he trusts the prolog.
@test "pair: two nodes test by hand, by srun" {
    run lab exec "$TAUT_PREFIX/libexec/taut/taut-probe" pair n2 n5 --interface hsn0 --repeat 1
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"n2>n5"*"n5>n2"* ]]
    [ "$(grep -c '1 stream .*B/s.*B/s' <<<"$output")" -eq 1 ]
}

@test "used: every command once more, with a drained node and a slow link" {
    lab degrade n3/tx 25
    lab degrade r1.0.0/Y+ 25
    found() { scene_is_drained n3 && scene_is_state r1.0.0/Y+ slow; }
    local i
    for ((i = 0; i < 40; i++)); do
        lab exec srun -Q -N $((4 + i % 4)) true
        found && break
    done
    wait_until 40 found
    is_json status
    [ "$(json 'print(d.drained[1].node, d.drained[1].component, d.states.slow)')" = $'n3\tn3/tx\t2' ]
    run lab exec taut status
    [[ $output == *"n3/tx "*" slow at "*" drain "* ]]
    [[ $output == *"r1.0.0/Y+ "*" slow at "*" avoid "* ]]
    run lab exec taut links
    [[ $output == *"r1.0.0/Y+  slow at "*"  avoid "*"repair r1.0.0/Y+ to "* ]]
    is_json links
    is_json nodes
    [ "$(json 'for _, n in ipairs(d.nodes) do if n.ours then print(n.node, n.drain, n.tx.state) end end')" = $'n3\ttrue\tslow' ]
    run lab exec taut nodes
    [[ $output == *"n3 "*"slow at "*"taut: sends at "* ]]
    run lab exec taut topology show r1.0.0
    [[ $output == *"r1.0.0/Y+ "*"slow at "* ]]
    run lab exec taut topology draw
    [[ $output == *"r1.0.0/Y+ slow, "*"n3/tx slow, "* ]]
    is_json topology dependents n3/tx
    [ "$(json 'print(d.behind[1], d.left > 0, d.left < 0.5)')" = $'n3\ttrue\ttrue' ]
    is_json explain n3
    [ "$(json 'print(d.actions[1].action, d.components[1].state, #d.tests > 2)')" = $'drain\tslow\ttrue' ]
    is_json explain n3/tx
    is_json explain r1.0.0/Y+
    # the last job may still be ending
    advised() { is_json advise -N 3 && [ "$(json 'print(d.candidates ~= nil)')" = true ]; }
    wait_until 20 advised
    [ "$(json 'for _, c in ipairs(d.candidates) do print((c.nodelist:find "3")) end' | sort -u)" = nil ]
    lab heal --all
    is_json resume n3
    [ "$(json 'print(d.released)')" = n3 ]
}

@test "used: tables fit 80 columns" {
    fits status
    fits links -a
    fits nodes -a
    fits explain n3
    fits events --since 2d
    fits explain r1.0.0/Y+
    # and in a pipe nothing is cut
    ! lab exec taut explain r1.0.0/Y+ | grep -q '~$'
}

@test "used: the database is looked after while tautd goes on" {
    [ "$(lab exec taut db check)" = whole ]
    lab exec taut db size | grep -Eq '^test +[1-9][0-9]* +[0-9.]+ [kM]B$'
    lab exec taut db backup /var/lib/taut/copy.db
    [ "$(lab exec stat -c %a /var/lib/taut/copy.db)" = 640 ]
    run lab exec taut db backup /var/lib/taut/copy.db
    [ "$status" -eq 1 ]
    [[ $output == *"is there already"* ]]
    [ "$(lab exec taut db prune)" = "no old rows are left" ]
    lab exec taut db vacuum
    [ "$(status 'print(s.database.damage, s.database.checked_at > 0, s.store.lost)')" = $'nil\ttrue\t0' ]
    run lab exec setpriv --reuid nobody taut db size
    [ "$status" -eq 1 ]
}

@test "used: what --json prints has every key that NEWS.md promises" {
    local command
    for command in status links nodes events doctor profile policy 'policy log' report steer \
        'steer --report --since 2d' 'db size' 'db check' 'config check' 'explain n3' \
        'verify n3/tx' 'repair n3' 'audit --all' off on; do
        # shellcheck disable=SC2086 # words
        lab exec taut $command --json >"$BATS_TEST_TMPDIR/json" ||
            [[ $command =~ ^(doctor|audit) ]] # which say by it what they found
        keep_answer $command
    done
    lab exec taut ack n3/tx --ticket T1 --until "$(date -d tomorrow +%F)"
    is_json ack
    lab exec taut matrix --all --progress none --json /var/spool/matrix.json
    lab exec cat /var/spool/matrix.json >"$BATS_TEST_TMPDIR/json"
    keep_answer matrix
    LUA_PATH="$TAUT_SRCDIR/tests/lua/?.lua;;" "$TAUT_PREFIX/bin/taut" --lua \
        "$TAUT_SRCDIR/tests/lab/lib/answers.lua" "$BATS_FILE_TMPDIR"/answer.*
    # and what a program of on_event was told of n3
    lab exec cat /var/spool/told/events |
        LUA_PATH="$TAUT_SRCDIR/tests/lua/?.lua;;" "$TAUT_PREFIX/bin/taut" --lua \
            "$TAUT_SRCDIR/tests/lab/lib/told.lua"
}
