#include "security/identity.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "openssl/asn1.h"
#include "openssl/x509v3.h"
#include "security/certificate.h"

namespace kamino::security {
namespace {

// With alternative names as OpenSSL writes them; "": with none.
X509Pointer WithNames(const std::string& names) {
  X509Pointer made(X509_new());
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
      reinterpret_cast<const unsigned char*>("kamino://c/node/n1"), -1, -1, 0);
  if (names.empty()) return made;
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(
      nullptr, nullptr, NID_subject_alt_name, names.c_str());
  EXPECT_NE(extension, nullptr) << names;
  X509_add_ext(made.get(), extension, -1);
  X509_EXTENSION_free(extension);
  return made;
}

TEST(IdentityTest, IsReadFromAUri) {
  for (const Role role : kRoles) {
    const Identity identity = {"prod-1", role, "n_1.rack2"};
    EXPECT_EQ(IdentityFromUri(ToString(identity)), identity);
  }
  EXPECT_EQ(ToString({"c", Role::kNode, "n1"}), "kamino://c/node/n1");
}

TEST(IdentityTest, AMalformedUriIsNoIdentity) {
  for (const char* const uri :
       {"", "kamino://", "kamino://c/node", "kamino://c/node/",
        "http://c/node/n", "kamino:///node/n", "kamino://c/admin/n",
        "kamino://c/Node/n", "kamino://c/node/n/x", "kamino://c/node/n x",
        "kamino://c/node/n?x", "KAMINO://c/node/n", " kamino://c/node/n",
        "kamino://c/node/n\n"}) {
    EXPECT_FALSE(IdentityFromUri(uri).has_value()) << uri;
  }
  EXPECT_FALSE(
      IdentityFromUri("kamino://c/node/" + std::string(65, 'n')).has_value());
  EXPECT_FALSE(IdentityFromUri(absl::string_view("kamino://c/node/n\0x", 19))
                   .has_value());
}

TEST(IdentityTest, IsReadFromADnsName) {
  EXPECT_EQ(IdentityFromDnsName("n1.node.c.kamino"),
            (Identity{"c", Role::kNode, "n1"}));
  for (const char* const name :
       {"", "kamino", ".kamino", "node.c.kamino", "a.n1.node.c.kamino",
        "n1.root.c.kamino", "n1.node.c.kamino.example", "*.node.c.kamino"}) {
    EXPECT_FALSE(IdentityFromDnsName(name).has_value()) << name;
  }
}

TEST(IdentityTest, ACertificateNamesOneHolder) {
  const Identity n1 = {"c", Role::kNode, "n1"};
  for (const char* const names :
       {"URI:kamino://c/node/n1", "DNS:n1.node.c.kamino",
        "DNS:host.example,IP:10.0.0.1,URI:http://x/,URI:kamino://c/node/n1",
        "URI:kamino://c/node/n1,DNS:n1.node.c.kamino"}) {
    const auto found = IdentityIn(*WithNames(names));
    ASSERT_TRUE(found.ok()) << names << ": " << found.status();
    EXPECT_EQ(*found, n1) << names;
  }
}

TEST(IdentityTest, NeitherACommonNameNorTwoHoldersAreAnIdentity) {
  for (const char* const names :
       {"", "DNS:host.example", "email:kamino@example.org",
        "URI:kamino://c/node/n1,URI:kamino://c/node/n2",
        "URI:kamino://c/node/n1,DNS:n1.operator.c.kamino"}) {
    EXPECT_EQ(IdentityIn(*WithNames(names)).status().code(),
              absl::StatusCode::kUnauthenticated)
        << names;
  }
}

}  // namespace
}  // namespace kamino::security
