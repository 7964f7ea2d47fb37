-- SPDX-License-Identifier: GPL-2.0-or-later
local hostlist = require "taut.hostlist"
local lu = require "luaunit"

local tests = {}

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("string expected", hostlist.expand, {})
  lu.assertErrorMsgContains("not within", hostlist.expand, "n1", 0)
  lu.assertErrorMsgContains("table expected", hostlist.compress, "n1")
  lu.assertErrorMsgContains("must be strings", hostlist.compress, { 1 })
end

function tests.test_bad_text_is_refused()
  for _, text in ipairs { "n[0-", "n[3-1]", "n1\0n2" } do
    local names, why = hostlist.expand(text)
    lu.assertNil(names, text)
    lu.assertStrContains(why, "host list")
  end
  local names, why = hostlist.expand("n[0-99]", 10)
  lu.assertNil(names)
  lu.assertStrContains(why, "10")
end

function tests.test_expand()
  lu.assertEquals(hostlist.expand "n[0-2,7]", { "n0", "n1", "n2", "n7" })
  lu.assertEquals(hostlist.expand "n[08-10]", { "n08", "n09", "n10" })
  lu.assertEquals(hostlist.expand "", {})
end

function tests.test_compress()
  lu.assertEquals(hostlist.compress { "n2", "n1", "n10", "n1" }, "n[1-2,10]")
  lu.assertEquals(hostlist.compress {}, "")
end

return tests
