-- SPDX-License-Identifier: GPL-2.0-or-later
--- What every file of ours has: a licence, a list that names it, a folder that can be overlooked.
local tree = require "tree"

local files = {}

local MOST = 25 -- sources in a folder

-- Sources have an SPDX line near their top; a text for readers has none.
local SOURCES = { "%.[ch]$", "%.lua$", "%.am$", "%.ac$", "%.m4$", "%.bats$", "%.bash$", "%.sh$",
   "%.lua%.example$", "%.in$", "%.css$", "%.js$" }
local function matches(path, patterns)
   for _, pattern in ipairs(patterns) do
      if path:find(pattern) then
         return true
      end
   end
   return false
end

local function is_source(path)
   return matches(path, SOURCES) or not path:find "%.[%w]+$" and tree.text(path):sub(1, 2) == "#!"
end

function files.without_spdx()
   local wrong = {}
   for _, path in ipairs(tree.all) do
      if not tree.is_given(path) and is_source(path)
         and not tree.text(path):sub(1, 400):find("SPDX-License-Identifier: ", 1, true) then
         wrong[#wrong + 1] = path .. ":1: no SPDX line"
      end
   end
   return wrong
end

function files.too_many()
   local count, wrong = {}, {}
   for _, pattern in ipairs { "%.[ch]$", "%.lua$", "%.bats$" } do
      for _, path in ipairs(tree.all) do
         if path:find(pattern) and not tree.is_given(path) then
            local folder = tree.folder(path)
            count[folder] = (count[folder] or 0) + 1
         end
      end
   end
   for folder, n in pairs(count) do
      if n > MOST then
         wrong[#wrong + 1] = ("%s: %d sources, %d at most"):format(folder, n, MOST)
      end
   end
   return wrong
end

-- The command that begins with line i, and the number of its last line.
local function command(lines, i)
   local text = lines[i]
   while text:find "[\\|&]$" and lines[i + 1] do
      i = i + 1
      text = text .. lines[i]
   end
   return text, i
end

--- Commands of bats that begin with `!`, with others after them: bats ends a test at none of them
-- (set -e), so they assert nothing without `|| false`.
function files.silent()
   local wrong = {}
   for _, path in ipairs(tree.all) do
      local lines = {}
      for line in (path:find "%.bats$" or path:find "%.bash$") and tree.text(path):gmatch "[^\n]*"
         or function() end do
         if line:find "%S" and not line:find "^%s*#" then
            lines[#lines + 1] = line
         end
      end
      for i, line in ipairs(lines) do
         local text, last = command(lines, i)
         if line:find "^%s*! %S" and not text:find("||", 1, true)
            and not (lines[last + 1] or "}"):find "^%s*}" then
            wrong[#wrong + 1] = ("%s: asserts nothing: %s"):format(path, line:match "%S.*")
         end
      end
   end
   return wrong
end

-- All words of the Automake files.
local function listed()
   local set = {}
   for _, path in ipairs(tree.all) do
      if path:find "%.am$" then
         for word in tree.text(path):gmatch "[%w_/.-]+" do
            set[word] = true
         end
      end
   end
   return set
end

--- Sources and tests that no Makemodule.am names: they are not built, run or shipped.
function files.unlisted()
   local set, wrong = listed(), {}
   local function want(path, name)
      if not set[name] then
         wrong[#wrong + 1] = ("%s:1: %s is in no list of a Makemodule.am"):format(path, name)
      end
   end
   for _, path in ipairs(tree.sources "%.[ch]$") do
      want(path, path)
   end
   for _, path in ipairs(tree.files("lua/", "%.lua$")) do
      want(path, path)
   end
   for _, path in ipairs(tree.files("tests/", "")) do
      local program = path:match "^(tests/unit/.*/test_[%w_]+)%.c$"
         or path:match "^(tests/fuzz/fuzz_[%w_]+)%.c$"
      if program then
         want(path, program)
      elseif path:find "^tests/lua/.*/test_[%w_]+%.lua$" or path:find "%.bats$" then
         want(path, path)
      end
   end
   return wrong
end

return files
