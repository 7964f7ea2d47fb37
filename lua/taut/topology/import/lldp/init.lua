-- SPDX-License-Identifier: GPL-2.0-or-later
--- An Ethernet fabric from what its switches, and hosts, say of their neighbours by LLDP.
--
-- A switch is what a file is of; its neighbours are switches with a file of their own, or hosts.
-- Where both ends of a cable speak, they have to agree.  LLDP tells no speed.
local forms = require "taut.topology.import.lldp.forms"
local rails = require "taut.topology.import.rails"
local source = require "taut.topology.import.source"
local switch_ports = require "taut.topology.import.lldp.switch_ports"
local tables = require "taut.base.tables"
local wiring = require "taut.topology.import.wiring"

local lldp = {
   summary = "Ethernet fabric: `lldpcli show neighbors -f json` (or json0) of each switch, in a " ..
      "file of its name; also NetQ's, and SONiC's `show lldp table`; beside them each switch's " ..
      "addresses (`ip -j address`, config_db.json)",
   several = true,
}

local quote = source.quote

-- Ports that are not part of a fabric.
local MANAGEMENT = { "^eth%d+$", "^mgmt", "^[Mm]anagement", "^me%d", "^fxp%d", "^em%d", "^oob" }

local function is_management(port)
   for _, p in ipairs(MANAGEMENT) do
      if port:find(p) then
         return true
      end
   end
   return false
end

local function short_name(name)
   return name:match "^[^.]+" or name
end

-- What one that is spoken of is called: as a file is, as --nodes has it, else without its domain.
local function known_as(st, name)
   if not name then
      return nil
   end
   local own = st.speaks[name] or st.speaks[short_name(name)]
   if own then
      return own
   elseif st.nodes and st.nodes[name] then
      return name
   end
   return short_name(name)
end

local function is_host(st, name)
   return st.nodes ~= nil and st.nodes[name] == true
end

---------------------------------------------------------------- which ports lead where

