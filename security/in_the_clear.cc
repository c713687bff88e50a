#include "security/in_the_clear.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kamino::security {

bool IsLoopback(absl::string_view address) {
  const size_t colon = address.rfind(':');
  absl::string_view host = address;
  // An IPv6 address without brackets has no port.
  if (colon != absl::string_view::npos &&
      (address.find(':') == colon || absl::StrContains(address, ']'))) {
    host = address.substr(0, colon);
  }
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  const std::string text = absl::AsciiStrToLower(host);
  if (text == "localhost") return true;
  in_addr ip4;
  if (inet_pton(AF_INET, text.c_str(), &ip4) == 1) {
    return (ntohl(ip4.s_addr) >> 24) == 127;
  }
  in6_addr ip6;
  return inet_pton(AF_INET6, text.c_str(), &ip6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&ip6);
}

absl::Status CheckInTheClear(absl::string_view what, absl::string_view address,
                             bool insecure) {
  if (insecure || IsLoopback(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": ", address,
      " is not a loopback address: give certificates (--tls_cert, --tls_key, "
      "--tls_ca), or say --insecure: then any process is let in and data "
      "travels unprotected"));
}

}  // namespace kamino::security
