-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of sets of links, as a table for the store and back.
--
-- Sets are told by the numbers of their members; those of another machine are told anew (pack.now).
-- Kept are verdicts, of each set that looks slow its strongest runs, and when a flow crossed one
-- whose links no test tells apart: or it would be "never tested" after each start.
local decide = require "taut.diagnose.sets.decide"
local low_share = require "taut.diagnose.sets.low_share"
local tables = require "taut.base.tables"
local text = require "taut.diagnose.sets.text"
local weigh = require "taut.diagnose.sets.weigh"

local pack = {}

--- A number that tells a set from others of the same machine; the same as text.
function pack.key(members)
   local sum = #members
   for _, c in ipairs(members) do
      sum = sum * 1000003 + c
   end
   return sum
end

function pack.id(members)
   return ("%x"):format(pack.key(members))
end

local RUNS = 4 -- kept of a set
local CROSSED = 8192 -- sets that are kept for no more than when they were crossed
local NUMBERS = { "score", "all", "hits", "flows", "spells", "sum", "first", "last" }
local VERDICT = { "window", "left", "since", "first", "last", "hits", "flows", "spells", "pairs",
   "score", "doubt" }

-- A map as a list of { key, value }, in order.
local function list_entries(map)
   local list = {}
   for key, value in pairs(map) do
      list[#list + 1] = { key, value }
   end
   table.sort(list, function(first, second) return first[1] < second[1] end)
   return list
end

local function pack_run(self, window, run)
   local out = { window = window }
   weigh.whole(self, run, window)
   for _, name in ipairs(NUMBERS) do
      out[name] = run[name]
   end
   out.by, out.pairs = list_entries(run.by), list_entries(run.pairs)
   return out
end

local function pack_runs(self, set, least)
   local list = {}
   for window, run in pairs(set.runs) do
      if run.score >= least then
         list[#list + 1] = pack_run(self, window, run)
      end
   end
   table.sort(list, function(first, second)
      return first.score > second.score or first.score == second.score
         and first.window < second.window
   end)
   return table.move(list, 1, math.min(#list, RUNS), 1, {})
end

local function pack_named(set, topo)
   local list = {}
   for _, v in pairs(set.named) do
      local out = { state = v.state, text = text.verdict(topo, v) }
      for _, name in ipairs(VERDICT) do
         out[name] = v[name]
      end
      list[#list + 1] = out
   end
   return list
end

--- @return array of { members, part, runs, named, last = when a flow crossed it, or nil }; without
--   the empty ones; those with runs or verdicts come first
function pack.make(self)
   local list, crossed = {}, {}
   for _, set in ipairs(self.list) do
      local runs, named = pack_runs(self, set, self.s.suspect_score / 2), pack_named(set, self.topo)
      local row = { members = set.members, part = set.part, runs = runs, named = named,
         last = set.last }
      if #runs + #named > 0 then
         list[#list + 1] = row
      elseif set.last and not set.is_testable and not self.topo.asked_at then
         crossed[#crossed + 1] = row
      end
   end
   return table.move(crossed, 1, math.min(#crossed, CROSSED), #list + 1, list)
end

---------------------------------------------------------------- and back

local function check_number(value, what)
   if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      error(what .. " is not a number", 0)
   end
   return value
end

local function check_number_if_any(value, what)
   if value == nil then
      return nil
   end
   return check_number(value, what)
end

local function check_list(value, what)
   if type(value) ~= "table" then
      error(what .. " is not a list", 0)
   end
   return value
end

local function check_window(value)
   if math.type(value) ~= "integer" or value < 0 or value > 10000 then
      error("window is out of range", 0)
   end
   return value
end

local function unpack_pairs(list, what, is_key)
   local map = {}
   for _, p in ipairs(check_list(list, what)) do
      if type(p) ~= "table" or not is_key(p[1]) then
         error(what .. " is damaged", 0)
      end
      map[p[1]] = check_number(p[2], what)
   end
   return map
end

local function unpack_run(row)
   local run = { log = {} }
   for _, name in ipairs(NUMBERS) do
      run[name] = check_number_if_any(row[name], name)
   end
   for _, name in ipairs { "score", "all", "hits", "flows", "spells", "sum", "first" } do
      check_number(run[name], name)
   end
   run.by = unpack_pairs(row.by, "by", function(value) return type(value) == "string" end)
   run.pairs = unpack_pairs(row.pairs, "pairs", function(value)
      return math.type(value) == "integer"
   end)
   return check_window(row.window), run
end

local function unpack_named(row, set)
   local v = { set = set, members = set.members, state = row.state }
   for _, name in ipairs(VERDICT) do
      v[name] = check_number(row[name], name)
   end
   if v.state ~= "slow" and v.state ~= "failed" then
      error("state of a verdict", 0)
   end
   return check_window(v.window), v
end

local function check_members(topo, list)
   for _, c in ipairs(check_list(list, "members")) do
      if math.type(c) ~= "integer" or not topo.components[c] or not topo:is_link(c) then
         error("members are not links", 0)
      end
   end
   if #list > 0 then
      return list
   end
   return error("members are missing", 0)
end

local function unpack_set(self, row, set_of)
   if type(row) ~= "table" then
      error("a set is not a table", 0)
   end
   local part = check_number(row.part, "part")
   local last = check_number_if_any(row.last, "last")
   local set = { members = check_members(self.topo, row.members), runs = {}, named = {} }
   for _, r in ipairs(check_list(row.runs, "runs")) do
      local window, run = unpack_run(check_list(r, "run"))
      set.runs[window] = run
   end
   for _, r in ipairs(check_list(row.named, "named")) do
      local window, v = unpack_named(check_list(r, "verdict"), set)
      set.named[window] = v
   end
   return function()
      local own = set_of(self, set.members, math.min(1, math.max(1e-6, part)))
      own.runs, own.named, own.last = set.runs, set.named, last
      for _, v in pairs(own.named) do
         v.set, v.members, v.is_fair = own, own.members, low_share.is_fair(v.window, self.s)
         self.standing[v] = true
      end
      decide.watch(self, own) -- a suspect is one still
   end
end

---------------------------------------------------------------- of another machine

-- The set of these links on the way between two nodes, in its own order; or nil.
local function find_set_met(topo, members, key, old)
   local n = #old.nodes_then + 1
   local a, b = old.nodes[key // n], old.nodes[key % n]
   local own = tables.set(members)
   return tables.find(a and b and topo:route(a, b) or {}, function(stage)
      return type(stage) == "table" and #stage == #members
         and not tables.any(stage, function(component) return not own[component] end)
   end)
end

-- Numbers of pairs of nodes now.
local function renumber_pairs(list, topo, old)
   local n = #old.nodes_then + 1
   return tables.map(list, function(pair)
      local a, b = old.nodes[pair[1] // n], old.nodes[pair[1] % n]
      if a and b then
         return { a * (#topo.nodes + 1) + b, pair[2] }
      end
      return nil
   end)
end

-- One row; nil where no pair of nodes meets the set any more.  Of one that was crossed only, nobody
-- knows a pair: it stands where all of its links do, in their order.
local function renumber_row(topo, row, old)
   local members = tables.map(row.members, function(component) return old.map[component] end)
   local set = #members == #row.members and #row.runs + #row.named == 0 and members
   for _, run in ipairs(#members == #row.members and row.runs or {}) do
      for _, p in ipairs(run.pairs) do
         set = set or find_set_met(topo, members, p[1], old)
      end
      run.pairs = renumber_pairs(run.pairs, topo, old)
   end
   row.id_then, row.members = pack.id(row.members), set and table.move(set, 1, #set, 1, {})
   if set then
      return row
   end
   return nil
end

local function renumber_rows(topo, kept, old)
   local list = tables.map(kept, function(row) return renumber_row(topo, row, old) end)
   local id_now = {}
   for _, row in ipairs(list) do
      id_now[row.id_then] = pack.id(row.members)
   end
   for _, row in ipairs(list) do
      for _, run in ipairs(row.runs) do
         run.by = tables.map(run.by, function(pair)
            if id_now[pair[1]] then
               return { id_now[pair[1]], pair[2] }
            end
            return nil
         end)
      end
   end
   return list
end

--- What pack made of a machine as it was, for the machine as it is: sets stand where the way of a
-- pair of nodes that met one still does.
-- @param old of before/same.lua
-- @return the same for pack.restore, which says what is damaged
function pack.now(topo, kept, old)
   local ok, list = pcall(renumber_rows, topo, kept, old)
   if not ok then
      return { "damaged" }
   end
   return list
end

--- @param kept what pack made, or what a store made of it
-- @param set_of function(self, members, part) → set
-- @return true, or nil and why: nothing was taken then
function pack.restore(self, kept, set_of)
   local todo = {}
   local ok, why = pcall(function()
      for i, row in ipairs(check_list(kept, "what was kept")) do
         todo[i] = unpack_set(self, row, set_of)
      end
   end)
   if not ok then
      return nil, "damaged: " .. tostring(why)
   end
   for _, fn in ipairs(todo) do
      fn()
   end
   return true
end

return pack
