#include "lab/controller/trace_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::bench::controller {
namespace {

constexpr absl::string_view kThread = "thread";

std::optional<EventKind> KindNamed(absl::string_view name) {
  for (int i = 0; i < kEventKinds; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if (EventName(kind) == name) return kind;
  }
  return std::nullopt;
}

// Empty where the line is none.
std::optional<Event> ParseEvent(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  const std::optional<EventKind> kind = KindNamed(words[0]);
  if (!kind.has_value()) return std::nullopt;
  Event event{*kind};
  const bool sized = HasAddress(*kind) || *kind == EventKind::kCompute;
  const size_t expected = 1 + (HasAddress(*kind) ? 1 : 0) + (sized ? 1 : 0);
  if (words.size() != expected) return std::nullopt;
  if (HasAddress(*kind) && !absl::SimpleHexAtoi(words[1], &event.address)) {
    return std::nullopt;
  }
  if (sized && !absl::SimpleAtoi(words.back(), &event.size)) {
    return std::nullopt;
  }
  return event;
}

absl::Status Bad(int line, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", why));
}

}  // namespace

std::string WriteTrace(const Trace& trace) {
  std::string text = absl::StrCat(kTraceHead, "\n");
  for (const std::vector<Event>& events : trace.threads) {
    absl::StrAppend(&text, kThread, "\n");
    for (const Event& event : events) {
      absl::StrAppend(&text, EventName(event.kind));
      if (HasAddress(event.kind)) {
        absl::StrAppend(&text, " ", absl::Hex(event.address), " ", event.size);
      } else if (event.kind == EventKind::kCompute) {
        absl::StrAppend(&text, " ", event.size);
      }
      text.push_back('\n');
    }
  }
  return text;
}

absl::StatusOr<Trace> ParseTrace(absl::string_view text) {
  Trace trace;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (number == 1) {
      if (line != kTraceHead) {
        return Bad(number, absl::StrCat("expected ", kTraceHead));
      }
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    if (line == kThread) {
      trace.threads.emplace_back();
      continue;
    }
    const std::optional<Event> event = ParseEvent(line);
    if (!event.has_value()) return Bad(number, "no event");
    if (trace.threads.empty()) return Bad(number, "before the first thread");
    trace.threads.back().push_back(*event);
  }
  RETURN_IF_ERROR(CheckTrace(trace));
  return trace;
}

absl::StatusOr<Trace> LoadTrace(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) {
    return absl::UnavailableError(absl::StrCat("cannot read ", path));
  }
  return ParseTrace(text.str());
}

absl::Status SaveTrace(const Trace& trace, const std::string& path) {
  std::ofstream file(path);
  file << WriteTrace(trace);
  file.close();
  if (!file) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::controller
