--- What the diagnosis knows, in words.
local words = {}

--- What the verdict on a component says beside its state: "busy?", a tie, probation.
function words.remark(self, c, now)
   local k = rawget(self.comp, c)
   if not k then
      return ""
   end
   local list = {}
   if k.state == "suspect" and k.busy > 0 then
      list[#list + 1] = "busy?"
   end
   if k.state == "suspect" and k.tied then
      local names = {}
      for i, other in ipairs(k.tied) do
         names[i] = self.topo.components[other.component]
      end
      list[#list + 1] = "or " .. table.concat(names, " or ")
   end
   if k.hard then
      list[#list + 1] = ("%d%% left: %s"):format(math.floor(k.hard.left * 100 + 0.5), k.hard.why)
   end
   if k.probation_until and now < k.probation_until then
      list[#list + 1] = "on probation"
   end
   return table.concat(list, ", ")
end

return words
