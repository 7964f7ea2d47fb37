--- What is known of a component, as text for the store and back.
local json = require "taut.json"

local memory = {}

local FIELDS = { "state", "since", "cleared_at", "last", "tests", "good", "busy", "suspect_at",
   "asked", "left", "probation_until" }
local TEST_FIELDS = { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "streams", "job",
   "src_name", "dst_name", "class" }

local function pack_test(t)
   local out = {}
   for _, f in ipairs(TEST_FIELDS) do
      out[f] = t[f]
   end
   return out
end

local function unpack_test(t, topo)
   t.src, t.dst = topo.node_id[t.src_name], topo.node_id[t.dst_name]
   if not t.src or not t.dst then
      return nil -- a node that the topology no longer has
   end
   t.route, t.on_route = topo:route(t.src, t.dst), {}
   for _, c in ipairs(t.route) do
      t.on_route[c] = true
   end
   return t
end

--- @param k a component of diagnose.lua
-- @return JSON text
function memory.pack(k, topo)
   local out = { run = json.array {}, confirmed = json.array {}, tied = json.array {} }
   for _, f in ipairs(FIELDS) do
      out[f] = k[f]
   end
   for i, t in ipairs(k.run) do
      out.run[i] = pack_test(t)
   end
   for i, p in ipairs(k.confirmed) do
      out.confirmed[i] = { one = pack_test(p.one), many = pack_test(p.many) }
   end
   for i, c in ipairs(k.tied or {}) do
      out.tied[i] = topo.components[c]
   end
   if k.seen_far then
      out.seen_far = json.array {}
      for e in pairs(k.seen_far) do
         out.seen_far[#out.seen_far + 1] = e
      end
   end
   return json.encode(out)
end

-- One test stands in the runs of several components: `seen` keeps it one table.
local function shared_test(t, topo, seen)
   if not seen[t.id] then
      seen[t.id] = unpack_test(t, topo) or false
   end
   return seen[t.id] or nil
end

--- @param text what pack made
-- @param seen table shared by all components of one loading
-- @return component, or nil and why it cannot be read
function memory.unpack(text, topo, seen)
   local k, err = json.decode(text)
   if type(k) ~= "table" then
      return nil, err or "no object"
   end
   local run, confirmed, tied = {}, {}, {}
   for _, t in ipairs(k.run or {}) do
      run[#run + 1] = shared_test(t, topo, seen)
   end
   for _, p in ipairs(k.confirmed or {}) do
      local one, many = shared_test(p.one, topo, seen), shared_test(p.many, topo, seen)
      if one and many then
         confirmed[#confirmed + 1] = { one = one, many = many, time = one.time,
            event = one.event, src = one.src, dst = one.dst }
      end
   end
   for _, name in ipairs(k.tied or {}) do
      tied[#tied + 1] = topo.component_id[name]
   end
   local far
   if k.seen_far then
      far = {}
      for _, e in ipairs(k.seen_far) do
         far[e] = true
      end
   end
   k.run, k.confirmed, k.tied, k.seen_far = run, confirmed, tied, far
   return k
end

return memory
