-- SPDX-License-Identifier: GPL-2.0-or-later
--- XML of files that are imported, element by element, within limits.
local optional = require "taut.base.optional"
local source = require "taut.topology.import.source"

local xml = {}

local MOST_DEPTH = 24
local CHUNK = 1 << 16

-- Handlers of expat.  An error raised in one passes through expat's C code by the library's own
-- means only, so each keeps the first failure and lets the parser stop after it.
local function handlers_for(st, src, on)
   local function run_guarded(handler)
      return function(parser, ...)
         if st.failed then
            return
         end
         src.line = parser:pos() or src.line
         local ok, err = pcall(handler, src.line, ...)
         if not ok then
            st.failed = err
            parser:stop()
         end
      end
   end
   return {
      StartElement = run_guarded(function(line, name, attrs)
         st.depth = st.depth + 1
         if st.depth > MOST_DEPTH then
            src:fail(line, "nested deeper than %d", MOST_DEPTH)
         end
         on.begins(line, name, attrs, st.depth)
      end),
      EndElement = run_guarded(function(line, name)
         st.depth = st.depth - 1
         if on.ends then
            on.ends(line, name)
         end
      end),
      CharacterData = on.text and run_guarded(on.text),
      StartDoctypeDecl = run_guarded(function(line)
         src:fail(line, "a DOCTYPE, expected none")
      end),
   }
end

-- A tag or comment that does not end is scanned again from its beginning with every chunk, which
-- takes time of the square of its length: so it has the length of a line at most.  A file may well
-- be a single line.
local function too_long(st, src, parser, fed)
   local line, _, begin = parser:pos()
   local most = source.limits.line_bytes
   if not st.failed and fed - (begin or 0) > most then
      _, st.failed = pcall(src.fail, src, line,
         "what begins here has no end within %d bytes, expected XML", most)
   end
end

--- Read all of a source.
-- @param src source
-- @param on { begins = function(line, name, attributes, depth from 1), ends = function(line, name),
--   text = function(line, piece of text) }; the latter two may be missing, each may src:fail
function xml.read(src, on)
   local lxp, missing = optional.module("lxp", function() return require "lxp" end)
   if not lxp then
      src:fail(1, "%s", missing)
   end
   local st, at = { depth = 0 }, 1
   local parser = lxp.new(handlers_for(st, src, on))
   local ok, message, line = true, nil, nil
   while ok and not st.failed and at <= #src.text do
      ok, message, line = parser:parse(src.text:sub(at, at + CHUNK - 1))
      at = at + CHUNK
      if ok and at <= #src.text then
         too_long(st, src, parser, at - 1)
      end
   end
   if ok and not st.failed then
      ok, message, line = parser:parse()
   end
   pcall(parser.close, parser)
   if st.failed then
      error(st.failed, 0)
   elseif not ok then
      src:fail(line, "not XML: %s", message)
   end
end

return xml
