-- SPDX-License-Identifier: GPL-2.0-or-later
-- The names that NEWS.md promises to keep, tests/data/promise.txt: a kind and a name a line.  Of
-- answers in JSON a name is a command, a path and a type: `json taut links links[].low number`.
local json = require "taut.json"

local promised = { path = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/promise.txt" }

-- Tables whose keys are names of the machine or of somebody else's: they are `*` in a path.
local BY_NAME = { ["json taut policy sums.really"] = true, ["json taut status skipped"] = true,
   ["json taut fabric check ports.speed"] = true, ["json taut fabric check ports.width"] = true }

local LIST = getmetatable(json.array {}) -- of what json.decode gives for a list

local function is_list(value)
   return LIST ~= nil and getmetatable(value) == LIST or #value > 0
end

-- The paths of a value and their types, into `out`.
local function add(out, value, path)
   local kind = type(value)
   if kind ~= "table" then
      out[path .. " " .. kind] = value ~= json.null or nil
      return
   end
   if is_list(value) then
      out[path .. " list"] = true
      for _, v in ipairs(value) do
         add(out, v, path .. "[]")
      end
      return
   end
   for k, v in pairs(value) do
      add(out, v, ("%s%s%s"):format(path, path:find " $" and "" or ".", BY_NAME[path] and "*" or k))
   end
end

--- @param command its name without options, as in `links`
-- @param value what it printed, decoded
-- @param out set of names that grows
function promised.add_answer(out, command, value)
   add(out, value, ("json taut %s "):format(command))
end

--- @return array of the promised names that begin with `prefix`
function promised.names(prefix)
   local out = {}
   for name in io.lines(promised.path) do
      if name:sub(1, #prefix) == prefix then
         out[#out + 1] = name
      end
   end
   return out
end

return promised
