--- What is known of a component, as text for the store and back.
local json = require "taut.json"
local stages = require "taut.stages"

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
   if not t.route then
      return nil -- nor a route between them
   end
   for _, c in ipairs(stages.sure(t.route)) do
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

-- What must be a number for diagnose.lua to go on with it.
local function check_numbers(t, names)
   for _, name in ipairs(names) do
      if type(t[name]) ~= "number" then
         error(name .. " is no number", 0)
      end
   end
end

-- One test stands in the runs of several components: `seen` keeps it one table.
local function shared_test(t, topo, seen)
   check_numbers(t, { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "streams" })
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

local function unpack_set(list)
   local set = {}
   for _, e in ipairs(list) do
      set[e] = true
   end
   return set
end

local function unpack(k, topo, seen)
   check_numbers(k, { "tests", "good", "busy" })
   for _, name in ipairs { "since", "cleared_at", "last", "suspect_at", "left",
      "probation_until" } do
      check_numbers({ [name] = k[name] or 0 }, { name })
   end
   local run, tied = {}, {}
   for _, t in ipairs(k.run) do
      run[#run + 1] = shared_test(t, topo, seen)
   end
   for _, name in ipairs(k.tied) do
      tied[#tied + 1] = topo.component_id[name]
   end
   k.confirmed = unpack_confirmed(k.confirmed, topo, seen)
   k.run, k.tied, k.seen_far = run, tied, k.seen_far and unpack_set(k.seen_far)
   return k
end

--- @param text what pack made
-- @param seen table shared by all components of one loading
-- @return component, or nil and why it cannot be read
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

return memory
