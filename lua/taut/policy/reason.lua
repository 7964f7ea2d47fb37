-- SPDX-License-Identifier: GPL-2.0-or-later
--- The text of a drain: `sinfo -R` shows 20 characters, so the verdict stands first.
local report = require "taut.report"

local reason = {}

reason.MAX = 255      -- bytes; the accounting database cuts there
reason.SHOWN = 20     -- bytes that `sinfo -R` shows
reason.PREFIX = "taut: "

local NOUNS = { tx = "tx", rx = "rx", downlink = "dn link" }
local VERBS = { tx = "sends", rx = "recv" } -- the node at 25 % of what it should send

--- What a kind of component is called, at most 7 characters: "X+ link", "uplink", "global".
function reason.noun(kind)
   if not NOUNS[kind] and #kind <= 2 then
      return kind .. " link"
   end
   return NOUNS[kind] or kind:sub(1, 7)
end

-- The verdict; of a node that was drained for it repeatedly, "again, X+ link": there is no room for
-- a longer word.  Tests that got nothing through say that nothing passes; "down" is what a port
-- says of itself.
local function verdict_in_words(kind, state, left, repeated, is_down)
   local noun, is_port = reason.noun(kind), VERBS[kind] ~= nil
   if repeated then
      return "again, " .. noun
   elseif state == "failed" and is_down then
      return report.text_if(is_port, "port", noun) .. " down"
   elseif state == "failed" and is_port then
      return "nothing passes" -- a stream needs both directions: which one is dead stays open
   end
   return ("%s at %d%%"):format(VERBS[kind] or noun, math.min(99, math.floor(left * 100 + 0.5)))
end

--- A share of lost packets: "1.2%", "0.03%".
function reason.lost(share)
   local digits = 2
   if share < 0.001 then
      digits = 1
   end
   return report.hundredths(share, digits) .. "%"
end

-- The share is never cut, the noun may be: "loses 1.2%: tx".
local function head_of_loss(kind, loss)
   local text = "loses " .. reason.lost(loss)
   local room = reason.SHOWN - #reason.PREFIX - #text - 2
   if room <= 0 then
      return text
   end
   return text .. ": " .. reason.noun(kind):sub(1, room)
end

--- The verdict in at most 20 characters: "taut: X+ link at 25%", "taut: loses 1.2%: tx".
-- @param loss share of the packets that a lossy component loses
-- @param is_down hard evidence says that it is down
function reason.head(kind, state, left, repeated, loss, is_down)
   if state == "lossy" and not repeated then
      return reason.PREFIX .. head_of_loss(kind, loss or 0)
   end
   return reason.PREFIX .. verdict_in_words(kind, state, left, repeated, is_down)
end

-- The test that tells most, in words.
local function words_of_test(test)
   if test.lost then
      return ("%s -> %s, %.0f of %.0f packets lost"):format(test.src_name, test.dst_name, test.lost,
         test.segments)
   end
   local unit, name = 1e9, "GB/s"
   if test.expected_Bps < 1e9 then
      unit, name = 1e6, "MB/s"
   end
   return ("%s -> %s, %.3g/%.3g %s"):format(test.src_name, test.dst_name, test.bw_Bps / unit,
      test.expected_Bps / unit, name)
end

-- What to call it: of a node whose tx and rx are slow, and of a router of which all is, that.  A
-- dead node's port is all that anybody can tell.
local function name_of_part(verdict)
   local is_node = verdict.part == "node" and verdict.state ~= "failed"
   if is_node or verdict.part == "router" then
      return verdict.part
   end
   return verdict.kind
end

--- What a drain's reason says, without its beginning "taut: ".
-- @param verdict table: kind, part (what it is a part of, all of which has a verdict, or nil),
--   state, left (0 … 1), loss (share of the packets, of a lossy one), hours (when it is slow: "in 7
--   of 31 h"), test (the most telling low one: src_name, dst_name, bw_Bps, expected_Bps; or
--   segments and lost), low, tests, job, cable (for a link), repeated (how often it was drained,
--   where that is why it is drained for good), hard (what was found about it, at most 14
--   characters: "PCIe x8 of x16"; the verdict then comes second), is_down (of what failed: is it
--   down, by what was found about it?), why (in place of how many tests, where it is no test that
--   names it)
function reason.words(verdict)
   local kind = name_of_part(verdict)
   local parts = { reason.head(kind, verdict.state, verdict.left, verdict.repeated, verdict.loss,
      verdict.is_down):sub(#reason.PREFIX + 1) }
   if verdict.hard and not verdict.repeated then
      table.insert(parts, 1, verdict.hard)
   elseif verdict.hard then
      parts[2] = verdict.hard
   end
   if verdict.repeated then
      parts[#parts + 1] = ("drained %d times, for good, %s"):format(verdict.repeated,
         reason.head(kind, verdict.state, verdict.left, nil, verdict.loss,
         verdict.is_down):sub(#reason.PREFIX + 1))
   end
   if verdict.cable then
      parts[#parts + 1] = verdict.cable
   end
   if verdict.test then
      parts[#parts + 1] = words_of_test(verdict.test)
   end
   if verdict.hours then
      parts[#parts + 1] = verdict.hours
   end
   parts[#parts + 1] = verdict.why or ("%d of %d tests"):format(verdict.low, verdict.tests)
   if verdict.job and verdict.job > 0 then
      parts[#parts + 1] = "last job " .. verdict.job
   end
   -- the other node stands behind what sinfo shows, or it looks like the one that is meant
   local shown = ("%%-%ds"):format(reason.SHOWN - #reason.PREFIX)
   local text = shown:format(parts[1] .. ";") .. " " .. table.concat(parts, ", ", 2)
   return (text:gsub("[^\32-\126]", "?"):gsub("|", "/"):sub(1, reason.MAX - #reason.PREFIX))
end

--- The whole reason.
-- @param verdict as for words
function reason.format(verdict)
   return reason.PREFIX .. reason.words(verdict)
end

--- Is a node's reason one of ours?
function reason.is_ours(text)
   return type(text) == "string" and text:sub(1, 5) == "taut:"
end

return reason
