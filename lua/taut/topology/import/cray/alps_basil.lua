-- SPDX-License-Identifier: GPL-2.0-or-later
--- The inventory that ALPS gives in BASIL (protocols 1.0 to 1.7): <Inventory> with its <Node>s.
--
-- Elements and attributes as Slurm's src/plugins/select/alps/libalps (up to 18.08) read them.
-- BASIL has no coordinates: a node's place is its cname.
local cray = require "taut.topology.import.cray"
local source = require "taut.topology.import.source"
local xml = require "taut.topology.import.xml"

local alps_basil = { summary = "ALPS BASIL inventory (XML): nodes and their places; added to rtr" }

local quote = source.quote

local function attribute(src, line, attrs, name)
   local v = attrs[name]
   if not v or v == "" then
      src:fail(line, "a Node without '%s'", name)
   end
   return v
end

local function add_node(st, src, line, attrs)
   local text = attribute(src, line, attrs, "node_id")
   local nid = text:match "^%d%d?%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(text))
   if not nid then
      src:fail(line, "node_id %s, expected a whole number", quote(text))
   elseif st.nid_line[nid] then
      src:fail(line, "node_id %d is here and in line %d, expected it once", nid,
         st.nid_line[nid])
   end
   st.nid_line[nid] = line
   local name = attribute(src, line, attrs, "name")
   local place, wrong = (cray.node * -1):match(name), nil
   if place then
      wrong = cray.trouble(place)
   end
   if not place or wrong then
      src:fail(line, "name %s: %s", quote(name), wrong or "expected a place such as c0-0c0s1n0")
   end
   st.list[#st.list + 1] = { line = line, nid = nid, name = cray.nid_name(nid), place = place,
      role = attrs.role and attrs.role:lower(), state = attrs.state and attrs.state:lower() }
end

local function check_response(src, line, attrs)
   if attrs.status and attrs.status:upper() ~= "SUCCESS" then
      src:fail(line, "a response with status %s, expected SUCCESS", quote(attrs.status))
   end
end

local function parse(src)
   local st = { list = {}, nid_line = {} }
   xml.read(src, { begins = function(line, name, attrs, depth)
      if depth == 1 and name ~= "BasilResponse" then
         src:fail(line, "%s, expected BasilResponse", quote(name))
      elseif name == "ResponseData" then
         check_response(src, line, attrs)
      elseif name == "Inventory" then
         st.inventory = true
      elseif name == "Node" and st.inventory then
         add_node(st, src, line, attrs)
      end
   end })
   if not st.inventory then
      src:fail(1, "a response without Inventory, expected that of QUERY INVENTORY")
   elseif #st.list == 0 then
      src:fail(1, "an Inventory without a Node")
   end
   return st.list
end

cray.inventory(alps_basil, parse, "basil")

return alps_basil
