#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# time limit: 300 s
# tautd's unit lets nothing gain a privilege, so no mailer works in it; what
# taut-hand-over passes on to taut-event.socket does.

setup() {
    [ "$(id -u)" -eq 0 ] || skip "not root"
    command -v systemd-socket-activate >/dev/null || skip "no systemd-socket-activate"
    folder=$(mktemp -d) # everybody has to get there
    cd "$folder" || return
    chmod 755 .
    hand_over=$TAUT_BUILDDIR/advisor/taut-hand-over
    # As postdrop is: setgid, into a spool that only its group may write to.
    cp "$(command -v tee)" mailer
    chgrp mail mailer && chmod 2755 mailer
    install -d -g mail -m 1730 spool
    # systemd-socket-activate closes the streams of what it starts for a connection.
    cat >on_event <<END
#!/bin/sh
exec $PWD/mailer $PWD/spool/event >/dev/null
END
    chmod 755 on_event
}

teardown() {
    [ -z "${listener:-}" ] || kill "$listener" 2>/dev/null || true
    cd / && rm -rf "${folder:-}"
}

# As tautd's unit starts it: another user, without a way to more.
nobody() {
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}
confined() { nobody --no-new-privs "$@"; }

listen() {
    local i
    nobody systemd-socket-activate --accept --inetd -l "$PWD/socket/event" \
        "$PWD/on_event" >log 2>&1 3>&- &
    listener=$!
    for i in $(seq 1200); do
        [ ! -S socket/event ] || return 0
        sleep 0.05
    done
    cat log
    return 1
}

@test "a setgid mailer fails inside of the unit's confinement" {
    run confined sh -c 'echo "{}" | ./on_event'
    [ "$status" -ne 0 ]
    [[ $output == *"spool/event: Permission denied"* ]]
    echo "{}" | nobody ./on_event
    [ -e spool/event ]
}

@test "handed over, it gets the event and does its work" {
    install -d -o nobody socket
    listen
    echo '{"event":"drain","node":"n5"}' | confined "$hand_over" "$PWD/socket/event"
    [ "$(cat spool/event)" = '{"event":"drain","node":"n5"}' ]
}

@test "where nobody listens, that is said" {
    run confined "$hand_over" "$PWD/nowhere" </dev/null
    [ "$status" -eq 1 ]
    [[ $output == *"nowhere: No such file"* ]]
    run "$hand_over"
    [ "$status" -eq 2 ]
}
