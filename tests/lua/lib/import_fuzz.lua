-- SPDX-License-Identifier: GPL-2.0-or-later
-- Changes files at random and hands them to the importers, which take them or refuse them with a
-- place in the file; used by test_import_hostile.lua and by tests/fuzz/import.
local import = require "taut.topology.import"
local recognise = require "taut.topology.import.recognise"
local source = require "taut.topology.import.source"
local write = require "taut.topology.import.write"

local import_fuzz = {}

local WORDS = { "\0", "\255\254", "\"", "'", "]", "[", "[1-99999999]", "0x", "-1", "0",
   "99999999999999999999", "Switch\t36 \"S-0000000000000001\"\t# \"x\" base port 0 lid 1 lmc 0\n",
   "SwitchName=", "Nodes=n[1-3]", "ALL", "\\\n", "#", "&a ", "*a", "{", "}", ": ", "- ",
   "<!DOCTYPE a>", "&amp;", "<![CDATA[", "</", "(0:0:0)", "->", " lid ",
   ("x"):rep(300), "\n", "\r\n",
   "\t", "%s%n", "ZZZ", "x", "nan", "inf", "1e9", "null" }

-- One change; `other` is a file to take pieces from.
local changes = {
   function(t) -- a byte
      local i = math.random(#t)
      return t:sub(1, i - 1) .. string.char(math.random(0, 255)) .. t:sub(i + 1)
   end,
   function(t) -- a digit
      local i = t:find("%d", math.random(#t)) or 1
      return t:sub(1, i - 1) .. math.random(0, 9) .. t:sub(i + 1)
   end,
   function(t) -- cut short
      return t:sub(1, math.random(#t))
   end,
   function(t) -- without a piece
      local i = math.random(#t)
      return t:sub(1, i - 1) .. t:sub(i + math.random(40))
   end,
   function(t) -- a piece twice
      local i, n = math.random(#t), math.random(200)
      return t:sub(1, i + n) .. t:sub(i)
   end,
   function(t) -- a word put in
      local i = math.random(#t)
      return t:sub(1, i) .. WORDS[math.random(#WORDS)] .. t:sub(i + 1)
   end,
   function(t, other) -- mixed up with another
      local i, j = math.random(#t), math.random(#other)
      return t:sub(1, i) .. other:sub(j, j + math.random(300)) .. t:sub(i + 1)
   end,
   function(t) -- two lines changed over
      local a, b = t:match "\n([^\n]+)\n", t:match(".*\n([^\n]+)\n")
      local i = t:find("\n", math.random(#t), true)
      return a and b and i and t:sub(1, i) .. b .. "\n" .. a .. t:sub(i) or t
   end,
}

function import_fuzz.mutate(text, other)
   for _ = 1, math.random(1, 4) do
      if #text == 0 then
         return text
      end
      text = changes[math.random(#changes)](text, other)
   end
   return text
end

-- What every wiring has to be, whatever file it came from.
local function check(w)
   local names = {}
   for _, r in ipairs(w.routers) do
      assert(type(r.name) == "string" and not names[r.name], "router name")
      names[r.name] = true
   end
   names = {}
   for _, n in ipairs(w.nodes) do
      assert(type(n.name) == "string" and not names[n.name], "node name")
      names[n.name] = true
      for _, rail in ipairs(n.rails) do
         assert(w.routers[rail.router] and type(rail.port) == "string", "rail")
      end
   end
   for _, c in ipairs(w.cables) do
      assert(w.routers[c.a] and w.routers[c.b] and c.a ~= c.b, "cable")
   end
   for r, t in pairs(w.tables or {}) do
      assert(w.routers[r] and type(t) == "table", "table")
   end
   local found = recognise.kind(w)
   assert(recognise.words(found))
   assert(load(write.text(w, found), "=text", "t", {}))
end

--- Hand one text to an importer.
-- @param base { wiring } that formats without one of their own are added to
-- @return true when it was taken, false when it was refused as it should be; raises otherwise
function import_fuzz.try(format, text, base)
   local module = import.module(format)
   local w, err
   if module.read then
      w, err = import.parse(format, text, "F")
   elseif module.names then
      w, err = import.parse(format, text, "F")
      if w then
         return true
      end
   else
      w, err = import.add(base(), format, source.of(text, "F"))
   end
   if w then
      check(w)
      return true
   end
   assert(type(err) == "string" and err:find "^F:%d+: .", tostring(err))
   assert(not err:find("cannot be read", 1, true), err)
   assert(#err < 600 and not err:find "[\0-\8\11-\31\127-\255]", "not fit to print")
   return false
end

--- Read a file.
function import_fuzz.slurp(path)
   local f = assert(io.open(path, "rb"))
   local text = f:read "a"
   f:close()
   return text
end

--- The files to begin with: format → array of texts.
-- @param dir tests/fuzz/corpus/import
function import_fuzz.corpus(dir)
   local corpus = {}
   for _, f in ipairs(import.formats()) do
      corpus[f.name] = {}
      local pipe = assert(io.popen(("ls '%s/%s'"):format(dir, f.name)))
      for name in pipe:lines() do
         table.insert(corpus[f.name], import_fuzz.slurp(("%s/%s/%s"):format(dir, f.name, name)))
      end
      pipe:close()
   end
   return corpus
end

--- A wiring that tables can be added to.
function import_fuzz.base(dir)
   local text = import_fuzz.slurp(dir .. "/ibnetdiscover/hx44")
   return function()
      return assert(import.parse("ibnetdiscover", text, "hx44"))
   end
end

--- Change and try; a text that breaks an importer is in the error.
-- @param format name
-- @param texts to begin with
-- @param others texts to take pieces from
-- @param rounds how many
-- @return how many were taken
function import_fuzz.run(format, texts, others, base, rounds)
   local taken = 0
   for _ = 1, rounds do
      local text = import_fuzz.mutate(texts[math.random(#texts)], others[math.random(#others)])
      local ok, result = xpcall(import_fuzz.try, debug.traceback, format, text, base)
      if not ok then
         error({ text = text, why = ("%s: %s"):format(format, result) }, 0)
      end
      taken = taken + (result and 1 or 0)
   end
   return taken
end

return import_fuzz
