#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# all.sh FOLDER BENCHMARK…: each with --quick, one after the other.  What they
# print goes into FOLDER, the last line says how many are broken: those that end
# with another status than 0, because a figure has no value or they cannot run, or
# print none at all (but for `profile', which draws).  One that lacks a program
# (77) is left out.
# How good a figure is does not count; --quick has too few runs for that.
folder=$1
shift
mkdir -p "$folder" || exit 1
limit=${BENCH_LIMIT:-3600} # seconds for one
broken=0 left_out=0 child=
trap 'kill $child 2>/dev/null; wait; exit 130' INT TERM HUP
for benchmark in "$@"; do
    name=$(basename "$benchmark")
    from=$SECONDS
    # in a group of its own, of which nothing is left when its time is up
    timeout -k 60 "$limit" "$benchmark" --quick \
        >"$folder/$name.out" 2>"$folder/$name.err" </dev/null &
    child=$!
    wait $child
    status=$?
    figures=$(grep -c '^figure ' "$folder/$name.out")
    if [ $status -eq 0 ] && [ "$figures" -eq 0 ] && [ "$name" != profile ]; then
        echo "it prints no figure" >>"$folder/$name.err"
    elif [ $status -eq 0 ]; then
        printf 'works   %-18s %5d s, %s figures\n' "$name" $((SECONDS - from)) "$figures"
        continue
    elif [ $status -eq 77 ]; then
        left_out=$((left_out + 1))
        printf 'left out %-17s        %s\n' "$name" "$(tail -n 1 "$folder/$name.err")"
        continue
    fi
    broken=$((broken + 1))
    [ $status -ne 124 ] || echo "more than $limit s" >>"$folder/$name.err"
    printf 'broken  %-18s %5d s, status %s: %s\n' "$name" $((SECONDS - from)) $status \
        "$(tail -n 1 "$folder/$name.err")"
done
echo "$(($# - broken - left_out)) work, $broken are broken, $left_out left out; what they printed" \
    "is in $folder"
[ $broken -eq 0 ]
