#include "node/driver/standing_board.h"

namespace kamino::node {
namespace {

// Bits of StandingBoard::bits_.
constexpr uint32_t kReadyBit = 1;
constexpr uint32_t kLeaseBit = 2;
constexpr uint32_t kUnlinkedBit = 4;
constexpr int kRoleShift = 8;
constexpr int kConditionShift = 16;

// A member whose links have never been up since its view began does not serve.
// Links usually come up within milliseconds; a node that cannot be reached at
// all leaves the chain after the failure timeout.
constexpr absl::Duration kMostUnlinked = absl::Seconds(5);

}  // namespace

void StandingBoard::OnTick(absl::Time now) {
  NoteCondition(now);
  ReportRole();
}

NodeStanding StandingBoard::standing() const {
  const uint32_t bits = bits_.load(std::memory_order_relaxed);
  return {(bits & kReadyBit) != 0, (bits & kLeaseBit) != 0,
          static_cast<membership::Role>(bits >> kRoleShift & 0xff),
          static_cast<membership::Condition>(bits >> kConditionShift),
          (bits & kUnlinkedBit) != 0};
}

const StandingBoard::Conditions& StandingBoard::ConditionsUntil(
    absl::Time now) {
  NoteCondition(now);
  return conditions_;
}

void StandingBoard::NoteCondition(absl::Time now) {
  conditions_[static_cast<size_t>(condition_)].time += now - since_;
  since_ = now;
  const membership::Condition condition =
      context_.chain->core().soundness().condition();
  if (condition == condition_) return;
  condition_ = condition;
  ++conditions_[static_cast<size_t>(condition)].times;
}

void StandingBoard::ReportRole() {
  const membership::View& view = context_.chain->core().view();
  const membership::Role role = context_.chain->core().place().role();
  const bool lease = view.formed() && context_.views->LeaseValid(view.id);
  const bool unlinked =
      context_.chain->core().link_table().never_linked() >= kMostUnlinked;
  const bool ready =
      lease && !unlinked && context_.chain->core().soundness().ready();
  bits_.store((ready ? kReadyBit : 0) | (lease ? kLeaseBit : 0) |
                  (unlinked ? kUnlinkedBit : 0) |
                  static_cast<uint32_t>(role) << kRoleShift |
                  static_cast<uint32_t>(condition_) << kConditionShift,
              std::memory_order_relaxed);
  const bool serves = lease && !unlinked;
  if (role == reported_role_ && serves == reported_serves_) return;
  reported_role_ = role;
  reported_serves_ = serves;
  context_.events.role(role, serves);
}

}  // namespace kamino::node
