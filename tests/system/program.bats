#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The program that embeds Lua: its names, its arguments, its errors.

setup() {
    tautd=$TAUT_BUILDDIR/advisor/tautd
    taut=$TAUT_BUILDDIR/advisor/taut
    mkdir -p "$BATS_TEST_TMPDIR/lua/taut/core"
    export TAUT_LUA_DIR=$BATS_TEST_TMPDIR/lua
    for module in cli core/daemon; do
        name=${module##*/}
        cat >"$TAUT_LUA_DIR/taut/$module.lua" <<END
local m = {}
function m.main(arg)
  print("$name", #arg, table.unpack(arg))
  if arg[1] == "fail" then error("no such link") end
  if arg[1] == "status" then return tonumber(arg[2]) end
end
return m
END
    done
}

@test "taut is the command line, tautd the daemon" {
    run "$taut" status 0 x
    [ "$status" -eq 0 ]
    [ "$output" = $'cli\t3\tstatus\t0\tx' ]
    run "$tautd" --store file
    [ "$status" -eq 0 ]
    [ "$output" = $'daemon\t2\t--store\tfile' ]
    run "$taut" --daemon --store file
    [ "$output" = $'daemon\t2\t--store\tfile' ]
}

@test "what main returns is the exit status" {
    run "$taut" status 3
    [ "$status" -eq 3 ]
    run "$taut"
    [ "$status" -eq 0 ]
}

@test "an error of the command line is one line, with --debug a traceback" {
    run "$taut" fail
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[1]} == "taut: error: "*"no such link" ]]
    run "$taut" fail --debug
    [ "$status" -eq 1 ]
    [[ $output == *"stack traceback:"* ]]
}

@test "an error of the daemon comes with a traceback" {
    run "$tautd" fail
    [ "$status" -eq 1 ]
    [[ $output == *"tautd: error: "*"no such link"*"stack traceback:"* ]]
}

@test "without its Lua modules it says where it looked" {
    TAUT_LUA_DIR=$BATS_TEST_TMPDIR/empty run "$taut"
    [ "$status" -eq 1 ]
    [[ $output == *"taut.cli"*"$BATS_TEST_TMPDIR/empty/taut/cli.lua"* ]]
}

@test "Lua's own environment and the current folder do not count" {
    mkdir -p "$BATS_TEST_TMPDIR/evil/taut" && cd "$BATS_TEST_TMPDIR/evil"
    echo 'print "evil"' >taut/cli.lua
    rm "$TAUT_LUA_DIR/taut/cli.lua"
    LUA_PATH="$PWD/?.lua" LUA_PATH_5_4="$PWD/?.lua" LUA_INIT='print "evil"' \
        run "$taut"
    [ "$status" -eq 1 ]
    [[ $output != *$'\nevil'* && $output != evil* ]]
}

@test "a script runs with all C modules" {
    cat >"$BATS_TEST_TMPDIR/s.lua" <<'END'
for _, name in ipairs { "hostlist", "json", "loop", "munge", "sandbox", "seal", "sys" } do
  assert(type(require("taut." .. name)) == "table")
end
print(arg[0]:match("[^/]+$"), arg[1], ...)
return 4
END
    run "$taut" --lua "$BATS_TEST_TMPDIR/s.lua" a b
    [ "$status" -eq 4 ]
    [ "$output" = $'s.lua\ta\ta\tb' ]
    echo 'print(select("#", ...), (select(-1, ...)))' >"$BATS_TEST_TMPDIR/n.lua"
    # shellcheck disable=SC2046 # as many words
    run "$taut" --lua "$BATS_TEST_TMPDIR/n.lua" $(seq 5000)
    [ "$output" = $'5000\t5000' ]
    run "$taut" --lua /nowhere.lua
    [ "$status" -eq 1 ]
    [[ $output == *"/nowhere.lua"* ]]
}

@test "the Lua libraries of the distribution are found" {
    cat >"$BATS_TEST_TMPDIR/s.lua" <<'END'
return { main = function()
  for _, name in ipairs { "DBI", "argparse" } do require(name) end
  local dbh = assert(require("DBI").Connect("SQLite3", ":memory:"))
  dbh:close()
  print "found"
end }
END
    cp "$BATS_TEST_TMPDIR/s.lua" "$TAUT_LUA_DIR/taut/cli.lua"
    run "$taut"
    [ "$output" = found ]
}

@test "only taut-slurm links libslurm" {
    run ldd "$tautd"
    [[ $output != *libslurm* ]]
    run ldd "$TAUT_BUILDDIR/advisor/slurm/taut-slurm"
    [[ $output == *libslurm* ]]
}

@test "taut-slurm ends with its stdin" {
    run timeout 5 "$TAUT_BUILDDIR/advisor/slurm/taut-slurm" </dev/null
    # Without a slurm.conf libslurm may end it; it must not hang or crash.
    [ "$status" -lt 124 ]
}

@test "an output that cannot be written is an error, a reader that has enough is none" {
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    local line
    for line in --version --help "topology show --help"; do
        # shellcheck disable=SC2086 # words
        run bash -c "$taut $line >/dev/full"
        [ "$status" -eq 1 ]
        [[ $output == "taut: cannot write the output: No space left on device" ]]
    done
    for line in "$TAUT_BUILDDIR/plugin/taut-probe --help" "$TAUT_BUILDDIR/plugin/taut-probe --version" \
        "$TAUT_BUILDDIR/advisor/tautd --help" "$TAUT_BUILDDIR/advisor/tautd --version"; do
        run bash -c "$line >/dev/full"
        [ "$status" -eq 1 ]
        [[ $output == *"cannot write"*"No space left on device" ]]
    done
    run bash -c "set -o pipefail; $taut topology load --help | head -n 1"
    [ "$status" -eq 0 ]
}

@test "wrong arguments end with 2 and show the usage of the command they are for" {
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    run "$taut" topology load --top x
    [ "$status" -eq 2 ]
    [[ $output == "Usage: taut topology load "* ]]
    run "$taut" links --nosuch
    [ "$status" -eq 2 ]
    [[ $output == "Usage: taut links "* ]]
    run "$taut" nosuch
    [ "$status" -eq 2 ]
    [[ $output == "Usage: taut [-h]"* ]]
}

@test "--json says in JSON, too, what went wrong" {
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    run --separate-stderr "$taut" --socket /nowhere/sock status --json
    [ "$status" -eq 1 ]
    [[ $output == *'"error": "tautd does not answer at /nowhere/sock'* ]]
    [[ $stderr == "taut: tautd does not answer"* ]]
}

@test "tautd says what it takes, and which one it is" {
    export TAUT_LUA_DIR=$TAUT_SRCDIR/lua
    run "$tautd" --help
    [ "$status" -eq 0 ]
    [[ $output == "usage: tautd "* ]]
    run "$tautd" --version
    [ "$status" -eq 0 ]
    [[ $output == "tautd "* ]]
    run "$tautd" --nosuch
    [ "$status" -eq 2 ]
}
