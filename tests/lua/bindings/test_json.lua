-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local lu = require "luaunit"

local tests = {}

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("value expected", json.encode)
  lu.assertErrorMsgContains("string expected", json.decode, {})
  lu.assertErrorMsgContains("table expected", json.array, 1)
  lu.assertErrorMsgContains("not within", json.encode, 1, 99)
end

function tests.test_what_cannot_be_written_is_refused()
  local circle = {}
  circle.circle = circle
  local cases = {
    { print, "a function cannot be written" },
    { { a = print }, "a function cannot be written" },
    { circle, "circle" },
    { "\xff", "not UTF-8" },
    { { ["\xff"] = 1 }, "not UTF-8" },
    { { ["a\0b"] = 1 }, "NUL" },
    { 0 / 0, "not finite" },
    { 1 / 0, "not finite" },
    { { 1, 2, a = 3 }, "neither" },
    { { [3] = 1 }, "neither" },
    { json.array { a = 1 }, "besides" },
  }
  for i, case in ipairs(cases) do
    local text, why = json.encode(case[1])
    lu.assertNil(text, i)
    lu.assertStrContains(why, case[2])
  end
end

function tests.test_values_are_written()
  local cases = {
    { nil, "null" },
    { json.null, "null" },
    { true, "true" },
    { 1, "1" },
    { 1.5, "1.5" },
    { 0.1, "0.1" },
    { 3.0, "3.0" },
    { -0.0, "-0.0" },
    { -17.0, "-17.0" },
    { 0, "0" },
    { 1e15, "1e15" },
    { 1e-5, "1e-5" },
    { 1.5e-7, "1.5e-7" },
    { -1e100, "-1e100" },
    { 999999999999999.0, "999999999999999.0" },
    { 123456789012345678.0, "1.2345678901234568e17" },
    { 1764267878.123456, "1764267878.123456" },
    { math.maxinteger, "9223372036854775807" },
    { math.mininteger, "-9223372036854775808" },
    { "a\"\n\0", [["a\"\n\u0000"]] },
    { {}, "{}" },
    { json.array {}, "[]" },
    { json.array { 1 }, "[1]" },
    { { 1, "b", { c = 3 } }, [=[[1,"b",{"c":3}]]=] },
    { { b = 1, a = { 2 } }, [[{"a":[2],"b":1}]] },
  }
  for i, case in ipairs(cases) do
    lu.assertEquals(json.encode(case[1]), case[2], i)
  end
  lu.assertEquals(json.encode({ a = 1 }, 2), '{\n  "a": 1\n}')
end

function tests.test_reals_come_back_as_they_were()
  for _, value in ipairs { 0.1, 1 / 3, 1e300, 5e-324, -0.7, 123456.789, 1e15, 2.0 ^ 53, -2.0 ^ 63,
    1.7976931348623157e308, 0.0 } do
    lu.assertEquals(json.decode(json.encode(value)), value)
    lu.assertEquals(math.type(json.decode(json.encode(value))), "float")
  end
end

function tests.test_only_utf8_is_written()
  local good = { "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}",
    "\u{10000}", "\u{10ffff}", "grün: \127" }
  for _, text in ipairs(good) do
    lu.assertEquals(json.encode(text), '"' .. text .. '"')
    lu.assertEquals(json.decode(json.encode(text)), text)
  end
  -- cut off, no beginning, longer than it must be, a surrogate, beyond the last character
  local bad = { "\xc3", "a\xe2\x82", "\xf0\x9f\x98", "\x80", "\xbf", "\xc3(", "\xe2\x28\xa1",
    "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
    "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff" }
  for _, text in ipairs(bad) do
    lu.assertNil(json.encode(text))
    lu.assertNil(json.encode(("x"):rep(100) .. text .. "y"))
    lu.assertNil(json.encode { a = { [text] = 1 } })
  end
end

function tests.test_every_byte_below_128_comes_back()
  for i = 0, 127 do
    local text = ("a%sb"):format(string.char(i))
    local written = json.encode(text)
    lu.assertEquals(json.decode(written), text, i)
    lu.assertNil(written:find "[\0-\31]", i)
  end
end

function tests.test_an_indented_text()
  lu.assertEquals(json.encode({ b = { 1, { c = json.null } }, a = {}, d = json.array {} }, 2), [[
{
  "a": {},
  "b": [
    1,
    {
      "c": null
    }
  ],
  "d": []
}]])
end

-- The names of few members and of many are kept in two places.
function tests.test_members_are_in_order()
  for _, n in ipairs { 1, 2, 24, 25, 1000 } do
    local object, names = {}, {}
    for i = 1, n do
      local name = ("k%d"):format((i * 7919) % 10007)
      object[name], names[i] = i, name
    end
    table.sort(names)
    local i = 0
    for name in json.encode { inner = object }:gmatch '"(k%d+)":' do
      i = i + 1
      lu.assertEquals(name, names[i])
    end
    lu.assertEquals(i, n)
    lu.assertEquals(json.decode(json.encode(object)), object)
  end
end

function tests.test_bad_text_names_line_and_column()
  local cases = {
    { "", "line 1 column 0" },
    { "{", "line 1 column 1" },
    { '{"a":1,\n"b":}', "line 2 column 5" },
    { '{"a":1,"a":2}', "duplicate" },
    { "[1] x", "line 1" },
    { '"\xff"', "line 1" },
    { "99999999999999999999", "too big" },
    { "[" .. ("["):rep(5000), "line 1" },
    { ("["):rep(500) .. ("]"):rep(500), "nested deeper" },
  }
  for i, case in ipairs(cases) do
    local value, why = json.decode(case[1])
    lu.assertNil(value, i)
    lu.assertStrContains(why, case[2])
  end
end

function tests.test_text_is_read()
  lu.assertEquals(json.decode("null"), json.null)
  lu.assertEquals(math.type(json.decode("9007199254740993")), "integer")
  lu.assertEquals(json.decode("9007199254740993"), 9007199254740993)
  lu.assertEquals(math.type(json.decode("1.0")), "float")
  lu.assertEquals(json.decode('"a\\u0000b"'), "a\0b")
  local value = json.decode('{"a":[1,null,true],"b":{}}')
  lu.assertEquals(value.a[1], 1)
  lu.assertEquals(value.a[2], json.null)
  lu.assertEquals(value.a[3], true)
  lu.assertEquals(value.b, {})
end

-- Trees have their memory in pieces, one of which is used again by the next.
function tests.test_large_and_small_and_wrong_ones_in_turns()
  local large = { text = ("x"):rep(100000), list = json.array {} }
  for i = 1, 20000 do
    large.list[i] = { id = i, name = "n" .. i, share = i / 7 }
  end
  for i = 1, 5 do
    local text = json.encode(large)
    lu.assertTrue(json.encode(json.decode(text)) == text, i)
    lu.assertNil(json.encode { a = large, b = print })
    lu.assertNil(json.decode(text:sub(1, -2)))
    lu.assertNil(json.decode(("["):rep(500) .. text .. ("]"):rep(500)))
    lu.assertEquals(json.encode(json.decode '{"b":[1],"a":0.5}'), '{"a":0.5,"b":[1]}')
  end
end

function tests.test_decoded_arrays_stay_arrays()
  local text = '{"a":[],"b":[[]],"c":{}}'
  lu.assertEquals(json.encode(json.decode(text)), text)
end

return tests
