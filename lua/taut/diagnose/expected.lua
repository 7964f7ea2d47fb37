-- SPDX-License-Identifier: GPL-2.0-or-later
--- What tautd expects of components where that is learned: kept, taken back after a restart, and
-- learned anew when an administrator says so (diagnose/learned.lua learns).
local json = require "taut.json"
local loop = require "taut.loop"

local expected = {}

--- Bytes per second that a component is expected to carry; nil while nobody knows.
function expected.of(d, c)
   return not (d.topo.open and d.topo.open[c]) and d.topo.capacity[c] or nil
end

--- Store what was learned, if it has changed.
function expected.keep(d)
   local learned = d.diagnosis.learned
   if learned and learned.changed then
      learned.changed = nil
      d.journal:add("setting", { name = "learned",
         value = json.encode(json.array(learned:kept())) })
   end
end

--- Take what the store kept.
-- @param settings rows of `setting`
function expected.restore(d, settings)
   for _, row in ipairs(d.diagnosis.learned and settings or {}) do
      if row.name == "learned" then
         d.diagnosis.learned:restore(json.decode(row.value))
      end
   end
end

--- Answer `taut relearn`.
-- @param args { class = name or nil }
-- @param who name of the caller, who may do this
-- @param follow findings.follow
function expected.relearn(d, args, who, reply, follow)
   local class = args.class
   if class ~= nil and type(class) ~= "string" then
      return reply(nil, "relearn: class: expected a text")
   end
   local changes, touched, n = d.diagnosis:relearn(class, loop.time())
   if not changes then
      return reply(nil, touched)
   end
   d.act:record { action = "relearn", who = who, reason = ("capacity of %s is learned anew")
      :format(class and ("class '%s'"):format(class) or "all that is learned") }
   follow(d, changes, touched)
   reply { class = class, components = n }
end

return expected
