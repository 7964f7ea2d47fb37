# SPDX-License-Identifier: GPL-2.0-or-later
# What tests and benchmarks of two controllers share; after tests.bash and
# database.bash.

DB_LISTEN=172.30.0.1

# controllers_conf FILE: demo.lua for two controllers with a database on `ctl`
controllers_conf() {
    small_conf "$1" --torus 2x1x1
    sed -i -e "s|^listen = .*|listen = \"0.0.0.0:6824\"\\
store = \"postgresql://taut@$DB_LISTEN/postgres\"\\
controllers = { \"ctl1\", \"ctl2\" }\\
remote = { admins = \"ctl,ctl[1-2]\" }\\
metrics = { listen = \"0.0.0.0:6825\" }|" "$1"
}

# controllers_up NAME: a lab of four nodes with them, and the database
controllers_up() {
    controllers_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file "$1" lab up --torus 2x1x1 --node-cpus 1 --controllers 2 \
        --slurm-conf SlurmctldTimeout=5 --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
    make_server
    start_server
}

controllers_report() {
    local host
    [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -z "$LAB_MISSING" ] || return 0
    for host in ctl1 ctl2; do
        echo "--- tautd on $host"
        lab log "tautd@$host" | tail -n 25
        on "$host" taut status | head -n 12 || true
    done
    echo "--- lease"
    sql 'SELECT * FROM lease' || true
    lab exec bash -c 'grep -h taut: /var/log/slurm/slurmd.*.log | sort | tail -n 20'
}

on() {
    local host=$1
    shift
    lab exec --node "$host" "$@"
}
other_of() { if [ "$1" = ctl1 ]; then echo ctl2; else echo ctl1; fi; }
address_of() { echo "172.30.0.$((10 + ${1#ctl})):6824"; }

# metric HOST NAME: as that host's tautd says it
metric() {
    on "$1" timeout 10 bash -c 'exec 3<>/dev/tcp/127.0.0.1/6825
        printf "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3
        cat <&3' 2>/dev/null | tr -d '\r' | sed -n "s/^$2\({cluster=\"[^\"]*\"}\)\{0,1\} //p"
}

acts() { [ "$(metric "$1" taut_acting)" = 1 ]; }
# the host whose tautd acts
acting() {
    local host
    for host in ctl1 ctl2; do
        ! acts "$host" || { echo "$host"; return; }
    done
    return 1
}
nobody_acts() { [ "$(metric ctl1 taut_acting)$(metric ctl2 taut_acting)" = 00 ]; }
# one acts, and sees the other one stand by
settled_pair() {
    local here
    here=$(acting) && [ "$(metric "$here" taut_lease_waiting)" = 1 ]
}
# … beside the active slurmctld, which is the first where it can be
at_home() { acts ctl1 && settled_pair; }
token() { sql 'SELECT token FROM lease'; }

# mended: all that a test may have taken away is there again
mended() {
    local host
    ! jobs_run || end_jobs || true
    for host in ctl1 ctl2; do
        lab exec ip link set "c_$host" up
        on "$host" ip route del blackhole $DB_LISTEN/32 2>/dev/null || true
        lab daemon start "slurmctld@$host" >/dev/null 2>&1 || true
        lab daemon start "tautd@$host" >/dev/null 2>&1 || true
    done
    start_server 2>/dev/null || true
}

kill_tautd() {
    lab exec bash -c 'kill -9 "$(<"/run/lab/pid/tautd@$1")"' _ "$1"
    lab daemon stop "tautd@$1" || true
}

# job [NODES]: in less than half a minute.  Its srun is on a node: `ctl` is where
# the database is, from which hosts are cut off.
job() {
    local began=$SECONDS
    on n3 timeout 60 srun -Q --exclusive -N "${1:-3}" true
    [ $((SECONDS - began)) -le 30 ]
}

# a job whose nodes are heard and tested
checked_job() {
    local before
    clear_holdoff
    before=$(good_tests)
    job
    wait_until 20 more_than "$before"
}

# begin_jobs … end_jobs: small ones, one after the other, of which none may fail
begin_jobs() {
    rm -f "$BATS_FILE_TMPDIR/stop" "$BATS_FILE_TMPDIR/failed"
    while [ ! -e "$BATS_FILE_TMPDIR/stop" ]; do
        on n3 timeout 60 srun -Q --exclusive -N 2 true || : >"$BATS_FILE_TMPDIR/failed"
    done </dev/null >/dev/null 2>&1 3>&- 4>&- &
    echo $! >"$BATS_FILE_TMPDIR/jobs"
}
jobs_run() { [ -e "$BATS_FILE_TMPDIR/jobs" ]; }
end_jobs() {
    : >"$BATS_FILE_TMPDIR/stop"
    wait "$(<"$BATS_FILE_TMPDIR/jobs")"
    rm "$BATS_FILE_TMPDIR/jobs"
    [ ! -e "$BATS_FILE_TMPDIR/failed" ]
}

# slow_node COMPONENT: degrade it, and have jobs until its node is drained
slow_node() {
    local i
    lab degrade "$1" 25
    for i in {1..40}; do
        clear_holdoff
        # it may be drained a moment after we looked: four nodes are not to be had then
        job 4 || scene_is_drained "${1%/*}"
        ! scene_is_drained "${1%/*}" || return 0
    done
    wait_until 20 scene_is_drained "${1%/*}"
}

# remembers ADDRESS: do nodes ask that tautd first?
remembers() { lab exec bash -c 'cat /run/lab/run.n*/taut/server' | grep -q "^$1 "; }

# the later an action, the higher its token
tokens_rise() {
    [ "$(sql "SELECT COUNT(*) FROM (SELECT token < MAX(token) OVER (ORDER BY time, id) AS bad
        FROM action) q WHERE bad")" -eq 0 ]
}
