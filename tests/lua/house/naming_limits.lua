-- SPDX-License-Identifier: GPL-2.0-or-later
--- What naming.lua holds the program's Lua to: today's figures, to be tightened when they are
-- better and never loosened.  The goals: 10 letters, 10 % of parameters, once in 100 lines.
return {
   name_length = 9,         -- letters of a function's name, median
   short_parameters = 1.5,  -- percent of all parameters that have one letter
   choices = 0.5,           -- `a and b or c` as a value, in 100 lines of code
}
