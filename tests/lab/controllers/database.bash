# SPDX-License-Identifier: GPL-2.0-or-later
# A PostgreSQL server in the lab, on `ctl`, that a test starts, stops and asks.

db=/run/lab/db

# initdb and postgres are where Debian has them, or nowhere
pg() { find /usr/lib/postgresql/*/bin -name "$1" 2>/dev/null | tail -n 1; }

database_is_missing() {
    [ -n "$(pg postgres)" ] || { echo "postgresql is not installed"; return; }
    [ -n "$(find /usr/lib -path '*lua/5.4*' -name 'postgresql.so' -print -quit)" ] ||
        echo "lua-dbi-postgresql is not installed"
}

# as_nobody COMMAND…: PostgreSQL does not run as root
as_nobody() {
    lab exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
}

make_server() {
    lab exec install -d -o nobody $db
    as_nobody "$(pg initdb)" -D $db/data -A trust -N -E UTF8 --locale=C -U taut >/dev/null
    lab exec bash -c "echo 'host all all 172.30.0.0/16 trust' >>$db/data/pg_hba.conf"
}
start_server() {
    as_nobody "$(dirname "$(pg postgres)")/pg_ctl" -D $db/data -l $db/log -w -t 60 \
        -o "-k $db -c listen_addresses=${DB_LISTEN:-} -c fsync=off" start >/dev/null 3>&- 4>&-
}
stop_server() {
    as_nobody "$(dirname "$(pg postgres)")/pg_ctl" -D $db/data -m immediate -w stop
}

# sql STATEMENT: its rows, columns between |
sql() { as_nobody "$(pg psql)" -h $db -U taut -d postgres -A -t -c "$1"; }
