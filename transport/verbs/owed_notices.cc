#include "transport/verbs/owed_notices.h"

#include "base/status_macros.h"

namespace kamino::transport {

bool OwedNotices::AddWant() {
  if (asks_) return false;
  asks_ = true;
  want_ = true;
  return true;
}

void OwedNotices::AddReport(Notice report, uint64_t head) {
  consumed_ = head;
  (report == Notice::kAnswer ? answer_ : head_) = true;
}

absl::Status OwedNotices::SendOver(VerbsWire* wire) {
  const struct {
    bool* owed;
    Notice notice;
    uint64_t position;
    // A blocked sender waits for the completion of all earlier writes, too.
    bool signaled;
  } notices[] = {{&hello_, Notice::kHello, 0, false},
                 {&answer_, Notice::kAnswer, consumed_, false},
                 {&head_, Notice::kHead, consumed_, false},
                 {&want_, Notice::kWant, 0, true}};
  for (const auto& each : notices) {
    if (!*each.owed) continue;
    if (!wire->CanNotify()) break;
    *each.owed = false;
    RETURN_IF_ERROR(
        wire->SendNotice(each.notice, each.position, each.signaled));
  }
  return absl::OkStatus();
}

}  // namespace kamino::transport
