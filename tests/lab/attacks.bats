#!/usr/bin/env bats
# time limit: 1800 s
# SPDX-License-Identifier: GPL-2.0-or-later
# While a user attacks tautd, a job is checked, and root is answered.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    sed -i 's/^checks = {/&\n   max_conns = 64,/' "$BATS_FILE_TMPDIR/small.lua"
    cat >>"$BATS_FILE_TMPDIR/small.lua" <<'EOF'
events = { follow = { { "kernel", "/var/log/messages" } } }
model.events = { follow_s = 0.3 }
model.diagnosis.hard_alone = true
EOF
    lab_file attacks lab up --torus 2x2x1 --node-cpus 2 --health-interval 0 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() {
    lab_test
    mark
}
teardown() {
    [ -z "$LAB_MISSING" ] || return 0
    [ -z "${ATTACKER:-}" ] || end_attack
    lab_report
}

# attack COMMAND…: by alice on the controller, until end_attack; it goes on
# once it has printed a line
attack() {
    mkfifo "$BATS_TEST_TMPDIR/in"
    lab exec --user alice "$@" <"$BATS_TEST_TMPDIR/in" \
        >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    ATTACKER=$!
    exec {ATTACK_FD}>"$BATS_TEST_TMPDIR/in"
    wait_until 60 test -s "$BATS_TEST_TMPDIR/out"
    grep -q connected "$BATS_TEST_TMPDIR/out"
}

end_attack() {
    exec {ATTACK_FD}>&-
    wait "$ATTACKER" || true
    ATTACKER=
}

@test "attacks: idle clients of a user at the UNIX socket" {
    attack "$TAUT_BUILDDIR/tests/fake/fake-flood" 100 /run/taut/tautd.sock
    stands
}

@test "attacks: idle connections, more than tautd takes" {
    attack "$TAUT_BUILDDIR/tests/fake/fake-flood" 300 172.30.0.1 6824
    stands
    since tautd | grep -q 'gave way to a newer connection'
}

