-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of a component, as text for the store and back; and how that is taken over: a test
-- stands in the runs of several components, and is one again.
local json = require "taut.json"
local slow_whole = require "taut.report.slow_whole"

local memory = {}

local SEEN = { "cleared_at", "last", "tests", "good" }
local FIELDS = { "state", "since", "busy", "suspect_at", "asked", "left", "probation_until", "case",
   "by_hard", "past" }
local TEST_FIELDS = { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "share", "streams",
   "flows", "job", "rail", "links", "by_ack", "port", "src_name", "dst_name", "class" }

local function pack_test(t)
   local out = {}
   for _, f in ipairs(TEST_FIELDS) do
      out[f] = t[f]
   end
   return out
end

local function pack_list(list)
   local out = json.array {}
   for i, t in ipairs(list) do
      out[i] = pack_test(t)
   end
   return out
end

local function pack_rivals(list, topo)
   local out = json.array {}
   for i, r in ipairs(list or {}) do
      out[i] = { component = topo.components[r.component], rest = r.rest, score = r.score,
         same = r.same, cleared_at = r.cleared_at, cleared_by = r.cleared_by }
   end
   return out
end

--- @param diagnosis of diagnose.new
-- @param c component
-- @return JSON text
function memory.pack(diagnosis, c)
   local k, seen, topo = diagnosis:component(c), diagnosis:seen(c), diagnosis.topo
   local out = { confirmed = json.array {}, tied = pack_rivals(k.tied, topo),
      ruled_out = pack_rivals(k.ruled_out, topo), whole = k.whole and (slow_whole.text(k.whole)),
      whole_of = k.whole }
   for _, f in ipairs(FIELDS) do
      out[f] = k[f]
   end
   for _, f in ipairs(SEEN) do
      out[f] = seen[f]
   end
   out.run = pack_list(diagnosis:run(c))
   out.evidence = k.evidence and pack_list(k.evidence)
   for i, p in ipairs(k.confirmed) do
      out.confirmed[i] = { one = pack_test(p.one), many = pack_test(p.many) }
   end
   return json.encode(out)
end

-- What must be a number for the diagnosis to go on with it.
local function check_numbers(t, names)
   for _, name in ipairs(names) do
      if type(t[name]) ~= "number" then
         error(name .. " is no number", 0)
      end
   end
end

local function unpack_test(t, topo)
   t.src, t.dst = topo.node_id[t.src_name], topo.node_id[t.dst_name]
   if not t.src or not t.dst or not topo:route(t.src, t.dst, nil, t.rail) then
      return nil -- a node that the topology no longer has, or no route between them
   end
   return t
end

local NUMBERS = { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "streams" }

-- One test stands in the runs of several components: `seen` keeps it one table.
local function shared_test(t, topo, seen)
   check_numbers(t, NUMBERS)
   if not seen[t.id] then
      seen[t.id] = unpack_test(t, topo) or false
   end
   return seen[t.id] or nil
end

local function unpack_confirmed(list, topo, seen)
   local confirmed = {}
   for _, p in ipairs(list) do
      local one, many = shared_test(p.one, topo, seen), shared_test(p.many, topo, seen)
      if one and many then
         confirmed[#confirmed + 1] = { one = one, many = many, time = one.time,
            event = one.event, src = one.src, dst = one.dst }
      end
   end
   return confirmed
end

local function unpack_rivals(list, topo)
   local out = {}
   for _, r in ipairs(list or {}) do
      r.component = topo.component_id[r.component]
      check_numbers(r, { "rest", "same" })
      out[#out + 1] = r.component and r or nil
   end
   return out
end

-- Tests as they stood in one component's run: its share is its own.
local function unpack_run(list, topo)
   local out = {}
   for _, t in ipairs(list) do
      check_numbers(t, NUMBERS)
      t.share = type(t.share) == "number" and t.share or t.ratio
      out[#out + 1] = unpack_test(t, topo)
   end
   return out
end

-- Text alone, as an earlier tautd kept it, is found anew with the next test.
local function unpack_whole(w)
   if type(w) ~= "table" or not slow_whole.is(w) then
      return nil
   end
   return { kind = w.kind, of = w.of, n = w.n, total = w.total, component = w.component }
end

local function unpack(k, topo, seen)
   check_numbers(k, { "tests", "good", "busy" })
   for _, name in ipairs { "since", "cleared_at", "last", "suspect_at", "left",
      "probation_until", "asked" } do
      check_numbers({ [name] = k[name] or 0 }, { name })
   end
   k.run = unpack_run(k.run, topo)
   k.evidence = k.evidence and unpack_run(k.evidence, topo)
   k.confirmed = unpack_confirmed(k.confirmed, topo, seen)
   local tied = unpack_rivals(k.tied, topo)
   k.tied = #tied > 0 and tied or nil
   k.ruled_out = unpack_rivals(k.ruled_out, topo)
   k.whole, k.whole_of = unpack_whole(k.whole_of), nil
   for _, p in ipairs(k.past or {}) do
      check_numbers(p, { "best", "score", "confirmed", "at" })
   end
   if k.case then
      check_numbers(k.case, { "score", "best", "low", "at", "spells", "events" })
   end
   return k
end

--- @param text what pack made
-- @param seen table shared by all components of one loading
-- @return component, for diagnosis:restore(); or nil and why it cannot be read
function memory.unpack(text, topo, seen)
   local k, err = json.decode(text)
   if type(k) ~= "table" then
      return nil, err or "no object"
   end
   local ok, made = pcall(unpack, k, topo, seen)
   if not ok then
      return nil, "damaged: " .. tostring(made)
   end
   return made
end

---------------------------------------------------------------- taking it over

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
         links = number(t.links), by_ack = t.by_ack == true,
         port = (t.port == "src" or t.port == "dst") and t.port or nil, on = {} }
      pending[key], pending[#pending + 1] = p, p
   end
   p.on[c] = t.share
end

--- Put away a component as unpacked, until finish().
function memory.add(self, c, k)
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
function memory.finish(self)
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

return memory
