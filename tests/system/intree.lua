-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs a program of the build tree that looks for its helpers there too:
-- taut --lua intree.lua cli|daemon ARGUMENT…
local sys = require "taut.sys"

local build, folder = os.getenv "TAUT_BUILDDIR", os.getenv "TAUT_TEST_DIR"
sys.paths.libexecdir = build .. "/advisor/ib"
sys.paths.statedir, sys.paths.rundir = folder .. "/state", folder .. "/run"
sys.paths.confdir = folder
sys.paths.program = folder .. "/tautd"
local role = table.remove(arg, 1)
local module = { cli = "taut.cli", daemon = "taut.core.daemon" }
os.exit(require(module[role]).main(arg), true)
