-- SPDX-License-Identifier: GPL-2.0-or-later
--- How verdicts look in a picture.
local colour = require "taut.report.colour"
local report = require "taut.report"

local look = {}

-- Worst last.  Besides its colour each state has a width, lossy and failed their dashes: a picture
-- must also do in grey, and for eyes that cannot tell red from green.
look.states = { "-", "unknown", "ok", "suspect", "slow", "lossy", "failed" }

look.rank = {}
for i, s in ipairs(look.states) do
   look.rank[s] = i
end

look.line = { ["-"] = "#8fa3b5", unknown = "#b9c0c7", ok = "#7fae86",
   suspect = colour.verdict.suspect, slow = colour.verdict.slow, lossy = colour.verdict.lossy,
   failed = colour.verdict.failed }

-- Routers of a set that the picture is about (scene.marked: map router → true).
look.marked = "#0072b2"

-- Pixels; of the others the picture decides.
look.width = { suspect = 2, slow = 3, lossy = 3, failed = 3 }

look.dashes = { lossy = "8 2 1.5 2", failed = "5 2.5" }

look.word = { ["-"] = "link", unknown = "never tested" }

function look.is_bad(state)
   return look.rank[state] > look.rank.ok
end

-- The worse of two.
function look.worse(state, other)
   if look.rank[state] >= look.rank[other] then
      return state
   end
   return other
end

--- A coordinate in a path, with as few characters as will do.
function look.coordinate(value)
   return (("%.1f"):format(value):gsub("%.0$", ""))
end

--- "M x y L x y", or a curve where there are three points and `curved`.
function look.path(points, curved)
   local parts = { "M", look.coordinate(points[1]), " ", look.coordinate(points[2]),
      report.text_if(curved, "Q", "L") }
   for i = 3, #points, 2 do
      parts[#parts + 1] = report.text_if(i > 3, " ") .. look.coordinate(points[i])
      parts[#parts + 1] = " " .. look.coordinate(points[i + 1])
   end
   return table.concat(parts)
end

--- A name of at most `most` characters: its beginning, and the last `tail` ones, since names of
-- switches of one make differ at their ends.
function look.short(name, most, tail)
   local n = utf8.len(name)
   if not n or n <= most then
      return name
   end
   return name:sub(1, utf8.offset(name, most - tail) - 1) .. "…" ..
      name:sub(utf8.offset(name, -tail))
end

return look
