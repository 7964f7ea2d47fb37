-- SPDX-License-Identifier: GPL-2.0-or-later
local tables = require "taut.base.tables"
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local route = { summary = "The links that traffic between two nodes or routers takes." }

local SHOWN = 6 -- members of a set

function route.setup(parser)
   parser:argument("from"):description "Node or router.":argname "<from>"
   parser:argument("to"):description "Node or router.":argname "<to>"
   parser:flag("-b --back"):description "Also the route back."
   parser:flag("-a --all"):description(("All links of adaptive routes, not only the %d likeliest "
      .. "of each stage."):format(SHOWN))
   parser:option("--rail"):description "Rail of the nodes, from 1 (1).":argname "<n>":convert(
      function(text)
         return math.tointeger(tonumber(text)), "expected a whole number, got " .. text
      end)
end

--- What it is asked about.
function route.names(args)
   return { args.from, args.to }
end

-- A name that is a node or a router.
local function find_name(scene, name)
   local topo = scene.topo
   if topo.node_id[name] then
      return { node = topo.node_id[name] }
   elseif topo.router_id and topo.router_id[name] then
      return { router = topo.router_id[name] }
   end
   return nil, ("%s has no node or router '%s' (expected such as %s or %s)"):format(scene.path,
      name, topo.nodes[1], topo.router_name[0])
end

local function row_of(scene, component, share)
   local r = common.component(scene, component)
   r.share = share
   return r
end

-- @return array of stages, each an array of rows; or nil and why there is no route
local function stages_between(scene, from, to, rail)
   local topo = scene.topo
   local list, why
   if from.node and to.node then
      list, why = topo:route(from.node, to.node, nil, rail)
   else
      local a = from.router or topo:router(from.node, rail)
      local b = to.router or topo:router(to.node, rail)
      list, why = topo:router_route(a, b)
   end
   if not list then
      return nil, why or "no route"
   end
   local out = json.array {}
   for i, stage in ipairs(list) do
      local rows = json.array {}
      if type(stage) == "table" then
         for k, c in ipairs(stage) do
            rows[k] = row_of(scene, c, stage.w[k])
         end
      else
         rows[1] = row_of(scene, stage, 1)
      end
      out[i] = rows
   end
   return out
end

-- The least that all traffic of the pair, in the shares of the stages, gets through any component
-- of which it is known.
local function bottleneck(list)
   local least, where = math.huge, nil
   for _, rows in ipairs(list) do
      for _, r in ipairs(rows) do
         local most = math.huge
         if r.share > 0 and r.capacity_Bps then
            most = r.capacity_Bps * (r.left or 1) / r.share
         end
         if most < least then
            least, where = most, r.component
         end
      end
   end
   return least, where
end

local function links_of(list)
   return tables.count(list, function(rows) return rows[1].from end)
end

-- Lines of one stage: of a set the likeliest members, and what there is besides.
local function add_stage(rows, number, stage, all)
   table.sort(stage, function(one, other)
      if math.abs(one.share - other.share) > 1e-9 then
         return one.share > other.share
      end
      return one.component < other.component
   end)
   local rest, more = 0, 0
   for k, r in ipairs(stage) do
      if k > SHOWN and not all then
         rest, more = rest + r.share, more + 1
      else
         rows[#rows + 1] = { report.text_if(k == 1, tostring(number)), r.component, r.to or "",
            r.class or "", report.bandwidth(r.capacity_Bps), common.health(r),
            report.text_if(#stage > 1, report.percent(r.share)) }
      end
   end
   if more > 0 then
      rows[#rows + 1] = { "", ("and %d more"):format(more), "", "", "", "", report.percent(rest) }
   end
end

local function print_stages(list, all)
   local rows, sets = {}, false
   for i, stage in ipairs(list) do
      sets = sets or #stage > 1
      add_stage(rows, i, stage, all)
   end
   local heads = { ">", "COMPONENT", "TO", "CLASS", ">CAPACITY", "HEALTH", sets and ">SHARE" }
   if not sets then
      heads[7] = nil
      for _, r in ipairs(rows) do
         r[7] = nil
      end
   end
   if #rows > 0 then
      common.table(heads, rows)
   end
end

local function print_way(names, list, why, all)
   if not list then
      report.wrap(("%s to %s: %s"):format(names[1], names[2], why), "", "   ")
      return
   end
   local least, where = bottleneck(list)
   report.wrap(("%s to %s: %s%s"):format(names[1], names[2], report.count(links_of(list), "link"),
      report.text_with(", at most ", where and report.bandwidth(least))), "", "   ")
   print_stages(list, all)
end

function route.run(args, scene)
   local from, err = find_name(scene, args.from)
   local to
   if from then
      to, err = find_name(scene, args.to)
   end
   -- of several fabrics rails are counted through
   local fabric = scene.fabric or { first_rail = 0 }
   local before, rails = fabric.first_rail or 0, scene.topo.rails or 1
   local rail = args.rail and args.rail - before
   if to and rail and (rail < 1 or rail > rails) then
      to, err = nil, ("--rail: expected %d to %d%s, got %d"):format(before + 1, before + rails,
         report.text_with(" in fabric ", fabric.name), args.rail)
   end
   if not to then
      report.complain("route: ", err)
      return 2
   end
   local there, why = stages_between(scene, from, to, rail)
   local back, why_back
   if args.back then
      back, why_back = stages_between(scene, to, from, rail)
   end
   if args.json then
      common.json(scene, { from = args.from, to = args.to, stages = there, error = why,
         back = back, back_error = why_back })
   else
      print_way({ args.from, args.to }, there, why, args.all)
      if args.back then
         print ""
         print_way({ args.to, args.from }, back, why_back, args.all)
      end
      common.footer(scene)
   end
   return tables.one_if(not there or args.back and not back)
end

return route
