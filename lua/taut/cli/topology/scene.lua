-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the subcommands of `taut topology` look at: a machine, and what is known of its health.
--
-- With --machine FILE that file alone (or FORMAT:FILE, what another program wrote); without it the
-- installed taut.lua, and the verdicts of tautd where it runs.  --fail takes components out for the
-- sake of the question.
local ask = require "taut.base.ask"
local config = require "taut.config"
local import = require "taut.topology.import"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local topology = require "taut.topology"
local tree = require "taut.base.tree"
local unknown = require "taut.topology.unknown"

local scene = {}

local TIMEOUT_MS = 10000

function scene.setup(parser)
   parser:option("-m --machine"):description(
      "Look at the machine this file describes (or FORMAT:FILE, as for import), not at the " ..
      "installed one."):argname "<file>"
   parser:option("--fail"):description(
      "Suppose that this component, node or switch has failed, or has only a share of its " ..
      "capacity left."):argname "<name>[=<share>]":count "*"
   scene.setup_fabric(parser)
end

--- The option of commands that look at one of several fabrics.
function scene.setup_fabric(parser)
   parser:option("--fabric"):description "Of several fabrics this one.":argname "<name>"
end

--- The installed configuration.
function scene.installed()
   return sys.paths.confdir .. "/taut.lua"
end

