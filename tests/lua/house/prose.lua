-- SPDX-License-Identifier: GPL-2.0-or-later
--- Is prose read once?  Sentences of documents, man pages and comments that have too many words,
-- and turns of phrase that no engineer of the field would write.  Each is held by a limit that is
-- only ever moved towards zero (prose_limits.lua).
local prose = {}

prose.MOST_WORDS = 40

-- Full stops that end no sentence.
local ABBREVIATIONS = { ["e.g."] = true, ["i.e."] = true, ["etc."] = true, ["vs."] = true,
   ["cf."] = true }

local function ends_sentence(word)
   return word:find "[.!?][\"')*_`]*$" and not ABBREVIATIONS[word:lower()]
      and not word:find "%.%.%.$"
end

--- Sentences of one paragraph.
-- @param lines array of { number =, text = }
-- @return array of { line = of its first word, words =, text = }
function prose.sentences(lines)
   local list, sentence = {}, nil
   for _, line in ipairs(lines) do
      for word in line.text:gmatch "%S+" do
         sentence = sentence or { line = line.number, words = 0, text = "" }
         sentence.words = sentence.words + (word:find "%w" and 1 or 0)
         sentence.text = sentence.text .. (sentence.text == "" and "" or " ") .. word
         if ends_sentence(word) then
            list[#list + 1], sentence = sentence, nil
         end
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

--- Paragraphs of a man page in mdoc.
function prose.of_manual(next_line)
   local found, is_code = new_paragraphs(), false
   for number, line in next_line do
      local macro, text = line:match "^%.%s*(%a+)%s*(.*)$"
      if macro == "Bd" or macro == "Ed" then
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

-- The comment of a line, whether code stands before it, and whether a C comment goes on.
local function comment_of(path, line, inside)
   if path:find "%.[ch]$" then
      if inside then
         local text, rest = line:match "^(.-)%*/(.*)$"
         return text or line, false, not rest
      end
      local before, text = line:match "^(.-)/%*(.*)$"
      if text then
         local closed = text:match "^(.-)%*/"
         return closed or text, before:find "%S" ~= nil, not closed
      end
      before, text = line:match "^(.-)//(.*)$"
      return text, before ~= nil and before:find "%S" ~= nil, false
   elseif path:find "%.lua$" then
      local before, text = line:match "^(.-)%-%-(.*)$"
      return text, before ~= nil and before:find "%S" ~= nil, false
   end
   return line:match "^%s*# (.*)$", false, false
end

--- Paragraphs of a source's comments: lines that follow each other, up to an empty one or a tag
-- of its description (@param …).
function prose.of_comments(path, next_line)
   local found, inside, text, is_beside = new_paragraphs(), false, nil, nil
   for number, line in next_line do
      local goes_on = inside
      text, is_beside, inside = comment_of(path, line, inside)
      text = text and text:gsub("^[-*!%s]*", ""):gsub("^%-+", "")
      if not text or not text:find "%S" or is_beside and not goes_on then
         found:close()
      end
      if text and text:find "^@" then
         found:close()
      end
      if text and text:find "%S" then
         found:add(number, text)
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

return prose
