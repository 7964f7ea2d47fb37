-- SPDX-License-Identifier: GPL-2.0-or-later
--- Forwarding tables, whichever dump they come from: adds them to a wiring.
local report = require "taut.report"
local source = require "taut.topology.import.source"

local forwarding = {}

local quote = source.quote

-- lid → whose it is, from the wiring.
local function lids_of(wiring, src)
   local lids = {}
   local function give_lid(first, count, thing, what)
      for lid = first, first + count - 1 do
         if lids[lid] then
            src:fail(1, "lid %d is both %s and %s in %s, expected lids of their own", lid,
               lids[lid].what, what, wiring.source)
         end
         thing.what = what
         lids[lid] = thing
      end
   end
   for i, r in ipairs(wiring.routers) do
      if r.lid and r.lid > 0 then
         give_lid(r.lid, 1, { router = i }, r.name)
      end
   end
   for i, n in ipairs(wiring.nodes) do
      for k, rail in ipairs(n.rails) do
         if rail and rail.lid and rail.lid > 0 then
            give_lid(rail.lid, 1 << math.min(rail.lmc or 0, 7), { node = i, rail = k }, n.name)
         end
      end
   end
   return lids
end

-- Ports of each router where something is attached.
local function cabled_ports(wiring)
   local at = {}
   for i in ipairs(wiring.routers) do
      at[i] = { ["0"] = true }
   end
   for _, c in ipairs(wiring.cables) do
      at[c.a][c.a_port], at[c.b][c.b_port] = true, true
   end
   for _, n in ipairs(wiring.nodes) do
      for _, rail in ipairs(n.rails) do
         if rail then
            at[rail.router][rail.port] = true
         end
      end
   end
   return at
end

--- Start adding.
-- @return state for `switch` and `entry`
function forwarding.start(wiring, src)
   local st = { w = wiring, src = src, tables = {}, lids = lids_of(wiring, src), lines = {},
      strangers = 0,
      count = {}, ended = {},
      cabled = cabled_ports(wiring), loose = 0, router_at = {}, passed = 0 }
   for i, r in ipairs(wiring.routers) do
      if r.guid then
         st.router_at[r.guid] = i
      end
      for _, guid in ipairs(r.others or {}) do
         st.router_at[guid] = false
      end
   end
   return st
end

--- A switch's table begins.
-- @param highest lid of the fabric, where the dump says it
function forwarding.switch(st, line, guid, highest)
   local r = st.router_at[guid]
   st.router, st.is_passed, st.highest = nil, r == false, highest
   if st.is_passed then
      st.passed = st.passed + 1
      return
   elseif not r then
      st.src:fail(line, "switch %s is not in %s, expected the dumps of one fabric", quote(guid),
         st.w.source)
   end
   if st.tables[r] then
      st.src:fail(line, "the table of switch %s is here and in line %d, expected it once",
         quote(guid), st.lines[r])
   end
   st.tables[r], st.lines[r], st.router, st.count[r] = {}, line, r, 0
end

--- The present switch's table ends, and says how many lids it has, or which is the highest.
function forwarding.ends(st, line, count)
   local r = st.router
   if r and st.count[r] < count and st.highest ~= count then
      st.src:fail(line, "%d lids dumped, and the table of switch %s has %d", count,
         quote(st.w.routers[r].name), st.count[r])
   elseif r then
      st.ended[r] = true
   end
end

-- A file that was cut short: a table without its end where others have theirs, or, where each
-- table has an entry for every lid, one with fewer of them.
local function check_whole(st, is_full)
   local most = 0
   for _, n in pairs(st.count) do
      most = math.max(most, n)
   end
   for r in pairs(st.tables) do
      if next(st.ended) and not st.ended[r] or is_full and st.count[r] < most then
         local expected = "its end as others have it"
         if is_full then
            expected = ("%d as in others"):format(most)
         end
         st.src:fail(st.lines[r], "the table of switch %s is cut short after %s, expected %s",
            quote(st.w.routers[r].name), report.count(st.count[r], "lid"),
            expected)
      end
   end
end

--- One destination of the present switch.
-- @param port number; 255 for none
-- @param guid of the destination's port, where the dump says it
function forwarding.entry(st, line, lid, port, guid)
   local r = st.router
   if st.is_passed then
      return
   elseif not r then
      st.src:fail(line, "lid %d before any switch, expected the line of a switch", lid)
   end
   local table_of = st.tables[r]
   st.count[r] = st.count[r] + 1
   if table_of[lid] then
      st.src:fail(line, "lid %d is given twice in the table of switch %s", lid,
         quote(st.w.routers[r].name))
   end
   local ports = st.w.routers[r].ports
   if port ~= 255 and ports and port > ports then
      st.src:fail(line, "port %d of switch %s, which has %d", port, quote(st.w.routers[r].name),
         ports)
   end
   local known = st.lids[lid]
   if not known then
      st.strangers = st.strangers + 1
   elseif guid then
      local own = known.router and st.w.routers[known.router].guid
      if not own and known.node then
         own = st.w.nodes[known.node].rails[known.rail].guid
      end
      if own and own ~= guid then
         st.src:fail(line, "lid %d is %s here and %s in %s, expected the dumps of one fabric", lid,
            quote(guid), quote(own), st.w.source)
      end
   end
   if port == 255 then
      return
   end
   if not st.cabled[r][tostring(port)] then
      st.loose = st.loose + 1
      st.loose_line = st.loose_line or line
   end
   table_of[lid] = port
end

--- Put what was gathered into the wiring.
-- @param is_full each table has an entry for every lid
function forwarding.finish(st, is_full)
   local w, src = st.w, st.src
   if not next(st.tables) then
      src:fail(nil, "the file ends without a table, expected one for each switch")
   end
   check_whole(st, is_full)
   for i, r in ipairs(w.routers) do
      if not st.tables[i] then
         src:note(1, "switch %s of %s has no table here", quote(r.name), w.source)
      end
   end
   if st.passed > 0 then
      src:note(1, "%d tables of switches of other planes are passed over: those of the first count",
         st.passed)
   end
   if st.strangers > 0 then
      src:note(1, "%d entries are for lids that %s does not have", st.strangers, w.source)
   end
   if st.loose > 0 then
      src:note(st.loose_line, "%d entries lead through ports where nothing is attached", st.loose)
   end
   for _, t in pairs(st.lids) do
      t.what = nil
   end
   w.tables, w.lids = st.tables, st.lids
end

return forwarding
