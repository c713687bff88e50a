#include "membership/condition.h"

namespace kamino::membership {

absl::string_view ConditionName(Condition condition) {
  switch (condition) {
    case Condition::kUnknown:
      return "unknown";
    case Condition::kFresh:
      return "fresh";
    case Condition::kSound:
      return "sound";
    case Condition::kTorn:
      return "torn";
    case Condition::kBehind:
      return "behind";
    case Condition::kReceiving:
      return "receiving";
    case Condition::kReturned:
      return "returned";
    case Condition::kOutrun:
      return "outrun";
  }
  return "unknown";
}

}  // namespace kamino::membership
