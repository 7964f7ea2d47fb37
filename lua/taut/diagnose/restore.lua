-- SPDX-License-Identifier: GPL-2.0-or-later
--- Takes over what the store kept: a test stands in the runs of several components, and is one
-- again.
local restore = {}

local function number(v, fallback)
   return type(v) == "number" and v or fallback
end

-- Of one test, what each component's run says of it.
local function collect(pending, c, t)
   local key = ("%d:%d:%d:%s"):format(t.event, t.src, t.dst, t.id)
   local p = pending[key]
   if not p then
      p = { id = t.id, event = t.event, time = t.time, src = t.src, dst = t.dst,
         rail = number(t.rail, 1), job = number(t.job, 0), bw_Bps = t.bw_Bps,
         expected_Bps = t.expected_Bps, flows = number(t.flows, 1), streams = number(t.streams, 1),
         quiet_s = number(t.quiet_s), by_ack = t.by_ack == true,
         port = (t.port == "src" or t.port == "dst") and t.port or nil, on = {} }
      pending[key], pending[#pending + 1] = p, p
   end
   p.on[c] = t.share
end

--- Put away a component as memory.lua unpacked it, until finish().
function restore.add(self, c, k)
   self.pending = self.pending or {}
   for _, t in ipairs(k.run) do
      collect(self.pending, c, t)
   end
   self.evidence:restore_seen(c, k)
end

-- What a loaded port showed stands in its own run only; what else was on the way may explain it.
local function add_way(self, t)
   for _, c in ipairs(t.port and self.topo:route(t.src, t.dst, nil, t.rail) or {}) do
      if type(c) == "number" then
         t.on[c] = t.on[c] or t.bw_Bps / self.topo.capacity[c]
      end
   end
end

--- Put the tests back, in their order.
function restore.finish(self)
   local list, serial, event = self.pending or {}, self.evidence:serial(), nil
   table.sort(list, function(a, b)
      return a.time < b.time or a.time == b.time and a.event < b.event
   end)
   for _, t in ipairs(list) do
      if t.event ~= event then
         serial, event = serial + 1, t.event
      end
      t.serial = serial
      add_way(self, t)
      self.evidence:restore(t)
   end
   self.pending = nil
end

return restore
