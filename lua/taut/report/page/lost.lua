-- SPDX-License-Identifier: GPL-2.0-or-later
--- Jobs that lost time, and to what, linked to what is in the picture.
local html = require "taut.report.page.html"
local report = require "taut.report"
local sections = require "taut.report.page.sections"

local lost = {}

--- What a job lost time to, in a word.
lost.words = { component = "component", placement = "placement", neighbours = "neighbours",
   congestion = "congestion", node = "one node", elsewhere = "not the network" }

local function where_lost(job)
   if job.component then
      return html.show_component(job.component, job.is_link)
   elseif job.node then
      return html.show("node", job.node)
   end
   return "-"
end

--- Nothing where jobs are not shown, or not to this user.
function lost.section(data)
   if not data.jobs or not data.lost then
      return ""
   end
   local rows = {}
   for i, j in ipairs(data.lost) do
      rows[i] = { tostring(j.label or j.id), j.user or "-", j.name or "-", tostring(j.nodes or "-"),
         os.date("%Y-%m-%d %H:%M", math.floor(j.ended or 0)), report.time(j.run_s or 0),
         ("%.2f"):format((j.lost_node_s or 0) / 3600), lost.words[j.cause] or "-", where_lost(j) }
   end
   local content
   if #rows == 0 then
      content = html.tag("p", nil, "No job is known to have lost time.")
   else
      content = html.table("Jobs that lost time, most node-hours first", { "Job", "User", "Name",
         ">Nodes", "Ended", ">Took", ">Node-hours lost", "To", "Where" }, rows) .. html.tag("p",
         nil, "Lost beside earlier runs of the same user, name and size, or, where there are " ..
         "none, as the flow model says. `taut why JOB` shows the reasons.")
   end
   return sections.section("lost", "Jobs that lost time", content)
end

return lost
