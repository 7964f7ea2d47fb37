# SPDX-License-Identifier: GPL-2.0-or-later
# taut-probe over libfabric, over several rails, and without either.
load node

setup() {
    node_setup
    modules=$TAUT_BUILDDIR/plugin/.libs
}
teardown() { node_teardown; }

need_ofi() {
    [ -e "$modules/taut-ofi.so" ] || skip "built without libfabric"
}

# kind_test ID ROLE PEER START_MS DUR_MS MORE: as plan_test, with more fields
kind_test() {
    local test
    test=$(plan_test "$1" "$2" "$3" "$4" "$5")
    echo "${test%\}},$6}"
}

# Tests are long, and begin late: where other programs run, too, a process waits
# for tenths of a second, and libfabric takes seconds to open.

# both ARGUMENT...: a check on n1 and n2 with the plans p1 and p2
both() {
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2
    check n1 --budget-ms 20000 "$@" >log1 2>&1 &
    check n2 --budget-ms 20000 "$@" >log2 2>&1
    wait "$!" "$tautd_pid"
    cat tautd.out log1 log2
}

@test "two nodes test over libfabric, streams and latency" {
    need_munged
    need_ofi
    local ofi='"transport":"ofi"'
    plan "$(kind_test 1 send n2/ofi 4000 1000 "$ofi")" \
        "$(kind_test 2 recv n2/ofi 5200 1000 "$ofi,\"mode\":\"latency\"")" >p1
    plan "$(kind_test 1 recv n1/ofi 4000 1000 "$ofi")" \
        "$(kind_test 2 send n1/ofi 5200 1000 "$ofi,\"mode\":\"latency\"")" >p2
    both --transport ofi --provider tcp --modules "$modules"
    [ ! -s log1 ]
    [ ! -s log2 ]
    grep '^hello' tautd.out | grep -q '"endpoint":"",.*"ofi":"127.0.0.1:[0-9]'
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(number_in "$(result_of 1)" total_bytes)" -gt 0 ]
    [ "$(number_in "$(result_of 2)" total_bytes)" -gt 0 ]
    grep -q '"lat_ns":{"n":[1-9]' tautd.out
}

@test "a check over TCP maps neither libfabric nor hwloc" {
    need_munged
    plan "$(plan_test 1 send n2 500 1000)" >p1
    plan "$(plan_test 1 recv n1 500 1000)" >p2
    export LD_DEBUG=files
    both --modules "$modules"
    unset LD_DEBUG
    grep -q 'file=libjansson' log1
    [ "$(cat log1 log2 | grep -cE 'file=[^ ]*(libfabric|libhwloc|taut-ofi|taut-hwloc)')" -eq 0 ]
}

@test "a provider that is not there is one line, and nothing is measured" {
    need_munged
    need_ofi
    plan "$(kind_test 1 send n2/ofi 6000 50 '"transport":"ofi"')" >p1
    plan "$(kind_test 1 recv n1/ofi 6000 50 '"transport":"ofi"')" >p2
    both --transport ofi --provider nosuch --modules "$modules"
    for log in log1 log2; do
        [ "$(wc -l <$log)" -eq 1 ]
        grep -q "^error: .*libfabric has no provider 'nosuch'.*; nothing measured" $log
    done
    [ "$(grep -c ^result tautd.out)" -eq 2 ]
    result_of 1 | grep -q '"error"\|"total_bytes":0'
}

