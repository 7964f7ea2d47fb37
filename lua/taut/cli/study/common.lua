-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the subcommands of `taut study` share: a machine to study, constants, options.
local calibrate = require "taut.study.calibrate"
local hostlist = require "taut.hostlist"
local machine = require "taut.study.machine"
local pattern = require "taut.place.pattern"
local scene = require "taut.cli.topology.scene"
local time = require "taut.study.time"

local common = {}

---------------------------------------------------------------- values of options

--- A converter of lists: "5,10,15" by a converter of one.
function common.list(one)
   return function(v)
      local list = {}
      for word in (v .. ","):gmatch "([^,]*)," do
         local value, err = one(word)
         if value == nil then
            return nil, err
         end
         list[#list + 1] = value
      end
      return list
   end
end

--- Percent, 0 to 100, as a share.
function common.percent(v)
   local n = tonumber((v:gsub("%%$", "")))
   if not n or not (n >= 0 and n <= 100) then
      return nil, "expected percent from 0 to 100, got " .. v
   end
   return n / 100
end

--- Percent above 0.
function common.some_percent(v)
   local n, err = common.percent(v)
   if n == 0 then
      return nil, "expected percent above 0, got " .. v
   end
   return n, err
end

function common.whole(least, most)
   return function(v)
      local n = math.tointeger(tonumber(v))
      return n and n >= least and n <= most and n or nil,
         ("expected a whole number from %d to %d, got %s"):format(least, most, v)
   end
end

function common.above_zero(v)
   local n = tonumber(v)
   return n and n > 0 and n < math.huge and n or nil, "expected a number above 0, got " .. v
end

--- A motif's text; it is read when the machine is known.
function common.motif(v)
   local M, err = pattern.motif(v)
   return M and v, err
end

---------------------------------------------------------------- options

function common.setup(parser, default)
   parser:option("-p --pattern"):description("Motif or pattern, with parameters: " ..
      "halo3d26:points=30, sweep3d, lqcd, exchange:bytes=4Mi, … (" .. default .. ")")
      :argname "<pattern>":count "*":convert(common.motif)
   parser:option("--ntasks-per-node"):description "Ranks on a node (1)."
      :argname "<n>":convert(common.whole(1, 65536))
   parser:option("--calibrate"):description(
      "Fit the time model to points measured without failures: CSV of pattern, ranks, time_s.")
      :argname "<file>"
   parser:option("--flops"):description "What a rank computes a second, else (1e10)."
      :argname "<n>":convert(common.above_zero)
   parser:option("--message-us"):description "What a message costs beside its bytes, else (1)."
      :argname "<us>":convert(common.above_zero)
   scene.setup(parser)
end

function common.setup_links(parser)
   parser:option("-k --kind"):description "Only links of this kind: global, X, uplink …"
      :argname "<kind>":count "*"
   parser:option("--seeds"):description "Random sets of links (8).":argname "<n>"
      :convert(common.whole(1, 1000))
end

function common.setup_nodes(parser)
   parser:option("-w --nodelist"):description "Only these nodes, in this order (all)."
      :argname "<list>"
end

---------------------------------------------------------------- the machine

-- Constants, and a sentence that says where they come from.
local function constants(m, args)
   local start = { flops = args.flops or time.usual.flops, b = time.usual.b,
      message_s = args.message_us and args.message_us * 1e-6 or time.usual.message_s }
   if not args.calibrate then
      return start, ("Assumed: %.3g flop/s a rank, %.3g us a message; --calibrate fits them.")
         :format(start.flops, start.message_s * 1e6)
   end
   local f, err = io.open(args.calibrate)
   if not f then
      return nil, err
   end
   local points
   points, err = calibrate.read(f:lines(), args.calibrate)
   f:close()
   local c
   if points then
      c, err = calibrate.fit(m, points, start)
   end
   if not c then
      return nil, "--calibrate: " .. err
   end
   return c, ("Fitted to %d points of %s: %.3g flop/s a rank, %.3g us a message, b = %.3g; mean " ..
      "error %.1f %%, largest %.1f %%."):format(c.points, args.calibrate, c.flops,
      c.message_s * 1e6, c.b, c.error * 100, c.worst * 100)
end

--- Open what is to be studied.
-- @return { machine, known = map component → share left, c = constants, notes, per_node, patterns,
--   path }, or nil and what is wrong
function common.open(args, default)
   local found, err = scene.open(args)
   local m
   if found then
      m, err = machine.new(found.topo)
   end
   if not m then
      return nil, err
   end
   local c, note = constants(m, args)
   if not c then
      return nil, note
   end
   local patterns = args.pattern and #args.pattern > 0 and args.pattern or { default }
   return { machine = m, known = next(found.left) and found.left or nil, c = c,
      notes = { ("%s: %d nodes, %d links; ways by %s."):format(found.path, #m.topo.nodes,
         #m.topo.components - m.topo.first_link + 1, m.level), note, found.note },
      per_node = args.ntasks_per_node or 1, patterns = patterns, path = found.path }
end

--- Nodes of --nodelist; all without it.
-- @return array of node numbers, or nil and what is wrong
function common.nodes(s, list)
   local nodes, seen = {}, {}
   if not list then
      for n = 1, #s.machine.topo.nodes do
         nodes[n] = n
      end
      return nodes
   end
   local names, err = hostlist.expand(list, #s.machine.topo.nodes + 1)
   if not names then
      return nil, "--nodelist: " .. err
   end
   for i, name in ipairs(names) do
      nodes[i] = s.machine.topo.node_id[name]
      if not nodes[i] or seen[name] then
         return nil, ("--nodelist: %s '%s'"):format(seen[name] and "twice" or "no node", name)
      end
      seen[name] = true
   end
   return nodes
end

return common
