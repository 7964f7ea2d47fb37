-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the owner of a matrix says and writes of the reports it gets.
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local owner = require "taut.survey.matrix.owner"

local NAMES = { "a", "b", "c" }
local tests = {}

local function layout(rail)
   return { names = NAMES, levels = {}, good = 0.75, ms = 50, latency_times = 2, rail = rail }
end

-- Rows of all pairs; those of one sender are low.
local function rows(rail, slow)
   local list = {}
   for _, from in ipairs(NAMES) do
      for _, to in ipairs(NAMES) do
         list[#list + 1] = from ~= to and { from = from, to = to, rail = rail, expected_Bps = 1e7,
            bw_Bps = from == slow and 2e6 or 1e7, class = from == slow and "low" or "good" } or nil
      end
   end
   return list
end

-- fn(), and what it prints meanwhile.
local function printed(fn)
   local real, lines = print, {}
   rawset(_G, "print", function(text) lines[#lines + 1] = text end)
   local ok, result = pcall(fn)
   rawset(_G, "print", real)
   lu.assertTrue(ok, result)
   return result, table.concat(lines, "\n")
end

local function play(args, reports)
   args.progress = "none"
   return printed(function()
      local o = assert(owner.new(args))
      local on = o:handlers()
      local last
      for _, r in ipairs(reports) do
         last = r.kind == "end" and r or last
         if on[r.kind] then
            on[r.kind](r)
         end
      end
      return o:finish(last, not last and "gone" or nil)
   end)
end

local function read(path)
   local f = assert(io.open(path, "rb"))
   local text = f:read "a"
   f:close()
   return text
end

local FOUND = { findings = { { kind = "tx", name = "b:2/tx", node = "b", tied = {}, parts = {},
   low = 2, clear = 0, left = 0.2, bw_Bps = 2e6 } }, unnamed = 0 }
local NOTHING = { findings = {}, unnamed = 0 }

function tests.test_one_rail_keeps_the_names_of_its_files()
   local folder <close> = looptest.folder()
   local status, said = play({ csv = folder.path .. "/m.csv" }, {
      { kind = "begin", nodes = 3, layout = layout(), job = 7 },
      { kind = "round", results = rows(nil) }, { kind = "end", found = NOTHING } })
   lu.assertEquals(status, 0)
   lu.assertStrContains(said, "matrix of 3 nodes: 6 of 6 pairs measured")
   lu.assertStrContains(read(folder.path .. "/m.csv"), "a,b,10000000")
end

function tests.test_each_rail_has_its_words_and_files()
   local folder <close> = looptest.folder()
   local status, said = play({ json_file = folder.path .. "/m.json",
      svg = folder.path .. "/m.svg" }, {
      { kind = "begin", nodes = 3, job = 7, layout = { rails = { layout(1), layout(2) } } },
      { kind = "round", results = rows(1) }, { kind = "round", results = rows(2, "b") },
      { kind = "end", found = { rails = { NOTHING, FOUND } } } })
   lu.assertEquals(status, owner.SLOW)
   lu.assertStrContains(said, "matrix of 3 nodes, rail 1: 6 of 6 pairs measured, 6 good")
   lu.assertStrContains(said, "matrix of 3 nodes, rail 2: 6 of 6 pairs measured, 4 good, 2 low")
   for rail = 1, 2 do
      local d = json.decode(read(("%s/m-rail%d.json"):format(folder.path, rail)))
      lu.assertEquals({ d.info.rail, d.info.job, d.summary.low, #d.findings },
         { rail, "7", rail == 2 and 2 or 0, rail - 1 })
      lu.assertStrContains(read(("%s/m-rail%d.svg"):format(folder.path, rail)), "rail " .. rail)
   end
   lu.assertNil(io.open(folder.path .. "/m.json"))
end

function tests.test_a_rail_that_was_not_reached_is_not_all_measured()
   local status, said = play({}, {
      { kind = "begin", nodes = 3, layout = { rails = { layout(1), layout(2) } } },
      { kind = "round", results = rows(1) },
      { kind = "end", why = "stopped by its owner", found = { rails = { NOTHING, NOTHING } } } })
   lu.assertEquals(status, owner.INCOMPLETE)
   lu.assertStrContains(said, "rail 2: 0 of 6 pairs measured")
end

function tests.test_what_came_is_written_when_the_end_did_not()
   local folder <close> = looptest.folder()
   local status = play({ csv = folder.path .. "/m" }, {
      { kind = "begin", nodes = 3, layout = layout() }, { kind = "round", results = rows(nil) } })
   lu.assertEquals(status, owner.FAILED)
   lu.assertStrContains(read(folder.path .. "/m"), "a,b,10000000")
   lu.assertEquals((play({}, { { kind = "end", why = "no rail" } })), owner.FAILED)
end

function tests.test_hostile_reports_do_no_harm()
   local status = play({}, { { kind = "round", results = { { from = "x", to = "y", rail = 9 } } },
      { kind = "begin", nodes = 3, layout = layout() },
      { kind = "round", results = { { from = "x", to = "y" }, { from = {}, to = 7 } } },
      { kind = "end", found = NOTHING } })
   lu.assertEquals(status, owner.FAILED)
end

return tests