-- "rtr:links.txt,xtdb2proc:nodes.txt" as an array of { format =, path = }; nil where it is the name
-- of a file, or begins with no format.
local function split_spec(spec)
   local f = io.open(spec)
   if f then
      f:close()
      return nil
   end
   local list = {}
   for part in spec:gmatch "[^,]+" do
      local format, path = part:match "^(%l[%l%d-]*):(.+)$"
      if format then
         list[#list + 1] = { format = format, path = path }
      elseif #list == 0 then
         return nil
      else -- a comma in the name of a file
         list[#list].path = list[#list].path .. "," .. part
      end
   end
   return list[1] and list
end

--- Build the machine that a file describes.
-- @param spec FILE in Lua, as taut.lua has it, or FORMAT:FILE for an importer, with further
--   FORMAT:FILE after commas that add to it
-- @return topology, or nil and what is wrong
function scene.machine(spec)
   local files = split_spec(spec)
   if not files then
      return config.machine(spec)
   end
   local first = table.remove(files, 1)
   local wiring, err = import.read(first.format, first.path,
      { with = files })
   if not wiring then
      return nil, err
   end
   local topo
   if #wiring.nodes == 0 then
      return nil, import.lacks_nodes(wiring)
   end
   topo, err = topology.build { kind = "graph", wiring = wiring }
   if not topo then
      return nil, ("%s: %s"):format(first.path, err)
   end
   return topo
end

-- The machine as tautd has it, where this host has no taut.lua.
local function from_tautd(args)
   local data, err = ask.request(args, "machine", {}, TIMEOUT_MS)
   if not data then
      return nil, err
   end
   return topology.build(tree.take(data.machine))
end

-- What tautd learned, where the file leaves it open.
local function take_learned(self, rows)
   local members = unknown.classes(self.topo)
   for _, r in ipairs(rows or {}) do
      for _, c in ipairs(tables.or_empty(r.Bps and members[r.class])) do
         unknown.known(self.topo, c, r.Bps)
      end
   end
   self.learned = rows
end

-- Verdicts, and the routes as the fabric has them now.
local function take_health(self, data)
   take_learned(self, data.learned)
   local topo, out = self.topo, {}
   for _, v in ipairs(data.verdicts) do
      local c = topo.component_id[v.component]
      if c then
         self.state[c] = v.state
         self.left[c] = v.left
         if v.state == "failed" then
            self.left[c] = v.left or 0
         end
         self.loss[c] = v.loss
      end
   end
   for _, f in ipairs(data.routed_around) do
      local c = topo.component_id[f.component]
      if c then
         out[c] = f.left
      end
   end
   self.around = out
   if next(out) then
      topo:set_health(out, { report = false })
   end
end

local function open_installed(self, args)
   local data, err, unanswered = ask.request(args, "topology", {}, TIMEOUT_MS)
   self.path = tables.or_empty(data).path or scene.installed()
   if data and args.server and not sys.stat(self.path) then
      self.topo, self.error = from_tautd(args)
   else
      self.topo, self.error = config.machine(self.path)
   end
   if not self.topo then
      return nil, self.error
   elseif not data then
      if unanswered then
         err = ask.unanswered(args, err)
      end
      self.note = "health unknown: " .. err
   elseif data.wiring ~= self.topo.wiring then
      self.note = ("health unknown: tautd runs with another topology than %s has now"):format(
         self.path)
   else
      self.has_health = true
      take_health(self, data)
   end
   return self
end

-- The state of what keeps a share of its capacity.
local function state_at(share)
   if share == 0 then
      return "failed"
   elseif share < 1 then
      return "slow"
   end
   return "ok"
end

-- "r1.0.0/X+", "r1.0.0/X+=0.5", "n5", "leaf2"
local function take_failure(self, text)
   local name, share = text, 0
   if not self:parts(name) then
      local left
      name, left = text:match "^(.*)=([^=]*)$"
      share = tonumber(left)
      if not name or not share or share < 0 or share > 1 then
         return nil, ("--fail: expected COMPONENT or COMPONENT=SHARE, with a share from 0 to 1, " ..
            "got '%s'"):format(text)
      end
   end
   local list, err = self:parts(name)
   if not list then
      return nil, "--fail: " .. err
   end
   for _, c in ipairs(list) do
      self.supposed[c], self.left[c] = share, share
      self.state[c] = state_at(share)
   end
   self.supposed_names[#self.supposed_names + 1] = { component = name, left = share }
   return true
end

local function take_failures(self, list)
   for _, text in ipairs(list or {}) do
      local ok, err = take_failure(self, text)
      if not ok then
         return nil, err
      end
   end
   if next(self.supposed) then
      local left = tables.copy(self.around)
      for c, v in pairs(self.supposed) do
         left[c] = v
      end
      self.rerouted = self.topo:set_health(left)
   end
   return self
end

local Scene = {}
Scene.__index = Scene

---------------------------------------------------------------- one fabric of several

-- The machine and its health, before what --fail supposes.
local function look_at_machine(args)
   local self = setmetatable({ state = {}, left = {}, loss = {}, supposed = {}, around = {},
      supposed_names = {} }, Scene)
   local ok, err
   if args.machine then
      self.path = args.machine
      self.topo, err = scene.machine(args.machine)
      ok = self.topo
   else
      ok, err = open_installed(self, args)
   end
   if not ok then
      return nil, err
   end
   for c, left in pairs(self.topo.degraded) do -- as the file says
      self.around[c], self.left[c] = left, self.left[c] or left
      self.state[c] = self.state[c] or report.text_if(left == 0, "failed", "slow")
   end
   return self
end

-- The same, of one fabric alone.
local function narrow_to_fabric(self, fabric)
   local own = tables.copy(self)
   own.topo, own.fabric, own.whole = fabric.topo, fabric, self.topo
   for _, key in ipairs { "state", "left", "loss", "around" } do
      own[key] = self.topo:for_part(fabric, self[key])
   end
   own.supposed, own.supposed_names = {}, {}
   return setmetatable(own, Scene)
end

-- The fabric that --fabric names, or nil and what was expected; false if it was not requested.
local function named_fabric(self, args)
   local list = self.topo.fabrics
   if not args.fabric then
      return false
   elseif not list then
      return nil, ("--fabric: %s has one topology, and no 'fabrics'"):format(self.path)
   elseif not self.topo.fabric_named[args.fabric] then
      return nil, ("--fabric: expected one of %s, got '%s'"):format(scene.names(list),
         args.fabric)
   end
   return self.topo.fabric_named[args.fabric]
end

--- Names of fabrics in words: "eth, ib".
function scene.names(list)
   return table.concat(tables.map(list, function(fabric) return fabric.name end), ", ")
end

-- Does a fabric have what a name, or a name with its share, stands for?
local function has_name(fabric, text)
   return fabric.topo:parts(text) ~= nil or fabric.topo:parts(text:match "^(.*)=[^=]*$") ~= nil
end

-- Those of a machine's fabrics that a command is about: all of which have all that it names.
local function concerned(self, args, names)
   local list = tables.filter(self.topo.fabrics, function(fabric)
      return not tables.any(names, function(name) return not has_name(fabric, name) end)
   end)
   for _, text in ipairs(args.fail or {}) do
      if not tables.any(self.topo.fabrics, function(fabric) return has_name(fabric, text) end) then
         return nil, "--fail: " .. select(2, self:parts(text))
      end
   end
   if #list > 0 then
      return list
   end
   local words = {}
   for i, name in ipairs(names) do
      local in_ = tables.filter(self.topo.fabrics, function(fabric)
         return has_name(fabric, name)
      end)
      if #in_ == 0 then
         return nil, (select(2, self:parts(name))), true
      end
      words[i] = ("%s: %s"):format(name, scene.names(in_))
   end
   return nil, ("no fabric has all of that, and no route leads from one to another (%s)"):format(
      table.concat(words, "; ")), true
end

--- What a subcommand looks at: of a machine of several fabrics each that it is about.
-- @param args as of open, with `fabric`
-- @param names of components, nodes and routers that it is asked about
-- @return array of scenes as of open, of several fabrics with `fabric` and `whole` (the topology of
--   all of them); or nil, what is wrong, and whether it is in the words of the command line
function scene.each(args, names)
   local self, err = look_at_machine(args)
   local f, is_usage
   if self then
      f, err = named_fabric(self, args)
   end
   if not self or f == nil then
      return nil, err
   elseif not self.topo.fabrics then
      self, err = take_failures(self, args.fail)
      return self and { self }, err
   end
   local list = { f or nil }
   if not f then
      list, err, is_usage = concerned(self, args, names or {})
   end
   for i, one in ipairs(list or {}) do
      local fails = args.fail or {}
      if not f then
         fails = tables.filter(fails, function(text) return has_name(one, text) end)
      end
      list[i], err = take_failures(narrow_to_fabric(self, one), fails)
      if not list[i] then
         return nil, err
      end
   end
   return list, err, is_usage
end

--- @param args parsed command line (machine, fail, socket, fabric)
-- @return { topo =, path = file it comes from, has_health = does tautd answer,
--   state = { [c] = verdict }, left = { [c] = share of its capacity }, where known,
--   learned = rows of diagnose/learned_capacity.lua, or nil,
--   around = what tautd says that the fabric has routed around, supposed = { [c] = share } of
--   --fail, supposed_names = the same as they were given: { component, left }, rerouted = what
--   set_health reports, note = text or nil },
--   or nil and what is wrong
function scene.open(args)
   local self, err = look_at_machine(args)
   local f
   if self then
      f, err = named_fabric(self, args)
   end
   if not self or f == nil then
      return nil, err
   end
   if f then
      self = narrow_to_fabric(self, f)
   end
   return take_failures(self, args.fail)
end

--- The same for a command that can look at one fabric only, which is to be named where there are
-- several.
function scene.one(args)
   local self, err = scene.open(args)
   if self and self.topo.fabrics then
      return nil, ("--fabric is needed: %s has several (%s)"):format(self.path,
         scene.names(self.topo.fabrics))
   end
   return self, err
end

--- Components by name: one, or all of a node or router.
-- @return as Base:parts; or nil and what was expected
function Scene:parts(name)
   local list, r = self.topo:parts(name)
   if not list and self.fabric then
      list, r = self.topo:parts(self.fabric.name .. ":" .. name)
   end
   if list then
      return list, r
   end
   return nil, ("%s has no component '%s' (expected a link such as %s, a tx or rx such as %s, a " ..
      "node or a switch)"):format(self.path, name, self.topo.components[#self.topo.components],
      self.topo.components[1])
end

--- Node by name.
-- @return number, or nil and what was expected
function Scene:node(name)
   local n = self.topo.node_id[name]
   if n then
      return n
   end
   return nil, ("%s has no node '%s' (expected a name such as %s)"):format(self.path, name,
      self.topo.nodes[1])
end

--- Verdict in one word; "-" where nothing is known.
function Scene:verdict(component)
   return self.state[component] or report.text_if(self.has_health, "unknown", "-")
end

return scene
