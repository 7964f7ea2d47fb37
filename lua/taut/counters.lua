--- The catalogue: what each counter counts, how it is stored, and when its growth means something.
--
-- A source has `list`: name → {
--    unit    what one is; `times` of that make the unit (data counters count 4 bytes)
--    width   bits; `full` says what happens when they are used up: "saturates" or "wraps"
--    wide    the same for where the source has a wider form of it, or nil
--    side    which direction of the port's link it tells of: "receive", "send" or "both"
--    class   what growth means at most: fatal, degrading, congestion, traffic or harmless
--    means   one line for an operator
--    limits  worst first: { class, above, per (seconds), least, why, source }: growth of more than
--            `above` in `per` seconds, and of at least `least`, is of that class.  Growth within
--            all limits is harmless.  `above` 0 without `per`: any growth at all.  No limits:
--            `class` as it is.
--    misleads  why growth, or a value, may mean nothing; nil if it does not
--    source  who says so; a limit has its own
-- }
-- Names are those of the kernel where it has one.  A source is added as a module of the same shape
-- and a line in `sources`.
local counters = {}

--- Sources by name.
counters.sources = {
   ib_port = require "taut.counters.ib_port",
}

local ORDER = { fatal = 1, degrading = 2, congestion = 3, traffic = 4, harmless = 5 }

--- Is class a worse than class b?
function counters.worse(a, b)
   return ORDER[a] < ORDER[b]
end

--- The entry of a counter; nil for one the catalogue does not know.
function counters.entry(source, name)
   local s = counters.sources[source] or error("no source '" .. tostring(source) .. "'", 2)
   return s.list[name]
end

--- Largest value a counter can show.
-- @param wide whether the wider form was read
function counters.top(entry, wide)
   local width = wide and entry.wide and entry.wide.width or entry.width
   return width >= 63 and math.maxinteger or (1 << width) - 1
end

function counters.full(entry, wide)
   return wide and entry.wide and entry.wide.full or entry.full
end

--- What growth means.
-- @param entry of the catalogue
-- @param amount growth, 0 or more
-- @param seconds it took, or nil where that is not known: limits with a time then do not apply
-- @return class; the limit that was passed, or nil
function counters.judge(entry, amount, seconds)
   if amount <= 0 then
      return "harmless"
   elseif not entry.limits then
      return entry.class
   end
   for _, limit in ipairs(entry.limits) do
      local allowed = limit.per and (seconds and limit.above * seconds / limit.per or math.huge)
         or limit.above
      if amount > allowed and amount >= (limit.least or 1) then
         return limit.class, limit
      end
   end
   return "harmless"
end

--- A limit in words: "more than 120 an hour".
function counters.words(limit)
   local per = { [1] = " a second", [60] = " a minute", [3600] = " an hour", [86400] = " a day" }
   if limit.above == 0 then
      return "any"
   end
   return ("more than %d%s"):format(limit.above, limit.per and (per[limit.per] or
      (" in %d s"):format(limit.per)) or "")
end

return counters
