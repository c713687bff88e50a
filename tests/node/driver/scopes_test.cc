// Whole chains, of each mode, with clients that may touch some keys only: the
// head alone refuses, all others execute what it sends, whichever node is head
// next.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "tests/faults/planted.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::v1::Operation;

constexpr uint64_t kSession = 77;

PrincipalPtr Named(const std::string& name, const std::string& prefix) {
  return std::make_shared<const Principal>(
      Principal{"kamino://c/writer/" + name, KeyScope({prefix})});
}

class ScopesTest : public ::testing::TestWithParam<ChainMode> {
 protected:
  ScopesTest() : rig_(Options()) {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
    rig_.Submit(1, {Put("a/1", "one"), Put("b/1", "two")});
    rig_.Settle();
  }

  static ChainRig::Options Options() {
    ChainRig::Options options;
    options.names = {"n1", "n2", "n3"};
    options.mode = GetParam();
    options.agrees = true;
    return options;
  }

  std::shared_ptr<Issued> Submit(uint64_t client, const PrincipalPtr& by,
                                 const std::vector<Operation>& operations) {
    auto issued = std::make_shared<Issued>();
    kamino::v1::CommitRequest commit;
    for (const Operation& each : operations) {
      *commit.add_then_operations() = each;
    }
    issued->request.function = replica::kCommitFunction;
    issued->request.arguments = commit.SerializeAsString();
    issued->request.client_id = client;
    issued->request.number = 1;
    issued->by = by;
    rig_.Retry(issued);
    return issued;
  }

  std::string ValueOf(const std::string& node, const std::string& key) {
    const auto all = rig_.ReadAll(node);
    if (!all.ok()) return std::string(all.status().message());
    const auto found = all->find("object " + key);
    return found == all->end() ? "absent" : found->second;
  }

  absl::Status Get(const std::string& node, const PrincipalPtr& by,
                   const std::string& key, ReadAt at = ReadAt::kTail) {
    return rig_.node(node).reads().Read(
        ScopeOf(by),
        [&](engine::KeyValueReader& objects) {
          return objects.Get(key).status();
        },
        at);
  }
  absl::Status Scan(const PrincipalPtr& by, const std::string& start,
                    const std::string& end) {
    return rig_.node("n3").reads().Read(
        ScopeOf(by), [&](engine::KeyValueReader& objects) {
          return objects.Scan(
              start, end, 0,
              [](absl::string_view, const auto&) { return true; });
        });
  }

  const PrincipalPtr of_a_ = Named("a", "a/");
  ChainRig rig_;
};

TEST_P(ScopesTest, TheHeadRefusesAndTheNodesStayEqual) {
  const auto within = Submit(2, of_a_, {Put("a/1", "three")});
  const auto outside = Submit(3, of_a_, {Put("a/1", "four"), Put("b/1", "!")});
  rig_.Settle();
  EXPECT_TRUE(within->acknowledged()) << within->outcome.status;
  EXPECT_EQ(outside->answers, 1);
  EXPECT_TRUE(absl::IsPermissionDenied(outside->outcome.status));
  for (const char* node : {"n1", "n2", "n3"}) {
    ASSERT_TRUE(rig_.up(node)) << rig_.fatal(node);
    EXPECT_EQ(ValueOf(node, "a/1"), "three");
    EXPECT_EQ(ValueOf(node, "b/1"), "two");
  }
}

