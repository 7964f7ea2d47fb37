-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `taut report` and `taut serve` ask beside what other commands do: the case of each
-- component that is not well, counts by day, and the running jobs that a user may see.
local explain = require "taut.core.answers.explain"
local json = require "taut.json"
local long = require "taut.core.answers.long"
local loop = require "taut.loop"
local privacy = require "taut.slurm.privacy"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local RANK = { failed = 1, lossy = 2, slow = 3, suspect = 4 }
local CASES = 1000 -- components in one answer, the worst
local DAYS = 92

---------------------------------------------------------------- cases

-- Components that are not well, the worst first: by verdict, then by what is left of them.
local function list_not_well(self)
   local list, left = {}, {}
   for c, k in self.diagnosis:each() do
      if RANK[k.state] then
         list[#list + 1] = c
      end
      left[c] = k.left or 1
   end
   table.sort(list, function(first, second)
      local x, y = RANK[self.diagnosis:state(first)], RANK[self.diagnosis:state(second)]
      return x < y or x == y and (left[first] < left[second] or left[first] == left[second]
         and first < second)
   end)
   return list
end

local function make_case_rows(self)
   local list, now = list_not_well(self), loop.time()
   return { count = math.min(#list, CASES), rest = { now = now, all = #list },
      row = function(index)
         local row = self.why:component(list[index], now)
         row.is_link = self.site.topo:is_link(list[index])
         return row
      end }
end

---------------------------------------------------------------- days

-- The midnight so many days after the one before `time`.
local function find_midnight(time, days_later)
   local d = os.date("*t", math.floor(time))
   return os.time { year = d.year, month = d.month, day = d.day + days_later, hour = 0 }
end

local function count_day(rows, from)
   local day = { from = from, checks = 0, tests = { good = 0, low = 0, void = 0 } }
   for _, row in ipairs(rows) do
      if row.purpose then
         day.checks = day.checks + row.checks
      elseif day.tests[row.class] then
         day.tests[row.class] = row.tests
      end
   end
   return day
end

-- One day after the other, so that the store does other things in between; days that are over are
-- kept.
local function ask_days(self, from, out, fn)
   local now, to = loop.time(), find_midnight(from, 1)
   if from > now then
      return fn(out)
   elseif self.days[from] then
      out[#out + 1] = self.days[from]
      return ask_days(self, to, out, fn)
   end
   self.journal:query("day", { from = from, to = to }, function(rows, err)
      if not rows then
         return fn(nil, err)
      end
      out[#out + 1] = count_day(rows, from)
      if to < now then
         self.days[from] = out[#out]
      end
      ask_days(self, to, out, fn)
   end)
end

-- args: since (seconds since 1970)
local function answer_days(self, args, reply)
   local now = loop.time()
   local since = type(args.since) == "number" and args.since == args.since and args.since or 0
   local first = find_midnight(math.max(math.min(since, now), now - DAYS * 86400), 0)
   self.waiting[#self.waiting + 1] = { first = first, reply = reply }
   if #self.waiting > 1 then
      return
   end
   local function serve_next()
      local w = self.waiting[1]
      ask_days(self, w.first, json.array {}, function(list, err)
         table.remove(self.waiting, 1)
         w.reply(list and { days = list, now = now }, err)
         if self.waiting[1] then
            serve_next()
         end
      end)
   end
   self.journal:flush()
   serve_next()
end

---------------------------------------------------------------- jobs

local function answer_running(self, uid, reply)
   local list, hidden = json.array {}, 0
   for id, j in pairs(self.cluster.seen_running) do
      if privacy.is_hidden(self.cluster, uid, j.user_id) then
         hidden = hidden + 1
      elseif j.state ~= "completing" then
         list[#list + 1] = { id = id, user = j.user_id and sys.user_name(j.user_id), name = j.name,
            partition = j.partition, nodes = j.nodes, count = j.num_nodes, start = j.start,
            state = j.state }
      end
   end
   table.sort(list, function(first, second) return first.id < second.id end)
   reply { jobs = list, hidden = hidden, now = loop.time() }
end

--- @param parts { site, diagnosis, decision, journal, cluster, act, events, observations }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   local answers = long.new()
   local self = tables.copy(parts)
   self.why, self.days, self.waiting = explain.new(tables.copy(parts)), {}, {}
   return {
      cases = { false, function(_, _, _, reply)
         answers:give("components", function() return make_case_rows(self) end, reply)
      end },
      days = { false, function(args, _, _, reply) answer_days(self, args, reply) end },
      running = { false, function(_, _, uid, reply) answer_running(self, uid, reply) end },
   }
end
