-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers from the store about the past: the log of actions, and pages of data for a replay.
local json = require "taut.json"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"

local PAGE = 5000
local LOG_MAX = 10000

local PAGES = { verdicts = "verdicts_from", before = "verdicts_before", actions = "actions_from" }

local function number_or(value, fallback)
   if type(value) == "number" and value == value then
      return value
   end
   return fallback
end

-- `taut policy log`: the latest actions.
--   args: since, node, component, limit
local function answer_latest(self, args, reply)
   local limit = math.tointeger(number_or(args.limit, 1000)) or 1000
   self.journal:flush()
   self.journal:query("log", { since = number_or(args.since, 0), node = tostring(args.node or ""),
      component = tostring(args.component or ""), limit = math.max(1, math.min(limit, LOG_MAX)) },
      function(rows, err)
         if not rows then
            return reply(nil, err)
         end
         for _, row in ipairs(rows) do
            row.evidence = row.evidence and json.decode(row.evidence) or nil
         end
         reply { actions = rows, now = loop.time() }
      end)
end

-- A page of history: { what = "verdicts" | "before" | "actions", since, after }.
local function answer_page(self, args, reply)
   local name = PAGES[args.what]
   if not name then
      return reply(nil, "history: what: expected verdicts, before or actions")
   end
   local after = args.what == "before" and tostring(args.after or "") or number_or(args.after, 0)
   self.journal:flush()
   self.journal:query(name, { since = number_or(args.since, 0), after = after, limit = PAGE },
      function(rows, err)
         reply(rows and { rows = rows, more = #rows == PAGE }, err)
      end)
end

-- The partitions as Slurm has them now, and the time here.
local function answer_partitions(self, reply)
   local out = {}
   for name, nodes in pairs(self.cluster.partitions) do
      out[name] = hostlist.compress(nodes)
   end
   reply { partitions = out, now = loop.time() }
end

--- @param parts { journal, cluster }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return {
      log = { false, function(args, _, _, reply) answer_latest(parts, args, reply) end },
      history = { false, function(args, _, _, reply) answer_page(parts, args, reply) end },
      partitions = { false, function(_, _, _, reply) answer_partitions(parts, reply) end },
   }
end
