-- SPDX-License-Identifier: GPL-2.0-or-later
--- Hard evidence in a node's reading: a state (lanes, width, speed, link) that is worse than it
-- should be leaves a share of the capacity, whatever any test says.
--
-- What a state should be is the catalogue's (counters/, `state`).  A port keeps `faults`, what is
-- wrong with it now, and `best`, the best that was seen of a state whose past is its measure.
local counters = require "taut.events.counters"
local tables = require "taut.base.tables"

local hard = {}

-- States that the catalogue judges by what they were, or that mean "nothing here" at first.
local function find_by_past(port, was, found)
   port.best = tables.or_empty(was).best or {}
   for name, value in pairs(port.state) do
      local entry = counters.of(port.source, name)
      if not entry or not entry.state or type(value) ~= "number" then
         goto continue
      end
      if entry.before then
         port.best[name] = math.max(port.best[name] or value, value)
         if value < port.best[name] and value >= 0 then
            found[name] = { class = entry.class, have = value, best = port.best[name],
               left = value / port.best[name] }
         end
      elseif entry.absent and value == entry.absent then
         local before = was and was.state[name]
         local stood = was and was.faults and was.faults[name]
         if stood or type(before) == "number" and before ~= entry.absent then
            found[name] = { class = "fatal", have = value,
               best = entry.whole or tables.or_empty(stood).best or before, left = 0 }
         end
      end
      ::continue::
   end
end

-- Everything that is wrong with a port now: name → { class, have, best, left }.
local function find_faults(port, was)
   local reading, found = { source = port.source }, {}
   for name, value in pairs(port.state) do
      reading[name] = value
   end
   for _, f in ipairs(counters.faults(reading)) do
      found[f.what] = { class = f.class, have = f.have, best = f.best, left = f.left }
   end
   find_by_past(port, was, found)
   return found
end

-- Is every state as it was when it was judged here?  Then so is what is wrong with it.  The
-- source's own time is none.
local function is_as_judged(port, was)
   if not (was and was.is_judged) then
      return false
   end
   for name, value in pairs(port.state) do
      if was.state[name] ~= value and name ~= "t" then
         return false
      end
   end
   for name in pairs(was.state) do
      if port.state[name] == nil then
         return false
      end
   end
   return true
end

-- Bytes per second that a PCIe link carries, after its line coding.
local function find_pcie_Bps(port)
   local lanes, speed = port.state.lanes, port.state.speed_MTps
   if port.source ~= "pcie" or type(lanes) ~= "number" or type(speed) ~= "number" then
      return nil
   end
   local coded = 8 / 10 -- of the bits on the wire, those that are data
   if speed >= 8000 then
      coded = 128 / 130
   end
   return lanes * speed * 1e6 / 8 * coded
end

local function find_side(port, name)
   local entry = counters.of(port.source, name)
   return tables.or_empty(entry).side or "both"
end

local function tell_begun(port, name, fault)
   local text = ("%s of %s (%s) is %s"):format(name, port.name, port.source, fault.have)
   if fault.best then
      text = ("%s, it should be %s"):format(text, fault.best)
   end
   return { what = name, class = fault.class, left = fault.left, have = fault.have,
      best = fault.best, via = port.source,
      have_Bps = find_pcie_Bps(port), side = find_side(port, name),
      text = text }
end

local function tell_over(port, name)
   return { what = name, class = "harmless", left = 1, have = port.state[name],
      side = find_side(port, name),
      text = ("%s of %s (%s) is %s: as it should be again"):format(name, port.name, port.source,
         port.state[name]) }
end

local GT = 1000 -- MT/s

-- By source and state: how what was found is said in the 14 characters that a drain's reason has
-- for it.
local HEADS = {
   ["pcie lanes"] = function(evidence)
      return ("PCIe x%d of x%d"):format(evidence.have, evidence.best)
   end,
   ["pcie speed_MTps"] = function(evidence)
      return ("PCIe %g/%g GT"):format(evidence.have / GT, evidence.best / GT)
   end,
   ["pcie width"] = function(evidence) -- of the kernel's log
      return "PCIe " .. evidence.have:match "x%d+" .. " of " .. evidence.best:match "x%d+"
   end,
   ["netdev speed_Mbps"] = function(evidence)
      return ("%g of %gGb/s"):format(evidence.have / 1000, evidence.best / 1000)
   end,
   ["ib rate_Mbps"] = function(evidence)
      return ("%g of %gGb/s"):format(evidence.have / 1000, evidence.best / 1000)
   end,
   ["fabric width"] = function(evidence)
      return "IB " .. evidence.have:match "^%S+" .. " of " .. evidence.best:match "^%S+"
   end,
   ["fabric speed"] = function(evidence)
      return "IB " .. evidence.have:match "%S+$" .. " of " .. evidence.best:match "%S+$"
   end,
   ["fabric silent"] = function() return "IB silent" end,
   ["fabric link"] = function() return "IB link lost" end,
}

hard.HEAD_MAX = 14

--- What was found, as the head of a drain's reason: "PCIe x8 of x16".
-- @param evidence what, via (source of a node's reading) or source, have, best
-- @return text of at most 14 characters, or nil where the kind and what is left say more
function hard.head(evidence)
   local make = HEADS[("%s %s"):format(evidence.via or evidence.source, evidence.what)]
   local ok, text = pcall(make or error, evidence) -- have and best come from outside
   if ok and #text <= hard.HEAD_MAX then
      return text:match "^[%g ]+$"
   end
   return nil
end

--- What changed since the reading before.
-- @param before ports of that reading; {} where there is none: then what stands, begins
-- @param now ports; `faults` and `best` are noted there
-- @param fn called with port and observation
function hard.changed(before, now, fn)
   for key, port in pairs(now) do
      local was = before[key]
      port.is_judged = true
      if is_as_judged(port, was) then
         port.faults, port.best = was.faults, was.best
         goto continue
      end
      local stood = tables.or_empty(was).faults or {}
      port.faults = find_faults(port, was)
      for name, f in pairs(port.faults) do
         if not stood[name] or math.abs((f.left or 1) - (stood[name].left or 1)) > 1e-3 then
            fn(port, tell_begun(port, name, f))
         end
      end
      for name, f in pairs(stood) do
         if not port.faults[name] and port.state[name] ~= nil then
            fn(port, tell_over(port, name))
         elseif not port.faults[name] then
            port.faults[name] = f -- it was not read: what stood, stands
         end
      end
      ::continue::
   end
end

return hard