// Log entries were allowed once, so every later head executes them again; the
// next head refuses new requests itself.
TEST_P(ScopesTest, TheNextHeadRefusesAsWell) {
  rig_.Hold("n2");  // what the first one has executed goes no further
  const auto within = Submit(2, of_a_, {Put("a/1", "three")});
  const auto outside = Submit(3, of_a_, {Put("b/1", "!")});
  for (int i = 0; i < 20; ++i) rig_.Step();
  rig_.CutPower("n1", 1);
  rig_.Hold("n2", false);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  rig_.Retry(within);
  rig_.Retry(outside);
  rig_.Settle();
  EXPECT_TRUE(within->acknowledged()) << within->outcome.status;
  EXPECT_TRUE(absl::IsPermissionDenied(outside->outcome.status));
  for (const char* node : {"n2", "n3"}) {
    ASSERT_TRUE(rig_.up(node)) << rig_.fatal(node);
    EXPECT_EQ(ValueOf(node, "a/1"), "three");
    EXPECT_EQ(ValueOf(node, "b/1"), "two");
  }
}

TEST_P(ScopesTest, ReadsSeeNothingOutsideTheScope) {
  EXPECT_TRUE(Get("n3", of_a_, "a/1").ok());
  EXPECT_TRUE(Get("n2", of_a_, "a/1", ReadAt::kAnyReplica).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Get("n3", of_a_, "b/1")));
  EXPECT_TRUE(absl::IsPermissionDenied(Get("n3", of_a_, "b/none")));
  EXPECT_TRUE(
      absl::IsPermissionDenied(Get("n2", of_a_, "b/1", ReadAt::kAnyReplica)));
  EXPECT_TRUE(Scan(of_a_, "a/", "a0").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Scan(of_a_, "", "")));
  EXPECT_TRUE(absl::IsPermissionDenied(Scan(of_a_, "a/", "b/2")));
  EXPECT_TRUE(Get("n3", nullptr, "b/1").ok());
  EXPECT_TRUE(Scan(nullptr, "", "").ok());
}

TEST_P(ScopesTest, ScansOutsideTheScopeAreDetected) {
  faults::Planted fault("scope-skipped-by-scans");
  EXPECT_TRUE(Scan(of_a_, "", "").ok());
}

TEST_P(ScopesTest, OutcomesOfASessionBelongToItsOwner) {
  head::SessionParams params;
  params.id = kSession;
  params.window = 8;
  params.lease = absl::Seconds(30);
  params.by = of_a_;
  absl::Status opened = absl::UnknownError("no answer");
  rig_.node("n1").head().OpenSession(
      params, rig_.now(), [&](const absl::StatusOr<head::SessionInfo>& info) {
        opened = info.status();
      });
  rig_.Settle();
  ASSERT_TRUE(opened.ok()) << opened;
  const PrincipalPtr other = Named("b", "");
  const auto outcome = [this](const PrincipalPtr& by, bool in_session) {
    kamino::v1::RequestId id;
    id.set_client_id(kSession);
    id.set_number(1);
    id.set_in_session(in_session);
    kamino::v1::GetOutcomeResponse response;
    return rig_.node("n3").reads().ReadOutcome(id, &response, by);
  };
  for (int life = 0; life < 2; ++life) {
    for (const bool in_session : {false, true}) {
      EXPECT_TRUE(outcome(of_a_, in_session).ok());
      EXPECT_TRUE(outcome(nullptr, in_session).ok());
      EXPECT_TRUE(absl::IsPermissionDenied(outcome(other, in_session)));
    }
    // It is in the state, which the next head has, too.
    if (life == 0) rig_.CutPower("n1", 1);
    rig_.InstallView({"n2", "n3"});
    rig_.Settle();
  }
  absl::Status asked;
  rig_.node("n2").head().AskForSession(
      kSession, /*epoch=*/0, rig_.now(),
      [&](const absl::StatusOr<head::SessionInfo>& info) {
        asked = info.status();
      },
      other);
  rig_.Settle();
  EXPECT_TRUE(absl::IsPermissionDenied(asked)) << asked;
}

INSTANTIATE_TEST_SUITE_P(Modes, ScopesTest,
                         ::testing::Values(ChainMode::kKamino,
                                           ChainMode::kTraditional,
                                           ChainMode::kImages),
                         [](const auto& mode) {
                           return std::string(ChainModeName(mode.param));
                         });

}  // namespace
}  // namespace kamino::node
