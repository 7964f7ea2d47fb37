#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# time limit: 120 s
# `taut hook`: what a webhook and Alertmanager get of an event, against a small receiver.

setup() {
    command -v curl >/dev/null || skip "curl is not installed"
    taut=$TAUT_PREFIX/bin/taut
    cd "$BATS_TEST_TMPDIR" || return
    DRAIN='{"event":"drain","node":"n5","component":"n5/tx","reason":"taut: sends at 25%","time":1760000000,'
    DRAIN+='"cluster":"alpha","key":"alpha/node/n5","severity":"ticket","status":"firing"}'
}
teardown() { [ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null || true; }

# receive STATUS COUNT: sets port; what comes is in the file got
receive() {
    "$TAUT_SRCDIR/tests/fake/receiver" "$@" >got 2>&1 3>&- &
    receiver=$!
    for _ in $(seq 200); do
        port=$(head -n 1 got)
        [ -z "$port" ] || return 0
        sleep 0.05
    done
    return 1
}

@test "a webhook gets the event as it is, and the site's headers" {
    receive 204 1
    echo "$DRAIN" | "$taut" hook webhook --header "X-Token: 7" "http://127.0.0.1:$port/a?b=c"
    wait "$receiver"
    grep -qx "POST /a?b=c HTTP/1.1" got
    grep -qix "content-type: application/json" got
    grep -qx "X-Token: 7" got
    grep -qxF "$DRAIN" got
}

@test "Alertmanager gets an alert, and its end under the same labels" {
    receive 200 2
    echo "$DRAIN" | "$taut" hook alertmanager --for 2 "http://127.0.0.1:$port/"
    sed -e 's/"event":"drain"/"event":"resume"/' -e 's/firing/resolved/' -e 's/1760000000/1760000500/' \
        <<<"$DRAIN" | "$taut" hook alertmanager "http://127.0.0.1:$port"
    wait "$receiver"
    [ "$(grep -cx 'POST /api/v2/alerts HTTP/1.1' got)" = 2 ]
    "$taut" --lua /dev/stdin <<'END'
local json = require "taut.json"
local list = {}
for line in io.lines "got" do
   list[#list + 1] = line:sub(1, 1) == "[" and json.decode(line) or nil
end
local begun, over = list[1][1], list[2][1]
assert(#list == 2 and #list[1] == 1)
for name, value in pairs { alertname = "TautNode", key = "alpha/node/n5", cluster = "alpha",
   severity = "ticket" } do
   assert(begun.labels[name] == value and over.labels[name] == value, name)
end
assert(begun.annotations.summary == "drain n5: taut: sends at 25%")
assert(begun.startsAt == "2025-10-09T08:53:20Z" and begun.endsAt == "2025-10-09T10:53:20Z")
assert(over.startsAt == nil and over.endsAt == "2025-10-09T09:01:40Z")
END
}

@test "what neither begins nor ends a trouble is no alert" {
    sed -e 's/firing/note/' <<<"$DRAIN" | "$taut" hook alertmanager http://127.0.0.1:1
}

@test "an event without a name is told all the same" {
    run "$taut" hook alertmanager http://127.0.0.1:1 <<<"${DRAIN/\"event\":\"drain\",/}"
    [ "$status" -eq 1 ]
    [[ $output == *"curl"*"connect"* ]]
}

@test "who refuses, or is not there, makes a status of 1 and a sentence" {
    receive 503 1
    run "$taut" hook webhook "http://127.0.0.1:$port" <<<"$DRAIN"
    [ "$status" -eq 1 ]
    [[ $output == *"503"*"taut: hook: http://127.0.0.1:$port: curl: "* ]]
    run "$taut" hook webhook http://127.0.0.1:1 <<<"$DRAIN"
    [ "$status" -eq 1 ]
    [[ $output == *"curl"*"connect"* ]]
}

@test "what is no event, no address or no kind is refused before anything is sent" {
    run "$taut" hook webhook http://127.0.0.1:1 <<<'{"event":"x"}'
    [ "$status" -eq 2 ]
    run "$taut" hook webhook http://127.0.0.1:1 <<<'not JSON'
    [ "$status" -eq 2 ]
    run "$taut" hook webhook 'file:///etc/passwd' <<<"$DRAIN"
    [ "$status" -eq 2 ]
    run "$taut" hook pager http://127.0.0.1:1 <<<"$DRAIN"
    [ "$status" -eq 2 ]
}
