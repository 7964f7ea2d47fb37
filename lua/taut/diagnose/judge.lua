-- SPDX-License-Identifier: GPL-2.0-or-later
--- Turns what two nodes report of one test into a figure: good, low or void.
--
-- The receiver's count is the figure.  The sender's account of the same stream (bytes
-- acknowledged) must agree, so that no node can accuse or excuse a partner alone.  The figures, and
-- how they compare with the settings, are C's (`tests.measure`): `seen` in what follows.
local expectation = require "taut.topology.model.expectation"
local stages = require "taut.topology.stages"
local tests = require "taut.tests"

local judge = {}

-- Nothing arrived of a stream that was open for less than half of the test: to connect two
-- adapters takes long where processors are busy, and what was sent then had not arrived yet.
local function opened_late(t, send, recv)
   return t.bw_Bps == 0 and t.sender_Bps == 0 and (send.window_ns or 0) > 0
      and 2 * send.window_ns < (recv.window_ns or 0)
end

-- What an end says of why it could not test, with its name: "n3: libfabric: …"; or nil.
local function own_error(t, send, recv)
   if recv.error then
      return t.dst_name .. ": " .. recv.error
   end
   return send.error and t.src_name .. ": " .. send.error
end

-- Why there is no figure at all, or nil.
local function no_figure(t, send, recv, seen)
   if not recv then
      return t.dst_name .. " did not report"
   elseif not send then
      return t.src_name .. " did not report"
   elseif recv.error or send.error then
      return own_error(t, send, recv)
   elseif seen.has_few_looks then
      return ("%s was asleep: it received in %d of %d parts of the test only"):format(t.dst_name,
         recv.looks, #recv.sub_bytes)
   elseif seen.differs and not seen.is_good_by_both then
      return ("%s received %.1f MB/s, %s sent %.1f MB/s"):format(t.dst_name, t.bw_Bps / 1e6,
         t.src_name, t.sender_Bps / 1e6)
   elseif t.bw_Bps == 0 and t.sender_Bps > 0 then
      -- its kernel took what was sent, and the process came too late to see any of it
      return ("%s counted nothing of what it had acknowledged to %s"):format(t.dst_name, t.src_name)
   elseif opened_late(t, send, recv) then
      return ("%s opened its stream late: %d of %d ms were left"):format(t.src_name,
         send.window_ns // 1000000, recv.window_ns // 1000000)
   end
   return nil
end

-- The share of its window in which a stream kept the route busy; nil where the system cannot say.
local function busy_share(send)
   return send.busy_ns and send.window_ns and send.window_ns > 0
      and math.min(1, send.busy_ns / send.window_ns) or nil
end

-- Did the ends leave the route idle so long that a healthy one would have looked like this?
local function was_idle(t, send, recv, s)
   local busy = busy_share(send)
   if busy and t.ratio >= s.good * busy then
      return ("%s was sending only %d%% of the time"):format(t.src_name, math.floor(busy * 100))
   elseif busy then
      return nil
   end
   for name, r in pairs { [t.dst_name] = recv, [t.src_name] = send } do
      if (r.delay_ns or 0) > s.void_delay * t.dur_ms * 1e6 then
         return ("%s waited for a CPU for %.1f ms"):format(name, r.delay_ns / 1e6)
      end
   end
   return nil
end

-- Was the receiver's port crowded by what was no stream of a test?  Its own may have found no room.
local function crowded(t, recv)
   local n, full = recv.strangers or 0, (recv.full or 0) > 0
   return (n > 0 or full) and ("%s was called by others: %d connections were no test's%s"):format(
      t.dst_name, n, full and ", and more found no room" or "") or nil
end

-- What others sent beside a test, in words, or nil. A low figure then speaks against no component,
-- as it does where its ends were idle; a good one stands: neither makes a stream faster than the
-- route.
local function met_others(t, seen)
   for name, port in pairs { [t.dst_name] = seen.dst, [t.src_name] = seen.src } do
      if port.has_others then
         return ("port of %s carried %.0f kB of other traffic"):format(name,
            port.foreign_bytes / 1e3)
      end
   end
   return nil
end

-- A void test at a loaded port still tells what that port carried in all; where this is far from
-- what it should, the port is slow, or what is behind it.  Not where the port's counter misses the
-- test itself, nor where others sent beside the acknowledgements.
local function loaded_port(t, seen, s)
   local at_src = seen.src.has_others
   if t.group or t.planned_Bps or at_src == seen.dst.has_others then
      return nil
   end
   local c, port = t.route[1], seen.src
   if not at_src then
      c, port = t.route[#t.route], seen.dst
   end
   if not port.all_Bps or port.all_Bps < 0.9 * t.bw_Bps
      or port.back_Bps > s.void_foreign * t.expected_Bps then
      return nil
   end
   return { component = c, Bps = port.all_Bps, is_low = port.all_Bps < s.port_low * t.expected_Bps }
end

-- A broken component has a ceiling, and a stream through it runs evenly below it.  One that is low
-- although a quarter of its sub-intervals reached what is good, or stand out of the others, met
-- other traffic or a pause.
-- @param upper what the best quarter of them reached at least, as a share; nil: there are none
-- @return why, and upper; or nil
local function uneven(t, upper, s)
   if upper and upper >= s.good then
      return "uneven: parts of it reached what is expected", upper
   elseif upper and t.ratio > s.failed and upper > s.even * t.ratio then
      return ("uneven: parts of it reached %.2f times its mean"):format(upper / t.ratio), upper
   end
   return nil
end

--- What a test can show of a component: it comes out low when less than this share of the
-- component's capacity is left ("visible below 52 %"), and good otherwise.
-- @param c component on the test's route
-- @param s settings: the `diagnosis` section
-- @return 0 … good; nil when the test does not surely cross c, or it is not known what c carries
function judge.visible(t, c, topo, s)
   if topo.open and topo.open[c] then
      return nil
   end
   for _, on in ipairs(t.route) do
      if on == c then
         return s.good * expectation.of_test(t, topo) /
            expectation.share_of(topo, c, t.shares and t.shares[c])
      end
   end
   return nil
end

local MATHIS = math.sqrt(1.5) -- of a window, for each of its losses (Mathis et al., CCR 1997)
local SEGMENT_LEAST, SEGMENT_MOST = 500, 9000 -- bytes of payload

-- Do a stream's own losses explain that it was low?  One that loses the share p of its segments
-- gets
--    MATHIS * segment / (round trip * sqrt(p))   bytes per second
-- at most.  The round trip is that at rest: with a queue it is longer, and the queue is what drops.
-- The losses may well be two standard deviations fewer than is usual with p.
local function is_by_loss(t, send, s)
   local lost, segments = t.lost or 0, t.segments or 0
   if lost < 1 or lost < s.loss_floor * segments or (t.streams or 1) > 1 and not s.lossless then
      return nil
   elseif s.lossless then
      return true -- the adapter sends all again from the lost packet on, whatever the round trip
   end
   local bytes = t.segment_bytes or t.bw_Bps * t.dur_ms / 1000 / (segments - lost)
   local segment = math.max(SEGMENT_LEAST, math.min(SEGMENT_MOST, bytes))
   local rtt_s = send.min_rtt_ns and 2e-9 * send.min_rtt_ns or s.loss_rtt_us * 1e-6
   local p = (lost + 2 * math.sqrt(lost) + 2) / segments
   return t.bw_Bps >= MATHIS * segment / (rtt_s * math.sqrt(p)) or nil
end

-- Times of small messages: no expectation, so nothing is called low.
local function latency(t, send, recv, s)
   local lat = send and send.lat_ns
   if not recv then
      t.why = t.dst_name .. " did not report"
   elseif not send then
      t.why = t.src_name .. " did not report"
   elseif recv.error or send.error then
      t.why = own_error(t, send, recv)
   elseif not lat or lat.n < s.void_pings then
      t.why = ("only %d round trips"):format(lat and lat.n or 0)
   else
      t.why = was_idle(t, { delay_ns = send.delay_ns }, recv, s)
   end
   t.lat_ns = not t.why and lat or nil
   t.class = t.why and "void" or "good"
   return t
end

-- A test over something of which it is not known yet what it carries: below what the rest of the
-- way would let through it speaks against nobody, but it tells what there is.
local function judge_open(t, open, topo, is_good)
   if not t.why and is_good then
      t.class = "good"
   else
      t.class = "void"
      t.why = t.why or ("it is not known yet what %s carries"):format(topo.components[open])
   end
   return t
end

--- May a judged test speak for or against components?  A latency has no capacity to be held
-- against, and is "good" whatever the route is like; some tests are for their owner's eyes only.
-- @param t test, judged; `shown_only`: its expectation rests on more than capacities
function judge.is_evidence(t)
   return t.mode ~= "latency" and not t.shown_only
      and (t.class == "void" or (t.class == "good" or t.class == "low") and t.ratio ~= nil)
end

--- What a judged test showed of a component; of the port of a loaded end, with all that it carried.
-- @return "good", "low" or "void"; share of the expected rate
function judge.shown(t, c)
   if t.port and t.port.is_low and t.port.component == c then
      return "low", t.port.Bps / t.expected_Bps
   end
   return t.class, t.ratio
end

local BEYOND = tests.BEYOND -- times what the way carries

-- More than anything on its way carries: the stream never left the host, as of two virtual machines
-- on it, or what the topology says is wrong.  It shows that nothing is well.
local function beyond(t, topo)
   local carries = math.huge
   for _, c in ipairs(t.ratio > BEYOND and stages.all(t.route) or {}) do
      carries = math.min(carries, topo.capacity[c])
   end
   return t.bw_Bps > BEYOND * carries
      and ("%.3g times what its way carries: do its nodes share a host, or is a capacity wrong?")
         :format(t.bw_Bps / carries) or nil
end

-- A test below what is good is low, unless something else than its way explains that.
-- @return true where its ends were late
local function judge_low(t, send, recv, seen, s)
   -- of tests that share components on purpose, one may well have the larger part for a while
   local crowd = crowded(t, recv)
   -- and one that loses runs unevenly by nature
   local by_loss = is_by_loss(t, send, s)
   local idle = was_idle(t, send, recv, s)
   local others = crowd or met_others(t, seen)
   t.why = others or idle
   if not t.why and not t.group and not by_loss then
      local part
      t.why, part = uneven(t, seen.best_quarter, s)
      t.part_Bps = part and part * t.expected_Bps
   end
   t.class = t.why and "void" or "low"
   t.by_loss = not t.why and by_loss or nil
   t.port = t.why and not crowd and not idle and loaded_port(t, seen, s) or nil
   if t.port then
      t.why = ("%s, %d%% of what it should in all"):format(t.why,
         math.floor(100 * t.port.Bps / t.expected_Bps + 0.5))
   end
   return not others and idle ~= nil
end

--- Judge one test.
-- @param t the test as planned (src, dst, route, dur_ms …; planned_Bps where the plan lets tests
--   share components and so knows what each can reach); gets src_name, dst_name,
--   expected_Bps, bw_Bps, sender_Bps, ratio, rtt_ns, class ("good", "low", "void") and why; figure
--   (true: both ends agree on bw_Bps, whatever it means);
--   port { component, Bps, is_low }: what the port of a loaded end carried in all in a void test;
--   segments, lost: what its stream sent and lost, where both ends agree and its ports carried
--   nobody else's; segment_bytes: what one
--   of these carried; by_loss (true: it is low, and its losses explain that); part_Bps: what the
--   best quarter of one reached at least that is void as uneven;
--   one of mode "latency" gets lat_ns { median, p99, n } instead of bandwidths
-- @param send, recv what the two nodes reported (tables of doc/protocol.md), or nil
-- @param topo topology
-- @param s settings: the `diagnosis` section
-- @return t
function judge.test(t, send, recv, topo, s)
   if not (topo.open and next(topo.open)) and tests.is_plainly_good(t, send, recv, s) then
      return t
   elseif not t.src_name then
      t.src_name, t.dst_name = topo.nodes[t.src], topo.nodes[t.dst]
   end
   local expected, open = expectation.of_test(t, topo)
   t.expected_Bps = not open and t.planned_Bps or expected
   if t.mode == "latency" then
      return latency(t, send, recv, s)
   end
   local seen = tests.measure(t, t.expected_Bps, send, recv, s)
   t.why = no_figure(t, send, recv, seen)
   local is_late = t.why ~= nil -- its ends were: what it lost counts all the same
   t.why = t.why or not open and beyond(t, topo) or nil
   t.figure = not t.why and not seen.differs or nil
   if open and expected == math.huge then
      t.ratio, seen.is_good = 0, false -- of nothing that is known
   end
   if open then
      judge_open(t, open, topo, seen.is_good)
   elseif t.why then
      t.class = "void"
   elseif seen.is_good then
      t.class = "good"
   else
      is_late = judge_low(t, send, recv, seen, s)
   end
   -- what the ends' ports carried of others is left out already
   if t.segments and t.class == "void" and (not is_late or crowded(t, recv)) then
      t.segments, t.lost, t.segment_bytes = nil, nil, nil
   end
   return t
end

return judge
