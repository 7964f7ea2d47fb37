-- SPDX-License-Identifier: GPL-2.0-or-later
--- Names for what an InfiniBand fabric has: hosts from node descriptions, switches likewise.
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local tables = require "taut.base.tables"

local naming = {}

local P, R, S, B, C = lpeg.P, lpeg.R, lpeg.S, lpeg.B, lpeg.C

local alnum = R("az", "AZ", "09") + S "_-."
-- "n1 HCA-1", "n1 mlx5_0", "n1 hfi1_0": the kernel's default description is host and device
local device = C(P "HCA-" * grammar.digit ^ 1 +
   R "az" * (R("az", "09") + "_") ^ 0 * B(grammar.digit))
local host = C(R("az", "AZ", "09") * alnum ^ 0)
local host_and_device = grammar.ws * host * (grammar.sep * device) ^ -1 * grammar.eol

--- Host and device of a channel adapter's description.
-- @return host, device (or ""), or nil when it names a product instead
function naming.host(desc)
   local name, dev = host_and_device:match(desc)
   return name, dev or ""
end

-- What a name in `taut` may have; a slash would part a router from its port.
local function plain_name(desc)
   return (desc:gsub("^%s+", ""):gsub("%s+$", ""):gsub("[^%w_.:+-]+", "-"):gsub("^-+", "")
      :gsub("-+$", ""))
end

--- Name each switch: by the map of names, by its description where that is its own, by GUID.
-- @param elements switches { guid, desc }
-- @param names map GUID → { name }, or nil
-- @return map element → name
function naming.switches(elements, names)
   local by, count = {}, {}
   for _, e in ipairs(elements) do
      local given = tables.or_empty(names and names[e.guid])
      by[e] = plain_name(given.name or e.desc)
      count[by[e]] = (count[by[e]] or 0) + 1
   end
   for _, e in ipairs(elements) do
      if by[e] == "" or count[by[e]] > 1 then
         by[e] = "S-" .. e.guid:sub(3)
      end
   end
   return by
end

local function is_default(name)
   return name == "localhost" or name == "node"
end

-- Host of an adapter: the map's word first, then its description.
local function host_of(element, names)
   local given = names and names[element.guid]
   if given then
      local name, dev = naming.host(given.name)
      return name or plain_name(given.name), dev or ""
   end
   local name, dev = naming.host(element.desc)
   if name and not is_default(name) then
      return name, dev
   end
end

-- One adapter of a host; where only its ports are known, one of them.
local function key_of(element)
   return ("%s %s %d"):format(element.host, element.device, element.only_port or 0)
end

--- Group adapters by the host they say they are in; one of no name, or of a name and device that
-- another has too, is a host of its own, named by GUID.
-- @return array of { name, adapters = { … } }
function naming.hosts(src, elements, names)
   local hosts, at, taken = {}, {}, {}
   local function own_key(element)
      hosts[#hosts + 1] = { name = "H-" .. element.guid:sub(3), adapters = { element } }
   end
   local clash = {}
   for _, e in ipairs(elements) do
      e.host, e.device = host_of(e, names)
      if e.host then
         local key = key_of(e)
         clash[key] = clash[key] or taken[key] and e
         taken[key] = e
      end
   end
   for _, e in ipairs(elements) do
      local twice = e.host and clash[key_of(e)]
      if twice == e then
         src:note(e.line, "%s is what several adapters say they are; they are named by GUID",
            source.quote(e.desc))
      end
      if not e.host or twice then
         own_key(e)
      else
         local h = at[e.host]
         if not h then
            h = { name = e.host, adapters = {} }
            at[e.host], hosts[#hosts + 1] = h, h
         end
         table.insert(h.adapters, e)
      end
   end
   return hosts
end

return naming
