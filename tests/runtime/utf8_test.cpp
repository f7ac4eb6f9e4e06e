// What is UTF-8, and where it ends to be.
#include "runtime/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hindsight {
namespace {

TEST(Utf8, CharactersOfEveryLengthAreAccepted) {
  for (const char* text :
       {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\x8a", "\xef\xbb\xbf mark", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(first_not_utf8(text), std::string::npos) << text;
}

TEST(Utf8, TheFirstBadByteIsFound) {
  const std::pair<std::string, std::size_t> bad[] = {
      {"caf\xe9", 3},           // Latin-1 at the end
      {"caf\xe9 noir", 3},      // and before ASCII
      {"\x80", 0},              // a byte that continues nothing
      {"a\xc0\xaf", 1},         // overlong
      {"\xe0\x80\x80", 0},      // overlong
      {"\xed\xa0\x80", 0},      // a surrogate
      {"\xf4\x90\x80\x80", 0},  // beyond U+10FFFF
      {"\xff\xfe"
       "a",
       0},                      // UTF-16
      {"\xc3\xa9\xe2\x82", 2},  // cut off
  };
  for (const auto& [text, at] : bad) EXPECT_EQ(first_not_utf8(text), at) << text;
}

}  // namespace
}  // namespace hindsight
