#include "tests/node/driver/torn_change.h"

namespace kamino::node {

using kamino::v1::Operation;

void Prepare(ChainRig& rig) {
  rig.StartAll();
  rig.InstallView(rig.names());
  rig.Settle();
  for (int i = 0; i < 8; ++i) {
    rig.Submit(i + 1, {Put(absl::StrCat("old", i), std::string(300, 'a' + i))});
    rig.Settle(2);
  }
  ASSERT_EQ(rig.Difference(), "");
}

std::vector<Operation> Change() {
  return {Put("new0", std::string(500, 'x')), Patch("old0", 10, "patched"),
          Delete("old1"), Put("old2", std::string(300, 'y')),
          Put("new1", std::string(200, 'z'))};
}

std::shared_ptr<Issued> CutWithinChange(ChainRig& rig,
                                        const std::string& victim,
                                        ChainRig::Moment moment, int count) {
  rig.CutPowerAt(victim, moment, count);
  auto change = rig.Submit(1, Change());
  rig.Settle(3);
  return rig.tear(victim).happened ? change : nullptr;
}

void ExpectGoesOn(ChainRig& rig,
                  const std::vector<std::shared_ptr<Issued>>& cut) {
  const auto expect_answers =
      [&rig](const std::vector<std::shared_ptr<Issued>>& all) {
        rig.Settle();
        for (const auto& issued : all) {
          EXPECT_EQ(issued->answers, 1);
          EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
        }
        EXPECT_EQ(rig.Difference(), "");
      };
  expect_answers(cut);
  expect_answers({rig.Submit(20, {Put("after", std::string(400, 'q'))}),
                  rig.Submit(21, {Delete("old3")}),
                  rig.Submit(22, {Patch("old4", 0, "again")})});
}

void Tally::Add(const Tear& tear) {
  ++cuts;
  torn += tear.torn();
  partly += tear.torn() && tear.touched < tear.intents;
}

}  // namespace kamino::node
