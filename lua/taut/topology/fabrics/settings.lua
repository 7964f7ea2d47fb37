-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `fabrics` of taut.lua says of each fabric besides its topology.
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local settings = {}

local NAME_MAX = 16

local function bad_setting(name, what, ...)
   return nil, ("fabrics.%s." .. what):format(name, ...)
end

local function each_text(name, key, list, is_good, what)
   if type(list) ~= "table" or #list == 0 then
      return bad_setting(name, "%s: expected a list such as { %s }, got %s", key, what,
         tostring(list))
   end
   for i, text in ipairs(list) do
      if type(text) ~= "string" or not is_good(text) then
         return bad_setting(name, "%s[%d]: expected such as %s, got %s", key, i, what,
            tostring(text))
      end
   end
   return true
end

local function is_network(text)
   local host, bits = text:match "^(.*)/(%d+)$"
   local bytes = host and sys.address_bytes(host)
   return bytes and tonumber(bits) <= 8 * #bytes
end

local function is_word(text)
   return #text <= 64 and text:find "^[%w_.:*-]+$" ~= nil
end

-- setting → function(name of the fabric, value) → true, or nil and what was expected
local checks = {
   interfaces = function(name, value)
      return each_text(name, "interfaces", value, is_word, '"ib0"')
   end,
   networks = function(name, value)
      return each_text(name, "networks", value, is_network, '"10.1.0.0/16"')
   end,
   partitions = function(name, value)
      return each_text(name, "partitions", value, is_word, '"gpu"')
   end,
   transport = function(name, value)
      if value ~= "tcp" and value ~= "ofi" then
         return bad_setting(name, 'transport: expected "tcp" or "ofi", got %s', tostring(value))
      end
      return true
   end,
}

--- Take one fabric's settings apart.
-- @param conf table: a topology with `interfaces` (names, of which * stands for any text),
--   `networks`, `partitions` (that run on it), `transport` (the only one that is used)
-- @return what it says of the fabric, the topology's part; or nil and what was expected
function settings.split(name, conf)
   if type(name) ~= "string" or not name:find "^%a[%w_-]*$" or #name > NAME_MAX then
      return nil, ("fabrics: expected names of at most %d letters, digits, - and _, got '%s'")
         :format(NAME_MAX, tostring(name))
   elseif type(conf) ~= "table" or not conf.kind then
      return nil, ("fabrics.%s: expected a topology such as fattree { … }, got %s"):format(name,
         report.text_if(type(conf) == "table", "{ … }", tostring(conf)))
   end
   local own, rest = {}, {}
   for key, value in pairs(conf) do
      local check = checks[key]
      local ok, err = true, nil
      if check then
         ok, err = check(name, value)
      end
      if not ok then
         return nil, err
      end
      if check then
         own[key] = value
      else
         rest[key] = value
      end
   end
   return own, rest
end

--- Names of the fabrics, in the order in which their rails are counted.
-- @return array, or nil and what was expected
function settings.names(conf)
   if type(conf) ~= "table" or next(conf) == nil or #conf > 0 then
      return nil, "fabrics: expected a table { ib = fattree { … }, eth = fattree { … } }, got " ..
         report.text_if(type(conf) == "table", "a list", tostring(conf))
   end
   for name in pairs(conf) do
      if type(name) ~= "string" then
         return settings.split(name)
      end
   end
   return tables.keys(conf)
end

return settings
