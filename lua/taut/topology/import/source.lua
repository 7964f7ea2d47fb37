-- SPDX-License-Identifier: GPL-2.0-or-later
--- The text of a file that is being imported, line by line and within limits.
--
-- Parsers give up by `src:fail(line, …)`, which raises; taut.import turns that into nil and
-- "FILE:LINE: what, expected what", so that nothing of a bad file is ever seen by a caller.
local report = require "taut.report"
local save = require "taut.report.save"

local source = {}
local Source = {}
Source.__index = Source

--- What a file may have at most; a dump of 33,000 endpoints has 6 MB.
source.limits = {
   file_bytes = 64 << 20,
   line_bytes = 1 << 20,
   names = 1 << 18,
   notes = 200,
}

local CHUNK = 1 << 20

--- A value as an error shows it: printable, short, in quotes.
function source.quote(value)
   local whole = tostring(value)
   local text = whole:sub(1, 60):gsub("%s+", " "):gsub("[^\32-\126]", "?"):gsub('"', "'")
   return '"' .. text .. report.text_if(#whole > 60, "...") .. '"'
end

-- Everything that can be read, up to a byte more than is allowed.
local function read_all(file, limit)
   local chunks, have = {}, 0
   while have <= limit do
      local chunk, err = file:read(CHUNK)
      if not chunk then
         if err then
            return nil, err
         end
         break
      end
      chunks[#chunks + 1], have = chunk, have + #chunk
   end
   if have > limit then
      return nil, ("more than %d bytes, expected at most that many"):format(limit)
   end
   return table.concat(chunks)
end

local GZIP = "\31\139"

-- What a compressed file has in it.
local function unpack_file(path, most)
   if path == "-" then
      return nil, "compressed, expected plain text (gunzip)"
   end
   local pipe, err = io.popen("gzip -dc <" .. save.quoted(path) .. " 2>/dev/null")
   if not pipe then
      return nil, err
   end
   local text
   text, err = read_all(pipe, most)
   local ok = pipe:close()
   if text and not ok then
      return nil, "cannot be unpacked (gzip), expected a whole file"
   end
   return text, err
end

--- Read a file, also one compressed by gzip.
-- @param path of the file; "-" for standard input
-- @param most bytes; without it source.limits.file_bytes
-- @return source, or nil and "path: why"
function source.open(path, most)
   most = most or source.limits.file_bytes
   local f, err = io.stdin, nil
   if path ~= "-" then
      f, err = io.open(path, "rb")
   end
   if not f then
      return nil, err
   end
   -- a known size is checked before anything is read
   local size = f:seek("end")
   local text
   if size and size > most and size < math.maxinteger then
      err = ("%d bytes, expected at most %d"):format(size, most)
   else
      if size then
         f:seek("set")
      end
      text, err = read_all(f, most)
   end
   if text and text:sub(1, 2) == GZIP then
      text, err = unpack_file(path, most)
   end
   if text and (text:sub(1, 2) == "\xFF\xFE" or text:sub(1, 2) == "\xFE\xFF") then
      text, err = nil, "1: text in UTF-16, expected ASCII or UTF-8"
   end
   if path ~= "-" then
      f:close()
   end
   if not text then
      return nil, ("%s:%s%s"):format(path, report.text_if(not err:find "^1: ", " "), err)
   end
   return source.of(text, path)
end

-- Is there a line with something in it that does not begin with the prefix?
local function has_line_without(text, prefix)
   for line in text:gmatch "[^\r\n]+" do
      if line:find "%S" and line:sub(1, #prefix) ~= prefix then
         return true
      end
   end
   return false
end

-- Take a prefix off each line.
local function without_prefix(text, prefix)
   return (("\n" .. text):gsub("\n" .. prefix:gsub("%p", "%%%0"), "\n"):sub(2))
end

-- What was pasted: "> " of a mail, and blanks that all lines begin with, are no part of it.
-- @return text, what was taken off or nil
local function undo_pasting(text)
   local taken
   while true do
      local first = text:match "^[\r\n]*([^\r\n]*%S)" or ""
      local prefix = first:match "^>" or first:match "^[ \t]+" or ""
      while prefix ~= "" and has_line_without(text, prefix) do
         prefix = prefix:sub(1, -2)
      end
      if prefix == "" then
         return text, taken
      end
      taken = taken or prefix
      text = without_prefix(text, prefix)
   end
end

--- A source of a given text.
-- @param text
-- @param path what errors call it
function source.of(text, path)
   local taken
   text = text:gsub("^\xEF\xBB\xBF", "") -- as editors of another system begin it
   text, taken = undo_pasting(text)
   if path == "-" then
      path = "stdin"
   end
   local self = setmetatable({ text = text, path = path, line = 1,
      notes = {}, more_notes = 0 }, Source)
   if taken then
      self:note(1, "all lines begin with %s, which is taken off", source.quote(taken))
   end
   return self
end

local function format_any(what, ...)
   if select("#", ...) > 0 then
      return what:format(...)
   end
   return what
end

--- Give up.
-- @param line number; nil for the line being read
-- @param what format, with its values
function Source:fail(line, what, ...)
   local text = format_any(what, ...)
   error({ import = ("%s:%d: %s"):format(self.path, line or self.line, text) }, 0)
end

--- Remember what did not fit and was passed over.
function Source:note(line, what, ...)
   if #self.notes >= source.limits.notes then
      self.more_notes = self.more_notes + 1
      return
   end
   local text = format_any(what, ...)
   self.notes[#self.notes + 1] = { line = line or self.line, text = text, file = self.path }
end

--- Iterate over the lines: number, text without its end.
-- @param most bytes of a line; without it source.limits.line_bytes
function Source:lines(most)
   local text, at, size, n = self.text, 1, #self.text, 0
   most = most or source.limits.line_bytes
   return function()
      if at > size then
         return nil
      end
      local stop = text:find("\n", at, true) or size + 1
      n = n + 1
      self.line = n
      if stop - at > most then
         self:fail(n, "a line of %d bytes, expected at most %d", stop - at, most)
      end
      local last = stop - 1
      if text:byte(last) == 13 and stop > at then
         last = last - 1
      end
      local line = text:sub(at, last)
      at = stop + 1
      return n, line
   end
end

return source
