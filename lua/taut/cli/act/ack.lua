-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"
local when = require "taut.cli.state.when"

local ack = { summary = "Acknowledge a bad component until a date: no alerts for it." }

function ack.setup(parser)
   parser:argument("component"):description(
      "Its name, such as r1.0.0/X+, leaf3/17 or n5/tx; without one, all that are known."):args "?"
   parser:option("-t --ticket"):description "Where it is followed up.":argname "<text>"
   parser:option("-u --until"):description "Until then: 12h, 30d, 2026-03-05, 2026-03-05T14:30."
      :argname "<time>":convert(when.till)
   parser:flag("--end"):description "End the acknowledgement: alerts again."
end

local function format_date(t)
   return os.date("%Y-%m-%d %H:%M", math.floor(t))
end

local function print_acks(args)
   local d, code = ask.tautd(args, "acks")
   if not d then
      return code
   end
   local rows = tables.map(d.acks, function(known)
      return { known.component, known.ticket, format_date(known["until"]), known.who or "-" }
   end)
   if #rows > 0 then
      report.table({ "COMPONENT", "TICKET", "UNTIL", "BY" }, rows)
   else
      print "nothing is acknowledged"
   end
   return 0
end

local function what_is_wrong(args)
   if args["end"] and (args.ticket or args["until"]) then
      return "ack: --end goes without --ticket and --until"
   elseif not args.component and (args["end"] or args.ticket or args["until"]) then
      return "ack: which component?"
   elseif args.component and not args["end"] and not (args.ticket and args["until"]) then
      return "ack: give --ticket (where it is followed up) and --until (for how long)"
   end
end

function ack.run(args)
   local why = what_is_wrong(args)
   if why then
      report.complain(why)
      return 2
   elseif not args.component then
      return print_acks(args)
   end
   local d, code = ask.tautd(args, "ack", { component = args.component, ticket = args.ticket,
      ["until"] = args["until"], ["end"] = args["end"] })
   if not d then
      return code
   elseif d.ended then
      print(("%s is no longer acknowledged"):format(d.component))
   else
      report.wrap(("%s is acknowledged until %s (%s): no alert, no call of on_event; it is " ..
         "avoided as before"):format(d.component, format_date(d["until"]), d.ticket), "", "  ")
      if d.state == "ok" then
         report.wrap(("%s is ok now: findings until then raise no alert, either"):format(
            d.component), "", "  ")
      end
   end
   return 0
end

return ack
