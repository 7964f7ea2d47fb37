-- SPDX-License-Identifier: GPL-2.0-or-later
--- The `diagnosis` section of taut.lua: defaults, and what each setting may be.  The numbers say
-- how a busy network differs from a broken component; doc/internals/diagnose.md has the
-- calculation.

--- @param number function(least, most, whole) → check, as config.lua has it
-- @param flag check of a truth value
-- @return map name → { default, check }
return function(number, flag)
   return {
      -- what one test says
      good = { 0.75, number(0.01, 1) },
      clear_most = { 0.95, number(0.01, 1) },
      failed = { 0.01, number(0, 0.5) },
      ack = { 0.05, number(0, 1) },
      even = { 1.25, number(1, 100) },
      void_looks = { 4, number(0, 8, true) },
      void_pings = { 20, number(1, 1e6, true) },
      void_delay = { 0.4, number(0.001, 10) },
      void_foreign = { 0.1, number(0.001, 10) },
      port_low = { 0.5, number(0, 1) },
      void_disagree = { 0.25, number(0.01, 10) },
      -- how a busy network looks
      ceiling = { 0.05, number(0.001, 1) },
      grows = { 1.3, number(1.01, 4) },
      spell_s = { 3600, number(0.001, 1e6) },
      busy_share = { 0.2, number(0, 0.99) },
      busy_h = { 3.5, number(1e-6, 1000) },
      steady = { 0.25, number(0.001, 1) },
      contended = { 0.15, number(0.001, 0.9) },
      at_level = { 0.03, number(1e-6, 0.6) },
      at_fair = { 0.3, number(1e-6, 0.6) },
      contention_floor = { 0.28, number(0, 1) },
      event_most = { 8, number(0.1, 100) },
      spell_most = { 8, number(0.1, 100) },
      miss = { 0.5, number(0, 100) },
      -- what makes a suspect, and what a verdict
      suspect_low = { 3, number(1, 1000, true) },
      suspect_events = { 2, number(1, 1000, true) },
      suspect_score = { 4, number(0, 1000) },
      slow_score = { 20, number(0, 1000) },
      slow_spells = { 3, number(1, 1000, true) },
      slow_low = { 3, number(1, 1000, true) },
      slow_far = { 3, number(1, 100, true) },
      link_far = { 2, number(1, 100, true) },
      tie_score = { 4, number(0, 1000) },
      confirm_span_h = { 2, number(0, 1000) },
      unconfirmed_low = { 20, number(1, 10000, true) },
      unconfirmed_events = { 10, number(1, 10000, true) },
      reporters = { 3, number(1, 100, true) },
      -- hard evidence: lanes, widths, speeds
      hard_share = { 0.5, number(0.01, 1) },
      hard_alone = { false, flag },
      -- what is expected where no capacity is configured
      learn_peers = { 8, number(2, 1e6, true) },
      learn_share = { 0.5, number(0.01, 1) },
      learn_spread = { 0.15, number(0.001, 1) },
      -- what is slow as a whole
      group_nodes = { 4, number(2, 1e6, true) },
      group_share = { 0.75, number(0.1, 1) },
      machine_least = { 16, number(2, 1e9, true) },
      machine_share = { 0.6, number(0.1, 1) },
      new_least = { 4, number(2, 1e6, true) },
      -- one slow link of a set
      set_near = { 0.04, number(0.005, 0.2) },
      set_pairs = { 4, number(1, 1000, true) },
      set_fair = { 1.5, number(1, 10) },
      set_spell_most = { 4, number(0.1, 100) },
      -- afterwards
      recover_good = { 3, number(1, 100, true) },
      forget_days = { 14, number(0.01, 365) },
   }
end
