-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local policy_replay = require "taut.cli.act.policy_replay"
local report = require "taut.report"
local tables = require "taut.base.tables"

local policy = { summary = "Consequences of verdicts: mode, log, a dry run on history." }

local DAY = 86400
local GO_ON = "; `taut policy continue` goes on"

local function parse_days(text)
   local n = tonumber(text)
   if n and n > 0 and n <= 3650 then
      return n
   end
   return nil, "expected days, more than 0, got " .. text
end

-- What may be asked for → what tautd calls it.
local REQUESTS = { drain = "enable", observe = "observe", continue = "resume", log = "log" }

local function parse_word(text)
   return REQUESTS[text], "expected drain, observe, continue or log, got " .. text
end

function policy.setup(parser)
   parser:argument("what"):description(
      "drain: drain nodes that depend on slow components; observe: only list them; continue: go " ..
      "on after a cap or the circuit breaker; log: past actions, with reasons and names.")
      :args "?":convert(parse_word)
   parser:option("--replay"):description(
      "The effect of the settings on the verdicts of this number of days."):argname "<days>"
      :convert(parse_days)
   parser:option("--set"):description "For --replay: another value, NAME=VALUE.":count "*"
      :argname "<setting>"
   parser:option("-f --file"):description "For --replay: the settings of this file."
      :argname "<file>"
   parser:option("-n --node"):description "For log: only of this node.":argname "<name>"
   parser:option("-c --component"):description "For log: only because of this component."
      :argname "<name>"
   parser:option("-d --days"):description "For log: number of days (7).":argname "<days>"
      :convert(parse_days)
   parser:flag("-e --evidence"):description "For log: with the evidence."
end

-- "6 of 6 tests low since 11-20 03:10, 25% left; tests 17 18 19"
local function evidence_in_words(row)
   local parts = {}
   if row.loss then
      parts[1] = report.state(row)
   elseif row.state then
      parts[1] = row.state .. report.text_with(" at ", row.left and report.percent(row.left))
   end
   if row.since then
      parts[#parts + 1] = "since " .. os.date("%m-%d %H:%M:%S", math.floor(row.since))
   end
   if row.all then
      parts[#parts + 1] = ("%d low of %d tests, %d of them confirming"):format(
         row.low or #(row.tests or {}), row.all, row.confirmed or 0)
   end
   if row.tests and #row.tests > 0 then
      parts[#parts + 1] = "tests " .. table.concat(row.tests, " ", 1, math.min(#row.tests, 20)) ..
         report.text_if(#row.tests > 20, " …")
   end
   return table.concat(parts, ", ")
end

local function print_log(answer, args)
   if #answer.actions == 0 then
      print "nothing was done"
      return
   end
   for i = #answer.actions, 1, -1 do
      local a = answer.actions[i]
      local text = { a.reason or a.component }
      if a.action == "ack" then -- its reason does not name it
         table.insert(text, 1, a.component .. ":")
      end
      if a.result and a.result ~= "done" and a.result ~= "seen" then
         text[#text + 1] = ("[%s]"):format(a.result)
      end
      report.wrap(table.concat(text, " "), ("%s  %-12s %-8s "):format(
         os.date("%m-%d %H:%M:%S", math.floor(a.time)), report.word(a.action),
         tables.unless_blank(a.node) or "-")
         .. report.text_with("(", a.who ~= "taut" and a.who, ") "), (" "):rep(16))
      if args.evidence and a.evidence then
         report.wrap(evidence_in_words(a.evidence), (" "):rep(16))
         for _, why in ipairs(a.evidence.reasoning or {}) do
            report.wrap(why, (" "):rep(16) .. "- ", (" "):rep(18))
         end
      end
   end
end

local function show_log(args)
   local d, code = ask.tautd(args, "log", { since = os.time() - (args.days or 7) * DAY,
      node = args.node, component = args.component })
   if d then
      print_log(d, args)
   end
   return code or 0
end

local function show_policy(args)
   local d, code = ask.tautd(args, "policy_state")
   if not d then
      return code
   end
   print("mode        " .. report.word(d.mode))
   if d.brakes then
      report.wrap(d.brakes, "brakes      ", (" "):rep(12))
   end
   if d.stopped then
      report.wrap(d.stopped.why .. GO_ON, "stopped     ", (" "):rep(12))
   end
   for _, cap in ipairs(d.capped) do
      report.wrap(cap.why .. GO_ON, "at a cap    ", (" "):rep(12))
   end
   if d.standby then
      report.wrap(d.standby, "standing by ", (" "):rep(12))
   end
   print(("drained     %s, %d within the last hour; %s held back"):format(report.count(d.drained,
      "node"), d.last_hour, d.held))
   local rows = {}
   for i, p in ipairs(d.partitions) do
      rows[i] = { p.name, tostring(p.nodes), tostring(p.drained), tostring(p.cap) }
   end
   report.table({ "PARTITION", ">NODES", ">DRAINED", ">CAP" }, rows)
   return 0
end

function policy.run(args)
   if args.replay then
      return policy_replay.run(args)
   elseif args.what == "log" then
      return show_log(args)
   elseif not args.what then
      return show_policy(args)
   end
   local d, code = ask.tautd(args, "policy", { mode = args.what })
   if not d then
      return code
   elseif args.what == "resume" then
      print(report.text_if(d.resumed, "draining goes on", "nothing was stopped"))
      return 0
   end
   print("mode is " .. report.word(d.mode))
   if d.stopped then
      report.wrap(("but nothing is drained: %s%s"):format(d.stopped, GO_ON), "")
   end
   return 0
end

return policy
