-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut.lua of the demo and of the tests in the lab: numbers of the model small enough that a few
-- jobs decide; taut-model(5) says what each means.  `topology` is added by the lab, as its fabric
-- is (lab topology).
listen = "172.30.0.1:6824"
mode = "drain"
refresh_s = 2

checks = { link_time = false } -- nobody else needs these links

policy = {
   cap_nodes = 4,
   per_hour = false,
}

model = {
   checks = {
      fresh_h = 0,           -- every job is checked, however soon it follows
      retry_h = 0,
      quiet_ms = 5000,       -- as long as any
   },
   diagnosis = {
      suspect_low = 3,       -- suspect at 3 low tests …
      suspect_events = 2,    -- … from 2 events
      suspect_score = 3,     -- … that weigh a little
      slow_score = 8,        -- slow at less than half the weight of a real machine,
      slow_spells = 2,       -- seen in 2 spells
      spell_s = 10,          -- of 10 s,
      busy_h = 0.01,         -- since nothing here stays busy for long,
      slow_low = 3,          -- with 3 confirming low ones …
      slow_far = 2,          -- … with 2 far ends
      confirm_span_h = 0,    -- no waiting
      reporters = 2,
      ceiling = 0.15,        -- two cores carry the whole fabric: streams of 25 ms scatter more
   },
}
