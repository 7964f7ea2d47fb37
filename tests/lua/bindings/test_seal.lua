-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local seal = require "taut.seal"
local wire = require "taut.wire"

local tests = {}
local PLAN, RESULT = wire.PLAN, wire.RESULT

function tests.test_bad_arguments_raise()
  local key = seal.random(32)
  lu.assertErrorMsgContains("32 bytes", seal.seal, "short", PLAN, "x")
  lu.assertErrorMsgContains("no such frame type", seal.seal, key, 99, "x")
  lu.assertErrorMsgContains("32 bytes", seal.open, "short", PLAN, "x")
  lu.assertErrorMsgContains("not within", seal.random, -1)
end

function tests.test_opens_what_was_sealed()
  local key = seal.random(32)
  for _, text in ipairs { "", "x", ("long\0"):rep(10000) } do
    local sealed = seal.seal(key, PLAN, text)
    lu.assertEquals(#sealed, #text + 40)
    lu.assertEquals(seal.open(key, PLAN, sealed), text)
  end
end

function tests.test_refuses_everything_else()
  local key = seal.random(32)
  local sealed = seal.seal(key, PLAN, "a plan")
  local forged = sealed:sub(1, -2) .. string.char(sealed:byte(-1) ~ 1)
  local cases = {
    { seal.random(32), PLAN, sealed },
    { key, RESULT, sealed },
    { key, PLAN, forged },
    { key, PLAN, sealed:sub(1, -2) },
    { key, PLAN, "" },
    { key, PLAN, "short" },
  }
  for i, case in ipairs(cases) do
    local text, why = seal.open(table.unpack(case))
    lu.assertNil(text, i)
    lu.assertStrContains(why, "not sealed")
  end
end

-- A PLAN of one version is not one of another, nor one of a version that is to come.
function tests.test_each_version_seals_otherwise()
  local key = seal.random(32)
  for version = 0, 9 do
    local sealed = seal.seal(key, PLAN, "a plan", 3, version)
    for other = 0, 9 do
      lu.assertEquals(seal.open(key, PLAN, sealed, 3, other) ~= nil, other == version)
    end
    lu.assertEquals(seal.open(key, PLAN, sealed, 4, version), nil)
  end
  lu.assertErrorMsgContains("no such protocol", seal.seal, key, PLAN, "x", 0, 10)
  lu.assertErrorMsgContains("no such protocol", seal.seal, key, PLAN, "x", 0, -1)
end

function tests.test_hex()
  lu.assertEquals(seal.hex "\0\xffa", "00ff61")
  lu.assertEquals(seal.unhex "00ff61", "\0\xffa")
  lu.assertEquals(seal.unhex "", "")
  for _, text in ipairs { "0", "0g", "00\0\0" } do
    lu.assertNil((seal.unhex(text)))
  end
end

function tests.test_random_differs()
  lu.assertEquals(#seal.random(16), 16)
  lu.assertNotEquals(seal.random(16), seal.random(16))
end

return tests
