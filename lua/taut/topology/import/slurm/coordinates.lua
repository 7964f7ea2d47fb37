-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where nodes of a torus sit, as Slurm over ALPS has it from the SDB: NodeAddr is X, Y, Z, a digit
-- in base 36 each, NodeHostName the cname.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local coordinates = {}

local TIMEOUT_S = 60

--- Ask taut-slurm.
-- @return nodes of its answer; or nil and why there are none
function coordinates.ask()
   local pipe = io.popen(("printf '{\"op\":\"nodes\"}\\n' | timeout %d '%s/taut-slurm' 2>/dev/null")
      :format(TIMEOUT_S, sys.paths.libexecdir))
   local nodes, reply = {}, nil
   for line in pipe:lines() do -- a long list comes in several
      reply = json.decode(line)
      local rows = tables.or_empty(reply).nodes or {}
      table.move(rows, 1, #rows, #nodes + 1, nodes)
   end
   pipe:close()
   if not reply or not reply.ok then
      return nil, "topology.from: "
         .. (tables.or_empty(reply).error or "taut-slurm does not answer")
   end
   return nodes
end

-- "07A" → { 0, 7, 10 }
local function decode_coordinates(node)
   local at = {}
   for digit in (node.coord or ""):gmatch "[0-9A-Z]" do
      at[#at + 1] = math.tointeger(tonumber(digit, 36))
   end
   if #at == 3 and #node.coord == 3 then
      return at
   end
   return nil
end

-- Ring lengths, and the most nodes of one router.
local function shape_of(at)
   local dims, count, most = { 1, 1, 1 }, {}, 0
   for _, c in pairs(at) do
      for d = 1, 3 do
         dims[d] = math.max(dims[d], c[d] + 1)
      end
      local key = table.concat(c, ".")
      count[key] = (count[key] or 0) + 1
      most = math.max(most, count[key])
   end
   return dims, most
end

--- Fill in what Slurm knows: nodes, dims, nodes_per_router; and `at`, node name → coordinates.
-- What the configuration has of these (a machine file's) stands, and is held against Slurm's.
-- @param conf of a torus with from = "slurm"
-- @param nodes of taut-slurm's answer
-- @return a new configuration; or nil and what is wrong
function coordinates.fill(conf, nodes)
   local out, at, names = {}, {}, {}
   for k, v in pairs(conf) do
      out[k] = v
   end
   for i, n in ipairs(nodes) do
      names[i], at[n.name] = n.name, decode_coordinates(n)
      if not at[n.name] then
         return nil, ("topology.from: Slurm has no coordinates of %s (NodeAddr '%s'): only " ..
            "over ALPS it does"):format(n.name, n.coord or "")
      end
   end
   if #names == 0 then
      return nil, "topology.from: Slurm has no nodes"
   end
   local dims, most = shape_of(at)
   out.dims, out.nodes_per_router = conf.dims or dims, conf.nodes_per_router or most
   out.nodes, out.at = conf.nodes or hostlist.compress(names), at
   out.is_checked = conf.nodes ~= nil
   for d = 1, 3 do
      if #out.dims ~= 3 or dims[d] > out.dims[d] then
         return nil, ("topology.dims: { %s }, but Slurm has coordinates up to { %s }"):format(
            table.concat(out.dims, ", "), table.concat(dims, ", "))
      end
   end
   return out
end

--- Names and routers by Slurm's coordinates.
-- @param conf of fill
-- @param index function(coordinates) → router
-- @return array of names, array of routers
function coordinates.place(conf, index)
   local names, router_of = {}, {}
   for i, name in ipairs(hostlist.expand(conf.nodes, 1 << 20)) do
      names[i], router_of[i] = name, index(conf.at[name])
   end
   return names, router_of
end

--- Does Slurm say of these nodes what the configuration does?
-- @return true; or nil and where they differ first
function coordinates.check(conf, names, router_of, index, words)
   for i, name in ipairs(names) do
      local at = conf.at[name]
      if at and index(at) ~= router_of[i] then
         return nil, ("topology.from: Slurm has %s at %s, topology.nodes at %s"):format(name,
            table.concat(at, ","), words(router_of[i]))
      end
   end
   return true
end

return coordinates
