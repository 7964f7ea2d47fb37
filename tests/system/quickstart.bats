# SPDX-License-Identifier: GPL-2.0-or-later
# What quickstart says before it builds anything.

setup() {
    quickstart="$BATS_TEST_DIRNAME/../../quickstart"
}

@test "help, and no command, print the usage" {
    run "$quickstart" help
    [ "$status" -eq 0 ]
    [[ $output == "usage: ./quickstart COMMAND"* ]]
    [ "$("$quickstart")" = "$output" ]
}

@test "an unknown command prints the usage and fails" {
    run "$quickstart" tset
    [ "$status" -eq 2 ]
    [[ $output == "usage: "* ]]
}

@test "bench refuses a name that is a path" {
    run "$quickstart" bench ../run
    [ "$status" -eq 1 ]
    [[ $output == *"../run is not the name of a benchmark"* ]]
}

@test "bench refuses a benchmark that is not there" {
    run "$quickstart" bench nothing
    [ "$status" -eq 1 ]
    [[ $output == *"there is no benchmark nothing"* ]]
}

@test "a path with a blank is refused before anything is installed" {
    mkdir "$BATS_TEST_TMPDIR/my taut"
    cp "$quickstart" "$BATS_TEST_TMPDIR/my taut"
    run "$BATS_TEST_TMPDIR/my taut/quickstart" build
    [ "$status" -eq 1 ]
    [[ $output == *"my taut': configure builds nothing in a path with a blank"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/my taut/build" ]
}
