-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut doctor`: is everything around Taut as it should be?  tautd tells facts, and this host has
-- some; each module here makes findings of them:
--   { level = "ok", "look" or "mend", about = a word or two, text = what is so,
--     mend = what mends it, or nil }
local ask = require "taut.base.ask"
local here = require "taut.cli.doctor.here"
local json = require "taut.json"
local report = require "taut.report"
local tables = require "taut.base.tables"

local doctor = { summary = "Problems around Taut, each with a remedy." }

local TOPICS = {
   require "taut.cli.doctor.slurm",
   require "taut.cli.doctor.nodes",
   require "taut.cli.doctor.attackers",
   require "taut.cli.doctor.network",
   require "taut.cli.doctor.machine",
   (require "taut.cli.doctor.daemon"), -- and not where it was found
}

-- Exit status where something has to be mended.
local MEND = 3

function doctor.setup(parser)
   parser:flag("-a --all"):description "Also what is in order."
   parser:epilog("Exit status: 0 nothing has to be mended, 1 tautd could not be asked, 2 wrong " ..
      "arguments, 3 something has to be mended.")
end

--- All findings.
-- @param d what tautd answers
-- @param own of here.look
function doctor.findings(d, own)
   local list = {}
   for _, topic in ipairs(TOPICS) do
      topic(d, function(level, about, text, mend)
         list[#list + 1] = { level = level, about = about, text = text, mend = mend }
      end, own)
   end
   return list
end

local WORDS = { ok = "ok", mend = "MEND", look = "look" } -- by level

local function print_finding(finding)
   report.wrap(finding.text, ("%-6s%-14s"):format(WORDS[finding.level], finding.about),
      (" "):rep(20))
   if finding.mend then
      report.wrap("mend: " .. finding.mend, (" "):rep(20), (" "):rep(20))
   end
end

local function count_level(list, level)
   return tables.count(list, function(finding) return finding.level == level end)
end

function doctor.run(args)
   local own = here.look(args)
   local d, code = ask.tautd(ask.at(args), "doctor")
   if not d then
      for _, f in ipairs(here.unanswered(own)) do
         print_finding(f)
      end
      return code
   end
   local list = doctor.findings(d, own)
   local status = 0
   if count_level(list, "mend") > 0 then
      status = MEND
   end
   if args.json then
      print(ask.json { findings = json.array(list), facts = d })
      return status
   end
   for _, f in ipairs(list) do
      if args.all or f.level ~= "ok" then
         print_finding(f)
      end
   end
   print(("%d as it should be, %d to look at, %d to mend"):format(count_level(list, "ok"),
      count_level(list, "look"), count_level(list, "mend")))
   return status
end

return doctor
