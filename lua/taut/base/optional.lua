-- SPDX-License-Identifier: GPL-2.0-or-later
--- Modules of other projects that few need: loaded where they are used, so that all else starts
-- without them.
local optional = {}

local PACKAGES = { lxp = "lua-expat", yaml = "lua-yaml" } -- Debian's

--- Load one.
-- @param name for the message
-- @param load function that requires it
-- @return the module; or nil and what to install
function optional.module(name, load)
   local ok, module = pcall(load)
   if ok then
      return module
   end
   return nil, ("this needs the Lua module %s, which is not installed (Debian: %s)"):format(name,
      PACKAGES[name])
end

return optional
