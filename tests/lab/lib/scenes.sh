# SPDX-License-Identifier: GPL-2.0-or-later
# What the demo, the lab's tests and the benchmarks do with a lab in which
# Taut runs.  Sourced; wants TAUT_PREFIX, and SCENE_DIR = the folder tests/lab.

lab() { "$SCENE_DIR/lab" "$@"; }

# scene_fabric NAME: words for `lab up', of a fabric with 32 nodes; fails where
# there is none of that name
scene_fabric() {
    case $1 in
    torus) echo "--torus 4x2x2" ;;
    alps) echo "--alps --torus 4x2x2" ;;
    tree) echo "--tree 8x4x4" ;;
    hashed) echo "--tree 8x4x4 --hash" ;;
    dragonfly) echo "--dragonfly 4x4x2" ;;
    hyperx) echo "--hyperx 4x4" ;;
    *) return 1 ;;
    esac
}

# scene_up [LAB OPTION…]: a lab with Taut, of fabric ${SCENE_FABRIC:-torus}, its
# configuration ${SCENE_CONF:-demo.lua}, one job a node at a time
scene_up() {
    # shellcheck disable=SC2046
    lab up $(scene_fabric "${SCENE_FABRIC:-torus}") --node-cpus 1 \
        --taut "$TAUT_PREFIX" --taut-conf "${SCENE_CONF:-$SCENE_DIR/demo.lua}" \
        --health-interval 5 "$@"
}

# scene_jobs COUNT SEED [LEAST [MOST [AT_A_TIME]]]: alice's jobs, until all
# have ended
scene_jobs() { lab exec --user alice bash -s -- "$@" <"$SCENE_DIR/jobs"; }

# wait_until SECONDS COMMAND…: poll until COMMAND succeeds; WAIT_TIMES as long
wait_until() {
    local end=$((SECONDS + $1 * ${WAIT_TIMES:-1}))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

# Names of drained nodes with their reasons, "node|reason" a line.
scene_drained() { lab exec sinfo -R -h -N -o '%N|%E' | sort -u; }
scene_is_drained() { scene_drained | grep -q "^$1|"; }

# scene_state COMPONENT: its verdict
scene_state() {
    lab exec taut explain "$1" --json |
        lab_json 'for _, c in ipairs(d.components) do
            if c.component == arg[1] then print(c.state) end
        end' "$1"
}

# lab_json LUA [ARG…]: run LUA with d = the JSON on stdin
lab_json() {
    local code=$1
    shift
    local file status=0
    file=$(mktemp)
    echo "local d = require('taut.json').decode(io.read('a')); $code" >"$file"
    "$TAUT_PREFIX/bin/taut" --lua "$file" "$@" || status=$?
    rm -f "$file"
    return $status
}

scene_is_state() { [ "$(scene_state "$1")" = "$2" ]; }

# scene_find SEED MOST CONDITION…: jobs, four at a time, until CONDITION holds
# or MOST jobs have run; sets scene_ran
scene_find() {
    local seed=$1 most=$2
    shift 2
    scene_ran=0
    while [ "$scene_ran" -lt "$most" ]; do
        scene_jobs 4 $((seed + scene_ran))
        scene_ran=$((scene_ran + 4))
        "$@" && return 0
    done
    # idle checks may still be about it
    wait_until 20 "$@"
}
