# SPDX-License-Identifier: GPL-2.0-or-later
# What tests/run makes of tests that pass, fail, crash, hang or say nothing.

setup() {
    run="$BATS_TEST_DIRNAME/../run"
    cd "$BATS_TEST_TMPDIR"
    unset TAUT_TEST_WRAPPER
}

# script NAME: a test of standard input's lines
script() {
    { echo "#!/bin/bash"; cat; } >"$1"
    chmod +x "$1"
}

last() {
    echo "${lines[${#lines[@]} - 1]}"
}

@test "Check's closing line is counted" {
    script t <<<'echo "66%: Checks: 9, Failures: 2, Errors: 1"; exit 1'
    run "$run" t
    [ "$status" -eq 1 ]
    [ "$(last)" = "6 passed, 3 failed, 0 skipped" ]
}

@test "luaunit's closing line is counted" {
    script t <<<'echo "Ran 3 tests in 0.001 seconds, 1 success, 1 failure, 1 error, 2 skipped"; exit 1'
    run "$run" t
    [ "$(last)" = "1 passed, 2 failed, 2 skipped" ]
}

@test "TAP is counted, and the reason of a skip is shown" {
    script t <<<'printf "1..3\nok 1 a\nnot ok 2 b\nok 3 c # skip no tc here\n"; exit 1'
    run "$run" t
    [ "$(last)" = "1 passed, 1 failed, 1 skipped" ]
    [[ $output == *"1 skipped: no tc here"* ]]
}

@test "a TAP file skipped as a whole is one skip" {
    script t <<<'echo "1..0 # SKIP not root"'
    run "$run" t
    [ "$status" -eq 0 ]
    [ "$(last)" = "0 passed, 0 failed, 1 skipped" ]
    run "$run" --one t
    [ "$status" -eq 77 ]
}

@test "TAP cases that never came are failures" {
    script t <<<'printf "1..4\nok 1\nok 2\n"'
    run "$run" t
    [ "$(last)" = "2 passed, 2 failed, 0 skipped" ]
}

@test "no closing line is a failure, even with status 0" {
    script t <<<'echo all is well'
    run "$run" t
    [ "$status" -eq 1 ]
    [ "$(last)" = "0 passed, 1 failed, 0 skipped" ]
    [[ $output == *"| all is well"* ]]
}

@test "no case at all is a failure" {
    script t <<<'echo "100%: Checks: 0, Failures: 0, Errors: 0"'
    run "$run" t
    [ "$(last)" = "0 passed, 1 failed, 0 skipped" ]
}

@test "a crash after a good closing line is a failure" {
    script t <<<'echo "100%: Checks: 2, Failures: 0, Errors: 0"; kill -SEGV $$'
    run "$run" t
    [ "$(last)" = "2 passed, 1 failed, 0 skipped" ]
    [[ $output == *"ended by signal 11"* ]]
}

@test "a hang is a failure" {
    script t <<<'# time limit: 1 s
echo 1..1; sleep 60; echo ok 1'
    run "$run" t
    [ "$(last)" = "0 passed, 1 failed, 0 skipped" ]
    [[ $output == *"stopped after its time limit of 1 s"* ]]
}

@test "a test that is not there is a failure" {
    run "$run" nothing/here
    [ "$(last)" = "0 passed, 1 failed, 0 skipped" ]
    [[ $output == *"could not be started"* ]]
}

@test "a bats file that is broken is a failure" {
    echo '@test "x" {' >t.bats
    run "$run" t.bats
    [ "$status" -eq 1 ]
}

@test "a Lua file that does not load is a failure" {
    echo 'return {' >t.lua
    run "$run" t.lua
    [ "$(last)" = "0 passed, 1 failed, 0 skipped" ]
}

@test "several are added up" {
    script a <<<'echo 1..1; echo ok 1'
    script b <<<'echo "100%: Checks: 5, Failures: 0, Errors: 0"'
    echo 'return { test_a = function() end, test_b = function() require("luaunit").skip("why") end }' >c.lua
    run "$run" a b c.lua
    [ "$status" -eq 0 ]
    [ "$(last)" = "7 passed, 0 failed, 1 skipped" ]
    [[ $output == *"c.lua: 1 skipped: why"* ]]
}

@test "as many as TAUT_TEST_JOBS run at a time" {
    for name in a b; do
        script $name <<EOF
echo 1..1
touch came-$name
for i in {1..1200}; do
    [ -e came-a ] && [ -e came-b ] && { echo ok 1; exit; }
    sleep 0.05
done
echo not ok 1
EOF
    done
    TAUT_TEST_JOBS=2 run "$run" a b
    [ "$status" -eq 0 ]
    [ "$(last)" = "2 passed, 0 failed, 0 skipped" ]
}

@test "a runner of several that is stopped stops them first" {
    for name in a b; do
        script $name <<<"trap 'touch cleaned-$name; exit 1' TERM; touch begun-$name; sleep 30 & wait"
    done
    TAUT_TEST_JOBS=2 "$run" a b >out 2>&1 3>&- &
    pid=$!
    for i in {1..600}; do [ -e begun-a ] && [ -e begun-b ] && break; sleep 0.1; done
    kill -TERM $pid
    wait $pid || true
    [ -e cleaned-a ] && [ -e cleaned-b ]
}

@test "a runner that is stopped stops its test first" {
    script t <<<'trap "echo gone >gone; exit 1" TERM
echo $$ >pid; while :; do sleep 0.1; done'
    "$run" t >out 2>&1 3>&- &
    runner=$!
    for ((i = 0; i < 600; i++)); do [ -s pid ] && break; sleep 0.1; done
    kill -TERM "$runner"
    wait "$runner" || true
    [ "$(cat gone)" = gone ]
    ! kill -0 "$(cat pid)" 2>/dev/null
}

@test "a test begins with SIGINT as usual" {
    script t <<<'echo 1..1; trap "echo ok 1; exit 0" INT; kill -INT $$; echo not ok 1'
    run "$run" t
    [ "$(last)" = "1 passed, 0 failed, 0 skipped" ]
}
