#include "membership/manager/manager_log.h"

#include <string>
#include <vector>

#include "base/chain_mode.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class Warnings final : public google::LogSink {
 public:
  Warnings() { google::AddLogSink(this); }
  ~Warnings() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity severity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message,
            size_t length) override {
    if (severity == google::GLOG_WARNING) told.emplace_back(message, length);
  }

  std::vector<std::string> told;
};

// The log lines of a manager when a chain of that many nodes forms.
std::vector<std::string> ToldOf(ChainMode mode, size_t nodes) {
  absl::Time now = absl::UnixEpoch();
  ManagerOptions options;
  options.cluster_id = "c";
  options.chain_length = nodes;
  ManagerCore core(options);
  core.BecomeLeader(View(), options.lease(), now);
  core.ExtendLeadership(absl::InfiniteFuture());
  for (size_t i = 1; i <= nodes; ++i) {
    Member member = Node("n" + std::to_string(i));
    const auto number = static_cast<uint64_t>(mode);
    member.agreement = {{std::string(kChainModeTerm), {number, number}}};
    EXPECT_EQ(core.Register("c", member, {.condition = Condition::kFresh}, now),
              absl::OkStatus());
  }
  ManagerLog log;
  Warnings warnings;
  log.Tell(core, now);
  EXPECT_TRUE(warnings.told.empty()) << "no view yet";
  const auto view = core.ProposeView(now);
  EXPECT_TRUE(view.has_value());
  if (view.has_value()) core.OnViewStored(*view);
  for (int i = 0; i < 3; ++i) log.Tell(core, now);
  return warnings.told;
}

TEST(ManagerLogTest, AChainTooShortForItsModeIsLoggedOnce) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(ToldOf(ChainMode::kKamino, 3), Lines());
  EXPECT_EQ(ToldOf(ChainMode::kKamino, 2),
            Lines{"in mode kamino a chain of 2 (--chain_length) does not "
                  "survive every failure of a node; use at least 3: after a "
                  "power cut it continues only once all of its nodes are "
                  "back"});
  for (const ChainMode mode : {ChainMode::kTraditional, ChainMode::kImages}) {
    EXPECT_EQ(ToldOf(mode, 2), Lines());
    const Lines told = ToldOf(mode, 1);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0], WhyTooShort(mode, 1));
  }
}

class SilentNodesTest : public ManagerCoreTest {
 protected:
  // The log lines about silent nodes and returned ones.
  std::vector<std::string> Told() {
    std::vector<std::string> lines;
    for (const ChainEvent& event : log_.events().kept()) {
      if (event.text.find("heard of") != event.text.npos) {
        lines.push_back(event.text);
      }
    }
    return lines;
  }

  ManagerLog log_;
};

TEST_F(SilentNodesTest, ASilentNodeIsLoggedOnce) {
  FormChain();
  HearMembers();
  log_.Tell(core_, now_);
  EXPECT_EQ(Told(), std::vector<std::string>());
  for (int i = 0; i < 20; ++i) {
    Pass(kBeat, {Node("n1"), Node("n2")});
    log_.Tell(core_, now_);
  }
  ASSERT_EQ(Told().size(), 1u);
  EXPECT_EQ(Told()[0].find("n3 was not heard of for 1s"), 0u) << Told()[0];
}

// It calls, and the manager refuses the call.
TEST_F(SilentNodesTest, AnExpelledMemberIsNotLoggedAsSilent) {
  FormChain();
  HearMembers();
  for (const absl::Time end = now_ + 3 * kTimeout; now_ < end;) {
    now_ += kBeat;
    for (const Member& member : all_) {
      NodeReport report{.view_id = core_.view().id,
                        .condition = Condition::kSound};
      const bool reporting = member.node_id == "n1" && core_.view().id == 1;
      if (reporting) report.append_wait = absl::Seconds(5);
      core_.Heartbeat("c", {member.node_id, 1, report}, now_).IgnoreError();
    }
    if (auto view = core_.ProposeView(now_)) core_.OnViewStored(*view);
    log_.Tell(core_, now_);
  }
  EXPECT_EQ(core_.view().members.size(), 2u);
  EXPECT_EQ(Told(), std::vector<std::string>());
}

}  // namespace
}  // namespace kamino::membership
