-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut check`: is all well?  For monitoring systems that run a program and look at its status, as
-- Nagios, Icinga and Checkmk do.
local alarms = require "taut.report.alarms"
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local check = { summary = "Is all well?  Status 0 yes, 1 worth a look, 2 act now, 3 not known.",
   has_json = false }

local WORDS = { [0] = "OK", "WARNING", "CRITICAL", "UNKNOWN" }
local NAMES = 8              -- that one line has room for
local SETTLED_S = 2 * 86400  -- from then on few components are untested
local COVERED = 0.8

function check.setup(parser)
   parser:flag("--nagios"):description "One line, with performance data."
end

local function names_by(list, key)
   return report.some(tables.map(list, function(row) return row[key] end), NAMES)
end

-- What somebody said he knows of (`taut ack`) is not news, nor are nodes drained for it.
local function is_news(row)
   return not row.known
end

local function is_slow(row)
   return verdicts.is_verdict(row.state) and is_news(row)
end

-- What Taut found, and what makes it see or tell less.
local function warnings_of(status)
   local list, slow = {}, tables.filter(status.verdicts, is_slow)
   local drained, held = tables.filter(status.drained, is_news), tables.filter(status.held, is_news)
   local function add_warning(yes, form, ...)
      if yes then
         list[#list + 1] = form:format(...)
      end
   end
   add_warning(#slow > 0, "slow, lossy or failed: %s", names_by(slow, "component"))
   add_warning(#status.sets > 0, "%s", names_by(status.sets, "text"))
   add_warning(#drained > 0, "drained: %s", names_by(drained, "node"))
   add_warning(#held > 0, "would be drained: %s", names_by(held, "node"))
   add_warning(status.switch == "off", "checks are off")
   add_warning(#status.silent > 0, "no prolog heard of: %s", report.some(status.silent, NAMES))
   add_warning(status.since and status.now - status.since > SETTLED_S and status.coverage < COVERED,
      "only %s tested lately", report.percent(status.coverage))
   local q, late = status.store.queued, status.clocks_refused or {}
   add_warning(q and q.refused + q.left_out > 0, "the database refused %s",
      q and report.count(q.refused + q.left_out, "row"))
   add_warning(#late > 0, "clocks off, refused by MUNGE: %s", names_by(late, "node"))
   add_warning(status.clock, "%s", status.clock)
   add_warning(status.on_event.error, "on_event: %s", status.on_event.error)
   add_warning(status.config_error, "configuration not taken: %s", status.config_error)
   add_warning(status.metrics_error, "%s", status.metrics_error)
   return list
end

-- LABEL=VALUE[;WARN;CRIT;MIN;MAX] …
local function performance_data(status)
   local n, q = status.states, status.store.queued or {}
   return ("slow=%d;;;0 lossy=%d;;;0 failed=%d;;;0 suspect=%d;;;0 drained=%d;;;0 held=%d;;;0 "
      .. "sets_slow=%d;;;0 silent=%d;;;0 coverage=%.1f%%;;;0;100 jobs=%dc low=%dc waiting=%d;;;0 "
      .. "queued=%dB;;;0"):format(n.slow, n.lossy or 0, n.failed, n.suspect,
      #status.drained, #status.held, #status.sets, #status.silent, 100 * status.coverage,
      status.jobs_started, status.tests.low, status.store.waiting + (q.rows or 0), q.bytes or 0)
end

--- The components that are slow, or drained for, and known to be bad.
-- @param s answer of `status`
-- @return array of names
function check.known(s)
   local seen = {}
   for _, rows in ipairs { s.verdicts, s.drained, s.held } do
      for _, v in ipairs(rows) do
         local is_bad = v.state == nil or verdicts.is_verdict(v.state)
         if v.known and v.component and is_bad then
            seen[v.component] = true
         end
      end
   end
   return tables.keys(seen)
end

--- What a status is: its number, and array of texts, the worst first.
-- @param s answer of `status`
function check.judge(s)
   local worst, rest = tables.map(alarms.of(s), alarms.line), warnings_of(s)
   local status = 0
   if #worst > 0 then
      status = 2
   elseif #rest > 0 then
      status = 1
   end
   return status, table.move(rest, 1, #rest, #worst + 1, worst)
end

--- The line of a plugin.
-- @param known of check.known
function check.line(status, texts, data, known)
   local list = table.move(texts, 1, #texts, 1, {})
   if known and #known > 0 then
      list[#list + 1] = "acknowledged: " .. report.some(known, NAMES)
   end
   local text = "nothing slow, nothing held back"
   if #list > 0 then
      text = table.concat(list, "; "):gsub("[|\n]", " ")
   end
   return ("TAUT %s - %s%s"):format(WORDS[status], text, report.text_with(" | ", data))
end

-- What to do about a machine, in a few words.
local function conclusion(status, known, suspects)
   if status == 2 then
      return "act now"
   elseif status == 1 then
      return "worth a look"
   elseif #known > 0 then
      return "nothing else"
   elseif suspects > 0 then
      return ("nothing to do; %s, which Taut tests first"):format(report.count(suspects, "suspect"))
   end
   return "all is well"
end

function check.run(args)
   local s = ask.tautd(args, "status")
   if not s then
      if args.nagios then
         print(check.line(3, { report.complaint() or "no answer" }))
      end
      return 3
   end
   local status, texts = check.judge(s)
   if args.nagios then
      print(check.line(status, texts, performance_data(s), check.known(s)))
      return status
   end
   for _, text in ipairs(texts) do
      report.wrap(text, "- ", "  ")
   end
   local known = check.known(s)
   if #known > 0 then
      report.wrap("acknowledged: " .. report.some(known, NAMES), "- ", "  ")
   end
   print(conclusion(status, known, s.states.suspect))
   return status
end

return check
