-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reports news: changed verdicts, and once each finding without a verdict, of which the policy
-- does not hear. These are groups that are slow as a whole (a cabinet, a class of components, new
-- nodes), a set of links with a slow one, and hard evidence without a low test.
local loop = require "taut.loop"
local notice = require "taut.policy.notice"
local slow_whole = require "taut.report.slow_whole"
local sys = require "taut.sys"
local verdicts = require "taut.report.verdicts"

local news = {}
local News = {}
News.__index = News

local AGAIN_S = 86400 -- what was not so for so long is news when it comes back

---------------------------------------------------------------- verdicts

-- The ticket of a component that is known to be bad (taut ack), in brackets for the log; or nil.
local function known_ticket(self, component)
   local a = self.acks:get(self.site.topo.components[component], loop.time())
   return a and (" [known: %s]"):format(sys.plain(a.ticket))
end

local function tell_program(self, change, text)
   local c = change.component
   self.teller:tell { event = "verdict", component = self.site.topo.components[c],
      was = change.from, state = change.to, left = self.diagnosis:component(c).left,
      loss = (self.diagnosis:component(c).loss or {}).share, reason = text,
      measure = self.decision.measures[c] }
end

local function announce_slow(self, change)
   local c = change.component
   local k, name = self.diagnosis:component(c), self.site.topo.components[c]
   local v = { c = c, state = k.state, left = k.left }
   local text = ("%s %s: %s [%s]"):format(name, change.to == "failed" and "has failed"
      or "is " .. change.to, self.case:words(v), self.decision.measures[c] or "-")
   local ticket = known_ticket(self, c)
   if ticket then
      return sys.log("notice", text .. ticket)
   end
   self.act:say(text, { event = "verdict", component = name, state = change.to })
   tell_program(self, change, self.case:reason(v))
end

--- A verdict changed, and it was decided what follows from that.
function News:verdict(change)
   local c, was_slow = change.component, verdicts.is_verdict(change.from)
   local name = self.site.topo.components[c]
   if self.diagnosis:is_decided(c) then
      return announce_slow(self, change)
   elseif was_slow then
      sys.log("notice", change.to == "unknown" and
         name .. " is untested: the evidence against it is dropped" or
         ("%s is %s again"):format(name, change.to), notice.fields {
         event = "verdict", component = name, state = change.to })
      tell_program(self, change)
   elseif change.to == "suspect" then
      local low, lost = #self.diagnosis:run(c), self.diagnosis:losses(c)
      sys.log("notice", ("%s is suspect: %d low tests%s"):format(name, low,
         lost > 0 and (", %d whose losses were counted"):format(lost) or ""))
   end
end

---------------------------------------------------------------- what makes no verdict

-- @param members nil: the component alone; others, if it is about them
-- @param about what stays the same of the text, where it is about more than the component
local function raise_alert(self, component, text, members, about)
   for _, m in ipairs(members or { component }) do
      local ticket = known_ticket(self, m)
      if ticket then
         return sys.log("notice", text .. ticket)
      end
   end
   local name = self.site.topo.components[component]
   self.act:say(text, { event = "alert", component = name })
   self.act:record { action = "alert", component = name, about = about, reason = text }
end

--- What the tests of an event said of sets of links.  Their members get no verdict: it is not known
-- which it is.
-- @param changes of Diagnosis:take_set_changes
function News:sets(changes)
   for _, v in ipairs(changes) do
      local text, subject = self.diagnosis:set_words(v)
      if v.over then
         sys.log("notice", subject .. " no longer")
         self.teller:tell { event = "alert", about = subject, over = true,
            component = self.site.topo.components[v.members[1]], reason = subject .. " no longer" }
      else
         raise_alert(self, v.members[1], text, v.members, subject)
      end
   end
end

-- What there is to say about a suspect, and the part of it that stays the same.
local function describe_suspect(self, component, record)
   if record.whole or record.times then
      return slow_whole.text(record.whole or record.times)
   elseif record.hard and record.hard.left < self.site.conf.diagnosis.good then
      local what = ("%s is suspect: %s"):format(self.site.topo.components[component],
         record.hard.why)
      return ("%s; %d%% left, not drained for that alone"):format(what,
         math.floor(record.hard.left * 100 + 0.5)), what
   end
end

--- Look at the suspects; what is new among them is an alert.
function News:suspects()
   local now = loop.time()
   for c in self.diagnosis:suspected() do
      local text, what = describe_suspect(self, c, self.diagnosis:component(c))
      if what and now - (self.said_at[what] or -math.huge) > AGAIN_S then
         raise_alert(self, c, text, self.diagnosis:component(c).whole and {}, what)
      end
      if what then
         self.said_at[what] = now
      end
   end
end

--- @param options { site, diagnosis, decision, case, act, teller (on_event.lua), acks
--   (policy/acks.lua) }
function news.new(options)
   return setmetatable({ site = options.site, diagnosis = options.diagnosis,
      decision = options.decision, case = options.case, act = options.act, teller = options.teller,
      acks = options.acks, said_at = {} }, News)
end

return news
