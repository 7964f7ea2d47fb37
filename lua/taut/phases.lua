--- Phases: sets of tests that run together and share nothing.
local stages = require "taut.stages"

local phases = {}

--- A packer puts tests into the first phase where they meet no other.
-- @param topo topology
-- @param most phases
function phases.packer(topo, most)
   return { topo = topo, most = most, phases = {} }
end

local function fits(phase, t, back)
   if phase.node[t.src] or phase.node[t.dst] then
      return false
   end
   for _, c in ipairs(stages.all(t.route)) do
      if phase.data[c] or phase.ack[c] then
         return false
      end
   end
   for _, c in ipairs(back) do
      if phase.data[c] then
         return false
      end
   end
   local a, b = t.from_router, t.to_router
   -- a router that sends into the fabric receives nothing from it in the same phase
   return a == b or not (phase.role[a] == "recv" or phase.role[b] == "send")
end

local function put(phase, t, back)
   phase.node[t.src], phase.node[t.dst] = true, true
   for _, c in ipairs(stages.all(t.route)) do
      phase.data[c] = true
   end
   for _, c in ipairs(back) do
      phase.ack[c] = true
   end
   if t.from_router ~= t.to_router then
      phase.role[t.from_router], phase.role[t.to_router] = "send", "recv"
   end
   phase.tests[#phase.tests + 1] = t
end

--- Place a test in phase `from` or the first later one that takes it.
-- @param pack packer
-- @param t { src, dst, route (optional) }; gets route, from_router, to_router
-- @param from number of a phase (default 1)
-- @return the number of the phase, or nil when there is none left
function phases.place(pack, t, from)
   local topo = pack.topo
   t.route = t.route or topo:route(t.src, t.dst, nil, t.rail)
   t.from_router, t.to_router = topo:router(t.src), topo:router(t.dst)
   local back = stages.all(topo:route(t.dst, t.src, nil, t.rail))
   for p = from or 1, pack.most do
      local phase = pack.phases[p]
      if not phase then
         phase = { node = {}, data = {}, ack = {}, role = {}, tests = {} }
         pack.phases[p] = phase
      end
      if fits(phase, t, back) then
         put(phase, t, back)
         return p
      end
   end
   return nil
end

return phases
