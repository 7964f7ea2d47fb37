-- SPDX-License-Identifier: GPL-2.0-or-later
-- For make, before anything is installed: `taut completion SHELL` of this tree.
os.exit(require("taut.cli").main { [0] = "taut", "completion", ... })
