-- SPDX-License-Identifier: GPL-2.0-or-later
std = "lua54"
max_line_length = 100
exclude_files = { "build/", "tests/data/cases/", "tests/bench/campaign.d/world.lua" } -- given, not to be edited
files["etc/job_submit.lua"] = { std = "min", globals = { "slurm", "slurm_job_submit", "slurm_job_modify" } }
files["tests/lua/slurm/test_job_submit.lua"] = { std = "lua54", globals = { "slurm", "slurm_job_submit", "slurm_job_modify" } }
files["tests/lab/sites/*.lua"] = { std = "lua54", ignore = { "1" } }
files["tests/lab/*.lua"] = { std = "lua54", ignore = { "1" } }
files["etc/*.lua.example"] = { std = "lua54", ignore = { "1" } }
files["etc/machines/*.lua"] = { std = "lua54", ignore = { "1" } }
