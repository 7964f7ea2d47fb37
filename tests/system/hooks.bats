# SPDX-License-Identifier: GPL-2.0-or-later
# The scripts that root runs on a node for Slurm, with text in their names and
# environment that would do something if a shell read it once more.

setup() {
    cd "$BATS_TEST_TMPDIR"
    PLUGIN=${TAUT_BUILDDIR:-$PWD}/plugin
    [ -x "$PLUGIN/taut-healthcheck" ] || skip "taut is not built"
    printf '#!/bin/sh\nprintf "%%s|" "$0" "$@" >>%s/ran\n' "$PWD" >check
    chmod +x check
    export TAUT_PROBE=/bin/true
}

HOSTILE=('$(touch pwned)' '`touch pwned`' '; touch pwned' '-rf *' $'a\nb; touch pwned' '%s%n'
    $'\u202egnp' $'\e]0;x\a' "'\"\\")

# health NEXT: what was run in the end, by its name
health() {
    rm -f ran
    TAUT_HEALTHCHECK_NEXT=$1 "$PLUGIN/taut-healthcheck" || return
    cat ran 2>/dev/null || true
}

@test "a site's check that is linked by an odd name is run by that name, and nothing else" {
    local name
    [ "$(health "$PWD/check")" = "$PWD/check|" ]
    for name in "${HOSTILE[@]}"; do
        cp check "./$name x"
        ln -sfn -- "$name x" next
        [ "$(health "$PWD/next")" = "$PWD/$name x|" ]
        ln -sfn "$PWD/$name x" next
        [ "$(health "$PWD/next")" = "$PWD/$name x|" ]
    done
    [ ! -e pwned ]
}

@test "what is no program is no check, and the node is well" {
    mkdir folder
    : >text
    ln -s nowhere gone
    ln -s circle circle
    [ "$(health "$PWD/text")$(health "$PWD/gone")$(health "$PWD/circle")$(health /nowhere)" = "" ]
}

@test "prolog and epilog take no word of their environment for a command" {
    local text script
    printf '#!/bin/sh\nkill -9 $$\n' >dies
    chmod +x dies
    for script in prolog epilog; do
        for text in "${HOSTILE[@]}"; do
            for TAUT_PROBE in "$PWD/dies" "$PLUGIN/taut-probe"; do
                SLURM_JOB_ID=$text SLURM_JOB_NODELIST=$text SLURMD_NODENAME=$text SLURM_JOB_UID=$text \
                    SLURM_JOB_PARTITION=$text SLURM_JOB_COMMENT=$text SLURM_JOB_NAME=$text \
                    TAUT_CONF=/nowhere TAUT_PROBE=$TAUT_PROBE "$PLUGIN/taut-$script.sh"
            done
        done
    done
    [ ! -e pwned ]
}

@test "settings of a node that are no settings change nothing" {
    printf '%s\n' "${HOSTILE[@]/#/budget_ms=}" 'budget_ms=99999999999' 'budget_ms=$(touch pwned)' \
        'budget_ms=08' >conf
    TAUT_CONF=$PWD/conf TAUT_PROBE=/bin/true "$PLUGIN/taut-prolog.sh"
    [ ! -e pwned ]
}
