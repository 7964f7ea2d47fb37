-- SPDX-License-Identifier: GPL-2.0-or-later
--- Documents and comments name files that are there; settings are documented.
local tree = require "tree"

local documents = {}

local ENDINGS = { c = true, h = true, lua = true, bats = true, bash = true, md = true, am = true,
   m4 = true, sh = true }

-- Files that others have, or that a reader is to make.
local NOT_OURS = {}
for name in ([[taut.lua model.lua machine.lua other.lua a.lua job.sh select.c ibnetdiscover.c
   osm_dump.c dump_lfts.sh opareport.c topology.lua]]):gmatch "%S+" do
   NOT_OURS[name] = true
end

-- Headers of the system and of libraries.
for _, path in ipairs(tree.all) do
   if path:find "%.[ch]$" then
      for name in tree.text(path):gmatch "#%s*include%s*<([^>]+)>" do
         NOT_OURS[name:match "[^/]+$"] = true
      end
   end
end

-- Every path by its last part, also as configure makes it of a .in; and every folder.
local by_name, folders = {}, {}
for _, path in ipairs(tree.all) do
   local made = path:gsub("%.in$", "")
   local name = made:match "[^/]+$"
   by_name[name] = by_name[name] or {}
   table.insert(by_name[name], made)
   local folder = tree.folder(path)
   while folder and not folders[folder] do
      folders[folder] = true
      folder = folder:match "^(.*/)[^/]+/$"
   end
end

local TOPS = { plugin = true, wire = true, advisor = true, lua = true, tests = true, doc = true,
   etc = true }

