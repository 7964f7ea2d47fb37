# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests in the lab share.  A file has one lab: setup_file calls
# can_have_lab and lab_file, teardown_file lab_file_end, setup lab_test,
# teardown lab_report.

SCENE_DIR=${SCENE_DIR:-$BATS_TEST_DIRNAME}
# shellcheck source=/dev/null
. "$SCENE_DIR/lib/scenes.sh"

# A test says how long a quiet machine takes at most.  One that runs other
# programs, too, takes several times as long, and is not at fault.
WAIT_TIMES=4

# can_have_lab: for setup_file, where bats has no skip; each test is skipped
# by lab_test then, with the reason.
can_have_lab() {
    LAB_MISSING=$(what_is_missing)
    export LAB_MISSING
    [ -z "$LAB_MISSING" ]
}

lab_test() { [ -z "$LAB_MISSING" ] || skip "$LAB_MISSING"; }

what_is_missing() {
    local program
    [ -n "${TAUT_PREFIX:-}" ] ||
        { echo "no TAUT_PREFIX, the folder where Taut is installed"; return; }
    [ "$EUID" -eq 0 ] || { echo "the lab needs root"; return; }
    for program in ip tc unshare nsenter setpriv slurmctld slurmd munged; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null ||
            { echo "$program is not installed"; return; }
    done
}

# lab_file NAME UP…: UP is the command that brings the lab up.
lab_file() {
    export LAB_NAME=${LAB_NAME:-test}-$1-$$
    shift
    # Whatever ends this file, the lab goes with it.
    setsid bash -c 'while kill -0 "$1"; do sleep 1; done; "$2" down --name "$3"' \
        _ $$ "$SCENE_DIR/lab" "$LAB_NAME" >/dev/null 2>&1 </dev/null 3>&- 4>&- &
    "$@" >"$BATS_FILE_TMPDIR/up" 2>&1 3>&- 4>&- || {
        cat "$BATS_FILE_TMPDIR/up"
        return 1
    }
}

lab_file_end() { [ -n "$LAB_MISSING" ] || lab down >/dev/null 2>&1 || true; }

# small_conf FILE [FABRIC…]: demo.lua for a small lab, a 2x2x1 torus where
# nothing is said; a machine that starts all prologs itself may start one of
# them more than 250 ms late
small_conf() {
    local file=$1
    shift
    [ $# -gt 0 ] || set -- --torus 2x2x1
    sed -e 's/^   checks = {/&\n      gather_ms = 600,/' "$SCENE_DIR/demo.lua" >"$file"
    lab topology "$@" >>"$file"
}

# conf_of BASE SED…: BASE as changed by SED expressions, at the lab's taut.lua
conf_of() {
    local base=$1
    shift
    sed -e '' "${@/#/-e}" "$base" >"$BATS_FILE_TMPDIR/taut.lua"
    grep -q '^topology' "$base" || lab topology >>"$BATS_FILE_TMPDIR/taut.lua"
    lab exec install -m 644 /dev/stdin /etc/taut/taut.lua <"$BATS_FILE_TMPDIR/taut.lua"
}

# After a test that failed: what the parts of Taut say.
lab_report() {
    [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -z "$LAB_MISSING" ] || return 0
    echo "--- taut status"
    lab exec taut status || true
    echo "--- lab status"
    lab status || true
    echo "--- tautd"
    lab log tautd --stderr | tail -n 40
    echo "--- nodes"
    lab exec bash -c 'grep -h taut: /var/log/slurm/slurmd.*.log | sort | tail -n 20'
    echo "--- syslog"
    lab log syslog | grep taut | tail -n 10
}

no_jobs() { [ -z "$(lab exec squeue -h)" ]; }
all_idle() { ! lab exec sinfo -h -N -o %T | grep -qv '^idle$'; }
nothing_drained() { [ -z "$(scene_drained)" ]; }

cancel_all() {
    lab exec bash -c 'ids=$(squeue -h -o %A); [ -z "$ids" ] || scancel $ids'
}

clear_holdoff() { lab exec bash -c 'rm -f /run/lab/run.n*/taut/holdoff'; }
holdoffs() { lab exec bash -c 'find /run/lab/run.n*/taut/holdoff -size +0' | wc -l; }

resume_all() {
    local node
    for node in $(scene_drained | cut -d'|' -f1); do
        lab exec scontrol update nodename="$node" state=resume
    done
}

# start_tautd: and forget what was held against it while it was away
start_tautd() {
    lab daemon start tautd
    clear_holdoff
}

# fresh_tautd: a tautd that knows nothing on a cluster that has nothing
fresh_tautd() {
    lab load --stop
    lab heal --all
    cancel_all
    wait_until 60 no_jobs
    lab daemon stop tautd
    lab exec bash -c 'rm -f /var/lib/taut/*'
    resume_all
    start_tautd
    wait_until 60 all_idle
}

# status LUA: print from s, what `taut status --json` says
status() { lab exec taut status --json | lab_json "local s = d; $1"; }

# mark; then `since NAME`: what the log of NAME (tautd, nodes, syslog) has got
# since.
mark() {
    local name
    for name in tautd nodes syslog; do
        whole_log $name | wc -l >"$BATS_FILE_TMPDIR/mark.$name"
    done
}

whole_log() {
    case $1 in
    tautd) lab log tautd --stderr ;;
    nodes) lab exec bash -c 'cat /var/log/slurm/slurmd.*.log | grep taut: | sort' ;;
    syslog) lab log syslog ;;
    esac
}

since() { whole_log "$1" | tail -n "+$(($(<"$BATS_FILE_TMPDIR/mark.$1") + 1))"; }

# says NAME PATTERN: has a line like it come since `mark`?
says() { since "$1" | grep -Eq -- "$2"; }

# one_line NAME PATTERN: exactly one
one_line() { [ "$(since "$1" | grep -Ec -- "$2")" -eq 1 ]; }

# fields of `sinfo -R`'s first column for a node: what an administrator sees
shown_reason() { lab exec sinfo -R -h -N -n "$1" -o '%20E' | head -n 1; }
full_reason() { scene_drained | sed -n "s/^$1|//p"; }

# how many good tests there were
good_tests() { status 'print(s.tests.good)'; }
more_than() { [ "$(good_tests)" -gt "$1" ]; }

# stands: a job is checked, and root is answered
stands() {
    local before
    before=$(good_tests)
    lab exec --user alice srun -Q --exclusive -N 4 true
    wait_until 30 more_than "$before"
    lab exec taut policy observe
    lab exec taut policy drain
}
