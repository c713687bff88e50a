#include "base/address.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino {

absl::Status CheckAddress(absl::string_view address, bool any_port) {
  const auto bad = [address](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not host:port", why));
  };
  if (absl::StrContains(address, "://")) {
    return bad(": leave out what ends with ://");
  }
  if (std::any_of(address.begin(), address.end(), absl::ascii_isspace)) {
    return bad(": there is white space in it");
  }
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535 ||
      (port == 0 && !any_port)) {
    return bad("");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(
    absl::string_view text) {
  std::vector<std::string> addresses;
  for (absl::string_view each :
       absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    addresses.emplace_back(absl::StripAsciiWhitespace(each));
    RETURN_IF_ERROR(CheckAddress(addresses.back()));
  }
  return addresses;
}

}  // namespace kamino
