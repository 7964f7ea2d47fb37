#!/usr/bin/env bats
# time limit: 300 s
# SPDX-License-Identifier: GPL-2.0-or-later
# The first hour at a site: from `taut init` to a named link, by the acceptance test that
# doc/first_hour.md describes.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua" --tree 3x2x2
    lab_file first lab up --tree 3x2x2 --node-cpus 1 --health-interval 600 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

@test "init finds the machine, and says nothing new the second time" {
    local folder=$BATS_TEST_TMPDIR/taut
    mkdir -m 755 "$folder"
    run lab exec taut init --dry-run -o "$folder"
    echo "$output"
    [ "$status" = 0 ]
    [ -z "$(ls "$folder")" ]
    run lab exec taut init -o "$folder"
    echo "$output"
    [[ $output == *"$folder/taut.lua: written"*"taut doctor:"* ]]
    lab exec taut config check "$folder/taut.lua"
    run lab exec taut topology show -m "$folder/taut.lua"
    echo "$output"
    [[ $output == *" 6 on "* ]]
    run lab exec taut init -o "$folder"
    [[ $output == *"$folder/taut.lua: as it should be"*"$folder/node.conf: as it should be"* ]]
    echo "mode = 'drain'" >>"$folder/taut.lua"
    run lab exec taut init -o "$folder"
    [[ $output == *"$folder/taut.lua.new is what was found"* ]]
    [ "$(tail -n 1 "$folder/taut.lua")" = "mode = 'drain'" ]
}

@test "a leaf whose link is slow does not pass the acceptance test" {
    lab degrade leaf1/3 25
    run lab exec taut verify leaf1
    echo "$output"
    [ "$status" = 3 ]
    [[ $output == *"leaf1/3 "* ]]
    lab heal leaf1/3
    run lab exec taut verify --all
    echo "$output"
    [ "$status" = 0 ] || [ "$status" = 4 ]
}
