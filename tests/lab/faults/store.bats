#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# tautd whose database is on a PostgreSQL server, which goes away and comes
# back: checks go on, commands are kept, nothing is forgotten.

load faults.bash

db=/run/lab/db

# initdb and postgres are where Debian has them, or nowhere
pg() { find /usr/lib/postgresql/*/bin -name "$1" 2>/dev/null | tail -n 1; }

what_else_is_missing() {
    [ -n "$(pg postgres)" ] || { echo "postgresql is not installed"; return; }
    [ -n "$(find /usr/lib -path '*lua/5.4*' -name 'postgresql.so' -print -quit)" ] ||
        echo "lua-dbi-postgresql is not installed"
}

# as_nobody COMMAND…: PostgreSQL does not run as root
as_nobody() {
    lab exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
}

start_server() {
    as_nobody "$(dirname "$(pg postgres)")/pg_ctl" -D $db/data -l $db/log -w -t 60 \
        -o "-k $db -c listen_addresses= -c fsync=off" start >/dev/null 3>&- 4>&-
}
stop_server() {
    as_nobody "$(dirname "$(pg postgres)")/pg_ctl" -D $db/data -m immediate -w stop
}

setup_file() {
    can_have_lab || return 0
    LAB_MISSING=$(what_else_is_missing)
    [ -z "$LAB_MISSING" ] || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    sed -i "1i store = \"postgresql://taut@/postgres?socket=$db\"" "$BATS_FILE_TMPDIR/small.lua"
    lab_file store lab up --torus 2x2x1 --node-cpus 1 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
    lab exec install -d -o nobody $db
    as_nobody "$(pg initdb)" -D $db/data -A trust -N -E UTF8 --locale=C -U taut >/dev/null
    start_server
}
teardown_file() {
    [ -n "$LAB_MISSING" ] || stop_server || true
    lab_file_end
}

setup() { lab_test; }
teardown() { lab_report; }

tests_stored() {
    as_nobody "$(pg psql)" -h $db -U taut -d postgres -A -t -c 'SELECT COUNT(*) FROM test'
}
has_tests() { [ "$(tests_stored)" -gt "$1" ]; }
store_says() { [ "$(status "print($1)")" = "$2" ]; }
jobs_of_the_end() { no_jobs && all_idle; }

@test "store: a job's tests are on the server, and status has nothing to say" {
    wait_until 60 store_says 's.store.away or s.brakes or "well"' well
    clear_holdoff
    lab exec srun -N 4 true
    wait_until 30 has_tests 0
    ! lab exec taut status | grep -q '^database'
}

@test "store: a server that is away holds nobody up, keeps brakes, and nothing is lost" {
    local before
    wait_until 60 jobs_of_the_end
    lab exec taut on
    before=$(tests_stored)
    stop_server
    lab exec taut policy observe
    lab exec srun -N 4 true
    lab exec taut status | tr -s ' \n' ' ' | grep -q 'database is away: .* rows (.*) on disk'
    # a tautd that starts without it knows the brakes, and keeps what waits
    lab daemon stop tautd
    lab exec bash -c 'ls /var/lib/taut/queue/*.rows'
    start_tautd
    wait_until 30 store_says s.mode observe
    start_server
    wait_until 60 store_says 's.store.away or s.brakes or s.store.queued.rows' 0
    has_tests "$before"
}
