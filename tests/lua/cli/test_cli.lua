-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the command line refuses, and which part reports it.
local lu = require "luaunit"
local looptest = require "lib.looptest"
local sys = require "taut.sys"

local tests = {}

local function text_of(path)
   local file <close> = assert(io.open(path))
   return file:read "a"
end

-- What `taut ARGS` with an environment ENV says on standard error, its exit status, and what it
-- prints.
local function taut(env, args)
   local folder <close> = looptest.folder()
   local script, said, out = folder.path .. "/s.lua", folder.path .. "/said", folder.path .. "/out"
   local file = assert(io.open(script, "w"))
   file:write(("os.exit(require('taut.cli').main { %s })"):format(args))
   file:close()
   local _, _, code = os.execute(("env -u SLURM_PROCID -u SLURM_STEP_ID %s %s --lua %s 2>%s >%s")
      :format(env, sys.paths.program, script, said, out))
   return text_of(said), code, text_of(out)
end

-- Once 64 processes said it 64 times.
function tests.test_one_process_of_a_step_says_what_is_wrong()
   for _, args in ipairs { "'matrix', '--time', '4'", "'audit', '--time', '4'",
      "'--socket', 'x', 'matrix', '--nonsense'" } do
      for _, case in ipairs { { "", true }, { "SLURM_PROCID=0 SLURM_STEP_ID=0", true },
         { "SLURM_PROCID=3", true }, { "SLURM_PROCID=3 SLURM_STEP_ID=0", false } } do
         local text, code = taut(case[1], args)
         lu.assertEquals(code, 2)
         lu.assertEquals(text ~= "", case[2], case[1])
      end
   end
   local text, code = taut("SLURM_PROCID=3 SLURM_STEP_ID=0", "'nodes', '--nonsense'")
   lu.assertEquals(code, 2)
   lu.assertStrContains(text, "Usage")
end

-- The overview once had lines of 97 columns.
function tests.test_help_fits_80_columns()
   for _, args in ipairs { "'help'", "'--help'", "'help', 'advise'",
      "'help', 'topology', 'import'" } do
      local _, _, out = taut("", args)
      lu.assertStrContains(out, "taut")
      for line in out:gmatch "[^\n]+" do
         lu.assertTrue(utf8.len(line) <= 80, line)
      end
   end
end

-- tautd is not asked.
function tests.test_wrong_values_end_with_2()
   for _, args in ipairs { "'verify', 'n1/tx', '--now', '--wait', '0'", "'watch', '-n', '0'",
      "'watch', '--times', '0'", "'ack', 'n1/tx'", "'ack', '--end'", "'explain', '--job', 'x'",
      "'ack', 'n1/tx', '-t', 'T', '-u', '2020-01-01'",
      "'advise', '-N', '0'", "'advise', '-N', '5-3'", "'advise', '-N', '4', '--top', '0'",
      "'advise', '-N', '4', '--per-router', '0'", "'advise', '--job', '0'",
      "'advise', '-N', '4', '--pattern', 'nope'", "'advise', '-N', '4', '-x', 'n['",
      "'advise', '--compare', 'n['", "'advise', '-N', '4', '-C', '['",
      "'advise', '-N', '4', '--within', '5'",
      "'--server', 'a;b', 'status'", "'events', '--since', 'x'", "'help', 'nonsense'",
      "'ingest', 'nope', '/dev/null'", "'topology', 'import', 'nope', '/dev/null'" } do
      local text, code = taut("", args)
      lu.assertEquals(code, 2, args .. ": " .. text)
      lu.assertStrContains(text, "taut: ")
      lu.assertNotStrContains(text, "traceback")
   end
end

-- Some said it on standard error only.
function tests.test_a_failure_is_json_where_that_was_asked_for()
   for args, said in pairs { ["'ingest', 'kernel', '/nowhere', '--json'"] = "No such file",
      ["'explain', '--json'"] = "give a node" } do
      local _, code, out = taut("", args)
      lu.assertNotEquals(code, 0)
      lu.assertStrContains(require("taut.json").decode(out).error, said)
   end
end

function tests.test_a_word_that_policy_does_not_know_is_an_error()
   local text, code = taut("", "'policy', 'nonsense'")
   lu.assertEquals(code, 2)
   lu.assertStrContains(text, "expected drain, observe, continue or log, got nonsense")
end

return tests
