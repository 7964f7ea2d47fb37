-- SPDX-License-Identifier: GPL-2.0-or-later
--- What others are told of an event: the site's program (core/on_event.lua), journald.
--
-- An event gets the words that people read, and with them what a pager needs: a key that begins and
-- ends the same trouble, whether this is its beginning or its end, how urgent it is.
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"

local notice = {}

-- Of an event: the field that names what it is about; the kind of trouble that its key begins with;
-- how urgent that is, and whether this is its beginning or its end.  An end is as urgent as its
-- beginning, so that both go to the same people.
local function kind_row(of, kind, severity, status, message_id)
   return { of = of, kind = kind, severity = severity, status = status, message_id = message_id }
end

local EVENTS = {
   verdict = kind_row("component", "verdict", "ticket", "firing",
      "dd4100046fa74f0392bca604aad26570"),
   drain = kind_row("node", "node", "ticket", "firing", "d5a7337160c24344959fefce314b519c"),
   ["would drain"] = kind_row("node", "node", "ticket", "firing",
      "24308b448ccd41ecaf316f49d7f78b71"),
   ["left alone"] = kind_row("node", "node", "ticket", "firing"),
   ["drain failed"] = kind_row("node", "refused", "page", "firing",
      "1a33a93319e2478da36a94ed549df93c"),
   release = kind_row("node", "node", "ticket", "resolved", "434babde35014c9a907f9b7b2b6ea2fc"),
   resumed = kind_row("node", "node", "ticket", "resolved", "434babde35014c9a907f9b7b2b6ea2fc"),
   ["taken over"] = kind_row("node", "node", "ticket", "resolved"),
   alert = kind_row("component", "alert", "ticket", "firing", "c0a687cb10984f85916740da75e4c7cc"),
   stop = kind_row(nil, "stopped", "page", "firing", "a4443f57158044138d5a7c43c38158d3"),
   capped = kind_row(nil, "stopped", "page", "firing", "a4443f57158044138d5a7c43c38158d3"),
   resume = kind_row(nil, "stopped", "page", "resolved"),
   database = kind_row(nil, "database", "page", "firing", "f69c4e1abdb84b0db706e43dede4fc9a"),
}
local NODE_REPAIRED = kind_row("node", "node", "ticket", "resolved")

local function row_of(event)
   if event.event == "repaired" and event.node then
      return NODE_REPAIRED
   end
   return EVENTS[event.event]
      or kind_row(report.text_if(event.node, "node", "component"), event.event, "info", "note")
end

-- States of recovered components.
local OVER = { ok = true, suspect = true, unknown = true, whole = true }

--- An event as others get it.
-- @param event table: event (in the words of the log of actions), time, and what is known of
--   component, node, state …; about = what it is about where that is no component; over = true
--   where it has ended
-- @param cluster Slurm's name of it, or nil
-- @return another table: the same in people's words, with key, severity, status, cluster
function notice.of(event, cluster)
   local r, out = row_of(event), {}
   for name, value in pairs(event) do
      out[name] = value
   end
   local object = event.about or r.of and event[r.of]
   out.event, out.time, out.cluster = report.word(event.event), math.floor(event.time), cluster
   out.severity = r.severity
   out.status = r.status
   if event.over or OVER[event.state] then
      out.status = "resolved"
   end
   out.key = table.concat({ cluster or "?", r.kind, object }, "/")
   out.over = nil
   return out
end

--- It as JSON; what is not a text of UTF-8 (a line of a log may hold anything) comes with question
-- marks.
function notice.text(event)
   local text = json.encode(event)
   if not text then
      local plain = {}
      for key, value in pairs(event) do
         plain[key] = value
         if type(value) == "string" then
            plain[key] = sys.plain(value)
         end
      end
      text = json.encode(plain)
   end
   return text
end

--- Fields of journald for a line of the log about an event.
-- @param event as `of` takes it
function notice.fields(event)
   return { MESSAGE_ID = row_of(event).message_id, TAUT_EVENT = report.word(event.event),
      TAUT_NODE = event.node, TAUT_COMPONENT = event.component, TAUT_STATE = event.state,
      TAUT_WHO = event.who }
end

return notice