local function ends_with(path, word)
   return path == word or path:sub(-#word - 1) == "/" .. word
end

local function is_there(word)
   if word:find("*", 1, true) then
      local pattern = word:gsub("[%.%-]", "%%%0"):gsub("%*", "[^/]*") .. "$"
      for _, path in ipairs(tree.all) do
         if path:find(pattern) then
            return true
         end
      end
      return false
   end
   for _, path in ipairs(by_name[word:match "[^/]+$"] or {}) do
      if ends_with(path, word) then
         return true
      end
   end
   return false
end

-- A word that is not a file's name, or not one of ours.
local function is_other(word)
   return word:find "%u%u" and not word:find "^%u+%.md$" or word:find "%.%."
      or word:find "^share/" or word:find "^libexec/" or NOT_OURS[word:match "[^/]+$"]
end

-- Is what a word says of our folders true?  `doc/NAME.md` says that there is a folder.
local function is_folder(word)
   local folder = word:match "^(.*/)"
   return not folder or not TOPS[word:match "^[^/]+"] or folder:find "[%u*]" or folders[folder]
end

-- The names of files and folders in a piece of text that are not there.
local function missing_in(text)
   local list = {}
   for word in text:gmatch "[%w_*./-]+" do
      word = word:gsub("^%./", ""):gsub("^%-", ""):gsub("[.-]+$", "")
      local ending = word:match "[%w_*]%.(%l%w*)$"
      if not word:find "^/" and (not is_folder(word)
         or ENDINGS[ending] and not is_other(word) and not is_there(word)) then
         list[#list + 1] = word
      end
   end
   return list
end

-- The comment of a line of source, if there is one; state: inside a C comment.
local function comment_of(path, line, inside)
   if path:find "%.lua$" or path:find "%.example$" then
      return line:match "%-%-(.*)$", false
   elseif path:find "%.[ch]$" then
      local text = inside and line or line:match "/%*(.*)$" or line:match "//(.*)$"
      if inside then
         inside = not line:find("*/", 1, true)
      else
         inside = line:find("/*", 1, true) and not line:find("*/", 1, true)
      end
      return text, inside
   end
   return line:match "^%s*#(.*)$" or line:match "%s# (.*)$", false
end

local function is_document(path)
   return path:find "%.md$" or path:find "^doc/.*%.[158]$"
end

local SOURCES = { "%.[ch]$", "%.lua$", "%.am$", "%.m4$", "%.bats$", "%.bash$", "%.sh$",
   "%.lua%.example$", "^tests/[%w_/]+$" }

local function is_read(path)
   if path == "NEWS.md" or tree.is_given(path) then
      return false -- what was; what others wrote
   end
   for _, pattern in ipairs(SOURCES) do
      if path:find(pattern) then
         return true
      end
   end
   return is_document(path)
end

-- Lines of a document, or the comments of a source, where `fn` gets them.
local function each_text(path, fn)
   local inside = false
   for number, line in tree.lines(path) do
      local text = line
      if not is_document(path) then
         text, inside = comment_of(path, line, inside)
      end
      if text then
         fn(number, text)
      end
   end
end

--- Names of files and folders that are not there.
function documents.dead()
   local wrong = {}
   for _, path in ipairs(tree.all) do
      if is_read(path) then
         each_text(path, function(number, text)
            for _, word in ipairs(missing_in(text)) do
               wrong[#wrong + 1] = ("%s:%d: there is no %s"):format(path, number, word)
            end
         end)
      end
   end
   return wrong
end

-- Is there a module, a C file or a folder of that name?  Of a program or a file with an ending
-- others look.
local function is_module(word)
   for _, path in ipairs(tree.sources "%.[lch][ua]*$") do
      local noun = path:gsub("/init%.lua$", ""):gsub("%.%l+$", "")
      if ends_with(noun, word) then
         return true
      end
   end
   return false
end

local function cells_of(line)
   local list = {}
   for cell in line:gmatch "|%s*([^|]*)" do
      list[#list + 1] = cell:gsub("%s+$", "")
   end
   return list
end

--- In tables of doc/internals/ the column "module" names modules that are there.
function documents.modules()
   local wrong = {}
   for _, path in ipairs(tree.files("doc/internals/", "%.md$")) do
      local column
      for number, line in tree.lines(path) do
         local cells = cells_of(line)
         for i, cell in ipairs(cells) do
            column = cell == "module" and i or column
         end
         column = #cells > 0 and column or nil
         for word in (column and cells[column] or ""):gmatch "`([%l_/]+)`" do
            local noun = word:gsub("/init$", "")
            if noun ~= "init" and not is_module(noun) and not folders[noun] then
               wrong[#wrong + 1] = ("%s:%d: there is no module %s"):format(path, number, word)
            end
         end
      end
   end
   return wrong
end

-- "doc/" and "../README.md" → "README.md"
local function joined(folder, link)
   local path = folder .. link
   repeat
      local n
      path, n = path:gsub("[^/]+/%.%./", "", 1)
   until n == 0
   return path
end

--- Links between documents that lead nowhere.
function documents.links()
   local wrong = {}
   for _, path in ipairs(tree.files("", "%.md$")) do
      for number, line in tree.lines(path) do
         for link in line:gmatch "%]%(([^)#%s]+)[^)%s]*%)" do
            local to = joined(tree.folder(path), link)
            if not link:find "^%a+:" and not tree.has[to]
               and #tree.files(to, "") == 0 then
               wrong[#wrong + 1] = ("%s:%d: the link leads nowhere: %s"):format(path, number, link)
            end
         end
      end
   end
   return wrong
end

local MOST_LINES, MOST_COLUMNS = 8, 100

--- Paragraphs of doc/internals/ that are too long to read: more than eight lines.
function documents.long()
   local wrong = {}
   for _, path in ipairs(tree.files("doc/internals/", "%.md$")) do
      local n = 0
      for number, line in tree.lines(path) do
         local item = line:find "^%s*[-*] " or line:find "^%d+%. "
         local prose = line ~= "" and not line:find "^|"
         n = prose and (item and 1 or n + 1) or 0
         if n == MOST_LINES + 1 or prose and utf8.len(line) > MOST_COLUMNS then
            wrong[#wrong + 1] = ("%s:%d: more than %d lines of %d columns"):format(path, number,
               MOST_LINES, MOST_COLUMNS)
         end
      end
   end
   return wrong
end

-- Does a file define the function `Type:name()`, `module.name()` or `name()`?
local function defines(path, name)
   local plain = name:gsub("[%.%-]", "%%%0")
   local text = "\n" .. tree.text(path)
   return text:find("\nfunction " .. plain .. "%(")
      or text:find("\nlocal function " .. plain .. "%(")
      or path:find "%.c$" and text:find("\n[%a][^\n;]-[%s%*]" .. plain .. "%([^;{}]-%)\n{")
end

--- The tour names functions that are in the file it named before.
function documents.tour()
   local wrong, path = {}, nil
   for number, line in tree.lines "doc/tour.md" do
      for word in line:gmatch "`([^`]+)`" do
         local name = word:match "^([%w_.:]+)%(%)$"
         if name and not (path and defines(path, name)) then
            wrong[#wrong + 1] = ("doc/tour.md:%d: %s is not in %s"):format(number, word,
               tostring(path))
         elseif tree.has[word] then
            path = word
         end
      end
   end
   return wrong
end

local FAULTS = { "tests/lab/faults.bats", "tests/lab/faults/outages.bats" }

-- Names of the tests in bats files.
local function bats_names(paths)
   local names = {}
   for _, path in ipairs(paths) do
      for _, line in tree.lines(path) do
         names[line:match '^@test "(.*)" {' or ""] = path
      end
   end
   return names
end

--- The table of doc/faults.md names tests that are there, and each test of outages.
function documents.faults()
   local wrong, known = {}, bats_names(FAULTS)
   local missing = bats_names { FAULTS[2] }
   missing[""] = nil
   for number, line in tree.lines "doc/faults.md" do
      local name = line:match "^|.*| (.-) |$"
      if name and name ~= "test" then
         local bare, file = name:match "^(.-) %(`(.-)`%)$"
         local there = file and bats_names { "tests/lab/" .. file } or known
         if not there[bare or name] then
            wrong[#wrong + 1] = ("doc/faults.md:%d: there is no test '%s'"):format(number, name)
         end
         missing[name] = nil
      end
   end
   for name, path in pairs(missing) do
      wrong[#wrong + 1] = ("%s: '%s' is not in doc/faults.md"):format(path, name)
   end
   return wrong
end

return documents
