-- SPDX-License-Identifier: GPL-2.0-or-later
--- Do names say what they do?  Three figures of the program's Lua, each held by a limit that is
-- only ever moved towards its goal (naming_limits.lua).
local limits = require "naming_limits"
local lua_source = require "lua_source"

local naming = {}

-- field, what it is, in which direction it is better
local FIGURES = {
   { "name_length", "letters in a function's name (median)", "more" },
   { "short_parameters", "% of parameters have one letter", "less" },
   { "choices", "times `a and b or c` in 100 lines of code", "less" },
}

local function median(list)
   table.sort(list)
   local middle = #list // 2
   if #list % 2 == 1 then
      return list[middle + 1]
   end
   return #list > 0 and (list[middle] + list[middle + 1]) / 2 or 0
end

--- The figures of some texts.
-- @param texts array of Lua texts
-- @return { functions, name_length (median), parameters, short_parameters (percent), lines,
--   choices (per 100 lines) }; a lone `_` stands for an unused parameter
function naming.figures(texts)
   local lengths, parameters, short, lines, choices = {}, 0, 0, 0, 0
   for _, text in ipairs(texts) do
      local tokens = lua_source.tokens(text)
      for _, f in ipairs(lua_source.functions(tokens)) do
         lengths[#lengths + 1] = f.name and #f.name
         for _, name in ipairs(f.parameters) do
            parameters = parameters + (name ~= "_" and 1 or 0)
            short = short + (name ~= "_" and #name == 1 and 1 or 0)
         end
      end
      lines, choices = lines + lua_source.code_lines(tokens), choices + #lua_source.choices(tokens)
   end
   return { functions = #lengths, name_length = median(lengths), parameters = parameters,
      short_parameters = 100 * short / math.max(1, parameters), lines = lines,
      choices = 100 * choices / math.max(1, lines) }
end

-- Figures are held to a tenth.
local function rounded(value)
   return math.floor(10 * value + 0.5) / 10
end

--- Holds figures against limits.
-- @param figures of naming.figures
-- @param held map figure → limit
-- @return texts about what is worse; texts about limits that could be tightened
function naming.compare(figures, held)
   local worse, loose = {}, {}
   for _, f in ipairs(FIGURES) do
      local field, what, better = table.unpack(f)
      local value, limit = rounded(figures[field]), held[field]
      local gain = better == "more" and value - limit or limit - value
      if gain < 0 then
         worse[#worse + 1] = ("tests/lua/house/naming_limits.lua: %s: %.1f %s, the limit is %.1f")
            :format(field, value, what, limit)
      elseif gain > 0 then
         loose[#loose + 1] = ("%s may be tightened from %.1f to %.1f"):format(field, limit, value)
      end
   end
   return worse, loose
end

local function texts_below(tree, folder)
   local texts = {}
   for i, path in ipairs(tree.files(folder, "%.lua$")) do
      texts[i] = tree.text(path)
   end
   return texts
end

--- What is worse than its limit in the program's Lua.
-- @param tree tree.lua
function naming.wrong(tree)
   return (naming.compare(naming.figures(texts_below(tree, "lua/")), limits))
end

local function line_of(where, figures)
   return ("# %-22s %4d functions, names %4.1f; %4d parameters, %4.1f %% of one letter; " ..
      "`a and b or c` %4.1f"):format(where, figures.functions, figures.name_length,
      figures.parameters, figures.short_parameters, figures.choices)
end

--- The figures of each folder of lua/taut and of all, and which limits could be tightened: lines
-- for a reader.
-- @param tree tree.lua
function naming.report(tree)
   local lines, seen = {}, {}
   for _, path in ipairs(tree.files("lua/taut/", "%.lua$")) do
      local folder = path:match "^lua/taut/[^/]+/"
      if folder and not seen[folder] then
         seen[folder] = true
         lines[#lines + 1] = line_of(folder, naming.figures(texts_below(tree, folder)))
      end
   end
   local all = naming.figures(texts_below(tree, "lua/"))
   lines[#lines + 1] = line_of("lua/", all)
   for _, text in ipairs(select(2, naming.compare(all, limits))) do
      lines[#lines + 1] = "# tests/lua/house/naming_limits.lua: " .. text
   end
   return lines
end

return naming
