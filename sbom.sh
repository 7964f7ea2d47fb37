#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is in a release, as SPDX 2.3 (tag and value), on standard output.
#
#   sbom.sh libraries PROGRAM…                the libraries they need, by name
#   sbom.sh licence LIBRARY                   as doc/licences.md says, or status 1
#   sbom.sh document VERSION FOLDER PROGRAM…  of the release in FOLDER, with what
#                                          the programs are linked with here
#
# The document is the same for the same files, libraries and SOURCE_DATE_EPOCH.
# `make sbom' calls it.
set -euo pipefail
export LC_ALL=C
top=$(dirname "$0")

# A libtool program that is not installed is a script beside the real one.
real() {
    local inside
    inside=$(dirname "$1")/.libs/$(basename "$1" .la)
    for file in "$inside" "$inside.so" "$1"; do
        [ ! -f "$file" ] || break
    done
    echo "$file"
}

sonames() {
    local program
    for program; do
        readelf -d "$(real "$program")" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'
    done | sort -u
}

name_of() { sed 's/\.so.*//; s/-[0-9.]*$//'; }
libraries() { sonames "$@" | name_of | sort -u; }

licence() {
    sed -n "s/^| \`$1\` | \([^|]*\) | .* |\$/\1/p" "$top/doc/licences.md" | grep .
}

# package FILE: its package and version, where a package manager knows
package() {
    local file=$1 name
    for file in "$1" "$(readlink -f "$1")" "/usr$1"; do
        name=$(dpkg-query -S "$file" 2>/dev/null | head -n 1 | cut -d: -f1) || continue
        [ -z "$name" ] || { dpkg-query -W -f '${Package} ${Version}\n' "$name" | head -n 1; return; }
    done
    rpm -qf --qf '%{NAME} %{VERSION}-%{RELEASE}\n' "$1" 2>/dev/null || echo "NOASSERTION NOASSERTION"
}

# files: each with its checksums and the licence that it names in its head
files() {
    find . -type f -print0 | sort -z >"$tmp/list"
    xargs -0 sha1sum <"$tmp/list" >"$tmp/sha1"
    xargs -0 sha256sum <"$tmp/list" >"$tmp/sha256"
    xargs -0 awk 'FNR > 5 { nextfile }
        match($0, /SPDX-License-Identifier: *[A-Za-z0-9.-]+/) {
            text = substr($0, RSTART, RLENGTH)
            sub(/.*: */, "", text)
            print text, FILENAME
            nextfile
        }' <"$tmp/list" >"$tmp/licences" 2>/dev/null
    awk 'FILENAME ~ /licences$/ { licence[$2] = $1; next }
        FILENAME ~ /sha256$/ { sum[$2] = $1; next }
        {
            printf "\nFileName: %s\nSPDXID: SPDXRef-file-%d\n", $2, ++n
            printf "FileChecksum: SHA1: %s\nFileChecksum: SHA256: %s\n", $1, sum[$2]
            print "LicenseConcluded: NOASSERTION"
            print "LicenseInfoInFile: " ($2 in licence ? licence[$2] : "NOASSERTION")
            print "FileCopyrightText: NOASSERTION"
        }' "$tmp/licences" "$tmp/sha256" "$tmp/sha1" >"$tmp/files"
}

# where PROGRAM…: path of each library, as the loader finds it here
where() {
    local program
    for program; do ldd "$(real "$program")"; done | sed -n 's/^\t\(.*\) => \(\/.*\) (.*/\1 \2/p' | sort -u
}

packages() {
    local soname name path id found
    where "$@" >"$tmp/where"
    for soname in $(sonames "$@"); do
        name=$(name_of <<<"$soname")
        id=SPDXRef-library-$(tr -c 'A-Za-z0-9.\n' - <<<"$name")
        path=$(awk -v s="$soname" '$1 == s { print $2; exit }' "$tmp/where")
        read -r found version <<<"$(package "$path")"
        printf '\nPackageName: %s\nSPDXID: %s\nPackageVersion: %s\n' "$name" "$id" "$version"
        printf 'PackageDownloadLocation: NOASSERTION\nFilesAnalyzed: false\n'
        printf 'PackageLicenseConcluded: NOASSERTION\nPackageLicenseDeclared: %s\n' \
            "$(licence "$name" || echo NOASSERTION)"
        printf 'PackageCopyrightText: NOASSERTION\n'
        printf 'PackageComment: <text>%s of the package %s</text>\n' "$soname" "$found"
        printf 'Relationship: SPDXRef-taut DYNAMIC_LINK %s\n' "$id"
    done
}

document() {
    local version=$1 folder=$2 code
    shift 2
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    (cd "$folder" && files)
    code=$(cut -d' ' -f1 "$tmp/sha1" | sort | tr -d '\n' | sha1sum | cut -d' ' -f1)
    cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: taut-$version
DocumentNamespace: https://spdx.org/spdxdocs/taut-$version-$code
Creator: Tool: taut-sbom-$version
Created: $(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)

PackageName: taut
SPDXID: SPDXRef-taut
PackageVersion: $version
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: true
PackageVerificationCode: $code
PackageLicenseConcluded: NOASSERTION
PackageLicenseInfoFromFiles: GPL-2.0-or-later
PackageLicenseDeclared: GPL-2.0-or-later
PackageCopyrightText: NOASSERTION
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-taut
END
    cat "$tmp/files"
    packages "$@"
}

case ${1:-} in
libraries | licence | document) "$@" ;;
*)
    sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
