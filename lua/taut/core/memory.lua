-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the store kept, asked for at the start and handed to those whose memory it is.
local json = require "taut.json"
local loop = require "taut.loop"
local stored = require "taut.diagnose.memory"
local sys = require "taut.sys"

local memory = {}

local NAMES = { "components", "drained", "settings", "last_ids", "drains", "evidence", "blamed",
   "log_positions", "profiles", "seen" }

-- What was learned about a machine that was wired otherwise speaks against nobody now: a changed
-- topology begins a new epoch.
local function is_same_wiring(was, topo)
   if was and was ~= topo.wiring then
      sys.log("warning", ("the topology was '%s' and is '%s': what was known of components " ..
         "is forgotten"):format(was, topo.wiring))
      return false
   end
   return true
end

-- Where the database could be read late only, what was seen meanwhile is newer, but no verdict of
-- before is lost by it.
local function is_news(diagnosis, c, k)
   local decided = k.state == "slow" or k.state == "failed"
   return not diagnosis:is_known(c) or decided and not diagnosis:is_decided(c)
end

-- What was counted of it is in the snapshot, but in a database of before there was one.
local function restore(parts, c, k, is_counted)
   if is_counted then
      k.cleared_at, k.last, k.tests, k.good = nil, nil, nil, nil
   else
      parts.coverage:touch(c, k.last or 0)
   end
   parts.diagnosis:restore(c, k)
   parts.decision:note(c)
   parts.others.excluded[c] = k.more.excluded == true or nil
end

-- @param o { seen = table for tests of pairs, known = set of components that tests of now are
--   about, counted = function(c): is it in the snapshot? }
local function take_component(parts, row, o)
   local topo, diagnosis = parts.site.topo, parts.diagnosis
   local c = topo.component_id[row.name]
   local k, err = stored.unpack(row.data, topo, o.seen)
   if c and k and o.known[c] and not is_news(diagnosis, c, k) then
      return
   elseif c and k then
      restore(parts, c, k, o.counted(c))
   elseif c then
      sys.log("warning", ("database: component %s: %s"):format(row.name, err))
   end
end

local function take_sets(diagnosis, text)
   local kept, err = json.decode(text)
   local ok
   if kept then
      ok, err = diagnosis:restore_sets(kept)
   end
   if not ok then
      sys.log("warning", "database: sets of links: " .. err)
   end
end

-- Components that something is known of before the database is read.
local function known_now(parts)
   local set = {}
   for c = 1, #parts.site.topo.components do
      set[c] = parts.diagnosis:is_known(c) or nil
   end
   return set
end

-- What is known of components.
local function take_diagnosis(parts, kept, settings)
   if settings.learned then
      parts.diagnosis:restore_learned(json.decode(settings.learned))
   end
   local o = { seen = {}, known = known_now(parts) }
   o.counted = kept.errors.seen and function() return false end or parts.snapshot:restore(kept.seen)
   for _, row in ipairs(kept.components) do
      take_component(parts, row, o)
   end
   parts.diagnosis:restored()
   parts.diagnosis:restore_wide(settings.wide or "", function(name) return name end)
   if settings.sets then
      take_sets(parts.diagnosis, settings.sets)
   end
end

local function take(parts, kept)
   local settings = {}
   for _, row in ipairs(kept.settings) do
      settings[row.name] = row.value
   end
   if kept.errors.settings then
      parts.switches:give_up "the database cannot be read"
   else
      parts.switches:restore(settings)
   end
   local same = is_same_wiring(settings.topology, parts.site.topo)
   if same then
      take_diagnosis(parts, kept, settings)
   elseif not kept.errors.settings then
      parts.snapshot:forget(kept.seen)
   end
   -- without the list of drains no cap holds, and nobody is drained
   if not (kept.errors.drained or kept.errors.drains or kept.errors.settings) then
      parts.act:restore(kept.drained, kept.drains, settings.policy_stops,
         settings.alerts)
   end
   parts.marks:restore(settings.marks, parts.site.topo)
   parts.acks:restore(settings.acks)
   parts.events:restore(same and kept.evidence or {}, kept.blamed)
   parts.profiles:restore(kept.profiles)
   parts.followers:restore(kept.log_positions)
   local last = kept.last_ids[1] or { event = 0, test = 0 }
   parts.ids:above(last.event, last.test)
   parts.records:wiring()
end

--- Take what the store kept; fn() when all of it is there.
-- @param parts of core/parts.lua
function memory.load(parts, fn)
   local days = math.max(1, parts.site.conf.policy.repeated_days)
   local args = { limit = 1000, since = loop.time() - days * 86400 }
   local left, kept = #NAMES, { errors = {} }
   for _, name in ipairs(NAMES) do
      parts.journal:query(name, args, function(rows, err)
         if err then
            sys.log("err", ("cannot read %s from the database: %s"):format(name, err))
         end
         kept[name], kept.errors[name] = rows or {}, err
         left = left - 1
         if left == 0 then
            take(parts, kept)
            fn()
         end
      end)
   end
end

return memory
