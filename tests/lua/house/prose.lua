-- SPDX-License-Identifier: GPL-2.0-or-later
--- Is prose read once?  Sentences of documents, man pages and comments that have too many words,
-- and turns of phrase that no engineer of the field would write.  Each is held by a limit that is
-- only ever moved towards zero (prose_limits.lua).
local limits = require "prose_limits"

local prose = {}

prose.MOST_WORDS = 40

-- Full stops that end no sentence.
local ABBREVIATIONS = { ["e.g."] = true, ["i.e."] = true, ["etc."] = true, ["vs."] = true,
   ["cf."] = true }

local function ends_sentence(word)
   return word:find "[.!?][\"')*_`]*$" and not ABBREVIATIONS[word:lower()]
      and not word:find "%.%.%.$"
end

-- Entries of a list of functions or fields end with a semicolon before the next name.
local function ends_entry(word, next_word)
   return word:find ";$" and next_word and next_word:find "^`"
end

local function count_of(word, sign)
   return select(2, word:gsub("%" .. sign, ""))
end

--- Sentences of one paragraph.  Fields in braces are data, and no words.
-- @param lines array of { number =, text = }
-- @return array of { line = of its first word, words =, text = }
function prose.sentences(lines)
   local words, list, sentence, depth = {}, {}, nil, 0
   for _, line in ipairs(lines) do
      for word in line.text:gmatch "%S+" do
         words[#words + 1] = { text = word, number = line.number }
      end
   end
   for i, word in ipairs(words) do
      sentence = sentence or { line = word.number, words = 0, text = "" }
      local was_depth = depth
      depth = math.max(0, depth + count_of(word.text, "{") - count_of(word.text, "}"))
      if was_depth + depth == 0 and word.text:find "%w" then
         sentence.words = sentence.words + 1
      end
      sentence.text = sentence.text .. (sentence.text == "" and "" or " ") .. word.text
      if ends_sentence(word.text) or ends_entry(word.text, (words[i + 1] or {}).text) then
         list[#list + 1], sentence = sentence, nil
      end
   end
   list[#list + 1] = sentence
   return list
end

-- Collects lines into paragraphs.
local Paragraphs = {}
Paragraphs.__index = Paragraphs

function Paragraphs:add(number, text)
   self.open = self.open or {}
   table.insert(self.open, { number = number, text = text })
end

function Paragraphs:close()
   self.list[#self.list + 1], self.open = self.open, nil
end

--- A paragraph of one line, such as the cell of a table.
function Paragraphs:add_alone(number, text)
   self:close()
   self:add(number, text)
   self:close()
end

local function new_paragraphs()
   return setmetatable({ list = {} }, Paragraphs)
end

--- Paragraphs of Markdown: code is left out, each cell of a table is one.
-- @param next_line function that gives number and text of each line
function prose.of_markdown(next_line)
   local found, is_code = new_paragraphs(), false
   for number, line in next_line do
      if line:find "^%s*```" then
         is_code = not is_code
         found:close()
      elseif is_code or line:find "^%s*$" then
         found:close()
      elseif line:find "^%s*|" then
         for cell in line:gmatch "[^|]+" do
            found:add_alone(number, cell)
         end
      elseif line:find "^#" then
         found:add_alone(number, line)
      else
         local item = line:match "^%s*[-*] (.*)" or line:match "^%s*%d+%. (.*)"
         if item then
            found:close()
         end
         found:add(number, item or line)
      end
   end
   found:close()
   return found.list
end

-- mdoc macros that stand within a sentence; the others end a paragraph.
local WITHIN = {}
for word in ([[Nm Fl Ar Cm Op Pa Xr Sx Ev Em Sy Li Va Vt Fn Dq Sq Ql Pq Po Pc Ns No Ta Ic Lk Qq
   Bq Aq Dv Er Ad]]):gmatch "%a+" do
   WITHIN[word] = true
end

--- Paragraphs of a man page in mdoc, without the commands of its synopsis.
function prose.of_manual(next_line)
   local found, is_code, is_synopsis = new_paragraphs(), false, false
   for number, line in next_line do
      local macro, text = line:match "^%.%s*(%a+)%s*(.*)$"
      if macro == "Sh" then
         is_synopsis = text == "SYNOPSIS"
      end
      if is_synopsis then
         found:close()
      elseif macro == "Bd" or macro == "Ed" then
         is_code = macro == "Bd"
         found:close()
      elseif WITHIN[macro] and not is_code then
         found:add(number, text)
      elseif macro or line:find "^%." or line:find "^%s*$" or is_code then
         found:close()
      else
         found:add(number, line)
      end
   end
   found:close()
   return found.list
end

-- What stands before and after the first `mark` of a line that is in no string; nil without one.
local function split_at(line, mark)
   local first, last = line:find(mark, 1, true)
   while first do
      local before = line:sub(1, first - 1)
      if select(2, before:gsub('\\"', ""):gsub('"', "")) % 2 == 0 then
         return before, line:sub(last + 1)
      end
      first, last = line:find(mark, last + 1, true)
   end
   return nil
end

-- The comment of a line, whether code stands before it, and whether a C comment goes on.
local function comment_of(path, line, inside)
   if path:find "%.[ch]$" then
      if inside then
         local body = line:gsub("^%s*%*%f[^*/]", "")
         local text, rest = body:match "^(.-)%*/(.*)$"
         return text or body, false, not rest
      end
      local before, text = split_at(line, "/*")
      if text then
         local closed = text:match "^(.-)%*/"
         return closed or text, before:find "%S" ~= nil, not closed
      end
      return nil, false, false
   elseif path:find "%.lua$" then
      local before, text = split_at(line, "--")
      return text, before ~= nil and before:find "%S" ~= nil, false
   end
   return line:match "^%s*# (.*)$", false, false
end

-- A comment's text without its marks, and how far it is indented.
local function strip_marks(text)
   local marks, rest = text:match "^([-*!]*%s*)(.*)$"
   return rest, #marks:gsub("[-*!]", "")
end

--- Paragraphs of a source's comments: lines that follow each other, up to an empty one, a tag of
-- its description (@param …) or one that is indented further, such as a row of a table.
function prose.of_comments(path, next_line)
   local found, inside, was_beside, base = new_paragraphs(), false, false, nil
   for number, line in next_line do
      local goes_on = inside
      local text, is_beside, is_open = comment_of(path, line, inside)
      inside = is_open
      if was_beside and not goes_on then
         found:close()
      end
      was_beside = is_beside
      local indent = 0
      if text and text:find("SPDX-License-Identifier: ", 1, true) then
         text = nil
      elseif text then
         text, indent = strip_marks(text)
      end
      if not text or not text:find "%S" or text:find "^@" or is_beside and not goes_on
         or base and indent > base + 1 then
         found:close()
      end
      if text and text:find "%S" then
         base = base or indent
         found:add(number, text)
      else
         base = nil
      end
   end
   found:close()
   return found.list
end

--- Paragraphs of a file; none of one that is neither a document nor a source.
function prose.of_file(tree, path)
   if path:find "%.md$" then
      return prose.of_markdown(tree.lines(path))
   elseif path:find "^doc/.*%.[158]$" then
      return prose.of_manual(tree.lines(path))
   elseif path:find "%.[ch]$" or path:find "%.lua$" or path:find "%.bats$" or path:find "%.bash$"
      or path:find "%.am$" or path:find "%.sh$" then
      return prose.of_comments(path, tree.lines(path))
   end
   return {}
end

---------------------------------------------------------------- what is measured

-- Areas, each with patterns of its paths; a path is of the first one that fits.
local AREAS = {
   { name = "manual", "^doc/[%w._-]+%.[158]$" },
   { name = "internals", "^doc/internals/" },
   { name = "documents", "%.md$" },
   { name = "lua", "^lua/" },
   { name = "c", "^plugin/", "^wire/", "^advisor/" },
   { name = "tests", "^tests/" },
}

local function find_area(path)
   for _, area in ipairs(AREAS) do
      for _, pattern in ipairs(area) do
         if path:find(pattern) then
            return area.name
         end
      end
   end
   return nil
end

-- Turns of phrase that a reader has to turn round again, with what reads well all the same.
local TURNS = {
   { " is no %l", but = { "there is no ", "is no longer", "is no more than" } },
   { " are no %l", but = { "there are no ", "are no longer", "are no more than" } },
   { " is none%f[%W]", but = { "there is none" } },
   { " are none%f[%W]", but = { "there are none" } },
   { "%f[%w]nobody%f[%W]" },
   { " says so%f[%W]" },
   { " of what %l" },
   { " what there is%f[%W]" },
   { "^Who %l", but = { "?" } },
   { " is said of " },
   { " is told%f[%W]" },
}

local function is_excused(turn, text)
   for _, good in ipairs(turn.but or {}) do
      if text:lower():find(good, 1, true) then
         return true
      end
   end
   return false
end

--- How many turns of phrase a sentence has that read badly.
function prose.count_turns(text)
   local count = 0
   for _, turn in ipairs(TURNS) do
      if text:find(turn[1]) and not is_excused(turn, text) then
         count = count + 1
      end
   end
   return count
end

-- NEWS.md says what was; others' files are theirs.
local function is_measured(tree, path)
   return path ~= "NEWS.md" and not tree.is_given(path) and find_area(path) ~= nil
end

--- What the tree's prose has too much of.
-- @param tree tree.lua
-- @param on_long function(place, words) that is called for each long sentence, or nil
-- @return map "long AREA" or "turns AREA" → count
function prose.measure(tree, on_long)
   local counts = {}
   for _, area in ipairs(AREAS) do
      counts["long " .. area.name], counts["turns " .. area.name] = 0, 0
   end
   for _, path in ipairs(tree.all) do
      local paragraphs = is_measured(tree, path) and prose.of_file(tree, path) or {}
      for _, paragraph in ipairs(paragraphs) do
         for _, sentence in ipairs(prose.sentences(paragraph)) do
            local area = find_area(path)
            local turns = "turns " .. area
            counts[turns] = counts[turns] + prose.count_turns(sentence.text)
            if sentence.words > prose.MOST_WORDS then
               counts["long " .. area] = counts["long " .. area] + 1
               if on_long then
                  on_long(("%s:%d"):format(path, sentence.line), sentence.words)
               end
            end
         end
      end
   end
   return counts
end

--- Holds counts against limits.
-- @param counts of prose.measure
-- @param held map of the same names → limit
-- @return texts about what is worse; texts about limits that could be tightened
function prose.compare(counts, held)
   local worse, loose = {}, {}
   for name, count in pairs(counts) do
      local limit = held[name] or 0
      if count > limit then
         worse[#worse + 1] = ("tests/lua/house/prose_limits.lua: %s: %d, the limit is %d"):format(
            name, count, limit)
      elseif count < limit then
         loose[#loose + 1] = ("%s may be tightened from %d to %d"):format(name, limit, count)
      end
   end
   table.sort(worse)
   table.sort(loose)
   return worse, loose
end

-- Both are asked for, and it is worked out once.
local measured = {}

local function measure_once(tree)
   measured[tree] = measured[tree] or prose.measure(tree)
   return measured[tree]
end

--- What is worse than its limit.
-- @param tree tree.lua
function prose.wrong(tree)
   return (prose.compare(measure_once(tree), limits))
end

--- The counts, and which limits could be tightened: lines for a reader.
function prose.report(tree)
   local lines, counts = {}, measure_once(tree)
   for _, area in ipairs(AREAS) do
      lines[#lines + 1] = ("# %-22s %4d sentences of more than %d words, %4d turns of phrase")
         :format(area.name, counts["long " .. area.name], prose.MOST_WORDS,
         counts["turns " .. area.name])
   end
   for _, text in ipairs(select(2, prose.compare(counts, limits))) do
      lines[#lines + 1] = "# tests/lua/house/prose_limits.lua: " .. text
   end
   return lines
end

return prose
