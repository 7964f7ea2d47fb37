#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Two controllers, one memory: a slurmctld and a tautd on each of two hosts, a
# database on a third.  Whatever falls out, one tautd acts and no more, jobs
# start, no node is drained twice, and nothing that was acknowledged is gone.

SCENE_DIR=${BATS_TEST_DIRNAME%/controllers}
load ../lib/tests.bash
load database.bash
load controllers.bash

setup_file() {
    can_have_lab || return 0
    LAB_MISSING=$(database_is_missing)
    [ -z "$LAB_MISSING" ] || return 0
    controllers_up failover
}
teardown_file() {
    [ -n "$LAB_MISSING" ] || stop_server || true
    lab_file_end
}

setup() {
    lab_test
    wait_until 90 at_home
}
teardown() {
    controllers_report
    [ -n "$LAB_MISSING" ] || mended
}

@test "failover: one acts, the other stands by, and each says so" {
    local here other
    here=$(acting)
    other=$(other_of "$here")
    stands_by() {
        lab exec taut status |
            grep -Eq "^active +the tautd on $here, lease [0-9]+; the one on $other is on standby"
    }
    wait_until 20 stands_by # it writes itself down every few seconds
    on "$other" taut status | grep -Eq "^active +the tautd on $here, lease [0-9]+; this one, on $other, is on standby"
    on "$other" taut doctor -a | grep -q "^ok *controllers *this tautd is on standby, the one on $here is active"
    # what that one does not know it asks the other for
    on "$other" taut policy | grep -q '^mode '
    [ "$(metric "$here" taut_acting) $(metric "$other" taut_acting)" = "1 0" ]
    checked_job
}

@test "failover: a tautd is killed while jobs run: the other one knows what it knew" {
    local here other
    slow_node n1/tx
    lab exec taut policy observe
    lab exec taut ack n2/tx --ticket T1 --until 2d
    here=$(acting)
    other=$(other_of "$here")
    begin_jobs
    kill_tautd "$here"
    wait_until 20 acts "$other"
    end_jobs
    [ "$(status 'print(s.mode)')" = observe ]
    lab exec taut ack | grep -q '^n2/tx .*T1'
    lab exec taut nodes | grep -q '^n1 .*taut: sends at '
    checked_job
    lab daemon start "tautd@$here"
}

@test "failover: one that stood still for longer than its lease does nothing when it goes on" {
    local here other before
    here=$(acting)
    other=$(other_of "$here")
    before=$(token)
    lab daemon pause "tautd@$here"
    begin_jobs
    wait_until 20 acts "$other"
    lab daemon resume "tautd@$here"
    # slurmctld never left: the other one hands over as soon as it sees this one wait
    wait_until 90 at_home
    end_jobs
    [ "$(token)" -gt "$before" ]
    tokens_rise
    checked_job
}

@test "failover: its host is gone: a node pays for that once" {
    local here other
    here=$(acting)
    other=$(other_of "$here")
    checked_job
    remembers "$(address_of "$here")"
    lab exec ip link set "c_$here" down
    wait_until 20 acts "$other"
    # slurmctld's own way to the other host takes as long as it takes
    clear_holdoff
    on n0 env SLURMD_NODENAME=n0 "$TAUT_PREFIX/libexec/taut/taut-healthcheck"
    [ "$(holdoffs)" -eq 0 ]
    remembers "$(address_of "$other")"
    lab exec ip link set "c_$here" up
}

@test "failover: cut off from the database, it stops before the other one begins" {
    local here other
    here=$(acting)
    other=$(other_of "$here")
    on "$here" ip route add blackhole 172.30.0.1/32
    begin_jobs
    wait_until 20 acts "$other"
    end_jobs
    on "$here" taut status | grep -q '^active *none known on '
    run on "$here" taut policy drain
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"not stored: "* ]]
    checked_job
    [ "$(status 'print(s.mode)')" = observe ]
    on "$here" ip route del blackhole 172.30.0.1/32
}

@test "failover: the database is away: jobs start, nothing is drained or stored, and it goes on" {
    local here before
    here=$(acting)
    before=$(token)
    stop_server
    wait_until 20 nobody_acts
    clear_holdoff
    job
    job
    [ "$(holdoffs)" -eq 0 ]
    run on "$here" taut policy drain
    [ "$status" -eq 1 ]
    run lab exec taut status
    [[ $output == *"no tautd is "*"active"* ]]
    start_server
    # whoever comes first takes the lease; the other one's goes home once more
    wait_until 90 at_home
    [ "$(token)" -le $((before + 2)) ]
    checked_job
}

@test "failover: the tautd that acts follows slurmctld, and back" {
    lab exec taut policy observe
    lab daemon stop "slurmctld@ctl1"
    wait_until 40 acts ctl2
    checked_job
    lab daemon start "slurmctld@ctl1"
    wait_until 40 acts ctl1
    checked_job
    [ "$(status 'print(s.mode)')" = observe ]
}

# root_on NODE KIND HOST [--key value]…: root there says HELLO to that host's tautd
root_on() {
    lab exec --node "$1" "$TAUT_BUILDDIR/tests/fake/fake-root" "$2" "$1" "n[0-3]" \
        --server "$(address_of "$3")" --uid "$(id -u slurm)" "${@:4}"
}

rows_of() { sql "SELECT count(*) FROM sample WHERE node = '$1'"; }
names_inventor() { on ctl1 taut status | tr -s ' \n' ' ' | grep -q 'invented n1 named [0-9]* jobs'; }
names_flood() { on ctl1 taut status | tr -s ' \n' ' ' | grep -q 'flood 172.30.1.2 (n1): [0-9]* messages'; }

@test "failover: root on one node invents jobs and floods both controllers, over a server" {
    local before was drained host
    was=$(token)
    drained=$(scene_drained)
    before=$(rows_of n1)
    for host in ctl1 ctl2; do
        root_on n1 invent $host --job 900000 --count 300 --rate 100 >/dev/null &
        root_on n1 swell $host --count 600 --rate 60 >/dev/null &
    done
    checked_job
    wait
    checked_job
    wait_until 30 names_inventor
    wait_until 30 names_flood
    # nothing waits, hardly anything was kept, and the lease has not changed hands
    wait_until 30 eval '[ "$(on ctl1 taut status --json | lab_json "print(d.store.waiting)")" = 0 ]'
    [ $(($(rows_of n1) - before)) -le 300 ]
    [ "$(token)" = "$was" ]
    run on ctl1 taut explain n2
    [ "$status" -eq 0 ]
    [ "$(scene_drained)" = "$drained" ]
}

@test "failover: no drain was made twice, none is lost, and tokens only rise" {
    [ "$(scene_drained | cut -d'|' -f1)" = n1 ]
    [ "$(status 'for _, d in ipairs(s.drained) do print(d.node) end')" = n1 ]
    [ "$(sql "SELECT COUNT(*) FROM action WHERE action = 'drain' AND node = 'n1'")" -eq 1 ]
    tokens_rise
}
