-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `taut serve` starts.
os.exit(require("taut.cli.page.maker").main())
