-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Cray's `xtprocadmin` prints: NID, NODENAME, TYPE, STATUS, MODE of every node.
local cray = require "taut.topology.import.cray"
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"

local cray_xtprocadmin = { summary = "Cray xtprocadmin: nodes and their places; added to rtr" }

local P, R, C, Cg, Ct = lpeg.P, lpeg.R, lpeg.C, lpeg.Cg, lpeg.Ct
local ws, sep, number, eol = grammar.ws, grammar.sep, grammar.number, grammar.eol

local hex = P "0x" * (grammar.hex * grammar.hex ^ -7 / function(text) return tonumber(text, 16) end)
local word = C((R("az", "AZ", "09") + "_") ^ 1)
local row = Ct(ws * Cg(number, "nid") * sep * Cg(hex, "hex") * sep * Cg(cray.node, "place") * sep *
   Cg(word, "role") * sep * Cg(word, "state") * sep * word * eol)
local ignored = eol + ws * "NID" * sep + ws * "#" + ws * "(" * (1 - P ")") ^ 0 * ")" * eol

local function parse(src)
   local list, nid_line = {}, {}
   for n, line in src:lines(4096) do
      local t = row:match(line)
      if t then
         local wrong
         if t.nid ~= t.hex then
            wrong = ("%d is not 0x%x"):format(t.nid, t.hex)
         elseif nid_line[t.nid] then
            wrong = ("NID %d is here and in line %d, expected it once"):format(t.nid,
               nid_line[t.nid])
         else
            wrong = cray.trouble(t.place)
         end
         if wrong then
            src:fail(n, "%s", wrong)
         end
         nid_line[t.nid] = n
         t.line, t.name = n, cray.nid_name(t.nid)
         list[#list + 1] = t
      elseif not ignored:match(line) then
         src:fail(n, "%s, expected a row such as '4 0x4 c0-0c0s1n0 compute up interactive'",
            source.quote(line))
      end
   end
   if #list == 0 then
      src:fail(nil, "the file ends without a node")
   end
   return list
end

cray.inventory(cray_xtprocadmin, parse, "xtprocadmin")

return cray_xtprocadmin
