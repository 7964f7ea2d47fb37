-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a site says of its torus or mesh: checked, with defaults.
local cabinets = require "taut.topology.cabinets"
local coordinates = require "taut.topology.import.slurm.coordinates"
local hostlist = require "taut.hostlist"
local unknown = require "taut.topology.unknown"

local settings = {}

settings.LETTERS = { "X", "Y", "Z", "A", "B", "C" }

local function is_count(value, least)
   return math.type(value) == "integer" and value >= least
end

local function check_dims(dims)
   if type(dims) ~= "table" or #dims < 1 or #dims > 6 then
      return nil, "topology.dims: expected a list of 1 to 6 lengths, such as { 4, 2, 2 }"
   end
   local routers = 1
   for i, d in ipairs(dims) do
      if not is_count(d, 1) or d > 4096 then
         return nil, ("topology.dims[%d]: expected a whole number 1 to 4096, got %s"):format(
            i, tostring(d))
      end
      routers = routers * d
   end
   if routers > 1 << 20 then
      return nil, ("topology.dims: %d routers, expected at most %d"):format(routers, 1 << 20)
   end
   return true
end

local KNOWN = {}
for _, name in ipairs { "at", "capacity", "dims", "down", "from", "is_checked", "kind",
   "layout", "nodes", "nodes_per_router", "order", "retry", "service", "tie", "two_cables",
   "wrap" } do
   KNOWN[name] = true
end

-- With from = "slurm" what Slurm says is added first.
local function add_slurm(conf)
   if conf.from == nil or conf.at then
      return conf
   elseif conf.from ~= "slurm" then
      return nil, ('topology.from: expected "slurm", got %s'):format(tostring(conf.from))
   end
   local nodes, err = coordinates.ask()
   if not nodes then
      return nil, err
   end
   return coordinates.fill(conf, nodes)
end

local function check_conf(conf)
   for name in pairs(conf) do
      if not KNOWN[name] then
         return nil, ("topology.%s: not a setting of a %s"):format(tostring(name), conf.kind)
      end
   end
   local ok, err = check_dims(conf.dims)
   if not ok then
      return nil, err
   end
   if not is_count(conf.nodes_per_router, 1) or conf.nodes_per_router > 65536 then
      return nil, ("topology.nodes_per_router: expected a whole number 1 to 65536, got %s")
         :format(tostring(conf.nodes_per_router))
   end
   if type(conf.nodes) ~= "string" then
      return nil, "topology.nodes: expected a host list, such as \"n[0-31]\""
   end
   return true
end

--- @return the configuration with what Slurm adds to it; or nil and what was expected
function settings.complete(conf)
   local err, ok
   conf, err = add_slurm(conf)
   if conf then
      ok, err = check_conf(conf)
   end
   if ok then
      return conf
   end
   return nil, err
end

-- A setting of one value for all dimensions, or of a table { X = …, Y = … }, as an array.
local function per_dimension(conf, name, dims, default, check)
   local given, out = conf[name], {}
   if given == nil then
      given = default
   end
   for d = 1, #dims do
      local v = given
      if type(given) == "table" then
         v = given[settings.LETTERS[d]]
         if v == nil then
            v = default
         end
      end
      if not check(v) then
         return nil, ("topology.%s: %s is not expected for %s"):format(name, tostring(v),
            settings.LETTERS[d])
      end
      out[d] = v
   end
   return out
end

local function is_flag(value)
   return type(value) == "boolean"
end

local function is_sign(value)
   return value == "+" or value == "-"
end

-- "XYZ" as numbers from 0.
local function order_of(conf, dims)
   local text, order, seen = conf.order, {}, {}
   if text == nil then
      text = table.concat(settings.LETTERS, "", 1, #dims)
   end
   for letter in tostring(text):gmatch "." do
      for d = 1, #dims do
         if settings.LETTERS[d] == letter and not seen[d] then
            seen[d], order[#order + 1] = true, d - 1
         end
      end
   end
   if #order ~= #dims or #tostring(text) ~= #dims then
      return nil, ("topology.order: expected each of %s once, got %s"):format(
         table.concat(settings.LETTERS, "", 1, #dims), tostring(text))
   end
   return order
end

--- Fill in what the routes and the wiring depend on.
-- @param f fields of the topology: gets wrap, two_cables, tie_minus, order, no_retry, layout
-- @return nil, or what was expected
function settings.fill(f, conf)
   local dims, ties, err = conf.dims
   f.wrap, err = per_dimension(conf, "wrap", dims, conf.kind ~= "mesh", is_flag)
   if not f.wrap then
      return err
   end
   f.two_cables, err = per_dimension(conf, "two_cables", dims, false, is_flag)
   if not f.two_cables then
      return err
   end
   ties, err = per_dimension(conf, "tie", dims, "+", is_sign)
   if not ties then
      return err
   end
   f.tie_minus = {}
   for d, len in ipairs(dims) do
      -- one cable between two routers is "+" from both; a mesh of two has no second one
      f.two_cables[d] = f.two_cables[d] and f.wrap[d]
      f.tie_minus[d] = ties[d] == "-" and (len > 2 or f.two_cables[d])
      f.wrap[d] = f.wrap[d] or len == 2
   end
   f.order, err = order_of(conf, dims)
   if not f.order then
      return err
   end
   if conf.retry ~= nil and type(conf.retry) ~= "boolean" then
      return ("topology.retry: expected true or false, got %s"):format(tostring(conf.retry))
   end
   f.no_retry = conf.retry == false
   if conf.layout ~= nil then
      f.layout, err = cabinets.layout(conf.layout, dims, conf.nodes_per_router)
      return err
   end
   return nil
end

--- Capacity of a component, bytes per second: that of its port ("Y+"), its class ("mezzanine",
-- "Y cable"), its dimension ("Y"), any link, or what the layout knows; unknown.CABLE if there is
-- none.
function settings.capacity_of(conf, port, class, layout)
   local c = conf.capacity
   local letter = port:sub(1, 1)
   local is_link, v = port ~= "tx" and port ~= "rx", nil
   if type(c) == "table" then
      v = c[port] or c[letter .. " " .. class] or c[class] or c[letter] or is_link and c.link or nil
   elseif type(c) == "number" then
      v = c
   end
   if v == nil and layout then
      v = layout.capacity(class, letter)
   end
   return unknown.checked(c, v, port)
end

--- Names that are not compute nodes.
-- @return set, or nil and what was expected
function settings.service(conf, names)
   local skip, known = {}, {}
   if conf.service == nil then
      return skip
   end
   local list, why = {}, nil
   if type(conf.service) == "string" then
      list, why = hostlist.expand(conf.service)
   elseif type(conf.service) ~= "table" then
      why = "got " .. tostring(conf.service)
   else
      list = conf.service
   end
   if why then
      return nil, "topology.service: expected a host list: " .. why
   end
   for _, name in ipairs(names) do
      known[name] = true
   end
   for _, name in ipairs(list) do
      if not known[name] then
         return nil, ("topology.service: '%s' is not one of topology.nodes"):format(tostring(name))
      end
      skip[name] = true
   end
   return skip
end

return settings
