-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local sys = require "taut.sys"

local command = { summary = "The database: check, backup, prune, size, vacuum." }

local LIMIT_MS = 3600 * 1000 -- the most there is

function command.setup(parser)
   parser:argument("what"):description("check: is it whole?  backup: a copy, at PATH.  " ..
      "prune: old rows go now.  size: bytes and rows.  vacuum: give back what is free.")
      :choices { "check", "backup", "prune", "size", "vacuum" }
   parser:argument("path"):description "For backup, from /; tautd writes it.":args "?"
end

local function print_size(answer)
   local rows = {}
   table.sort(answer.tables, function(one, other)
      if (one.bytes or one.rows) ~= (other.bytes or other.rows) then
         return (one.bytes or one.rows) > (other.bytes or other.rows)
      end
      return one.name < other.name
   end)
   for i, t in ipairs(answer.tables) do
      rows[i] = { t.name, tostring(t.rows), t.bytes and report.bytes(t.bytes) or "-" }
   end
   report.table({ "TABLE", ">ROWS", ">SIZE" }, rows)
   print(("%s: %s%s"):format(answer.where, answer.bytes and report.bytes(answer.bytes)
      or "size not known", answer.free and (", %s of it free"):format(report.bytes(answer.free))
      or ""))
end

local say = {
   size = print_size,
   check = function(answer)
      for _, text in ipairs(answer.wrong) do
         print(text)
      end
      print(#answer.wrong == 0 and "whole" or "damaged")
      return #answer.wrong == 0 and 0 or 1
   end,
   backup = function(answer) print(("%s: %s"):format(answer.path, report.bytes(answer.bytes))) end,
   prune = function() print "no old rows are left" end,
   vacuum = function(answer)
      print(answer.before and ("%s, was %s"):format(report.bytes(answer.after),
         report.bytes(answer.before)) or "done")
   end,
}

function command.run(args)
   if (args.what == "backup") ~= (args.path ~= nil) then
      report.complain(args.what == "backup" and "backup: where to? A path from /" or
         ("%s: no path is expected"):format(args.what))
      return 2
   end
   local d, err, unanswered = ask.request(args, "db", { what = args.what, path = args.path },
      LIMIT_MS)
   if not d then
      report.complain(sys.plain(unanswered and ask.unanswered(args, err) or err))
      return 1
   elseif args.json then
      print(ask.json(d))
      return args.what == "check" and #d.wrong > 0 and 1 or 0
   end
   return say[args.what](ask.plain(d)) or 0
end

return command
