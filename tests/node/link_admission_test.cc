#include "node/link_admission.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/security/test_certificates.h"
#include "tests/transport/link_rig.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& identity,
                    std::shared_ptr<security::Access> access = nullptr) {
  const absl::Status status = AdmitNodes("c", std::move(access))(identity);
  if (status.ok()) return "";
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  return std::string(status.message());
}

TEST(LinkAdmissionTest, NodesOfTheClusterMayHaveLinks) {
  EXPECT_EQ(Refusal("kamino://c/node/n1"), "");
  EXPECT_THAT(Refusal("kamino://c/writer/n1"),
              HasSubstr("kamino://c/writer/n1 has the role writer"));
  EXPECT_THAT(Refusal("kamino://c/manager/m1"),
              HasSubstr("has the role manager"));
  EXPECT_THAT(Refusal("kamino://d/node/n1"),
              HasSubstr("an identity of cluster c"));
  EXPECT_THAT(Refusal(""), HasSubstr("an identity of cluster c"));
  EXPECT_THAT(Refusal("n1"), HasSubstr("an identity of cluster c"));
}

TEST(LinkAdmissionTest, CurrentRolesDecide) {
  const auto access = std::make_shared<security::Access>(security::RoleMap());
  EXPECT_EQ(Refusal("kamino://c/node/n1", access), "");
  access->Replace(security::RoleMap(
      {{.pattern = "kamino://c/node/n1", .roles = {}}}, /*only_rules=*/false));
  EXPECT_THAT(Refusal("kamino://c/node/n1", access), HasSubstr("has no role"));
  EXPECT_EQ(Refusal("kamino://c/node/n2", access), "");
}

// Number of links that a client gets when it opens `count`, one after the
// other.
size_t LinksOf(transport::LinkRig* rig, int count) {
  const auto server = rig->NewTransport();
  transport::RecordingListener listener(rig, server.get());
  const auto client = rig->NewTransport();
  std::vector<std::shared_ptr<transport::Recorder>> recorders;
  size_t taken = 0;
  for (int i = 0; i < count; ++i) {
    recorders.push_back(rig->NewRecorder());
    const auto recorder = recorders.back();
    EXPECT_TRUE(client->Connect(listener.address(), recorder).ok());
    EXPECT_TRUE(rig->Until([&] {
      return recorder->closed == 1 || listener.accepted.size() > taken;
    }));
    absl::MutexLock lock(rig->mutex());
    taken = listener.accepted.size();
  }
  return taken;
}

TEST(LinkBoundsTest, OneAddressDoesNotFillAListener) {
  transport::LinkRig rig("tcp");
  BoundLinks(&rig.options);
  EXPECT_EQ(LinksOf(&rig, 52), 48u);
  EXPECT_GT(rig.options.max_accepted, 48);
}

TEST(LinkBoundsTest, OneIdentityDoesNotFillAListener) {
  const security::TestAuthority authority;
  transport::LinkRig rig("tcp");
  rig.options.certificates =
      authority.Load({"kamino", security::Role::kNode, "n1"});
  BoundLinks(&rig.options);
  EXPECT_EQ(LinksOf(&rig, 10), 8u);
  EXPECT_GT(rig.options.come.per_second, 0);
  EXPECT_GT(rig.options.come_of_address.per_second, 0);
}

}  // namespace
}  // namespace kamino::node
