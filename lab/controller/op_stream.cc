#include "lab/controller/op_stream.h"

#include "absl/types/span.h"

namespace kamino::bench::controller {

const Op* OpStream::Current() {
  if (next_op_ == ops_.size() && !TranslateNext()) return nullptr;
  return &ops_[next_op_];
}

bool OpStream::TranslateNext() {
  ops_.clear();
  next_op_ = 0;
  while (ops_.empty()) {
    if (next_event_ == events_.size()) return false;
    size_t end = next_event_ + 1;
    if (events_[next_event_].kind == EventKind::kOpen) {
      while (events_[end - 1].kind != EventKind::kClose) ++end;
    }
    Translate(
        method_, machine_,
        absl::MakeConstSpan(events_).subspan(next_event_, end - next_event_),
        &ops_);
    next_event_ = end;
  }
  return true;
}

}  // namespace kamino::bench::controller
