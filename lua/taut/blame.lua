--- Which components explain low tests: greedily the one that explains most and is cleared by none.
local runs = require "taut.runs"

local blame = {}

--- Every component with a low test of one of the touched components in its run, and these.
-- @param self the diagnosis
-- @param touched set of components
function blame.concerned(self, touched)
   local tests, comps = {}, {}
   for c in pairs(touched) do
      for _, t in ipairs(self:component(c).run) do
         tests[t] = true
      end
   end
   for t in pairs(tests) do
      for _, c in ipairs(self:accused(t)) do
         comps[c] = true
      end
   end
   for c in pairs(touched) do
      comps[c] = true
   end
   return comps
end

local function unexplained(list, taken)
   return runs.without(list, function(t) return taken[t] end)
end

-- Components that explain nearly the same tests as c does.
local function ties_of(self, comps, c, rest, taken)
   local mine, tied = {}, {}
   for _, t in ipairs(rest) do
      mine[t] = true
   end
   for other in pairs(comps) do
      if other ~= c then
         local same = 0
         for _, t in ipairs(self:component(other).run) do
            same = same + (mine[t] and not taken[t] and 1 or 0)
         end
         if same >= self.s.tie * #rest and same > 0 then
            tied[#tied + 1] = other
         end
      end
   end
   table.sort(tied)
   return tied
end

-- The component that explains most low tests not explained yet.
local function best_explanation(self, comps, taken)
   local best, best_rest
   for c in pairs(comps) do
      local rest = unexplained(self:component(c).run, taken)
      local ahead = best_rest and #rest - #best_rest or #rest
      if ahead > 0 or ahead == 0 and best and #rest > 0 and c < best then
         best, best_rest = c, rest
      end
   end
   return best, best_rest
end

--- Explain the low tests of some components.
-- @param self the diagnosis
-- @param comps set of components (blame.concerned)
-- @param is_suspect function(c, tests): do these tests make c a suspect?
-- @return map component → { run = tests it explains, tied = others that would, too }; set of the
--   tests that something explains
function blame.explain(self, comps, is_suspect)
   local taken, suspects, explained = {}, {}, {}
   -- what is known to be slow explains its tests before anything else is suspected
   for c in pairs(comps) do
      if self:is_decided(c) then
         for _, t in ipairs(self:component(c).run) do
            taken[t], explained[t] = true, true
         end
      end
   end
   while true do
      local c, rest = best_explanation(self, comps, taken)
      if not c then
         return suspects, explained
      end
      local tied = ties_of(self, comps, c, rest, taken)
      if is_suspect(c, rest) then
         suspects[c] = { run = rest, tied = tied }
         for _, other in ipairs(tied) do
            local same = unexplained(self:component(other).run, taken)
            if not suspects[other] and is_suspect(other, same) then
               suspects[other] = { run = same, tied = { c } }
            end
         end
      end
      for _, t in ipairs(rest) do
         taken[t] = true
         explained[t] = suspects[c] ~= nil or nil
      end
   end
end

return blame
