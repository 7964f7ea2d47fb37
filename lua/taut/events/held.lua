-- SPDX-License-Identifier: GPL-2.0-or-later
--- The last reading of each node, as the store's process has it at hand: nearly every sample is of
-- a node whose reading before it wrote itself, and taking that apart again costs more than to keep
-- it.
--
-- It is what the database has, or nothing: whoever takes one out changes it and puts the next in,
-- and after a transaction that failed all are forgotten.  What is held is bounded by the bytes of
-- their text; when the newer half is full, the older half is forgotten.
--
-- Within a transaction a node's reading often changes twice, by its HELLO and its RESULT: only the
-- last of it is written, at the end.
local held = {}

local HALF_BYTES = 4 << 20 -- of text; the tables made of it take some four times as much

local newer, older, bytes = {}, {}, 0
local unwritten = {} -- node → reading

--- Take a node's reading out.
-- @return the reading; nil where it is not held
function held.take(node)
   local reading = unwritten[node] or newer[node] or older[node]
   unwritten[node], newer[node], older[node] = nil, nil, nil
   return reading
end

--- A node's reading of this transaction.
function held.change(node, reading)
   unwritten[node] = reading
end

--- Those that were changed since the last call, once.
-- @return node → reading
function held.changed()
   local readings = unwritten
   unwritten = {}
   return readings
end

--- A node's reading that was written.
-- @param text of it, as in the database
function held.put(node, reading, text)
   bytes = bytes + #text
   if bytes > HALF_BYTES then
      newer, older, bytes = {}, newer, #text
   end
   newer[node], older[node] = reading, nil
end

--- What was written may be undone, or is another's now.
function held.forget()
   newer, older, bytes = {}, {}, 0
   unwritten = {}
end

return held
