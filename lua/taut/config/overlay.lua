-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a file gives is checked and laid over the defaults.

local overlay = {}

--- Line where a setting is assigned, for errors found after the file has run.
-- @param ... names, each inside the one before: the last that is found counts; nil is left out
function overlay.line_of(path, ...)
   local words, f = {}, io.open(path)
   for i = 1, select("#", ...) do
      words[#words + 1] = (select(i, ...))
   end
   local n, found, at = 0, 1, 1
   for line in f and f:lines() or function() end do
      n = n + 1
      local code = line:gsub("%-%-.*", "")
      while words[at] and code:find("%f[%w_]" .. words[at] .. "%s*=") do
         found, at = n, at + 1
      end
   end
   if f then
      f:close()
   end
   return found
end

local function full_name(section, name)
   return section and section .. "." .. tostring(name) or tostring(name)
end

-- "file:line: ", where there is a file.
local function place_of(from, section, name)
   return from.path and ("%s:%d: "):format(from.path, overlay.line_of(from.path, section, name))
      or ""
end

local function refuse_value(from, section, name, what, got)
   return nil, ("%s%s: expected %s, got %s"):format(place_of(from, section, name),
      full_name(section, name), what, type(got) == "string" and '"' .. got .. '"' or tostring(got))
end

local function refuse_unknown(from, section, name, what)
   return nil, ("%s'%s' is %s"):format(place_of(from, section, name), full_name(section, name),
      what)
end

local function is_setting(rule)
   return type(rule[2]) == "function"
end

--- The defaults of all settings, or of a section.
function overlay.defaults(known)
   local out = {}
   for name, rule in pairs(known) do
      if is_setting(rule) then
         out[name] = rule[1]
      else
         out[name] = overlay.defaults(rule)
      end
   end
   return out
end

-- One setting into `out`; true, or nil and the error text.
local function take_one(from, out, rule, section, name, value)
   if from.is_model and not rule.model then
      return refuse_unknown(from, section, name,
         "a setting of taut.lua, and no number of the model")
   end
   local v, what, got = rule[2](value)
   if v == nil then
      return refuse_value(from, section, name, what, got or value)
   end
   if rule.model and not from.is_model then
      from.numbers[#from.numbers + 1] = full_name(section, name)
   end
   out[name] = v
   return true
end

--- What a file gives over what is in `out`.
-- @param from table: path (nil: of no file); is_model (model.lua, or the table `model` of
--   taut.lua); numbers (of the model, though they stand in taut.lua): an array to add to
-- @param known settings.all, or a section of it
-- @return true, or nil and the error text
function overlay.take(from, out, given, known, section)
   for name, value in pairs(given) do
      local rule, ok, err = known[name]
      if rule == nil then
         return refuse_unknown(from, section, name, "not a setting")
      elseif is_setting(rule) then
         ok, err = take_one(from, out, rule, section, name, value)
      elseif type(value) ~= "table" then
         return refuse_value(from, nil, name, "a table { … }", value)
      else
         ok, err = overlay.take(from, out[name], value, rule, name)
      end
      if not ok then
         return nil, err
      end
   end
   return true
end

return overlay
