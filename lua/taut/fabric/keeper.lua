-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sweeps a fabric and keeps what it says: for `tautd --fabric` and for a `taut fabric` that sweeps
-- by itself.
local model = require "taut.fabric.model"
local names = require "taut.topology.import.ib.guids"
local state = require "taut.fabric.state"
local sweep = require "taut.fabric.sweep"
local watch = require "taut.fabric.watch"

local keeper = {}
local Keeper = {}
Keeper.__index = Keeper

-- Where infiniband-diags and opensm look for it.
local USUAL_MAPS = { "/etc/infiniband-diags/ib-node-name-map", "/etc/opensm/ib-node-name-map" }

local function read_map(conf)
   if conf.names then
      return names.read(conf.names)
   end
   for _, path in ipairs(USUAL_MAPS) do
      local f = io.open(path)
      if f then
         f:close()
         return names.read(path)
      end
   end
   return nil
end

function Keeper:note(text)
   if not self.said[text] then
      self.said[text] = true
      self.notes[#self.notes + 1] = text
   end
end

--- Sweep, and hold it against the sweep before.
-- @param light do without counters, and without the sweep before
-- @return observations, or nil and why
function Keeper:sweep(light)
   -- the map may have changed since the last one
   local map, err = read_map(self.conf)
   if err then
      self:note(err .. "; names are those the nodes have")
   end
   local s
   s, err = sweep.run(self.conf, not light)
   if not s then
      return nil, err
   end
   self.fabric = model.build(s, map, self.conf.widest)
   if light then
      return {}
   end
   local observations = watch.take(self.state, self.fabric)
   local ok
   ok, err = state.save(self.conf.state, self.state)
   if not ok then
      self:note("the state of this sweep cannot be kept: " .. err)
   end
   return observations
end

--- @return the recorded fabric; or nil and why, and true where none was ever recorded
function Keeper:record()
   return state.load_record(self.conf.recorded)
end

--- @param conf settings `fabric`, with `state` and `recorded` as paths
function keeper.new(conf)
   local self = setmetatable({ conf = conf, notes = {}, said = {} }, Keeper)
   local err
   self.state, err = state.load(conf.state)
   if err then
      self:note(err .. "; growth begins anew")
   end
   return self
end

return keeper
