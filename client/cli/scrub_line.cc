#include "client/cli/scrub_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace kamino::client {

std::string ScrubLine(const kamino::v1::ScrubStatus& scrub) {
  if (scrub.ranges() == 0) return "scrub: off\n";
  const bool between = scrub.between_passes() && !scrub.in_doubt();
  std::string line =
      !scrub.on() ? "scrub: off"
      : between   ? "scrub: between two passes"
                  : absl::StrFormat("scrub: %.0f%% of this pass",
                                    100.0 * scrub.next() / scrub.ranges());
  if (scrub.passes() > 0) {
    absl::StrAppend(
        &line, "; the last one took ",
        absl::FormatDuration(absl::Milliseconds(scrub.took_ms())),
        " and ended ",
        absl::ToInt64Seconds(absl::Milliseconds(scrub.ended_ms_ago())),
        "s ago");
  }
  if (scrub.differences() > 0) {
    absl::StrAppend(&line, "; ", scrub.differences(),
                    " differences, the last: ", scrub.last_found());
  }
  if (scrub.in_doubt()) {
    absl::StrAppend(&line, "; nothing is served, because range ", scrub.next(),
                    " may be wrong (it is compared again each second; see "
                    "docs/design/recovery.md, Scrub)");
  }
  return line + "\n";
}

}  // namespace kamino::client
