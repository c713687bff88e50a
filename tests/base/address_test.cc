#include "base/address.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WhyNot(const std::string& address) {
  const auto parsed = ParseAddress(address);
  EXPECT_FALSE(parsed.ok()) << address;
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr("\"" + address + "\""));
  return std::string(parsed.status().message());
}

// A name of `size` characters whose labels have at most 50.
std::string LongName(size_t size) {
  std::string name(size, 'a');
  for (size_t i = 50; i + 1 < size; i += 51) name[i] = '.';
  return name;
}

TEST(AddressTest, ReadsNamesAndNumbers) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& each :
       {Case{"localhost:7001", "localhost", 7001},
        {"n1.kamino-nodes.default.svc:1", "n1.kamino-nodes.default.svc", 1},
        {"my_host:65535", "my_host", 65535},
        {"h2o:1", "h2o", 1},
        {"10.0.0.7:0", "10.0.0.7", 0},
        {"[::1]:7001", "::1", 7001},
        {"[fd00:77::1]:7001", "fd00:77::1", 7001},
        {"[fe80::1%eth0]:7001", "fe80::1%eth0", 7001},
        {"[::ffff:10.0.0.7]:7001", "::ffff:10.0.0.7", 7001}}) {
    const auto parsed = ParseAddress(each.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->host, each.host);
    EXPECT_EQ(parsed->port, each.port);
  }
}

TEST(AddressTest, ErrorsShowTheNotationOfAnIp6Address) {
  const std::string needs = "an IPv6 address needs brackets";
  for (const auto& [text, remedy] :
       std::vector<std::pair<std::string, std::string>>{
           {"fd00:77::1:7001", needs + ": [fd00:77::1]:7001"},
           {"::1:7001", needs + ": [::1]:7001"},
           {":::7001", needs + ": [::]:7001"},
           {"2001:db8:0:0:0:0:0:1:7001",
            needs + ": [2001:db8:0:0:0:0:0:1]:7001"},
           {"fe80::1%eth0:7001", needs + ": [fe80::1%eth0]:7001"},
           {"::1", needs + " and a port: [::1]:PORT"},
           {"2001:db8:0:0:0:0:0:1", needs + " and a port"},
           {"10.0.0.1:7001:7002", "there is more than one colon in it"}}) {
    EXPECT_THAT(WhyNot(text), HasSubstr(remedy));
  }
}

TEST(AddressTest, RefusesInvalidAddresses) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "it is empty"},
           {"host", "the port is missing"},
           {"host:", "the port is missing"},
           {"[::1]", "the port is missing"},
           {"[::1]7001", "the port is missing"},
           {"[::1:7001", "] is missing"},
           {"[]:7001", "\"\" between the brackets is no IPv6 address"},
           {"[10.0.0.1]:7001", "\"10.0.0.1\" between the brackets"},
           {"[fe80::1%]:7001", "\"fe80::1%\" between the brackets"},
           {":7001", "the host is missing"},
           {"http://host:7001", "leave out the scheme and its ://"},
           {"host :7001", "white space"},
           {"host:7001\n", "white space"},
           {"host:65536", "the port \"65536\" is no number from 0 to 65535"},
           {"host:99999999999", "the port"},
           {"host:-1", "the port"},
           {"host:+1", "the port"},
           {"host:1x", "the port"},
           {"host:http", "the port"},
           {"host/path:1", "a host name cannot contain \"/\""},
           {"$(POD_IP):1", "a host name cannot contain \"$\""},
           {"a@b:1", "a host name cannot contain \"@\""},
           {"10.0.0.256:1", "10.0.0.256 is no IPv4 address"},
           {"10.0.1:1", "10.0.1 is no IPv4 address"},
           {"a.0x.10:1", "a.0x.10 is no IPv4 address"},
           {"a..b:1", "the host name has an empty label"},
           {".:1", "the host name has an empty label"},
           {"a..:1", "the host name has an empty label"},
           {"-x:1", "cannot begin or end with -: \"-x\""},
           {"a.x-.b:1", "cannot begin or end with -: \"x-\""},
           {std::string(64, 'a') + ".b:1",
            "a label of a host name has at most"},
           {LongName(254) + ":1",
            "at most 253 characters, and this one has"}}) {
    EXPECT_THAT(WhyNot(text), HasSubstr(why));
  }
  for (const std::string& host :
       {std::string(63, 'a'), LongName(253), LongName(253) + ".",
        std::string("a-b.c."), std::string("a--b")}) {
    EXPECT_TRUE(ParseAddress(host + ":1").ok()) << host;
  }
}

TEST(AddressTest, RefusesOtherNotationsOfIp4Addresses) {
  for (const auto& [host, dotted] :
       std::vector<std::pair<std::string, std::string>>{
           {"0", "0.0.0.0"},
           {"0x0", "0.0.0.0"},
           {"0.0", "0.0.0.0"},
           {"0x7f.1", "127.0.0.1"},
           {"0X7F000001", "127.0.0.1"},
           {"2130706433", "127.0.0.1"},
           {"10.1", "10.0.0.1"},
           {"010.0.0.1", "8.0.0.1"},
           {"10.0.0.0xa", "10.0.0.10"}}) {
    EXPECT_THAT(WhyNot(host + ":7001"),
                HasSubstr("a resolver takes it for " + dotted + ": write"));
  }
  // These are names.
  for (const char* text : {"0x:1", "x0:1", "0xg:1", "1.2.3.4.example:1"}) {
    EXPECT_TRUE(ParseAddress(text).ok()) << text;
  }
}

TEST(AddressTest, PortZeroIsForListenersOnly) {
  EXPECT_TRUE(CheckAddress("host:0", /*any_port=*/true).ok());
  EXPECT_THAT(std::string(CheckAddress("host:0").message()),
              HasSubstr("\"host:0\" has port 0"));
  EXPECT_TRUE(CheckAddress("host:1").ok());
}

TEST(AddressTest, ReadsEachAddressOfAList) {
  EXPECT_THAT(*SplitAddresses(" a:1 ,\tb:2,,[::1]:3,"),
              ElementsAre("a:1", "b:2", "[::1]:3"));
  EXPECT_TRUE(SplitAddresses("")->empty());
  EXPECT_THAT(std::string(SplitAddresses("a:1,fd00::1:2").status().message()),
              HasSubstr("[fd00::1]:2"));
  EXPECT_FALSE(SplitAddresses("a:1,b:0").ok());
}

TEST(AddressTest, ClassifiesNumericAddresses) {
  for (const char* host : {"0.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0",
                           "::ffff:0.0.0.0", "::ffff:0:0", "::%eth0"}) {
    EXPECT_TRUE(IsEveryAddress(host)) << host;
    EXPECT_FALSE(IsLoopbackNumber(host)) << host;
  }
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "0:0::1",
                           "::ffff:127.0.1.1", "::1%lo"}) {
    EXPECT_TRUE(IsLoopbackNumber(host)) << host;
    EXPECT_FALSE(IsEveryAddress(host)) << host;
  }
  for (const char* host : {"10.0.0.1", "fd00::1", "localhost", "", "h",
                           "::ffff:10.0.0.0", "::ffff:0.0.0.1"}) {
    EXPECT_FALSE(IsLoopbackNumber(host)) << host;
    EXPECT_FALSE(IsEveryAddress(host)) << host;
  }
}

}  // namespace
}  // namespace kamino
