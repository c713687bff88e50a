#include "client/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/cli/table.h"

namespace kamino::client {
namespace {

constexpr int kBarWidth = 30;
constexpr absl::Duration kRedraw = absl::Milliseconds(200);

}  // namespace

Progress::Progress(std::string what, std::optional<uint64_t> total,
                   bool terminal)
    : what_(std::move(what)),
      total_(total),
      terminal_(terminal),
      begun_(MonotonicNow()) {}

Progress::Progress(std::string what, uint64_t total)
    : Progress(std::move(what), std::make_optional(total),
               isatty(STDERR_FILENO) == 1) {}

Progress Progress::OfBytes(std::string what) {
  return Progress(std::move(what), std::nullopt, isatty(STDERR_FILENO) == 1);
}

Progress::~Progress() {
  if (!is_ended_) std::cerr << "\n";
}

void Progress::Show(uint64_t done) {
  if (total_.has_value()) {
    ShowOf(*total_, done);
  } else {
    ShowBytes(done);
  }
}

void Progress::ShowOf(uint64_t total, uint64_t done) {
  const int percent = total == 0 ? 100 : static_cast<int>(done * 100 / total);
  if (!terminal_ || percent == shown_) return;
  shown_ = percent;
  is_ended_ = percent == 100;
  const int filled = kBarWidth * percent / 100;
  std::cerr << absl::StrCat("\r", what_, " [", std::string(filled, '#'),
                            std::string(kBarWidth - filled, '.'), "] ", done,
                            "/", total, is_ended_ ? "\n" : "");
  std::cerr.flush();
}

void Progress::ShowBytes(uint64_t done) {
  const absl::Time now = MonotonicNow();
  if (!terminal_ || now - drawn_ < kRedraw) return;
  drawn_ = now;
  is_ended_ = false;
  const double seconds = std::max(absl::ToDoubleSeconds(now - begun_), 1e-6);
  const auto rate = static_cast<uint64_t>(static_cast<double>(done) / seconds);
  std::cerr << absl::StrCat("\r", what_, ": ", FormatBytes(done), ", ",
                            FormatBytes(rate), "/s   ");
  std::cerr.flush();
}

}  // namespace kamino::client
