-- SPDX-License-Identifier: GPL-2.0-or-later
-- The real tautd with another taut-slurm: bench_tautd.lua DIRECTORY CONFIG
require("taut.sys").paths.libexecdir = arg[1]
return require("taut.core.daemon").main { "-c", arg[2] }
