-- SPDX-License-Identifier: GPL-2.0-or-later
-- The documents say what the code takes: every setting is documented, every documented one exists,
-- and the defaults are the same.
local lu = require "luaunit"
local manual = require "lib.manual"
local model = require "taut.config.model"
local settings = require "taut.config.settings"

local SOURCE = os.getenv "TAUT_SRCDIR" or "."

local tests = {}

local function read(name)
   local f = assert(io.open(SOURCE .. "/" .. name))
   local text = f:read "a"
   f:close()
   return text
end

local function is_setting(rule)
   return type(rule[2]) == "function"
end

-- "checks.test_ms" → rule, of what concerns the site.
local function site_settings()
   local out = {}
   for name, rule in pairs(settings.all) do
      if is_setting(rule) then
         out[name] = rule
      else
         for inner, one in pairs(rule) do
            out[name .. "." .. inner] = not one.model and one or nil
         end
      end
   end
   return out
end

-- "checks.test_ms" → what taut.lua.5 says below that name.  A section of settings is one whose
-- heading is a section's name, or "Where tautd is".
local function documented()
   local out, section, names = {}, nil, {}
   for line in read("doc/taut.lua.5"):gmatch "[^\n]*" do
      local heading, item = line:match "^%.S[sh] (.*)", line:match "^%.It Va (.*)"
      if heading then
         section = heading == "Where tautd is" and "" or settings.all[heading]
            and heading .. "." or nil
         names = {}
      elseif item and section then
         names = {}
         for name in item:gmatch "[%w_]+" do
            names[#names + 1] = section .. name
            out[section .. name] = ""
         end
      elseif section then
         for _, name in ipairs(names) do
            out[name] = out[name] .. line .. "\n"
         end
      end
   end
   out.model = nil -- where model.lua is, not a setting with a default
   return out
end

function tests.test_taut_lua_5_has_every_setting_and_no_other()
   local page, code = documented(), site_settings()
   for name in pairs(code) do
      lu.assertNotNil(page[name], name .. " is not in doc/taut.lua.5")
   end
   for name in pairs(page) do
      lu.assertNotNil(code[name], name .. " of doc/taut.lua.5 is no setting")
   end
end

-- A default stands as a word in what is said of the setting.
function tests.test_taut_lua_5_has_the_defaults()
   local page = documented()
   for name, rule in pairs(site_settings()) do
      local default = rule[1]
      if default ~= nil and type(default) ~= "table" then
         local text = " " .. page[name]:gsub("\\%(dq", '"') .. " "
         local word = type(default) == "number" and ("%.7g"):format(default) or tostring(default)
         lu.assertTrue(text:find("[%s\"]" .. word:gsub("%p", "%%%0") .. "[%s.,;:)\"]") ~= nil,
            ("%s: doc/taut.lua.5 does not say %s"):format(name, word))
      end
   end
end

function tests.test_taut_model_5_is_the_model()
   local page = manual.page()
   if os.getenv "TAUT_GOLDEN" == "write" then
      local f = assert(io.open(SOURCE .. "/doc/taut-model.5", "w"))
      f:write(page)
      f:close()
   end
   lu.assertEquals(read "doc/taut-model.5", page)
end

function tests.test_every_number_has_unit_range_meaning_and_reason()
   local seen = {}
   for _, part in ipairs(model) do
      lu.assertTrue(#part.about > 10, part.section)
      for _, row in ipairs(part) do
         local name = part.section .. "." .. row[1]
         lu.assertNil(seen[name], name .. " is given twice")
         seen[name] = true
         lu.assertTrue(#row[5] > 0 and #row[6] > 10 and #row[7] > 5, name)
         if row[3] then
            lu.assertTrue(row[3] <= row[2] and row[2] <= row[4], name .. ": out of its range")
         else
            lu.assertIsBoolean(row[2], name)
         end
         lu.assertEquals(settings.all[part.section][row[1]][1], row[2], name)
      end
   end
end

-- Settings that examples of the documents give exist.
function tests.test_settings_that_other_documents_name_exist()
   local known = {}
   for name, rule in pairs(settings.all) do
      known[name] = is_setting(rule) or nil
      for inner in pairs(is_setting(rule) and {} or rule) do
         known[name .. "." .. inner] = true
      end
   end
   for _, file in ipairs { "README.md", "doc/install.md", "doc/night.md", "doc/steering.md",
      "doc/placement.md", "doc/taut.1", "doc/tautd.8", "doc/campaign.md", "doc/benchmarks.md" } do
      for section, name in read(file):gmatch "%f[%w_.](%l+)%.([%l_]+)%f[^%w_]" do
         if settings.all[section] and not is_setting(settings.all[section])
            and name ~= "lua" and name ~= "md" then
            lu.assertTrue(known[section .. "." .. name],
               ("%s: %s.%s is no setting"):format(file, section, name))
         end
      end
   end
end

return tests
