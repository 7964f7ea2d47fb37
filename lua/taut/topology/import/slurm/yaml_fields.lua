-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reading fields of a configuration out of a YAML tree, with errors that name line and key.
local source = require "taut.topology.import.source"

local yaml_fields = {}

local quote = source.quote

--- The node itself, when it is a "map", "list" or "text".
function yaml_fields.of_type(src, node, type, what)
   if node.type ~= type then
      src:fail(node.line, "%s is a %s, expected a %s", what, node.type, type)
   end
   return node
end

--- A map with none but the given keys.
function yaml_fields.map(src, node, what, keys)
   yaml_fields.of_type(src, node, "map", what)
   for _, k in ipairs(node.keys) do
      if not keys[k.name] then
         src:fail(k.line, "%s has no %s", what, quote(k.name))
      end
   end
   return node.at
end

--- A list of maps; a single map stands for a list of one, as in Slurm.
function yaml_fields.list(src, parent, at, key)
   local node = at[key]
   if not node then
      src:fail(parent.line, "no '%s', expected a list", key)
   elseif node.type == "map" then
      return { node }
   end
   yaml_fields.of_type(src, node, "list", "'" .. key .. "'")
   if #node == 0 then
      src:fail(node.line, "'%s' is empty", key)
   end
   return node
end

--- A text that has to be there.
function yaml_fields.text(src, at, key, node, what)
   local v = at[key]
   if not v then
      src:fail(node.line, "%s without '%s'", what, key)
   end
   yaml_fields.of_type(src, v, "text", "'" .. key .. "'")
   if v.value == "" then
      src:fail(v.line, "'%s' is empty", key)
   end
   return v.value
end

--- A text or nil.
function yaml_fields.optional(src, at, key)
   return at[key] and yaml_fields.text(src, at, key, at[key], key)
end

local TRUE = { y = true, yes = true, t = true, ["true"] = true, on = true }
local FALSE = { n = true, no = true, f = true, ["false"] = true, off = true, null = true,
   ["~"] = true, [""] = true }

--- A flag, in any of the spellings that Slurm takes for one (YAML 1.1, and numbers).
-- @return true or false; nil where it is not one
function yaml_fields.flag(node)
   local word
   if node.type == "text" then
      word = node.value:lower()
   end
   local number = tonumber(word)
   if number then
      return number ~= 0
   elseif word and (TRUE[word] or FALSE[word]) then
      return TRUE[word] == true
   end
end

--- A whole number from 1 on.
function yaml_fields.whole(src, node, what, most)
   yaml_fields.of_type(src, node, "text", what)
   local v = node.value:match "^%d+$" and math.tointeger(tonumber(node.value))
   if not v or v < 1 or v > most then
      src:fail(node.line, "%s is %s, expected a whole number 1 to %d", what, quote(node.value),
         most)
   end
   return v
end

return yaml_fields
