#include "runtime/utf8.hpp"

#include <cstdint>

namespace hindsight {
namespace {

/// Of the character that begins with this byte: its length in bytes, 0 for none, and the range of the second byte.
struct Lead {
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xbf;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xc2 && byte <= 0xdf) return {2};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {3};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  if (byte >= 0xf1 && byte <= 0xf3) return {4};
  return {};
}

}  // namespace

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
    if (lead.length == 0 || at + lead.length > text.size()) return at;
    for (std::size_t i = 1; i < lead.length; ++i) {
      const unsigned byte = static_cast<unsigned char>(text[at + i]);
      if (byte < (i == 1 ? lead.low : 0x80U) || byte > (i == 1 ? lead.high : 0xbfU)) return at;
    }
    at += lead.length;
  }
  return std::string_view::npos;
}

}  // namespace hindsight
