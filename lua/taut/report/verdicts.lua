-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which states of a component are verdicts: slow and failed (a ceiling), lossy (a share of its
-- packets is lost).
local verdicts = {}

local VERDICTS = { slow = true, failed = true, lossy = true }

--- Is this state a verdict?
-- @param state "ok", "suspect", "slow", "failed", "lossy", "unknown" or nil
function verdicts.is_verdict(state)
   return VERDICTS[state] == true
end

return verdicts
