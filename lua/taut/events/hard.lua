-- SPDX-License-Identifier: GPL-2.0-or-later
--- Hard evidence in a node's reading: a state (lanes, width, speed, link) that is worse than it
-- should be leaves a share of the capacity, whatever any test says.
--
-- What a state should be is the catalogue's (counters/, `state`).  A port keeps `faults`, what is
-- wrong with it now, and `best`, the best that was seen of a state whose past is its measure.
local counters = require "taut.events.counters"

local hard = {}

-- States that the catalogue judges by what they were, or that mean "nothing here" at first.
local function by_past(port, was, found)
   port.best = was and was.best or {}
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
            found[name] = { class = "fatal", have = value, best = entry.whole or stood
               and stood.best or before, left = 0 }
         end
      end
      ::continue::
   end
end

-- Everything that is wrong with a port now: name → { class, have, best, left }.
local function faults_of(port, was)
   local reading, found = { source = port.source }, {}
   for name, value in pairs(port.state) do
      reading[name] = value
   end
   for _, f in ipairs(counters.faults(reading)) do
      found[f.what] = { class = f.class, have = f.have, best = f.best, left = f.left }
   end
   by_past(port, was, found)
   return found
end

-- Is every state as it was when it was judged here?  Then so is what is wrong with it.  The
-- source's own time is none.
local function is_same(port, was)
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
local function pcie_Bps(port)
   local lanes, speed = port.state.lanes, port.state.speed_MTps
   if port.source ~= "pcie" or type(lanes) ~= "number" or type(speed) ~= "number" then
      return nil
   end
   return lanes * speed * 1e6 / 8 * (speed >= 8000 and 128 / 130 or 8 / 10)
end

local function side_of(port, name)
   local entry = counters.of(port.source, name)
   return entry and entry.side or "both"
end

local function begun(port, name, f)
   return { what = name, class = f.class, left = f.left, have = f.have, best = f.best,
      via = port.source,
      have_Bps = pcie_Bps(port), side = side_of(port, name),
      text = ("%s of %s (%s) is %s%s"):format(name, port.name, port.source, f.have,
         f.best and (", it should be %s"):format(f.best) or "") }
end

local function over(port, name)
   return { what = name, class = "harmless", left = 1, have = port.state[name],
      side = side_of(port, name),
      text = ("%s of %s (%s) is %s: as it should be again"):format(name, port.name, port.source,
         port.state[name]) }
end

local GT = 1000 -- MT/s

-- By source and state: how what was found is said in the 14 characters that a drain's reason has
-- for it.
local HEADS = {
   ["pcie lanes"] = function(e) return ("PCIe x%d of x%d"):format(e.have, e.best) end,
   ["pcie speed_MTps"] = function(e)
      return ("PCIe %g/%g GT"):format(e.have / GT, e.best / GT)
   end,
   ["pcie width"] = function(e) -- of the kernel's log
      return "PCIe " .. e.have:match "x%d+" .. " of " .. e.best:match "x%d+"
   end,
   ["netdev speed_Mbps"] = function(e)
      return ("%g of %gGb/s"):format(e.have / 1000, e.best / 1000)
   end,
   ["ib rate_Mbps"] = function(e) return ("%g of %gGb/s"):format(e.have / 1000, e.best / 1000) end,
   ["fabric width"] = function(e)
      return "IB " .. e.have:match "^%S+" .. " of " .. e.best:match "^%S+"
   end,
   ["fabric speed"] = function(e)
      return "IB " .. e.have:match "%S+$" .. " of " .. e.best:match "%S+$"
   end,
   ["fabric silent"] = function() return "IB silent" end,
   ["fabric link"] = function() return "IB link lost" end,
}

hard.HEAD_MAX = 14

--- What was found, as the head of a drain's reason: "PCIe x8 of x16".
-- @param e evidence: what, via (source of a node's reading) or source, have, best
-- @return text of at most 14 characters, or nil where the kind and what is left say more
function hard.head(e)
   local make = HEADS[("%s %s"):format(e.via or e.source, e.what)]
   local ok, text = pcall(make or error, e) -- have and best come from outside
   return ok and #text <= hard.HEAD_MAX and text:match "^[%g ]+$" or nil
end

--- What changed since the reading before.
-- @param before ports of that reading; {} where there is none: then what stands, begins
-- @param now ports; `faults` and `best` are noted there
-- @param fn called with port and observation
function hard.changed(before, now, fn)
   for key, port in pairs(now) do
      local was = before[key]
      port.is_judged = true
      if is_same(port, was) then
         port.faults, port.best = was.faults, was.best
         goto continue
      end
      local stood = was and was.faults or {}
      port.faults = faults_of(port, was)
      for name, f in pairs(port.faults) do
         if not stood[name] or math.abs((f.left or 1) - (stood[name].left or 1)) > 1e-3 then
            fn(port, begun(port, name, f))
         end
      end
      for name, f in pairs(stood) do
         if not port.faults[name] and port.state[name] ~= nil then
            fn(port, over(port, name))
         elseif not port.faults[name] then
            port.faults[name] = f -- it was not read: what stood, stands
         end
      end
      ::continue::
   end
end

return hard
