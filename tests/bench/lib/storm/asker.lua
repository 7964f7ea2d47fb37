-- SPDX-License-Identifier: GPL-2.0-or-later
-- Somebody who asks for advice again and again: asker.lua SOCKET FILE: as long as FILE is there.
-- What he is answered, or whether, does not matter to him.
local sys = require "taut.sys"

while sys.stat(arg[2]) do
   if not sys.request(arg[1], '{"cmd":"advise","args":{"nodes":200}}', 60000) then
      os.execute "sleep 0.02" -- no place
   end
end
