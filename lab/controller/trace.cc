#include "lab/controller/trace.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace kamino::bench::controller {
namespace {

// The error of an event after those before it; empty: none. Updates `in_wrap`.
std::string Wrong(const Event& event, bool* in_wrap) {
  if (HasAddress(event.kind)) {
    if (event.size == 0 || event.size > kMaxAccessBytes) {
      return absl::StrCat("accesses ", event.size, " bytes; 1 to ",
                          kMaxAccessBytes, " are allowed");
    }
    if (event.address >= kMaxAddress) {
      return absl::StrCat("an address over ", absl::Hex(kMaxAddress));
    }
  }
  switch (event.kind) {
    case EventKind::kOpen:
      if (*in_wrap) return "opens a wrap within another";
      *in_wrap = true;
      break;
    case EventKind::kClose:
      if (!*in_wrap) return "closes a wrap that is not open";
      *in_wrap = false;
      break;
    case EventKind::kBegin:
      if (*in_wrap) return "begins other work within a wrap";
      break;
    default:
      break;
  }
  return "";
}

}  // namespace

absl::string_view EventName(EventKind kind) {
  switch (kind) {
    case EventKind::kBegin:
      return "begin";
    case EventKind::kOpen:
      return "open";
    case EventKind::kClose:
      return "close";
    case EventKind::kLoad:
      return "load";
    case EventKind::kStore:
      return "store";
    case EventKind::kFlush:
      return "flush";
    case EventKind::kDrain:
      return "drain";
    case EventKind::kCompute:
      break;
  }
  return "compute";
}

bool HasAddress(EventKind kind) {
  return kind == EventKind::kLoad || kind == EventKind::kStore ||
         kind == EventKind::kFlush;
}

absl::Status CheckTrace(const Trace& trace) {
  if (trace.threads.empty() || trace.threads.size() > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a trace of ", trace.threads.size(), " threads; 1 to ", kMaxThreads));
  }
  for (size_t thread = 0; thread < trace.threads.size(); ++thread) {
    const std::vector<Event>& events = trace.threads[thread];
    bool in_wrap = false;
    for (size_t i = 0; i < events.size(); ++i) {
      const std::string wrong = Wrong(events[i], &in_wrap);
      if (wrong.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("thread ", thread, ", event ", i, ": ", wrong));
    }
    if (in_wrap) {
      return absl::InvalidArgumentError(
          absl::StrCat("thread ", thread, " leaves a wrap open"));
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::controller
