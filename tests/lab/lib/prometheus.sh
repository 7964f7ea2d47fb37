#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prometheus.sh FOLDER RULES QUERIES: a Prometheus that scrapes tautd and has these
# rules; each line of QUERIES (encoded for a URL, a tab, as it is) is asked, and what it
# answers goes to standard output as "SAMPLES QUERY".  In the lab's controller; status 1 where a query is not understood.
folder=$1 rules=$2 queries=$3
at=http://127.0.0.1:9090
mkdir -p "$folder/data"
cat >"$folder/prometheus.yml" <<END
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [ $rules ]
scrape_configs:
  - job_name: taut
    static_configs: [ { targets: [ "127.0.0.1:6825" ] } ]
END
prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/data" \
    --web.listen-address=127.0.0.1:9090 >"$folder/log" 2>&1 &
server=$!
trap 'kill $server; wait $server' EXIT
# ask ENCODED: the answer's JSON
ask() {
    (exec 3<>/dev/tcp/127.0.0.1/9090 &&
        printf 'GET /api/v1/query?query=%s HTTP/1.0\r\n\r\n' "$1" >&3 && sed '1,/^\r$/d' <&3) 2>/dev/null
}
# rate() wants two samples
for _ in $(seq 300); do
    ! ask 'count_over_time(taut_info%5B1m%5D)%3E2' | grep -q '"metric"' || break
    sleep 0.2
done
status=0
while IFS=$'\t' read -r encoded query; do
    answer=$(ask "$encoded")
    if [[ $answer == '{"status":"success"'* ]]; then
        echo "$(grep -o '"metric"' <<<"$answer" | wc -l) $query"
    else
        echo "? $query: $answer"
        status=1
    fi
done <"$queries"
exit $status
