-- SPDX-License-Identifier: GPL-2.0-or-later
--- What anybody may read of texts: no numbers of jobs, no names of users, nothing that somebody
-- typed into Slurm.
local reason = require "taut.policy.reason"

local public = {}

--- A text of Taut's without the jobs in it.
function public.text(text)
   text = text:gsub(",? ?last job %d+", "")
   text = text:gsub("([Jj])obs [%d ,]+%d", "%1obs")
   return (text:gsub("([Jj])ob %d+", "%1ob"))
end

--- A node's reason in Slurm: of one that is not Taut's, that it is there.
-- @param is_ours did Taut write it?
function public.reason(text, is_ours)
   if not text or text == "" then
      return nil
   elseif is_ours and reason.is_ours(text) then
      return public.text(text)
   end
   return "not Taut's (shown with --private)"
end

--- Nodes as `taut nodes` has them, in place.
function public.nodes(nodes)
   for _, n in ipairs(nodes) do
      n.reason = public.reason(n.reason, n.ours)
      n.held = n.held and public.text(n.held)
   end
end

--- Actions as `taut policy log` has them, in place: without who it was, and without what came of
-- them in words that may be somebody's.
function public.actions(actions)
   for _, a in ipairs(actions) do
      a.who, a.evidence = nil, nil
      a.reason = a.reason and public.text(a.reason)
      if a.result ~= "done" and a.result ~= "seen" then
         a.result = nil
      end
   end
end

--- Cases, in place.
function public.cases(cases)
   for _, c in ipairs(cases) do
      for _, r in ipairs(c.reasoning) do
         r.text = public.text(r.text)
      end
      for _, e in ipairs(c.evidence) do
         e.text = public.text(e.text)
      end
      c.remark = c.remark and public.text(c.remark)
      c.action_why = c.action_why and public.text(c.action_why)
   end
end

--- What `taut status` says of nodes, in place.
function public.status(status)
   for _, list in ipairs { status.drained, status.held } do
      for _, v in ipairs(list) do
         v.reason = v.reason and public.text(v.reason)
         v.why = v.why and public.text(v.why)
      end
   end
   for _, s in ipairs(status.sets) do
      s.text = public.text(s.text)
   end
end

return public
