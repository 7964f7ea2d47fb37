-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the store kept, asked for at the start and handed to those whose memory it is.
local json = require "taut.json"
local kept_machine = require "taut.topology.before.kept"
local loop = require "taut.loop"
local same = require "taut.topology.before.same"
local stored = require "taut.diagnose.memory"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local memory = {}

local NAMES = { "components", "drained", "settings", "last_ids", "drains", "evidence", "blamed",
   "log_positions", "profiles", "seen" }

-- What was kept may be of another machine.
-- @return true where it is of this one; what before/same.lua says where it is of another one;
--   false if its description is lost
local function compare_machines(parts, settings)
   local topo, text = parts.site.topo, settings.machine
   local renamed = parts.site.conf.renamed
   if not settings.topology or text == parts.records:machine() then
      return true
   end
   local old, err = kept_machine.read(text or "")
   if not old then
      sys.log("warning", ("the topology changed from '%s' to '%s'; the stored one cannot be " ..
         "read (%s), so all evidence on components is dropped"):format(
         settings.topology, topo.wiring, err))
      return false
   end
   local d = same.compare(old, topo, renamed)
   sys.log("warning", ("the topology has changed: %s; of %d components %d are unchanged, " ..
      "evidence on the others is dropped"):format(same.words(d), d.of, d.kept))
   return d
end

-- Where the database could be read late only, what was seen meanwhile is newer, but no verdict of
-- before is lost by it.
local function is_newer_known(diagnosis, component, record)
   local decided = verdicts.is_verdict(record.state)
   return not diagnosis:is_known(component) or decided and not diagnosis:is_decided(component)
end

-- The snapshot has what was counted of it; where that cannot be read, its own row has.
local function restore_component(parts, component, record, is_counted)
   if is_counted then
      record.cleared_at, record.last, record.tests, record.good = nil, nil, nil, nil
   else
      parts.coverage:touch(component, record.last or 0)
   end
   parts.diagnosis:restore(component, record)
   parts.decision:note(component)
   parts.others.excluded[component] = record.more.excluded == true or nil
end

-- @param options { seen = table for tests of pairs, known = set of components that tests of now are
--   about, counted = function(component): is it in the snapshot?, old = of before/same.lua or nil,
--   taken = set of components, added to }
local function restore_row(parts, row, options)
   local topo, diagnosis = parts.site.topo, parts.diagnosis
   local name = options.old and options.old.name(row.name) or not options.old and row.name or ""
   local c = topo.component_id[name]
   if not c then
      return -- it is no more
   end
   local k, err = stored.unpack(row.data, topo, options.seen, options.old)
   if k and options.known[c] and not is_newer_known(diagnosis, c, k) then
      return
   elseif k then
      restore_component(parts, c, k, options.counted(c))
      options.taken[c] = true
   else
      sys.log("warning", ("database: component %s: %s"):format(row.name, err))
   end
end

local function restore_sets(diagnosis, text, old)
   local kept, err = json.decode(text)
   local ok
   if kept then
      ok, err = diagnosis:restore_sets(kept, old)
   end
   if not ok then
      sys.log("warning", "database: sets of links: " .. err)
   end
end

-- Components that something is known of before the database is read.
local function list_known(parts)
   local set = {}
   for c = 1, #parts.site.topo.components do
      set[c] = parts.diagnosis:is_known(c) or nil
   end
   return set
end

-- What is known of components.
-- @param old of before/same.lua, where it is of another machine, or nil
-- @return set of those that were taken
local function restore_diagnosis(parts, kept, settings, old)
   if settings.learned then
      parts.diagnosis:restore_learned(json.decode(settings.learned))
   end
   local o = { seen = {}, known = list_known(parts), old = old, taken = {} }
   if kept.errors.seen then
      o.counted = function() return false end
   else
      o.counted = parts.snapshot:restore(kept.seen, old)
   end
   for _, row in ipairs(kept.components) do
      restore_row(parts, row, o)
   end
   parts.diagnosis:restored()
   parts.diagnosis:restore_wide(settings.wide or "", old and old.name or tostring)
   if settings.sets then
      restore_sets(parts.diagnosis, settings.sets, old)
   end
   return o.taken
end

-- What rests on fewer tests now, or on none, is looked at again; and all is written as the machine
-- is now, with what it is made of.
local function write_anew(parts, taken, old)
   for _, n in ipairs(old.renamed_pairs) do
      parts.journal:add("renamed", { old = n[1], new = n[2] })
   end
   parts.records:anew(taken)
   local suspects = tables.filter(tables.keys(taken), function(component)
      return parts.diagnosis:component(component).state == "suspect"
   end)
   parts.findings:follow(parts.diagnosis:judge(suspects, loop.time()), tables.set(suspects))
end

-- What others keep, by names.
local function restore_others(parts, kept, settings, names)
   -- without the list of drains no cap holds, and no node is drained
   if not (kept.errors.drained or kept.errors.drains or kept.errors.settings) then
      parts.act:restore(kept.drained, kept.drains, settings.policy_stops, settings.alerts, names)
   end
   parts.marks:restore(settings.marks, parts.site.topo, names.name)
   parts.acks:restore(settings.acks, names.name)
   local first = tonumber(settings.first_start)
   if first then
      parts.agenda:used_since(first)
   elseif not kept.errors.settings then
      parts.journal:add("setting", { name = "first_start", value = tostring(loop.time()) })
   end
   parts.profiles:restore(kept.profiles)
   parts.followers:restore(kept.log_positions)
end

local function restore_all(parts, kept)
   local settings = {}
   for _, row in ipairs(kept.settings) do
      settings[row.name] = row.value
   end
   if kept.errors.settings then
      parts.switches:give_up "the database cannot be read"
   else
      parts.switches:restore(settings)
   end
   local of = compare_machines(parts, settings)
   local old = type(of) == "table" and of or nil
   local names = old or same.names(parts.site.topo, parts.site.conf.renamed)
   local taken
   if of then
      taken = restore_diagnosis(parts, kept, settings, old)
   elseif not kept.errors.settings then
      parts.snapshot:forget(kept.seen)
   end
   restore_others(parts, kept, settings, names)
   parts.events:restore(of and kept.evidence or {}, kept.blamed, names.name)
   local last = kept.last_ids[1] or { event = 0, test = 0 }
   parts.ids:above(last.event, last.test)
   if old then
      write_anew(parts, taken, old)
   else
      parts.records:wiring(settings)
   end
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
            restore_all(parts, kept)
            fn()
         end
      end)
   end
end

return memory
