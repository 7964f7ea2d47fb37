-- SPDX-License-Identifier: GPL-2.0-or-later
-- The real tautd with another taut-slurm: bench_tautd.lua DIRECTORY CONFIG
-- SIGUSR1: garbage is collected, so that what is resident is what is kept.
require("taut.sys").paths.libexecdir = arg[1]
require("taut.loop").signal("USR1", function()
   collectgarbage()
   collectgarbage() -- what finalizers held
end)
return require("taut.core.daemon").main { "-c", arg[2] }
