-- SPDX-License-Identifier: GPL-2.0-or-later
--- YAML as a tree that remembers lines; what a configuration has no use for is refused.
--
-- libyaml's events (the C part of Debian's lua-yaml) carry marks; the loader on top of them
-- would lose the lines and expand aliases, which a hostile file can make without end.
local optional = require "taut.base.optional"
local source = require "taut.topology.import.source"

local yaml_tree = {}

local MOST_DEPTH = 16
local MOST_VALUES = 300000

local function add_node(src, parent, node)
   if not parent then
      return
   elseif parent.type == "list" then
      parent[#parent + 1] = node
   elseif parent.key then
      parent.at[parent.key] = node
      parent.key = nil
   else
      if node.type ~= "text" then
         src:fail(node.line, "a %s as a key, expected a word", node.type)
      elseif parent.at[node.value] then
         src:fail(node.line, "%s is here and in line %d, expected it once",
            source.quote(node.value), parent.at[node.value].line)
      end
      parent.key = node.value
      parent.keys[#parent.keys + 1] = { name = node.value, line = node.line }
   end
end

local function node_of(event, line)
   if event.type == "SCALAR" then
      return { type = "text", line = line, value = event.value,
         plain = event.style == "PLAIN" }
   elseif event.type == "MAPPING_START" then
      return { type = "map", line = line, at = {}, keys = {} }
   elseif event.type == "SEQUENCE_START" then
      return { type = "list", line = line }
   end
end

--- Parse a text.
-- @return the document: { type = "map", line, at = { key → node }, keys = { { name, line } } },
--   { type = "list", line, … nodes } or { type = "text", line, value, plain }
function yaml_tree.parse(src)
   local yaml, err = optional.module("yaml", function() return require "yaml" end)
   if not yaml then
      src:fail(1, "%s", err)
   end
   local events = yaml.parser(src.text)
   local stack, root, count, documents = {}, nil, 0, 0
   while true do
      local ok, event = pcall(events)
      if not ok then
         local line = tonumber(event:match "line: (%d+)") or src.line
         src:fail(line, "not YAML: %s", (event:match "^[^\n]*":gsub(" at document:.*", "")))
      end
      local line = event.start_mark.line + 1
      src.line = line
      if event.type == "ALIAS" or event.anchor then
         src:fail(line, "an anchor or alias, expected plain values")
      elseif event.type == "STREAM_END" then
         break
      elseif event.type == "DOCUMENT_START" then
         documents = documents + 1
         if documents > 1 then
            src:fail(line, "a second document, expected one")
         end
      elseif event.type == "MAPPING_END" or event.type == "SEQUENCE_END" then
         stack[#stack] = nil
      end
      local node = node_of(event, line)
      if node then
         count = count + 1
         if count > MOST_VALUES or #stack >= MOST_DEPTH then
            src:fail(line, "more than %d values or nested deeper than %d", MOST_VALUES, MOST_DEPTH)
         end
         add_node(src, stack[#stack], node)
         root = root or node
         if node.type ~= "text" then
            stack[#stack + 1] = node
         end
      end
   end
   return root
end

return yaml_tree