-- Of several that speak on one port, an adapter's own firmware names no host: who has a name
-- counts.
local function take_row(st, row)
   local mine = st.ports[row.at]
   if not mine then
      mine = { order = {} }
      st.ports[row.at] = mine
      st.order[#st.order + 1] = row.at
   end
   local other = mine[row.port]
   if not other then
      mine[row.port], mine.order[#mine.order + 1] = row, row.port
   elseif row.far and not other.far then
      mine[row.port] = row
   elseif row.far and row.far ~= other.far then
      row.src:note(row.line, "%s of %s has two neighbours, %s and %s: the first counts", row.port,
         row.at, quote(other.far), quote(row.far))
   end
end

-- The port of `other` that this row means: one of its own rows that names us, by what it may be
-- called.  Returns the row, or nil and the row that contradicts.
local function back_of(st, row, far)
   local theirs = st.ports[far] or {}
   for _, p in ipairs(row.far_ports) do
      local back = theirs[p]
      if back and known_as(st, back.far) == row.at then
         return back, back
      elseif back then
         return nil, back
      end
   end
   for _, p in ipairs(theirs.order or {}) do
      local back = theirs[p]
      if known_as(st, back.far) == row.at then
         for _, q in ipairs(back.far_ports) do
            if q == row.port then
               return back
            end
         end
      end
   end
end

---------------------------------------------------------------- cables and hosts

local function say_disagreement(row, port, far, instead)
   row.src:note(row.line,
      "%s of %s leads to %s of %s, which leads to %s: the ends disagree, left out", row.port,
      row.at, port, far, instead)
end

local function add_cable(st, row, far)
   local back, against = back_of(st, row, far)
   if not back and against then
      return say_disagreement(row, against.port, far, quote(against.far or against.id))
   elseif back then
      for _, q in ipairs(back.far_ports) do
         if st.ports[row.at][q] and q ~= row.port then
            return say_disagreement(row, back.port, far, q)
         end
      end
   end
   local port = tables.or_empty(back).port or row.far_ports[1]
   if not port then
      row.src:note(row.line, "%s of %s leads to %s, at no port that is named: left out", row.port,
         row.at, far)
      return
   elseif not back then
      row.src:note(row.line, "%s of %s leads to %s of %s, which does not say so itself", row.port,
         row.at, port, far)
   end
   local a, b = st.index[row.at], st.index[far]
   local here, there = row.at .. "/" .. row.port, far .. "/" .. port
   if not st.taken[here] and not st.taken[there] and a ~= b then
      st.taken[here], st.taken[there] = true, true
      st.w:cable { a = a, a_port = row.port, b = b, b_port = port }
   end
end

-- A host's port on a switch, whoever tells of it.
local function attach_host(st, row, host, label, switch, port)
   local h = st.hosts[host]
   if not h then
      h = { name = host, line = row.line, is_named = true, ports = {}, src = row.src }
      st.hosts[host], st.hosts[#st.hosts + 1] = h, h
   end
   local key = switch .. "/" .. port
   if not st.taken[key] then
      st.taken[key] = true
      table.insert(h.ports, { label = label or port, rail = { router = st.index[switch],
         port = port } })
   end
end

-- Is it a switch of whom there is no file, or somebody that --nodes does not have?
local function is_passed_over(st, row, far)
   if is_host(st, far) then
      return false
   elseif row.is_bridge and not row.is_station then
      row.src:note(row.line, "%s of %s leads to %s, a switch without a file: left out", row.port,
         row.at, far)
      return true
   elseif st.nodes then
      row.src:note(row.line, "%s is not among --nodes and is left out", quote(far))
      return true
   end
   return false
end

local function row_of_switch(st, row)
   local far = known_as(st, row.far)
   if is_management(row.port) then
      row.src:note(row.line, "%s of %s is a port for management: left out", row.port, row.at)
   elseif not far then
      row.src:note(row.line, "%s of %s leads to %s, which gives no name: left out", row.port,
         row.at, quote(row.id or row.far_ports[1] or "nobody"))
   elseif st.index[far] then
      add_cable(st, row, far)
   elseif not is_passed_over(st, row, far) then
      attach_host(st, row, far, row.far_ports[1], row.at, row.port)
   end
end

local function row_of_host(st, row)
   local far = known_as(st, row.far)
   if not far or not st.index[far] then
      row.src:note(row.line, "%s of %s leads to %s, of which there is no file: left out", row.port,
         row.at, quote(row.far or row.id or "nobody"))
      return
   end
   local back = back_of(st, row, far)
   local port = tables.or_empty(back).port or row.far_ports[1]
   if port then
      attach_host(st, row, row.at, row.port, far, port)
   end
end

---------------------------------------------------------------- all of it

-- "ens2" before "ens10".
local function by_label(one, other)
   local x, y = one.label:gsub("%d+", function(digits)
      return ("%012d"):format(tonumber(digits) or 0)
   end),
      other.label:gsub("%d+", function(digits) return ("%012d"):format(tonumber(digits) or 0) end)
   return x < y
end

local function add_hosts(st)
   for _, h in ipairs(st.hosts) do
      table.sort(h.ports, by_label)
   end
   rails.settle(st.src, st.hosts)
   for _, h in ipairs(st.hosts) do
      st.w:node(h.line, { name = h.name, rails = h.rails })
   end
end

-- Which ports of a switch lead to others.
local function fabric_ports(made)
   local ports = {}
   for _, c in ipairs(made.cables) do
      for _, e in ipairs { { c.a, c.a_port }, { c.b, c.b_port } } do
         local name = made.routers[e[1]].name
         ports[name] = ports[name] or {}
         ports[name][e[2]] = true
      end
   end
   return ports
end

-- What the files of addresses say counts before what a switch tells its neighbours of itself.
local function add_addresses(st)
   local list = tables.map(st.addresses, function(address)
      return { at = known_as(st, address.at), port = address.port, address = address.address }
   end)
   local told = {}
   for _, name in ipairs(st.order) do
      for _, port in ipairs(st.ports[name].order) do
         local n = st.ports[name][port]
         local far = known_as(st, n.far)
         if n.told and st.index[far] and not told[far] then
            told[far], list[#list + 1] = true, { at = far, address = n.told }
         end
      end
   end
   local chosen = switch_ports.choose(list, fabric_ports(st.w), function(text)
      st.src:note(1, "%s", text)
   end)
   st.w.addresses, st.w.routing = tables.unless_empty(chosen), nil
   if #chosen > 0 and #st.addresses > 0 then
      st.w.routing = "ecmp"
   end
end

--- Read it.
-- @param src what is read
-- @param opts { nodes, more = array of further sources, a file each }
function lldp.read(src, opts)
   local st = { src = src, w = wiring.new(src, "lldp"), nodes = opts.nodes, ports = {}, order = {},
      speaks = {}, index = {}, taken = {}, hosts = {}, addresses = {} }
   for _, each in ipairs { src, table.unpack(opts.more or {}) } do
      local rows, speak, list = forms.read(each)
      table.move(list, 1, #list, #st.addresses + 1, st.addresses)
      st.path = st.path or rows[1] and each.path
      for name in pairs(speak) do
         st.speaks[name], st.speaks[short_name(name)] = name, name
      end
      for _, n in ipairs(rows) do
         n.src = each
         take_row(st, n)
      end
   end
   for _, name in ipairs(st.order) do
      if not is_host(st, name) then
         st.index[name] = st.w:router(1, { name = name })
      end
   end
   if #st.order == 0 then
      src:fail(1, "the files have addresses only, expected neighbours of at least one switch")
   elseif #st.w.routers == 0 then
      src:fail(1, "all files are of --nodes, expected at least one of a switch")
   end
   for _, name in ipairs(st.order) do
      for _, port in ipairs(st.ports[name].order) do
         if is_host(st, name) then
            row_of_host(st, st.ports[name][port])
         else
            row_of_switch(st, st.ports[name][port])
         end
      end
   end
   add_hosts(st)
   if #st.w.nodes == 0 then
      src:fail(1, "no host is a neighbour of these switches, expected at least one")
   end
   add_addresses(st)
   st.w:only(opts.nodes, false)
   local w = st.w:finish()
   w.source = st.path -- the first that has neighbours
   return w
end

return lldp
