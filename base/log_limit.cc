#include "base/log_limit.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino {

std::optional<std::string> LogLimit::Take(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    told_ = 0;
  }
  if (told_ >= kLinesPerSecond) {
    ++left_out_;
    return std::nullopt;
  }
  ++told_;
  const int64_t left_out = std::exchange(left_out_, 0);
  if (left_out == 0) return "";
  return absl::StrCat(" (", left_out, " lines like this one were left out)");
}

}  // namespace kamino
