#include "logs/trace.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace kamino::logs {
namespace {

constexpr size_t kMaxRequestId = 64;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool IsId(absl::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != text.npos;
}

}  // namespace

bool IsTraceparent(absl::string_view text) {
  return text.size() == 55 && text.substr(0, 3) == "00-" &&
         IsId(text.substr(3, 32)) && text[35] == '-' &&
         IsId(text.substr(36, 16)) && text[52] == '-' && IsHex(text.substr(53));
}

std::string MakeTraceparent(uint64_t trace_high, uint64_t trace_low,
                            uint64_t span) {
  return absl::StrFormat("00-%016x%016x-%016x-00", trace_high,
                         std::max<uint64_t>(1, trace_low),
                         std::max<uint64_t>(1, span));
}

bool IsRequestId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestId &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) ||
                  absl::string_view("-_./:").find(c) != absl::string_view::npos;
         });
}

}  // namespace kamino::logs
