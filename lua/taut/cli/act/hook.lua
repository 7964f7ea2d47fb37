-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut hook`: an event of on_event (policy/notice.lua) for Alertmanager or any webhook.
local json = require "taut.json"
local loop = require "taut.loop"
local report = require "taut.report"
local tables = require "taut.base.tables"
local whole = require "taut.cli.whole"

local hook = { summary = "Pass an event of on_event, on stdin, to Alertmanager or a webhook.",
   has_json = false }

local EVENT_MAX = 1 << 20 -- bytes
local SECONDS = 8         -- tautd gives its program 10

-- How Alertmanager's alerts are called, by the kind of trouble in an event's key.
local ALERTS = { verdict = "TautVerdict", node = "TautNode", refused = "TautDrainRefused",
   alert = "TautAlert", stopped = "TautStopped", database = "TautDatabase" }

function hook.setup(parser)
   parser:argument("kind"):description(
      "webhook: the event as it is; alertmanager: as an alert of its version 2."):choices {
      "webhook", "alertmanager" }
   parser:argument("url"):description "Of the webhook; of Alertmanager without a path."
   parser:option("-H --header"):description(
      "An additional header, or @FILE for secret headers."):argname "<header>"
      :count "*"
   parser:option("--for"):description(
      "With alertmanager: hours after which an alert without an end expires (168).")
      :argname "<hours>":default "168":convert(whole(1, 8760))
   parser:epilog("For on_event of taut.lua(5); curl sends.  Exit status: 0 the event " ..
      "was taken, or there is nothing to tell; 1 it was not.")
end

local function format_date(seconds)
   return os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(seconds))
end

-- What one line says of an event.
local function event_summary(event)
   local what = event.node or event.component
   local text = event.reason or event.result or event.state or ""
   return tostring(event.event) .. report.text_with(" ", what)
      .. report.text_with(": ", tables.unless_blank(text))
end

--- An alert of Alertmanager's version 2; nil for what neither begins nor ends a trouble.
-- Source: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
-- @param e event as on_event gets it
-- @param hours after which it ends by itself
function hook.alert(e, hours)
   local name = ALERTS[tostring(e.key):match "^[^/]*/([^/]*)"]
   if not name or e.status ~= "firing" and e.status ~= "resolved" then
      return nil
   end
   -- Labels are the alert's identity: what its end does not have is no label.
   local alert = {
      labels = { alertname = name, key = e.key, cluster = e.cluster, severity = e.severity },
      annotations = { summary = event_summary(e), component = e.component, node = e.node },
      endsAt = format_date(e.time) }
   if e.status == "firing" then
      alert.startsAt, alert.endsAt = alert.endsAt, format_date(e.time + hours * 3600)
   end
   return alert
end

-- curl, its text on stdin: does the other side take it?
local function post_text(url, text, headers)
   local argv = { "curl", "-q", "--silent", "--show-error", "--fail", "--max-time",
      tostring(SECONDS), "--output", "/dev/null", "--header", "Content-Type: application/json" }
   for _, header in ipairs(headers) do
      table.move({ "--header", header }, 1, 2, #argv + 1, argv)
   end
   table.move({ "--data-binary", "@-", "--url", url }, 1, 4, #argv + 1, argv)
   local done, how
   local proc, why = loop.spawn { argv = argv, on_line = function() end,
      on_exit = function(what, status)
         done, how = status == 0, what
         loop.stop()
      end }
   if not proc then
      return nil, why
   end
   proc:send(text)
   proc:close()
   loop.run()
   return done, how
end

function hook.run(args)
   if not args.url:find "^https?://[^%s]+$" then
      report.complain("hook: expected http://… or https://…, got " .. args.url)
      return 2
   end
   local text = io.read(EVENT_MAX) or ""
   local event, why = json.decode(text)
   if type(event) ~= "table" or type(event.key) ~= "string"
      or math.type(event.time) ~= "integer" then
      report.complain("hook: no event of on_event on stdin: " .. (why or "key or time is missing"))
      return 2
   end
   local url = args.url
   if args.kind == "alertmanager" then
      local alert = hook.alert(event, args["for"])
      if not alert then
         return 0
      end
      url, text = url:gsub("/+$", "") .. "/api/v2/alerts", json.encode(json.array { alert })
   end
   local ok
   ok, why = post_text(url, text, args.header)
   if not ok then
      report.complain(("hook: %s: curl: %s (Debian: curl)"):format(args.url, why))
      return 1
   end
   return 0
end

return hook
