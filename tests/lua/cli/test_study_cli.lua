-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut study …` on small machines: tables of 80 columns, JSON, CSV, pictures, a page; parts.
local golden = require "lib.golden"
local json = require "taut.json"
local lu = require "luaunit"

local tests = {}

local function setup()
   golden.file("dragonfly.lua", [[topology = dragonfly { groups = 9, routers = 4,
      nodes_per_router = 4, global_links = 2, nodes = "d[000-143]",
      capacity = { link = 1 * GB, tx = 4 * GB, rx = 4 * GB } }]])
   golden.file("torus.lua", [[topology = torus { dims = { 4, 4 }, nodes_per_router = 1,
      nodes = "n[0-15]", capacity = { tx = 2 * GB, rx = 2 * GB, link = 1 * GB } }]])
   golden.file("trace.swf", "; Note: made by hand\n1 0 0 100 8 -1 -1 8\n2 10 5 200 6 -1 -1 6\n")
end

function tests.tearDown()
   golden.clean()
end

local function run(line)
   local words = {}
   for w in line:gmatch "%S+" do
      words[#words + 1] = w:gsub("^@", golden.dir .. "/")
   end
   return golden.run(words)
end

local function fine(line)
   local text, status, complaint = run(line)
   lu.assertEquals(complaint, "", line)
   lu.assertEquals(status, 0, line)
   golden.narrow(line, text)
   return text
end

local function read(name)
   local f = assert(io.open(golden.dir .. "/" .. name))
   local text = f:read "a"
   f:close()
   return text
end

local STUDIES = {
   "study links -m @dragonfly.lua --seeds 2 --failed 10,30 --split 1,4 --speed 100,50",
   "study links -m @dragonfly.lua --inside --kind local --seeds 2 --failed 5,10 --hottest",
   "study detune -m @torus.lua --bytes 4k,4Mi --injection 50,100",
   "study inject -m @torus.lua -p shift:by=5 --nodelist n[0-15]",
   "study latency -m @dragonfly.lua --seeds 2 --failed 0,20 --load 5,10,15",
   "study outlook -m @dragonfly.lua --split 1 -p all-to-all --per-day 0.5 --seeds 2 --most 32",
   "study run --share 50,100 --repeat 2 -- true",
}

function tests.test_every_form_of_every_study()
   for _, line in ipairs(STUDIES) do
      setup()
      local head, tail = line:match "^(.-)( %-%- .*)$"
      head, tail = head or line, tail or ""
      rawset(io, "stderr", io.stderr)
      local text, status = run(head .. " --csv @t.csv --svg @t.svg --html @t.html" .. tail)
      lu.assertEquals(status, 0, line)
      golden.narrow(line, text)
      lu.assertTrue(select(2, read "t.csv":gsub("\r\n", "")) >= 2, line)
      lu.assertStrContains(read "t.svg", "<path")
      local page = read "t.html"
      lu.assertStrContains(page, "<svg")
      lu.assertStrContains(page, "<table>")
      lu.assertNil((page:find "https?://[^w]"), line) -- nothing from outside
      text, status = run(head .. " --json" .. tail)
      lu.assertEquals(status, 0, line)
      lu.assertEquals(type(assert(json.decode(text))), "table", line)
   end
end

-- It ended with an error of Lua's wherever some seeds, not all, had messages without a way.
function tests.test_some_seeds_without_a_way()
   setup()
   local text = fine "study links -m @torus.lua --seeds 8 --failed 20,25,30,35,40 -p ring"
   lu.assertStrMatches(text, ".*\n  no way +%d+%%.*")
   lu.assertStrContains(text, "Without a way, for example: r")
end

function tests.test_repairs_in_order()
   setup()
   local line = "study repair -m @torus.lua --split 1 -p all-to-all --fail r0.0/X+=0.9 " ..
      "--fail r1.1/Y+=0.2 --maintenance 10 --seeds 2"
   local text = fine(line)
   lu.assertStrMatches(text, ".*1 +r1%.1/Y%+ +20%% +[%d.]+%%.*2 +r0%.0/X%+ +90%%.*")
   lu.assertStrContains(text, "A maintenance of 10 node-hours")
   text = fine "study repair -m @torus.lua --trace @trace.swf --at 20 -p ring"
   lu.assertStrContains(text, "2 jobs of two nodes or more")
   lu.assertStrContains(text, "nothing to repair")
end

-- Every study of many tasks: whole, in parts, and as a job array.
local IN_PARTS = {
   "study links -m @dragonfly.lua --seeds 3 --failed 10 -p lqcd:lattice=16x16x16x16 -p " ..
      "halo3d26:points=10",
   "study links -m @torus.lua --seeds 3 --failed 10 --trace @trace.swf --at 20",
   "study detune -m @torus.lua --bytes 4k,1Mi,4Mi --split 2 -p ring",
   "study latency -m @dragonfly.lua --seeds 2 --failed 0,20 --load 5,10,15",
   "study repair -m @torus.lua --split 1 --fail r0.0/X+=0.5 --maintenance 10 --most 4 --seeds 2",
   "study outlook -m @torus.lua --split 1 --per-day 0.5 --seeds 2 --most 4",
}

function tests.test_parts_give_the_same_table()
   setup()
   for i, line in ipairs(IN_PARTS) do
      local whole, dir = fine(line), "@w" .. i
      for k = 1, 3 do
         lu.assertEquals(fine(("%s --work %s --part %d/3"):format(line, dir, k)), "", line)
      end
      lu.assertEquals(fine(line .. " --csv @x.csv --work " .. dir), whole, line)
      local text = fine(("%s --svg @x.svg --work %sb --sbatch=2"):format(line, dir))
      lu.assertStrContains(text, ("w%db/submit: submits 2 parts of "):format(i), false, line)
      lu.assertStrContains(read(("w%db/array"):format(i)), "#SBATCH --array=1-2")
      lu.assertNil((read(("w%db/array"):format(i)):find "svg"), line)
      lu.assertStrContains(read(("w%db/collect"):format(i)), "x.svg")
   end
   local _, status, complaint = run "study links -m @torus.lua --work @w1"
   lu.assertEquals(status, 1)
   lu.assertStrContains(complaint, "holds another study")
end

-- What was done is not done again: a result that was changed by hand shows in the table.
function tests.test_an_interrupted_study_goes_on()
   setup()
   local line = "study links -m @dragonfly.lua --seeds 2 --failed 10 --work @w"
   fine(line .. " --part 1/2")
   local before = read "w/part-1.jsonl"
   golden.file("w/part-1.jsonl", before .. '{"key":"halo3d26:points=30|1|1|2","resu')
   local whole = fine(line)
   lu.assertStrContains(read "w/part-1.jsonl", before)
   lu.assertEquals(select(2, read "w/part-1.jsonl":gsub('"result"', "")), 2)
   lu.assertEquals(fine(line), whole)
end

function tests.test_the_machines_real_jobs_in_every_study()
   setup()
   local squeue = golden.file("squeue", "#!/bin/sh\necho '7 n[0-7]'\necho '8 n[8-13]'\n")
   os.execute("chmod +x " .. squeue)
   for _, jobs in ipairs { "--running --squeue @squeue", "--trace @trace.swf --at 20" } do
      for _, study in ipairs { "links --failed 10 --seeds 2", "detune -b 1Mi", "inject",
         "repair --fail r0.0/X+=0.5", "outlook --per-day 1 --seeds 2 --most 4" } do
         lu.assertStrContains(fine(("study %s -m @torus.lua -p ring %s"):format(study, jobs)),
            "2 jobs of two nodes or more.", false, study)
      end
   end
end

function tests.test_constants_are_fitted_and_the_error_is_said()
   setup()
   golden.file("points.csv", "pattern,ranks,time_s\nhalo3d26:points=10,16,1e-3\n" ..
      "halo3d26:points=40,16,9e-3\nring:bytes=8M,16,1.2e-2\nring:bytes=1M,16,1.5e-3\n")
   lu.assertStrContains(fine("study detune -m @torus.lua --calibrate @points.csv"),
      "Fitted to 4 points of")
end

function tests.test_what_goes_wrong()
   setup()
   golden.file("bad.csv", "pattern,ranks,time_s\nring,16,never\n")
   for line, want in pairs {
      ["study links -m @dragonfly.lua --kind uplink"] = { 1, "known: global, local" },
      ["study links -m @dragonfly.lua --kind local"] = { 1, "inside groups" },
      ["study links -m @dragonfly.lua --failed 120"] = { 2, "expected percent from 0 to 100" },
      ["study links -m @dragonfly.lua -p halo9d"] = { 2, "is not known (known: all-reduce-rd" },
      ["study links -m @dragonfly.lua --jobs 2"] = { 2, "want a folder: --work" },
      ["study links -m @dragonfly.lua --part 3/2 --work @w"] = { 2, "expected K/N" },
      ["study links -m @dragonfly.lua --ranks 4096"] = { 1, "the machine has room for 144" },
      ["study links -m @nothing.lua"] = { 1, "nothing.lua" },
      ["study detune -m @torus.lua --links 0"] = { 2, "expected percent above 0" },
      ["study detune -m @torus.lua --measured 25=0.5"] = { 2, "expected PERCENT=RATIO" },
      ["study detune -m @torus.lua --measured 25=9"] = { 1, "it is at most 4" },
      ["study detune -m @torus.lua --nodelist n[0-99]"] = { 2, "--nodelist" },
      ["study detune -m @torus.lua --calibrate @bad.csv"] = { 1, "bad.csv:2: time_s: a number" },
      ["study inject -m @torus.lua -p ring -p shift"] = { 1, "one pattern at a time" },
      ["--socket /none study links -m @torus.lua --stored 3"] = { 1, "does not list its jobs" },
      ["study links -m @torus.lua --trace @none.swf"] = { 1, "none.swf" },
      ["study repair -m @torus.lua --split 1 --work @w"] = { 2, "--work is for --maintenance" },
      ["study repair -m @torus.lua --squeue /nonexistent"] = { 1, "do without Slurm" },
      ["--socket /nonexistent study outlook -m @torus.lua --split 1"] = { 1, "give --per-day" },
      ["study run --repeat 0 -- true"] = { 2, "expected a whole number from 1 to 1000" },
      ["study latency -m @torus.lua --load 0"] = { 2, "expected percent above 0" },
   } do
      local _, status, complaint = run(line)
      lu.assertStrContains((complaint:gsub("%s+", " ")), want[2], false, line)
      lu.assertEquals(status, want[1], line)
   end
end

return tests
