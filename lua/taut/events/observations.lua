-- SPDX-License-Identifier: GPL-2.0-or-later
--- The observations that the store has, for `taut events` and `taut explain`.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local observations = {}
local Observations = {}
Observations.__index = Observations

local LIMIT, LIMIT_MOST = 1000, 100000
local JOB_MOST = (1 << 32) - 1

-- A counter of the router's is given its component after it was stored.
local function name_components(observation, topo)
   if #(observation.components or {}) == 0 then
      observation.components = json.array {}
      for _, place in ipairs(observation.places) do
         if topo.component_id[place] then
            observation.components[#observation.components + 1] = place
         end
      end
   end
end

-- A stored row as an observation again; jobs only where the caller may see them.
local function unpack_row(row, topo, with_jobs)
   local o = tables.or_empty(row.more and json.decode(row.more))
   o.source, o.from, o.to, o.seconds = row.source, row.begin, row.time, row.seconds
   o.jump = row.jump
   o.scope, o.node, o.what, o.class, o.amount = row.scope, row.node, row.what, row.class, row.amount
   o.unit, o.left, o.during, o.text = row.unit, row.capacity_left, row.during, row.text
   o.id, o.places = row.id, json.array {}
   for place in (row.places or ""):gmatch "%S+" do
      o.places[#o.places + 1] = place
   end
   name_components(o, topo)
   if with_jobs then
      o.jobs = json.array {}
      for id in (row.jobs or ""):gmatch "%d+" do
         o.jobs[#o.jobs + 1] = math.tointeger(tonumber(id))
      end
      table.sort(o.jobs)
   end
   return o
end

--- Rows of the store's `observations` as observations.
-- @param job a job whose number may be told (the caller's own), or nil
function Observations:unpack(rows, uid, job)
   local list, cluster = json.array {}, self.cluster
   local all = not cluster:is_private "jobs" or cluster:is_admin(uid)
   for i, row in ipairs(rows) do
      list[i] = unpack_row(row, self.topo, all)
      if not all then
         list[i].jobs = job and json.array { job }
      end
   end
   return list
end

local function is_whole_within(value, least, most)
   return math.type(value) == "integer" and value >= least and value <= most
end

-- Names as the store's places know them, and numbers that there are.
local function check_args(topo, args)
   if args.node and not topo.node_id[args.node] then
      local names = hostlist.expand(tostring(args.node), 2)
      return nil, ("node '%s' is not in the topology%s"):format(tostring(args.node):sub(1, 100),
         names and #names > 1 and " (one node, not a list)" or "")
   elseif args.link and type(args.link) ~= "string" then
      return nil, "link: expected a name"
   elseif args.job ~= nil and not is_whole_within(args.job, 1, JOB_MOST) then
      return nil, ("job: expected 1 to %d"):format(JOB_MOST)
   elseif args.limit ~= nil and not is_whole_within(args.limit, 1, LIMIT_MOST) then
      return nil, ("limit: expected 1 to %d"):format(LIMIT_MOST)
   end
   return true
end

--- Answer `taut events`.
-- @param args node, link, job, since (seconds since 1970), limit, serious (nothing harmless)
-- @param may_see function(job, fn): fn(true), or fn(nil, why) for a job that is hidden from the
--   caller
-- @param reply function({ observations (the latest first), more (there are others before), now })
--   or reply(nil, why)
function Observations:list(args, uid, may_see, reply)
   local ok, err = check_args(self.topo, args)
   if not ok then
      return reply(nil, err)
   end
   local job, limit = args.job, args.limit or LIMIT
   local since = 0
   if type(args.since) == "number" then
      since = args.since
   end
   local function ask_store()
      self.journal:flush()
      self.journal:query("observations", { node = args.node, link = args.link, job = job,
         since = since,
         worse_than_harmless = args.serious == true, limit = limit + 1 }, function(rows, why)
         if not rows then
            return reply(nil, why)
         end
         local more = #rows > limit
         rows[limit + 1] = nil
         reply { observations = self:unpack(rows, uid, job), more = more,
            now = loop.time() }
      end)
   end
   if not job then
      return ask_store()
   end
   may_see(job, function(may, why)
      if not may then
         return reply(nil, why)
      end
      ask_store()
   end)
end

--- @param options { topology, cluster, journal }
function observations.new(options)
   return setmetatable({ topo = options.topology, cluster = options.cluster,
      journal = options.journal }, Observations)
end

return observations
