-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local command = { summary = "The database: check, backup, prune, size, vacuum." }

local LIMIT_MS = 3600 * 1000 -- the most there is

function command.setup(parser)
   parser:argument("what"):description("check: is it whole?  backup: a copy, at PATH.  " ..
      "prune: delete old rows now.  size: bytes and rows.  vacuum: free space.")
      :choices { "check", "backup", "prune", "size", "vacuum" }
   parser:argument("path"):description "For backup, from /; tautd writes it.":args "?"
end

local function size_or(bytes, otherwise)
   if bytes then
      return report.bytes(bytes)
   end
   return otherwise
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
      rows[i] = { t.name, tostring(t.rows), size_or(t.bytes, "-") }
   end
   report.table({ "TABLE", ">ROWS", ">SIZE" }, rows)
   print(("%s: %s%s"):format(answer.where, size_or(answer.bytes, "size not known"),
      report.text_with(", ", size_or(answer.free), " of it free")))
end

local say = {
   size = print_size,
   check = function(answer)
      for _, text in ipairs(answer.wrong) do
         print(text)
      end
      print(report.text_if(#answer.wrong == 0, "whole", "damaged"))
      return tables.one_if(#answer.wrong > 0)
   end,
   backup = function(answer) print(("%s: %s"):format(answer.path, report.bytes(answer.bytes))) end,
   prune = function() print "no old rows are left" end,
   vacuum = function(answer)
      if answer.before then
         print(("%s, was %s"):format(report.bytes(answer.after), report.bytes(answer.before)))
      else
         print "done"
      end
   end,
}

function command.run(args)
   if args.what == "backup" and args.path == nil then
      report.complain "backup: where to? A path from /"
      return 2
   elseif args.what ~= "backup" and args.path ~= nil then
      report.complain(("%s: no path is expected"):format(args.what))
      return 2
   end
   local d, err, unanswered = ask.request(args, "db", { what = args.what, path = args.path },
      LIMIT_MS)
   if not d then
      if unanswered then
         err = ask.unanswered(args, err)
      end
      report.complain(sys.plain(err))
      return 1
   elseif args.json then
      print(ask.json(d))
      return tables.one_if(args.what == "check" and #d.wrong > 0)
   end
   return say[args.what](ask.plain(d)) or 0
end

return command
