-- SPDX-License-Identifier: GPL-2.0-or-later
--- A ceiling that came with a job over the link, and lasts like the job, may be caused by the job.
-- Traffic with its own pace yields to no number of streams, whatever its rate.
local job_load = {}

local CHECK_S = 10 -- a job's own check comes first, and may find the link well

--- The job that may be what fills a link; it is asked when nothing else is missing.
-- @param record of the link; its `load` remembers the job, which may end before the next test
-- @param case of taut.evidence
-- @return { what = "job", has = its number }; nil when a low test came after it, or there is none
function job_load.missing(self, component, record, case, now)
   local job = self.jobs_over and self.topo:is_link(component)
      and self.jobs_over(component, self.evidence:cleared(component) - CHECK_S, case.first)[1]
   if job then
      record.load = { job = job.id, at = now }
   end
   if record.load and case.last <= record.load.at then
      return { what = "job", has = record.load.job }
   end
   return nil
end

return job_load
