-- SPDX-License-Identifier: GPL-2.0-or-later
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local pattern = require "taut.place.pattern"
local report = require "taut.report"
local score = require "taut.place.score"
local common = require "taut.cli.topology.common"
local tables = require "taut.base.tables"

local load = { summary = "Bytes on each link while nodes communicate in a pattern." }

-- Those that take --bytes, --by and --grid; taut.pattern has the others, with parameters.
local OWN = { ["all-to-all"] = true, nearest = true, ring = true, shift = true }

local function parse_lengths(text)
   local list = {}
   for part in (text .. "x"):gmatch "([^x]*)x" do
      list[#list + 1] = common.whole(part)
      if not list[#list] or not part:find "^%d+$" then
         return nil, "expected lengths such as 4x4x2, got " .. text
      end
   end
   return list
end

-- The pattern, if there is one of that name; its parameters are looked at later.
local function parse_pattern(text)
   local name = text:match "^[^:]*"
   for _, other in ipairs(pattern.names) do
      if name == other then
         return text
      end
   end
   if OWN[name] then
      return text
   end
   return nil, ("there is no pattern '%s'; --help names them"):format(name)
end

function load.setup(parser)
   parser:argument("pattern"):description(
      "all-to-all; ring: everybody to the next; shift: to the one --by places on; nearest: to " ..
      "both neighbours in each dimension of a grid; or one that taut advise knows, all its " ..
      "steps, with parameters: halo3d:bytes=64k (" .. table.concat(pattern.names, ", ")
      .. ")."):argname "<pattern>":convert(parse_pattern)
   parser:option("-w --nodelist"):description "Only these nodes, in this order.":argname "<list>"
   parser:option("--bytes"):description "Bytes from one node to another (1 MB).":argname "<n>"
      :convert(function(text)
         local n = tonumber(text)
         if n and n > 0 and n < math.huge then
            return n
         end
         return nil, "expected bytes, got " .. text
      end)
   parser:option("--by"):description "For shift: how many places (1).":argname "<n>"
      :convert(common.whole)
   parser:option("--grid"):description "For nearest: lengths of the grid of nodes (a cube)."
      :argname "<lengths>":convert(parse_lengths)
   parser:option("--top"):description "How many of the busiest links (10).":argname "<n>"
      :convert(common.whole)
end

--- The nodes it is asked about; a bad list is reported later.
function load.names(args)
   if not args.nodelist then
      return {}
   end
   return hostlist.expand(args.nodelist, 1 << 20) or {}
end

local function chosen_nodes(scene, list)
   if not list then
      return nil
   end
   local names, err = hostlist.expand(list, #scene.topo.nodes + 1)
   if not names then
      return nil, "--nodelist: " .. err
   end
   local nodes, seen = {}, {}
   for i, name in ipairs(names) do
      nodes[i], err = scene:node(name)
      if not nodes[i] then
         return nil, "--nodelist: " .. err
      elseif seen[name] then
         return nil, ("--nodelist: '%s' is given twice"):format(name)
      end
      seen[name] = true
   end
   return nodes
end

-- Infinite over what has failed.
local function time_by(capacity, scene, loads, component)
   if loads[component] == 0 then
      return 0
   end
   return loads[component] / (capacity * (scene.left[component] or 1))
end

-- Seconds; nil where it is not known what the component carries.
local function time_of(scene, loads, component)
   local capacity = scene.topo:known_capacity(component)
   return capacity and time_by(capacity, scene, loads, component)
end

local function add_to_class(classes, at, name, bytes, seconds)
   local k = at[name]
   if not k then
      k = { class = name, links = 0, used = 0, least = math.huge, most = 0, sum = 0, busy_s = 0 }
      at[name] = k
      classes[#classes + 1] = k
   end
   k.links, k.sum = k.links + 1, k.sum + bytes
   if bytes > 0 then
      k.used = k.used + 1
   end
   k.least, k.most = math.min(k.least, bytes), math.max(k.most, bytes)
   k.busy_s = k.busy_s and seconds and math.max(k.busy_s, seconds)
end

-- Per class of components: how many, least, mean and most bytes; and all that carry something,
-- the slowest first.
local function by_class(scene, loads)
   local topo, classes, at, links = scene.topo, {}, {}, {}
   for c = 1, #topo.components do
      local bytes = loads[c]
      if topo:is_there(c) then
         add_to_class(classes, at, common.class(topo, c), bytes, time_of(scene, loads, c))
      end
      if bytes > 0 then
         links[#links + 1] = c
      end
   end
   table.sort(links, function(one, other)
      local ta = time_by(topo.capacity[one], scene, loads, one)
      local tb = time_by(topo.capacity[other], scene, loads, other)
      return ta > tb or ta == tb and one < other
   end)
   return classes, links
end

local function format_seconds(seconds)
   if not seconds then
      return "-"
   elseif seconds == math.huge then
      return "never"
   elseif seconds < 1 then
      return ("%.3g ms"):format(seconds * 1e3)
   end
   return ("%.4g s"):format(seconds)
end

local function finite_or_nil(seconds)
   if seconds and seconds < math.huge then
      return seconds
   end
   return nil
end

local function print_load(args, scene, answer)
   local topo = scene.topo
   local bytes = ""
   if answer.bytes then
      bytes = report.text_if(OWN[args.pattern], ", %s from each to each partner",
         ", messages of %s"):format(report.bytes(math.floor(answer.bytes)))
   end
   common.say("pattern", ("%s of %s%s"):format(args.pattern, report.count(answer.count, "node"),
      bytes))
   if answer.lost > 0 then
      common.say("no route", ("%d pairs, left out"):format(answer.lost))
   end
   local rows = {}
   for i, k in ipairs(answer.classes) do
      rows[i] = { k.class, tostring(k.links), tostring(k.used),
         report.bytes(math.floor(k.least)), report.bytes(math.floor(k.sum / k.links)),
         report.bytes(math.floor(k.most)), format_seconds(k.busy_s) }
   end
   common.table({ "CLASS", ">COUNT", ">USED", ">LEAST", ">MEAN", ">MOST", ">TIME" }, rows)
   rows = {}
   for _, c in ipairs(answer.links) do
      if #rows >= (args.top or 10) then
         break
      end
      if topo:is_link(c) then
         rows[#rows + 1] = { topo.components[c], common.class(topo, c),
            report.bytes(math.floor(answer.loads[c])), report.bandwidth(topo:known_capacity(c)),
            common.health(common.component(scene, c)),
            format_seconds(time_of(scene, answer.loads, c)) }
      end
   end
   print ""
   common.table({ "BUSIEST LINK", "CLASS", ">BYTES", ">CAPACITY", "HEALTH", ">TIME" }, rows)
   common.footer(scene)
end

local function plain_data(args, scene, d)
   local topo, links, classes = scene.topo, json.array {}, json.array {}
   for i, c in ipairs(d.links) do
      if args.top and i > args.top then
         break
      end
      links[i] = { component = topo.components[c], bytes = d.loads[c],
         seconds = finite_or_nil(time_of(scene, d.loads, c)) }
   end
   for i, k in ipairs(d.classes) do
      classes[i] = { class = k.class, components = k.links, used = k.used, least_bytes = k.least,
         mean_bytes = k.sum / k.links, most_bytes = k.most,
         seconds = finite_or_nil(k.busy_s) }
   end
   return { pattern = args.pattern, nodes = d.count, bytes = d.bytes, without_route = d.lost,
      classes = classes, components = links }
end

-- A pattern of taut.pattern: bytes per component in all of its steps, pairs without a route, and
-- bytes of a message; or nil and what is wrong.
local function loads_of(args, scene, nodes)
   if args.bytes or args.by or args.grid then
      return nil, ("--bytes, --by and --grid: not with %s, which takes parameters " ..
         "(halo3d:bytes=64k,grid=4x4x2)"):format(args.pattern)
   end
   local all, loads = nodes, {}
   if not all then
      all = tables.fill(1, #scene.topo.nodes, function(node) return node end)
   end
   local spec, err = pattern.read(args.pattern)
   local P
   if spec then
      P, err = pattern.make(spec, #all)
   end
   if not P then
      return nil, err
   end
   local s = score.evaluate(scene.topo, all, P, { load = true })
   for c = 1, #scene.topo.components do
      loads[c] = s.load[c] or 0
   end
   return loads, s.lost, P.bytes
end

function load.run(args, scene)
   local nodes, err = chosen_nodes(scene, args.nodelist)
   local loads, lost
   local bytes = args.bytes or 1e6
   if not err and OWN[args.pattern] then
      loads, lost = scene.topo:load(args.pattern, { nodes = nodes, bytes = bytes, by = args.by,
         grid = args.grid })
      err = lost
   elseif not err then
      loads, lost, bytes = loads_of(args, scene, nodes)
      err = lost
   end
   if not loads then
      report.complain("load: ", err)
      return common.status_of(err)
   end
   local classes, links = by_class(scene, loads)
   local d = { loads = loads, lost = lost or 0, classes = classes, links = links,
      bytes = bytes, count = #(nodes or scene.topo.nodes) }
   if args.json then
      common.json(scene, plain_data(args, scene, d))
   else
      print_load(args, scene, d)
   end
   return 0
end

return load