@test "attacks: HELLOs of a user that name a million nodes" {
    lab exec --user alice bash -s <<'SH'
for i in 1 2 3 4 5 6; do
    cred=$(printf '{"v":1,"purpose":"prolog","job":1,"node":"n1",%s,"key":"%s"}' \
        '"nodes":"n[0-999999]","endpoint":"10.0.0.1:4000","budget_ms":900' \
        "$(printf 'ab%.0s' {1..32})" | munge)
    head=$(printf '%08x01' $((${#cred} + 1)) | sed 's/../\\x&/g')
    # a sender that hangs up before MUNGE has answered is not even refused
    exec 3<>/dev/tcp/172.30.0.1/6824
    printf "$head%s" "$cred" >&3
    timeout 10 cat <&3 >/dev/null
    exec 3>&-
done
SH
    stands
    wait_until 10 said_who
}

said_who() { since tautd | grep -q 'prolog by uid [0-9]*, only root may'; }

@test "attacks: advice in the same partition again and again" {
    lab exec --user alice bash -c 'taut advise -N 2 -p \
        "$(printf "nowhere,%.0s" {1..15000})"' >/dev/null 2>&1 || true
    run lab exec --user alice taut advise -N 2 \
        -p a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q
    [[ $output == *"at most 16 partitions"* ]]
    stands
}

@test "attacks: a line in the log of the kernels that a user wrote" {
    lab exec bash -c ': >/var/log/messages && chmod 666 /var/log/messages'
    wait_until 10 eval 'since tautd | grep -q "messages can be followed again"'
    lab exec --user alice bash -s <<'SH'
echo "$(date '+%b %e %H:%M:%S') n3 kernel: [1.5] ixgbe 0000:08:00.0 hsn0:" \
    "NIC Link is Down" >>/var/log/messages
SH
    wait_until 10 eval 'lab exec taut events --node n3 | grep -q "link of n3/hsn0 is down"'
    run lab exec taut status
    [[ $output != *n3/?x* ]]
    [ "$(lab exec sinfo -h -n n3 -o %T)" = idle ]
    stands
}

# speak_for FROM NODES LIST JOB…: root on FROM, as these nodes of jobs that have
# LIST, says that all tests went badly
speak_for() {
    lab exec --node "$1" bash -s "$TAUT_BUILDDIR/tests/fake/fake-node" "${@:2}" <<'SH'
fake=$1 nodes=$2
export SLURM_STEP_NODELIST=$3 SLURM_STEP_ID=0 SLURM_PROCID=0
shift 3
for SLURM_JOB_ID in "$@"; do
    export SLURM_JOB_ID
    for n in $nodes; do
        SLURMD_NODENAME=n$n "$fake" prolog accuse --servers ctl --user slurm \
            --interface hsn0 &
    done
    wait
done 2>/dev/null
SH
}

nobody_is_blamed() {
    run lab exec taut status
    [[ $output != *suspect:* && $output != *slow:* ]]
    [ -z "$(lab exec sinfo -h -R -o %n%E | grep taut:)" ]
}

@test "attacks: a user on n2 sends what root on n1 made for him" {
    local cred
    cred=$(printf '{"v":1,"purpose":"prolog","job":1,"node":"n2","nodes":"n[1-2]",%s,"key":"%s"}' \
        '"endpoint":"10.0.0.1:4000","budget_ms":900' "$(printf 'ab%.0s' {1..32})" |
        lab exec --node n1 munge --restrict-uid slurm)
    run lab exec --user alice --node n2 bash -s "$cred" <<'SH'
head=$(printf '%08x01' $((${#1} + 1)) | sed 's/../\\x&/g')
exec 3<>/dev/tcp/ctl/6824
printf "$head%s" "$1" >&3
timeout 10 cat <&3 | wc -c
SH
    [ "$output" = 0 ]
    wait_until 10 eval 'since tautd | grep "from 172.30.1.3:" |
        grep -q "n2 speaks as root from port [0-9]*, which any user has"'
    stands
    nobody_is_blamed
}

@test "attacks: root on one node speaks for two others" {
    speak_for n1 "2 3" "n[2-3]" {4001..4020}
    stands
    wait_until 10 eval 'since tautd | grep -q "n[23] speaks from 172.30.*, its address is 172.30"'
    nobody_is_blamed
}

@test "attacks: root on two nodes invents jobs" {
    local job
    for job in {5001..5010}; do
        speak_for n1 1 "n[1-2]" "$job" &
        speak_for n2 2 "n[1-2]" "$job"
        wait $!
    done
    stands
    wait_until 10 eval 'since tautd | grep -q "Slurm knows of no job 50"'
    nobody_is_blamed
}

@test "attacks: a user calls a probe until its queue is full" {
    local i
    attack --node n3 "$TAUT_BUILDDIR/tests/fake/fake-crowd" \
        "$(lab exec --node n3 ip -4 -o addr show dev hsn0 | awk '{ sub("/.*", "", $4); print $4 }')"
    stands
    for i in {1..10}; do
        lab exec --user alice srun -Q --exclusive -N 4 true
    done
    wait_until 10 eval 'since tautd | grep -q "streams without a token of the plan were refused"'
    nobody_is_blamed
}

# root_on NODE KIND LIST [--key value]…: root there says HELLO again and again
root_on() {
    lab exec --node "$1" "$TAUT_BUILDDIR/tests/fake/fake-root" "$2" "$1" "$3" \
        --server 172.30.0.1:6824 --uid "$(id -u slurm)" "${@:4}"
}

next_job() {
    local id
    id=$(lab exec --user alice srun -Q --exclusive -N 1 printenv SLURM_JOB_ID)
    echo $((id + 1))
}

status_says() { lab exec taut status | tr -s ' \n' ' ' | grep -q "$1"; }

# Past bug: "not checked: shared" for ten minutes, on all nodes of the lists.
@test "attacks: root on one node names jobs that are still to come" {
    root_on n1 invent 'n[0-2]' --job "$(next_job)" --count 400 --rate 200
    stands
    wait_until 60 status_says 'invented n1 named [0-9]* jobs that Slurm does not have'
    nobody_is_blamed
}

# Past bug: the database never came back.
@test "attacks: root on one node floods with readings of random jobs" {
    root_on n1 swell n1 --count 1200 --rate 118
    wait_until 30 status_says 'flood 172.30.1.2 (n1): [0-9]* messages refused'
    stands
    run lab exec taut explain n2
    [ "$status" -eq 0 ]
    wait_until 30 eval '! status_says "cannot be written"'
    # some megabytes at most, of 1200 messages of 190 kB
    [ "$(lab exec stat -c %s /var/lib/taut/taut.db)" -lt 20000000 ]
    nobody_is_blamed
}

# Each tries anew: others have to have spoken before.
endpoint_is_refused() {
    root_on n1 endpoint 'n[0-3]' --job "$(next_job)" --count 4 --rate 8 \
        --endpoint "$1"
    status_says "endpoint n1 names $1 as its endpoint"
}

# Past bug: probes of others connected there, and sent 112 MB.
@test "attacks: root on one node names somebody else's address as his endpoint" {
    local place
    for place in 127.0.0.1:7778 172.30.0.1:6824 10.0.0.9:22; do
        wait_until 60 endpoint_is_refused "$place"
    done
    stands
    nobody_is_blamed
}

# Past bug: most nodes found no time, and their jobs were not checked.
@test "attacks: questions of a user, as many at once as he may, again and again" {
    lab exec --user alice bash -c 'end=$((SECONDS + 40))
        for _ in {1..16}; do
            while [ $SECONDS -lt $end ]; do taut advise -N 2; done &
        done
        wait' >/dev/null 2>&1 &
    sleep 2
    stands
    stands
    ! since tautd | grep -q 'no time for it' || false
    wait $!
    nobody_is_blamed
}

maria=/run/lab/maria

maria_is_missing() {
    command -v mariadb-install-db >/dev/null && command -v mariadb >/dev/null ||
        { echo "mariadb-server-core and mariadb-client-core are not installed"; return; }
    [ -n "$(find /usr/lib -path '*lua/5.4*' -name 'mysql.so' -print -quit)" ] ||
        echo "lua-dbi-mysql is not installed"
}

# sql STATEMENT: its rows, columns between tabs
sql() { lab exec mariadb --no-defaults -uroot -S $maria/socket -N -B -e "$1"; }

start_maria() {
    lab exec bash -s $maria <<'SH'
install -d "$1"
mariadb-install-db --no-defaults --datadir="$1/data" --skip-test-db \
    --auth-root-authentication-method=normal --user=root
PATH=$PATH:/usr/sbin setsid mariadbd --no-defaults --datadir="$1/data" --tmpdir="$1" \
    --socket="$1/socket" --skip-networking --innodb-buffer-pool-size=32M \
    --innodb-flush-log-at-trx-commit=2 --user=root --pid-file="$1/pid" &
SH
    wait_until 30 sql 'CREATE DATABASE taut'
}

maria_gets() { lab exec bash -c "kill -$1 \$(<$maria/pid)"; }
store_is() { [ "$(status "print($1)")" = "$2" ]; }

# The same with a server, which stands still for three seconds meanwhile: what was
# sent and not answered by then is sent again.
@test "attacks: root on one node floods a database server, which stands still meanwhile" {
    local missing flood
    missing=$(maria_is_missing)
    [ -z "$missing" ] || skip "$missing"
    start_maria >/dev/null 2>&1 3>&- 4>&-
    conf_of "$BATS_FILE_TMPDIR/small.lua" "1i store = \"mysql://root@/taut?socket=$maria/socket\""
    lab daemon stop tautd
    start_tautd
    wait_until 60 store_is 's.store.away or s.store.error or s.brakes or "well"' well
    lab exec taut policy drain
    stands
    root_on n1 swell n1 --count 1000 --rate 118 &
    flood=$!
    sleep 2
    maria_gets STOP
    sleep 3
    lab exec taut policy observe
    maria_gets CONT
    wait $flood
    wait_until 30 status_says 'flood 172.30.1.2 (n1): [0-9]* messages refused'
    stands
    wait_until 60 store_is 's.store.away or s.store.error or s.store.queued.rows + s.store.waiting' 0
    [ "$(status 'print(s.store.lost)')" = 0 ]
    [ "$(sql "SELECT COUNT(*) FROM taut.sample WHERE node = 'n1'")" -le 300 ]
    [ "$(sql "SELECT SUM(data_length + index_length) FROM information_schema.tables
        WHERE table_schema = 'taut'")" -lt 20000000 ]
    nobody_is_blamed
    maria_gets TERM
}

# … nor, in a build with sanitizers, did one of them say a word.
@test "attacks: no part of Taut died of any of it" {
    ! whole_log nodes | grep -E 'died of signal|it wrote more than' || false
    ! whole_log tautd | grep -E 'ERROR: AddressSanitizer|runtime error|stack traceback|a turn of tautd:' || false
}
