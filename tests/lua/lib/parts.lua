-- SPDX-License-Identifier: GPL-2.0-or-later
--- All of tautd but its doors: the real parts, on a store and a Slurm that a test plays.
local config = require "taut.config"
local sys = require "taut.sys"
local make = require "taut.core.parts"

local parts = {}

local CONF = [[
mode = "observe"
topology = torus { dims = { %s }, nodes_per_router = %d, nodes = "n[%s]"%s }
]]

local function load_conf(o)
   local dims, n = o.dims or { 2, 2, 1 }, o.npr or 1
   for _, d in ipairs(dims) do
      n = n * d
   end
   local folder = os.tmpname()
   os.remove(folder)
   assert(sys.mkdir(folder, 448)) -- 0700
   local path = folder .. "/taut.lua"
   local f = assert(io.open(path, "w"))
   f:write(o.fabrics and ('mode = "observe"\nfabrics = %s\n'):format(o.fabrics)
      or o.topology and ('mode = "observe"\ntopology = %s\n'):format(o.topology)
      or CONF:format(table.concat(dims, ", "), o.npr or 1, o.nodes or "0-" .. n - 1,
      (o.learns and "" or ", capacity = " .. (o.capacity or "24e6"))
      .. (o.service and (', service = "%s"'):format(o.service) or "")), o.more or "")
   f:close()
   local conf = assert(config.load(path, { rundir = "/nowhere", statedir = "/nowhere",
      confdir = "/nowhere" }))
   os.remove(path)
   os.remove(folder)
   return conf
end

-- Rows that were added, and questions that were asked: `stored` has the answers.
local function journal()
   local j = { rows = {}, asked = {}, stored = {} }
   function j:add(name, row) self.rows[#self.rows + 1] = { name, row } end
   function j:query(name, args, fn)
      self.asked[#self.asked + 1] = { name, args }
      fn(self.stored[name] or {})
   end
   function j.flush() end
   function j.together(_, fn) fn() end
   function j:confirm(fn) fn(not self.full, self.full) end
   function j.prune() end
   function j.state() return { waiting = 0, lost = 0, lag = 0 } end
   function j:tell(fn) self.on_observations = fn end
   return j
end

--- @param o { topology or fabrics = as taut.lua has it; or a torus: dims, npr, nodes = list within
--   n[…],   service = host list, capacity = text, more = text of taut.lua, is_admin = false:
--   everybody may ask only, journal = of store/journal.lua, for a real store }
-- @return as core/parts.lua; `slurm.asked`: requests that Slurm's helper got, each answered at
--   once by slurm.answer(request) → reply, error; all nodes are idle in partition "all"
function parts.new(o)
   o = o or {}
   local conf = load_conf(o)
   local slurm = { asked = {}, answer = function() return { done = true } end }
   function slurm:ask(request, fn)
      self.asked[#self.asked + 1] = request
      fn(self.answer(request))
   end
   local p = make(conf, o.journal or journal(), slurm)
   local cl = p.cluster
   for _, name in ipairs(conf.topology.nodes) do
      cl.nodes[name] = { name = name, state = "idle", partitions = { "all" }, reason = "" }
   end
   cl.partitions, cl.nodes_at = { all = conf.topology.nodes }, os.time()
   cl.knows_queue = true -- no job waits
   cl.config = { private = {}, flags = { alloc = true } }
   function cl.refresh(_, fn)
      if fn then
         fn()
      end
   end
   function cl.fresh(_, _, fn) fn() end
   function cl.is_admin() return o.is_admin ~= false end
   if not o.journal then
      p.act:restore({}, {})
   end
   return p
end

return parts
