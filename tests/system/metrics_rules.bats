#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# time limit: 300 s
# etc/monitoring: alerts that come when they have to and do not otherwise, over
# metrics that exist.  What a real Prometheus makes of them is in lab/policy.bats.

setup() {
    command -v promtool >/dev/null || skip "promtool is not installed"
    etc=$TAUT_SRCDIR/etc/monitoring
    test=$TAUT_SRCDIR/tests/data/monitoring/taut.rules.test.yml
    cd "$BATS_TEST_TMPDIR" || return
    cp "$etc/taut.rules.yml" "$test" .
}

@test "promtool takes the rules" {
    promtool check rules taut.rules.yml
}

@test "each alert comes when it has to, and does not otherwise" {
    promtool test rules taut.rules.test.yml
}

@test "each alert has both tests" {
    local alert
    for alert in $(sed -n 's/.* alert: //p' taut.rules.yml); do
        grep -qx "  - name: $alert fires" taut.rules.test.yml
        grep -qx "  - name: $alert is quiet" taut.rules.test.yml
    done
}

@test "the rules and the dashboard ask for metrics that tautd has" {
    local name
    for name in $(grep -hoE '\btaut_[a-z_]+' taut.rules.yml "$etc/grafana.json" | sort -u); do
        # of a histogram its buckets, sum and count
        name=${name%_bucket} name=${name%_sum} name=${name%_count}
        grep -q "\"$name\"" "$TAUT_SRCDIR"/lua/taut/core/metrics/*.lua || { echo "$name"; false; }
    done
}

@test "each alert says what to do, under an anchor that is there" {
    local alert page=$TAUT_SRCDIR/doc/alerts.md
    for alert in $(sed -n 's/.* alert: //p' taut.rules.yml); do
        grep -qxF "          runbook_url: \"https://taut.example/doc/alerts.html#${alert,,}\"" taut.rules.yml
        grep -qx "## $alert" "$page" || { echo "doc/alerts.md: no heading of $alert"; false; }
    done
    # and no heading is left of one that is gone
    for alert in $(sed -n 's/^## \(Taut.*\)/\1/p' "$page"); do
        grep -q " alert: $alert$" taut.rules.yml || { echo "$alert"; false; }
    done
}
