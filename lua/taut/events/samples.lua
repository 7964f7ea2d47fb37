-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a node's counters are stored with: when and where they were read, for which rails.
local clock = require "taut.base.clock"
local json = require "taut.json"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local samples = {}

--- Interface → rail, where the node told of its endpoints; an address label such as hsn0:1 belongs
-- to hsn0.
-- @param placed of topology/fabrics/rails.lua, where rails are not places in the node's list
function samples.rails(greeting, placed)
   local map, any = {}, false
   for i, e in ipairs(placed or tables.or_empty(greeting.endpoints)) do
      if type(e) == "table" and type(e["if"]) == "string" then
         map[e["if"]], any = i, true
         local device = e["if"]:match "^[^:]*"
         map[device] = map[device] or i
      end
   end
   if any then
      return map
   end
   return nil
end

--- A row for the store, with this host's boot: the monotonic clock of another one cannot be
-- compared.
-- @param greeting HELLO, or what is left of it: job, restart, node, boot
-- @param purpose prolog, epilog or idle
-- @param told its readings, a text (wire/readings.lua)
-- @param jobs that ran on the node since its counters were read before
-- @param rails of samples.rails, or nil
-- @param rail_count how many rails the topology has
function samples.row(greeting, purpose, told, jobs, rails, rail_count)
   return { job = greeting.job, restart = greeting.restart or 0, node = greeting.node,
      purpose = purpose, time = loop.time(), mono = loop.now_ns() / 1e9,
      host_boot = clock.boot_id(), boot = greeting.boot,
      counters = told, jobs = json.array(jobs), rails = rails,
      rail_count = rail_count }
end

return samples
