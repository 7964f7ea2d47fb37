#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Make configure and the Makefile.in files from configure.ac and Makefile.am.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
autoreconf --install --warnings=all,no-obsolete
