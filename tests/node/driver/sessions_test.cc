// Sessions on a whole chain: which nodes know them, and what remains of them
// when the head dies.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/state/state_machine.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using replica::ReasonOf;

constexpr uint64_t kSession = 77;

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() : rig_(Options()) {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
  }

  static ChainRig::Options Options() {
    ChainRig::Options options;
    options.names = {"n1", "n2", "n3"};
    return options;
  }

  absl::StatusOr<head::SessionInfo> Open(const std::string& node) {
    auto answer =
        std::make_shared<std::optional<absl::StatusOr<head::SessionInfo>>>();
    head::SessionParams params;
    params.id = kSession;
    params.window = 8;
    params.lease = absl::Seconds(30);
    rig_.node(node).head().OpenSession(
        params, rig_.now(),
        [answer](absl::StatusOr<head::SessionInfo> session) {
          *answer = std::move(session);
        });
    rig_.Settle();
    return answer->value_or(absl::UnknownError("no answer"));
  }

  absl::Status Close(const std::string& node) {
    auto answer = std::make_shared<absl::Status>(absl::UnknownError("none"));
    rig_.node(node).head().CloseSession(
        kSession, rig_.now(),
        [answer](absl::Status status) { *answer = std::move(status); });
    rig_.Settle();
    return *answer;
  }

  std::shared_ptr<Issued> Mutate(uint64_t number, const std::string& function,
                                 const std::string& arguments) {
    auto issued = std::make_shared<Issued>();
    issued->request.function = function;
    issued->request.arguments = arguments;
    issued->request.client_id = kSession;
    issued->request.number = number;
    issued->request.in_session = true;
    rig_.Retry(issued);
    rig_.Settle();
    return issued;
  }
  std::shared_ptr<Issued> PutValue(uint64_t number, const std::string& value) {
    kamino::v1::PutRequest put;
    put.set_key("key");
    put.set_value(value);
    return Mutate(number, replica::kPutFunction, put.SerializeAsString());
  }

  std::optional<head::SessionInfo> Find(const std::string& node) {
    return rig_.node(node).head().FindSession(kSession);
  }

  ChainRig rig_;
};

TEST_F(SessionsTest, OnlyTheHeadKnowsSessions) {
  for (const char* name : {"n2", "n3"}) {
    EXPECT_EQ(ReasonOf(Open(name).status()), kamino::v1::REASON_NOT_HEAD);
    EXPECT_EQ(ReasonOf(Close(name)), kamino::v1::REASON_NOT_HEAD);
  }
  ASSERT_TRUE(Open("n1").ok());
  EXPECT_TRUE(Find("n1").has_value());
  for (const char* name : {"n2", "n3"}) {
    rig_.node(name).head().HearSession(kSession, rig_.now());
    EXPECT_FALSE(Find(name).has_value());
  }
  EXPECT_EQ(rig_.node("n1").head().admission_stats()->sessions, 1u);
}

TEST_F(SessionsTest, ANewHeadKeepsSessions) {
  const auto opened = Open("n1");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto first = PutValue(1, "first");
  ASSERT_TRUE(first->acknowledged()) << first->outcome.status;
  const auto voided = Mutate(2, replica::kVoidFunction, "");
  ASSERT_TRUE(voided->acknowledged()) << voided->outcome.status;
  rig_.CutPower("n1", 1);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  const auto found = Find("n2");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->window, 8u);
  EXPECT_EQ(found->lease, absl::Seconds(30));
  EXPECT_EQ(found->opened, opened->opened);
  EXPECT_EQ(Open("n2")->opened, opened->opened);
  const auto again = PutValue(1, "again");
  EXPECT_TRUE(again->acknowledged());
  EXPECT_EQ(again->outcome.sequence, first->outcome.sequence);
  const auto late = PutValue(2, "late");
  EXPECT_TRUE(late->acknowledged());
  EXPECT_TRUE(late->outcome.voided);
  EXPECT_TRUE(PutValue(9, "next")->acknowledged());
  EXPECT_EQ(rig_.ReadAll("n2")->at("object key"), "next");
  EXPECT_EQ(*rig_.ReadAll("n2"), *rig_.ReadAll("n3"));
  EXPECT_TRUE(Close("n2").ok());
  EXPECT_EQ(rig_.node("n2").heap().stats().bytes_used,
            rig_.node("n3").heap().stats().bytes_used);
}

TEST_F(SessionsTest, ANewHeadKnowsInFlightMutations) {
  ASSERT_TRUE(Open("n1").ok());
  // The tail has it, and the head does not hear of that.
  rig_.SetFilter([](const std::string&, const std::string& to,
                    kamino::internal::v1::ChainMessage*,
                    std::string*) { return to != "n1"; });
  const auto put = PutValue(1, "value");
  EXPECT_EQ(put->answers, 0);
  rig_.CutPower("n1", 1);
  rig_.SetFilter(nullptr);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  const auto voided = Mutate(1, replica::kVoidFunction, "");
  EXPECT_TRUE(voided->acknowledged()) << voided->outcome.status;
  EXPECT_FALSE(voided->outcome.voided);
  EXPECT_EQ(rig_.ReadAll("n3")->at("object key"), "value");
}

}  // namespace
}  // namespace kamino::node
