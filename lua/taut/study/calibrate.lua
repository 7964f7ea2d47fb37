-- SPDX-License-Identifier: GPL-2.0-or-later
--- Points that a site measured, as a file, for taut.study.fit.
--
-- CSV: a first line of names, `pattern,ranks,per_node,time_s` (or `share` for the share of the time
-- that is communication); `per_node` may be missing (1).  A pattern with commas stands in quotes.
-- Each was measured without failures, on the machine's first nodes in order.
local fit = require "taut.study.fit"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local pattern = require "taut.place.pattern"

local calibrate = {}

local KNOWN = { pattern = true, ranks = true, per_node = true, time_s = true, share = true }

local function split_fields(line)
   local list, rest = {}, line .. ","
   while rest ~= "" do
      local quoted, after = rest:match '^%s*"([^"]*)"%s*,(.*)$'
      local plain, more = rest:match "^([^,]*),(.*)$"
      list[#list + 1] = quoted or plain:match "^%s*(.-)%s*$"
      rest = more
      if quoted then
         rest = after
      end
   end
   return list
end

local function read_heads(line)
   local heads, has = split_fields(line), {}
   for _, h in ipairs(heads) do
      if not KNOWN[h] then
         return nil, ("column '%s' is not known (known: pattern, ranks, per_node, time_s, share)")
            :format(h)
      end
      has[h] = true
   end
   if not (has.pattern and has.ranks and (has.time_s or has.share)) then
      return nil, "expected the columns pattern, ranks, and time_s or share"
   end
   return heads
end

local function read_row(heads, line)
   local row = {}
   for i, v in ipairs(split_fields(line)) do
      row[heads[i] or ""] = v
   end
   for _, k in ipairs { "ranks", "per_node", "time_s", "share" } do
      if row[k] and row[k] ~= "" then
         row[k] = tonumber(row[k])
         if not row[k] or row[k] <= 0 then
            return nil, ("%s: a number above 0 expected"):format(k)
         end
      else
         row[k] = nil
      end
   end
   if math.type(row.ranks) ~= "integer" or row.ranks < 2 then
      return nil, "ranks: a whole number from 2 expected"
   end
   return row
end

--- Read a file of points.
-- @param lines iterator
-- @return array of { pattern, ranks, per_node, time_s or share }, or nil and what is wrong
function calibrate.read(lines, name)
   local heads, list, n = nil, {}, 0
   for line in lines do
      n = n + 1
      local row, err
      if line:find "%S" and not line:find "^%s*#" then
         if not heads then
            heads, err = read_heads(line)
            row = heads
         else
            row, err = read_row(heads, line)
            list[#list + 1] = row
         end
         if not row then
            return nil, ("%s:%d: %s"):format(name, n, err)
         end
      end
   end
   return list
end

-- What the model says of one point: flops, messages, and the seconds of its network.
local function model_point(machine, measured)
   local M, err = pattern.motif(measured.pattern)
   if not M then
      return nil, err
   end
   local per_node = measured.per_node or 1
   local nodes = {}
   for i = 1, math.ceil(measured.ranks / per_node) do
      nodes[i] = i
   end
   if #nodes > #machine.topo.nodes then
      return nil, ("%d nodes, the machine has %d"):format(#nodes, #machine.topo.nodes)
   end
   local phases, solved
   phases, err = load.of(machine, M, { jobs.on(machine, nodes, per_node) }, per_node)
   if phases then
      solved, err = load.solve(machine, phases, machine:overlay())
   end
   if not solved then
      return nil, err
   end
   local out = { flops = 0, messages = 0, mean_s = 0, hottest_s = 0, time_s = measured.time_s,
      share = measured.share }
   for i, ph in ipairs(phases) do
      out.flops = out.flops + ph.stages * ph.flops
      out.messages = out.messages + ph.stages * ph.messages
      for _, k in ipairs { "mean_s", "hottest_s" } do
         out[k] = out[k] + ph.stages * math.max(solved[i][k], ph.inject_bytes / machine.inject_Bps)
      end
   end
   return out
end

--- Fit the constants to points; and what ranks wait for, the mean of their messages or the slowest
-- way of all, by which of both fits better.
-- @param points of calibrate.read
-- @param start constants where the points say nothing
-- @return constants of fit.constants, with `waits` = for the slowest; or nil and what is wrong
function calibrate.fit(machine, points, start)
   local list = {}
   for i, p in ipairs(points) do
      local point, err = model_point(machine, p)
      if not point then
         return nil, ("point %d (%s): %s"):format(i, p.pattern, err)
      end
      list[i] = point
   end
   local best, why
   for _, k in ipairs { "mean_s", "hottest_s" } do
      for _, p in ipairs(list) do
         p.network_s = p[k]
      end
      local c, err = fit.constants(list, start)
      if c and (not best or c.error < best.error * 0.99) then
         best, c.waits = c, k == "hottest_s"
      end
      why = why or err
   end
   return best, why
end

return calibrate
