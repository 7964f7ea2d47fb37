-- SPDX-License-Identifier: GPL-2.0-or-later
--- The inventory that ALPS gives in BASIL (protocols 1.0 to 1.7): <Inventory> with its <Node>s.
--
-- Elements and attributes as Slurm's src/plugins/select/alps/libalps (up to 18.08) read them.
-- BASIL has no coordinates: a node's place is its cname.
local cray = require "taut.topology.import.cray"
local optional = require "taut.base.optional"
local source = require "taut.topology.import.source"

local alps_basil = { summary = "ALPS BASIL inventory (XML): nodes and their places; added to rtr" }

local MOST_DEPTH = 24
local CHUNK = 1 << 16
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
      src:fail(line, "node_id %d stands here and in line %d, expected it once", nid,
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

local function response(src, line, attrs)
   if attrs.status and attrs.status:upper() ~= "SUCCESS" then
      src:fail(line, "a response with status %s, expected SUCCESS", quote(attrs.status))
   end
end

-- Handlers of expat.  An error raised in one passes through expat's C code by the library's own
-- means only, so each keeps the first failure and lets the parser stop after it.
local function handlers(st, src)
   local function guarded(f)
      return function(parser, ...)
         if st.failed then
            return
         end
         src.line = parser:pos() or src.line
         local ok, err = pcall(f, src.line, ...)
         if not ok then
            st.failed = err
            parser:stop()
         end
      end
   end
   return {
      StartElement = guarded(function(line, name, attrs)
         st.depth = st.depth + 1
         if st.depth > MOST_DEPTH then
            src:fail(line, "nested deeper than %d", MOST_DEPTH)
         elseif st.depth == 1 and name ~= "BasilResponse" then
            src:fail(line, "%s, expected BasilResponse", quote(name))
         elseif name == "ResponseData" then
            response(src, line, attrs)
         elseif name == "Inventory" then
            st.inventory = true
         elseif name == "Node" and st.inventory then
            add_node(st, src, line, attrs)
         end
      end),
      EndElement = guarded(function()
         st.depth = st.depth - 1
      end),
      StartDoctypeDecl = guarded(function(line)
         src:fail(line, "a DOCTYPE, expected none")
      end),
   }
end

-- A tag or comment that does not end is scanned again from its beginning with every chunk, which
-- takes time of the square of its length: so it has the length of a line at most.  An inventory
-- may well be a single line.
local function too_long(st, src, parser, fed)
   local line, _, begin = parser:pos()
   local most = source.limits.line_bytes
   if not st.failed and fed - (begin or 0) > most then
      _, st.failed = pcall(src.fail, src, line,
         "what begins here has no end within %d bytes, expected XML", most)
   end
end

local function parse(src)
   local st = { list = {}, nid_line = {}, depth = 0 }
   local lxp, missing = optional.module("lxp", function() return require "lxp" end)
   if not lxp then
      src:fail(1, "%s", missing)
   end
   local parser = lxp.new(handlers(st, src))
   local at = 1
   local ok, message, line = true, nil, nil
   while ok and not st.failed and at <= #src.text do
      ok, message, line = parser:parse(src.text:sub(at, at + CHUNK - 1))
      at = at + CHUNK
      if ok and at <= #src.text then
         too_long(st, src, parser, at - 1)
      end
   end
   if ok and not st.failed then
      ok, message, line = parser:parse()
   end
   pcall(parser.close, parser)
   if st.failed then
      error(st.failed, 0)
   elseif not ok then
      src:fail(line, "not XML: %s", message)
   elseif not st.inventory then
      src:fail(1, "a response without Inventory, expected that of QUERY INVENTORY")
   elseif #st.list == 0 then
      src:fail(1, "an Inventory without a Node")
   end
   return st.list
end

cray.inventory(alps_basil, parse, "basil")

return alps_basil
