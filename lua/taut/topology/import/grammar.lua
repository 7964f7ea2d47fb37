-- SPDX-License-Identifier: GPL-2.0-or-later
--- Pieces that the grammars of several formats share (LPeg).
--
-- Every format is matched line by line and without recursion, so that neither memory nor LPeg's
-- stack of choices grows with a file.
local lpeg = require "lpeg"

local P, R, S, C = lpeg.P, lpeg.R, lpeg.S, lpeg.C

local grammar = {}

grammar.blank = S " \t\r"
grammar.ws = grammar.blank ^ 0
grammar.sep = grammar.blank ^ 1
grammar.eol = grammar.ws * -P(1)
grammar.digit = R "09"
grammar.hex = R("09", "af", "AF")

--- A whole number of at most nine digits, as a number.
grammar.number = (grammar.digit * grammar.digit ^ -8 * -grammar.digit) / tonumber

--- A GUID in hexadecimal digits, with or without 0x, as "0x" and sixteen digits.
grammar.guid = (P "0x") ^ -1 * (C(grammar.hex * grammar.hex ^ -15) * -grammar.hex) /
   function(digits)
      return "0x" .. ("0"):rep(16 - #digits) .. digits:lower()
   end

--- A word: everything up to a blank.
grammar.word = C((1 - grammar.blank) ^ 1)

--- Everything up to (and without) what a pattern matches.
function grammar.upto(stop)
   return C((1 - P(stop)) ^ 0)
end

--- A literal whose letters may be in either case.
function grammar.anycase(word)
   local p = P(true)
   for c in word:gmatch "." do
      p = p * S(c:lower() .. c:upper())
   end
   return p
end

return grammar
