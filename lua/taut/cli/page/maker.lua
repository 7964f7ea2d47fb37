-- SPDX-License-Identifier: GPL-2.0-or-later
--- Makes the pages of `taut serve`, in a process of its own: of a large machine it takes seconds.
local answering = require "taut.base.answering"
local gather = require "taut.cli.page.gather"
local loop = require "taut.loop"
local page = require "taut.report.page"
local placement = require "taut.cli.page.placement"
local tables = require "taut.base.tables"

local maker = {}

local ops = {}
local kept = {} -- by whether it is private: what all such pages have in common

-- At most `every` seconds old.
local function base_data(request)
   local k = kept[request.private]
   if k and loop.now_ns() - k.at_ns < request.every * 1e9 then
      return k.d
   end
   local d, err = gather.all { socket = request.socket, timeout_ms = request.timeout_ms,
      since = request.since,
      private = request.private }
   kept[request.private] = nil
   if d then
      kept[request.private] = { d = d, at_ns = loop.now_ns() }
   end
   return d, err
end

local function add_jobs(data, request)
   local jobs, err = gather.jobs { socket = request.socket, timeout_ms = request.timeout_ms,
      as = request.as,
      since = request.since }
   if not jobs then
      return nil, err
   end
   data = tables.copy(data)
   data.jobs, data.hidden, data.lost = jobs.jobs, jobs.hidden, jobs.lost
   placement.add(data.topo, data.jobs)
   return data
end

--- { socket, timeout_ms of each question to tautd, every = seconds, since = how far back, private,
-- jobs = whether to show them, as = the user who looks, or nil } → { text, policy }, or
-- { failed = why, is_away = because tautd did not answer }
function ops.page(request)
   local d, err = base_data(request)
   if not d then
      return { failed = err, is_away = true }
   elseif request.jobs then
      d, err = add_jobs(d, request)
   end
   if not d then
      return { failed = err }
   end
   local text, policy = page.make(d, request.every)
   return { text = text, policy = policy }
end

--- Serve requests until stdin ends.
-- @return exit status
function maker.main()
   return answering.serve { name = "pages", ops = ops, is_ready = function() return true end }
end

return maker
