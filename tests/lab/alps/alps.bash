# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests over the lab's ALPS share: slurm.bats, where Slurm 17.02 runs
# over it, and batch.bats, in TORQUE's order of calls.  KIND says which.

SCENE_DIR=$BATS_TEST_DIRNAME/..
# shellcheck source=/dev/null
. "$SCENE_DIR/lib/tests.bash"

# The demo's, for apruns that start one after the other on a busy machine.
alps_conf() { sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua"; }

alps_test() {
    lab_test
    lab heal --all
    lab exec bash -c 'rm -f /run/lab/alps/hang.* /run/lab/alps/dead.*'
    # the epilog of the last test's job, which may begin a hold-off as it ends
    wait_until 30 nothing_launched
    clear_holdoff
    mark
}

# Nothing of ours is left in ALPS, whatever the test was.
alps_clean() {
    lab exec bash -c 'rm -f /run/lab/alps/hang.* /run/lab/alps/dead.*'
    wait_until 30 nothing_reserved
    ! lab exec pgrep -x aprun && ! lab exec pgrep -x taut-probe
}
nothing_launched() { ! lab exec pgrep -f 'tautd --alps launch' >/dev/null; }
nothing_reserved() { [ "$(lab exec apstat -r | wc -l)" -eq 1 ]; }

# job NODES COMMAND…: alice's, to its end; it has to succeed
job() {
    local nodes=$1
    shift
    if [ $KIND = slurm ]; then
        lab exec --user alice sbatch -Q -W -N "$nodes" -o job.out --wrap "$*" >/dev/null &&
            lab exec cat /var/spool/home/alice/job.out
    else
        lab exec qsub alice "$nodes" "$@"
    fi
}

# hunt CONDITION…: jobs of all sizes, until it holds; on a busy machine many of
# their tests are discarded, and nodes that waited in vain would stay away
hunt() {
    local n RANDOM=18
    for n in {1..80}; do
        clear_holdoff
        job $((4 + RANDOM % 12)) sleep 0.2 3>&- &
        job $((8 + RANDOM % 12)) sleep 0.3
        wait $!
        ! "$@" || return 0
    done
    wait_until 20 "$@"
}

node_state() { lab exec xtprocadmin -n "$((10#${1#nid}))" | awk 'END { print $5 }'; }
drained() {
    if [ $KIND = slurm ]; then scene_is_drained "$1"; else [ "$(node_state "$1")" = admindown ]; fi
}
free() { ! drained "$1"; }
reason_of() {
    status "for _, n in ipairs(s.drained) do if n.node == '$1' then print(n.reason) end end"
}

# ---- what both kinds are asked ----
# Slurm gives jobs the first nodes that are free: what is slow is among them.

a_slow_node() {
    lab degrade n5/tx 25
    hunt drained nid00005
    [[ $(reason_of nid00005) == "taut: sends at "*"; "*"nid00005 -> "* ]]
    # a job starts beside it, and is not held up
    [[ $(job 3 aprun -n 3 -N 1 hostname | sort -u | wc -l) -eq 3 ]]
    lab heal n5/tx
    lab exec taut resume nid00005
    wait_until 10 free nid00005
    job 31 aprun -n 31 -N 1 true
}

a_slow_link() {
    lab degrade r0.0.0/X+ 25
    hunt scene_is_state r0.0.0/X+ slow
    [ "$(status 'print(#s.drained)')" -eq 0 ]
}

# The job runs, whatever is wrong with us.
runs() { [ "$(job 2 aprun -n 2 -N 1 hostname | grep -c ^nid)" -eq 2 ]; }

without_tautd() {
    lab daemon stop tautd
    runs
    start_tautd
}
without_munge() {
    lab daemon pause munged
    runs
    lab daemon resume munged
}

# A ticket as a front end makes it: ticket USER NODE TTL, into the file ticket
ticket() {
    echo "local t, key = require('taut.wire.ticket').make { job = 9, node = '$2',
        nodes = 'nid[00001-00002]', purpose = 'prolog', uid = 0, restart = 0 }
        print(key) print(t)" >"$BATS_TEST_TMPDIR/make.lua"
    "$TAUT_PREFIX/bin/taut" --lua "$BATS_TEST_TMPDIR/make.lua" >"$BATS_TEST_TMPDIR/made"
    echo "$(head -n 1 "$BATS_TEST_TMPDIR/made")" "$(tail -n 1 "$BATS_TEST_TMPDIR/made" |
        lab exec --user "$1" munge -u root -t "$3")" >"$BATS_TEST_TMPDIR/ticket"
}

# hello LAB-NODE NODE JOB: a probe there, with that ticket
hello() {
    lab exec --node "$1" "$TAUT_PREFIX/libexec/taut/taut-probe" prolog --servers ctl \
        --user root --budget-ms 5000 --interface hsn0 --node "$2" --nodes 'nid[00001-00002]' --job "$3" \
        --ticket <"$BATS_TEST_TMPDIR/ticket"
    sleep 1.1 # the log has one refusal a second
}

hostile_tickets() {
    ticket root nid00001 60
    hello n1 nid00001 9
    [ "$(since tautd | grep -c refused)" -eq 0 ]
    hello n1 nid00001 9
    says tautd 'refused a message.*[Rr]eplay'
    ticket root nid00001 60
    hello n2 nid00002 9
    says tautd 'node: the ticket is for nid00001, got nid00002'
    ticket root nid00001 60
    hello n1 nid00001 10
    says tautd 'job: the ticket is for 9, got 10'
    ticket alice nid00001 60
    hello n1 nid00001 9
    says tautd 'prolog by uid 3[0-9]*, only root may'
    ticket root nid00001 1
    sleep 2.5
    hello n1 nid00001 9
    says tautd 'refused a message.*[Ee]xpired'
}
