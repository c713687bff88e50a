#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace kamino {
namespace {

bool ReadIp4(absl::string_view host, in_addr* address) {
  return inet_pton(AF_INET, std::string(host).c_str(), address) == 1;
}

// Reads notations such as 0x7f.1 or 0, which resolvers also accept as
// addresses.
bool ReadIp4OfAnyNotation(absl::string_view host, in_addr* address) {
  return inet_aton(std::string(host).c_str(), address) == 1;
}

std::string TextOf(const in_addr& address) {
  char text[INET_ADDRSTRLEN];
  return inet_ntop(AF_INET, &address, text, sizeof(text));
}

bool ReadIp6(absl::string_view host, in6_addr* address) {
  return inet_pton(AF_INET6, std::string(host).c_str(), address) == 1;
}

bool IsIp4(absl::string_view host) {
  in_addr ignored;
  return ReadIp4(host, &ignored);
}

// Also with the zone of a link-local address, as in fe80::1%eth0.
bool IsIp6(absl::string_view host) {
  in6_addr ignored;
  const size_t percent = host.find('%');
  if (percent == absl::string_view::npos) return ReadIp6(host, &ignored);
  const absl::string_view zone = host.substr(percent + 1);
  return ReadIp6(host.substr(0, percent), &ignored) && !zone.empty() &&
         std::all_of(zone.begin(), zone.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsDigits(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// A resolver takes a name whose last label has only digits for an IPv4 address.
bool LooksLikeIp4(absl::string_view host) {
  return IsDigits(host.substr(host.rfind('.') + 1));
}

// Why `name`, which may end with the dot of an absolute name, breaks the rules
// of RFC 1123, section 2.1, and RFC 1035, section 2.3.4; "": it keeps them.
std::string WhyNoName(absl::string_view name) {
  constexpr size_t kLongestName = 253;
  constexpr size_t kLongestLabel = 63;
  absl::ConsumeSuffix(&name, ".");
  if (name.size() > kLongestName) {
    return absl::StrCat("a host name has at most ", kLongestName,
                        " characters, and this one has ", name.size());
  }
  for (const absl::string_view label : absl::StrSplit(name, '.')) {
    if (label.empty()) return "the host name has an empty label";
    if (label.size() > kLongestLabel) {
      return absl::StrCat("a label of a host name has at most ", kLongestLabel,
                          " characters, and \"", label, "\" has ",
                          label.size());
    }
    if (label.front() == '-' || label.back() == '-') {
      return absl::StrCat("a label of a host name cannot begin or end with -: ",
                          "\"", label, "\"");
    }
  }
  return "";
}

// Why `host`, without brackets, is invalid; "": it is valid.
std::string WhyNoHost(absl::string_view host) {
  for (const char c : host) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') continue;
    return absl::StrCat("a host name cannot contain \"",
                        absl::string_view(&c, 1), "\"");
  }
  if (IsIp4(host)) return "";
  if (in_addr other; ReadIp4OfAnyNotation(host, &other)) {
    return absl::StrCat(host, " is no IPv4 address of four decimal numbers, ",
                        "and a resolver takes it for ", TextOf(other),
                        ": write that if it is meant");
  }
  if (LooksLikeIp4(host)) {
    return absl::StrCat(host, " is no IPv4 address of four numbers up to 255");
  }
  return WhyNoName(host);
}

// Explains the error in a text with several colons and no brackets.
std::string WhyNotOneColon(absl::string_view address) {
  const size_t colon = address.rfind(':');
  const absl::string_view host = address.substr(0, colon);
  const absl::string_view port = address.substr(colon + 1);
  uint32_t number = 0;
  if (IsIp6(host) && IsDigits(port) && absl::SimpleAtoi(port, &number) &&
      number <= 65535) {
    return absl::StrCat("an IPv6 address needs brackets: [", host, "]:", port);
  }
  if (IsIp6(address)) {
    return absl::StrCat("an IPv6 address needs brackets and a port: [", address,
                        "]:PORT");
  }
  return "there is more than one colon in it";
}

}  // namespace

absl::StatusOr<HostPort> ParseAddress(absl::string_view address) {
  const auto bad = [address](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not host:port: ", why));
  };
  if (address.empty()) return bad("it is empty");
  if (absl::StrContains(address, "://")) {
    return bad("leave out the scheme and its ://");
  }
  if (std::any_of(address.begin(), address.end(), absl::ascii_isspace)) {
    return bad("there is white space in it");
  }
  HostPort parsed;
  absl::string_view port;
  if (absl::StartsWith(address, "[")) {
    const size_t close = address.find(']');
    if (close == absl::string_view::npos) return bad("] is missing");
    parsed.host = std::string(address.substr(1, close - 1));
    if (!IsIp6(parsed.host)) {
      return bad(absl::StrCat("\"", parsed.host,
                              "\" between the brackets is no IPv6 address"));
    }
    port = address.substr(close + 1);
    if (!absl::StartsWith(port, ":")) return bad("the port is missing");
    port = port.substr(1);
  } else {
    const size_t colon = address.find(':');
    if (colon == absl::string_view::npos) return bad("the port is missing");
    if (address.rfind(':') != colon) return bad(WhyNotOneColon(address));
    if (colon == 0) return bad("the host is missing");
    parsed.host = std::string(address.substr(0, colon));
    if (const std::string why = WhyNoHost(parsed.host); !why.empty()) {
      return bad(why);
    }
    port = address.substr(colon + 1);
  }
  if (port.empty()) return bad("the port is missing");
  uint32_t number = 0;
  if (!IsDigits(port) || !absl::SimpleAtoi(port, &number) || number > 65535) {
    return bad(
        absl::StrCat("the port \"", port, "\" is no number from 0 to 65535"));
  }
  parsed.port = static_cast<uint16_t>(number);
  return parsed;
}

absl::Status CheckAddress(absl::string_view address, bool any_port) {
  ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
  if (parsed.port != 0 || any_port) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", address, "\" has port 0: name one from 1 to 65535"));
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

bool IsEveryAddress(absl::string_view host) {
  in_addr ip4;
  if (ReadIp4(host, &ip4)) return ip4.s_addr == INADDR_ANY;
  in6_addr ip6;
  if (!ReadIp6(host.substr(0, host.find('%')), &ip6)) return false;
  // For example ::ffff:0.0.0.0.
  const bool mapped_any = IN6_IS_ADDR_V4MAPPED(&ip6) &&
                          std::all_of(ip6.s6_addr + 12, ip6.s6_addr + 16,
                                      [](uint8_t byte) { return byte == 0; });
  return IN6_IS_ADDR_UNSPECIFIED(&ip6) || mapped_any;
}

bool IsLoopbackNumber(absl::string_view host) {
  in_addr ip4;
  if (ReadIp4(host, &ip4)) return (ntohl(ip4.s_addr) >> 24) == 127;
  in6_addr ip6;
  if (!ReadIp6(host.substr(0, host.find('%')), &ip6)) return false;
  return IN6_IS_ADDR_LOOPBACK(&ip6) ||
         (IN6_IS_ADDR_V4MAPPED(&ip6) && ip6.s6_addr[12] == 127);
}

}  // namespace kamino
