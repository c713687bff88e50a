#include "bench/service/subjects.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::bench::service {
namespace {

constexpr int kMostConnections = 1024;

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("subject '", text, "': ", why));
}

absl::Status ParseProcesses(absl::string_view text,
                            std::vector<Process>* processes) {
  for (absl::string_view each : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> halves = absl::StrSplit(each, ':');
    Process process;
    if (halves.size() != 2 || halves[0].empty() ||
        !absl::SimpleAtoi(halves[1], &process.pid) || process.pid < 1) {
      return Bad(text, "processes are role:pid");
    }
    process.role = halves[0];
    processes->push_back(process);
  }
  return absl::OkStatus();
}

absl::Status ParseCount(absl::string_view text, int least, int* count) {
  if (absl::SimpleAtoi(text, count) && *count >= least &&
      *count <= kMostConnections) {
    return absl::OkStatus();
  }
  return Bad(text, absl::StrCat("a number from ", least, " to ",
                                kMostConnections, " is wanted"));
}

absl::Status ParseSetting(absl::string_view name, absl::string_view value,
                          SubjectSpec* spec) {
  if (name == "name") {
    spec->name = std::string(value);
  } else if (name == "kind") {
    spec->kind = std::string(value);
  } else if (name == "at") {
    spec->addresses = absl::StrSplit(value, ',', absl::SkipEmpty());
  } else if (name == "processes") {
    return ParseProcesses(value, &spec->processes);
  } else if (name == "carrier") {
    spec->carrier = std::string(value);
  } else if (name == "writing") {
    return ParseCount(value, 1, &spec->redis.writing);
  } else if (name == "reading") {
    return ParseCount(value, 1, &spec->redis.reading);
  } else if (name == "connections") {
    return ParseCount(value, 1, &spec->connections);
  } else if (name == "replicas") {
    return ParseCount(value, 0, &spec->redis.replicas);
  } else if (name == "about") {
    spec->about = std::string(value);
  } else {
    return Bad(name, "there is no such setting");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SubjectSpec> ParseSubject(absl::string_view text) {
  SubjectSpec spec;
  for (absl::string_view each : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> setting =
        absl::StrSplit(each, absl::MaxSplits('=', 1));
    RETURN_IF_ERROR(ParseSetting(setting.first, setting.second, &spec));
  }
  if (spec.name.empty()) return Bad(text, "it has no name");
  if (spec.kind != "kamino" && spec.kind != "redis" && spec.kind != "etcd") {
    return Bad(text, "kind is kamino, redis or etcd");
  }
  if (spec.addresses.empty()) return Bad(text, "at names no address");
  return spec;
}

absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const SubjectSpec& spec) {
  if (spec.kind == "redis") {
    return MakeRedis(spec.name, spec.addresses.front(), spec.redis);
  }
  if (spec.kind == "etcd") {
    return MakeEtcd(spec.name, spec.addresses.front(), spec.connections);
  }
  return MakeKamino(spec.name, spec.carrier, spec.addresses);
}

}  // namespace kamino::bench::service