@test "with ofi,tcp a provider that is not there is one line, and TCP is used" {
    need_munged
    need_ofi
    plan "$(plan_test 1 send n2 500 1000)" >p1
    plan "$(plan_test 1 recv n1 500 1000)" >p2
    both --transport ofi,tcp --provider nosuch --modules "$modules"
    grep -q "^error: .*libfabric has no provider 'nosuch'.*; TCP instead" log1
    [ "$(wc -l <log1)" -eq 1 ]
    [ "$(grep -c '"ofi":"' tautd.out)" -eq 0 ]
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(number_in "$(result_of 1)" bytes)" -gt 0 ]
}

@test "a module that is not there is named" {
    need_munged
    plan "$(kind_test 1 send n2/ofi 3000 50 '"transport":"ofi"')" >p1
    plan "$(kind_test 1 recv n1/ofi 3000 50 '"transport":"ofi"')" >p2
    both --transport ofi --modules "$dir"
    grep -q "^error: .*$dir/taut-ofi.so.*; nothing measured" log1
}

# Past measurement: loading libfabric takes 0.28 s, on every node, each time.
@test "with nothing to test nobody waits for libfabric" {
    need_munged
    start_tautd
    TAUT_SLOW_MODULE=$dir/waited check n1 --budget-ms 20000 --transport ofi \
        --modules "$TAUT_BUILDDIR/tests/fake/.libs" >log1
    [ ! -e waited ]
    wait "$tautd_pid"
    cat log1
    grep -q '"ofi":"127.0.0.1' tautd.out
    [ ! -s log1 ]
}

@test "each rail has its endpoint and its tests" {
    need_munged
    plan "$(plan_test 1 send n2 500 1000)" "$(kind_test 2 send n2/1 600 1000 '"rail":1')" >p1
    plan "$(plan_test 1 recv n1 500 1000)" "$(kind_test 2 recv n1/1 600 1000 '"rail":1')" >p2
    both --interface lo,lo
    [ ! -s log1 ]
    grep '^hello' tautd.out | grep -q '"endpoints":\[{"if":"lo","tcp":"[^"]*"},{"if":"lo","tcp":"[^"]*"}\]'
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(grep -o '"bytes":[1-9]' tautd.out | wc -l)" -eq 4 ]
}

# Past bug: sixteen were all that a node could have.
@test "the twentieth of twenty rails has its test, too" {
    need_munged
    plan "$(kind_test 1 send n2/1 500 1000 '"rail":19')" >p1
    plan "$(kind_test 1 recv n1/1 500 1000 '"rail":1')" >p2
    both --interface "lo$(printf ',lo%.0s' {2..20})"
    [ ! -s log1 ]
    grep '^hello' tautd.out | head -n 1 | grep -o '"if":"lo"' | wc -l | grep -qx 20
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(grep -o '"bytes":[1-9]' tautd.out | wc -l)" -eq 2 ]
}

@test "a rail that is not there is said; the other is tested" {
    need_munged
    plan "$(kind_test 1 send n2/1 500 1000 '"rail":1')" >p1
    plan "$(kind_test 1 recv n1/1 500 1000 '"rail":1')" >p2
    both --interface nosuchif,lo
    grep -q '^error: .*interface nosuchif has no usable address; not tested' log1
    [ "$(wc -l <log1)" -eq 1 ]
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(number_in "$(result_of 1)" bytes)" -gt 0 ]
}

# Past fault: a node of one fabric only logged an error at every job and every idle check.
@test "a rail that is not there is said once, not at each check" {
    need_munged
    plan >p1
    local i
    for i in 1 2 3; do
        start_tautd --nodes 1 --plan n1=p1
        check n1 --interface lo,nosuchif >log$i
        wait "$tautd_pid"
    done
    cat log*
    grep -q '^error: .*interface nosuchif has no usable address; not tested' log1
    [ ! -s log2 ]
    [ ! -s log3 ]
    # what was there and is gone is news, though another was missed before
    server=127.0.0.1:9
    check n1 --interface lo,nosuchif,gone --log debug >log4 || true
    cat log4
    grep -q '^error: .*interface gone has no usable address; not tested' log4
    ! grep -q '^error: .*nosuchif' log4 || false
    grep -q '^debug: .*nosuchif has no usable address; not tested, as before' log4
    # a node with none of them
    check n1 --interface nosuchif --rundir "$dir/run-n2" >log5
    check n1 --interface nosuchif --rundir "$dir/run-n2" >log6
    grep -q '^error: .*interface nosuchif has no usable address; skipped' log5
    [ ! -s log6 ]
}
