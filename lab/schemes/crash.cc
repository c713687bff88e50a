#include "lab/schemes/crash.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"
#include "bench/engine/workload.h"
#include "engine/baselines/open_store.h"
#include "lab/schemes/part.h"

extern char** environ;

namespace kamino::bench::schemes {
namespace {

using engine::ObjectId;
using engine::Transaction;

constexpr uint32_t kObjectBytes = 1024;
constexpr uint64_t kLoadBatch = 16;
constexpr char kReady[] = "filled";

using Store = std::unique_ptr<engine::TransactionalStore>;

// Anonymous memory of this process, without files and shared memory.
uint64_t DramBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    uint64_t kib = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "RssAnon:") &&
        absl::ConsumeSuffix(&rest, " kB") && absl::SimpleAtoi(rest, &kib)) {
      return kib << 10;
    }
  }
  return 0;
}

// As many as `ids` has room for.
absl::Status MakeObjects(const Store& store, std::vector<ObjectId>* ids) {
  uint64_t retries = 0;
  for (size_t made = 0; made < ids->size();) {
    const size_t end = std::min<size_t>(made + kLoadBatch, ids->size());
    RETURN_IF_ERROR(Transact(*store, &retries, [&](Transaction& transaction) {
      for (size_t i = made; i < end; ++i) {
        ASSIGN_OR_RETURN((*ids)[i], transaction.Alloc(kObjectBytes));
      }
      return absl::OkStatus();
    }));
    made = end;
  }
  // Nothing of the load is left to recovery.
  store->Quiesce();
  return absl::OkStatus();
}

absl::Status Fill(Transaction& transaction, ObjectId id, Random& random) {
  std::vector<std::byte> bytes(kObjectBytes);
  for (std::byte& byte : bytes) byte = std::byte(random.Next());
  return transaction.Overwrite(id, 0, bytes);
}

}  // namespace

std::string ToWord(const CrashPlan& plan) {
  return absl::StrCat(plan.scheme, ":", plan.bytes, ":", plan.objects, ":",
                      plan.committed, ":", plan.open, ":", plan.path);
}

absl::StatusOr<CrashPlan> FromWord(const std::string& word) {
  const std::vector<std::string> parts =
      absl::StrSplit(word, absl::MaxSplits(':', 5));
  CrashPlan plan;
  if (parts.size() != 6 || !absl::SimpleAtoi(parts[1], &plan.bytes) ||
      !absl::SimpleAtoi(parts[2], &plan.objects) ||
      !absl::SimpleAtoi(parts[3], &plan.committed) ||
      !absl::SimpleAtoi(parts[4], &plan.open)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", word, "' is no plan of a crash"));
  }
  plan.scheme = parts[0];
  plan.path = parts[5];
  return plan;
}

absl::Status FillAndWait(const CrashPlan& plan) {
  engine::StoreOptions options;
  options.mode = engine::PmemMode::kForce;
  options.background = false;
  std::vector<ObjectId> ids(plan.objects, engine::kNullObject);
  const uint64_t before = DramBytes();
  ASSIGN_OR_RETURN(const auto store, engine::OpenStore(plan.scheme, plan.path,
                                                       plan.bytes, options));
  RETURN_IF_ERROR(MakeObjects(store, &ids));
  Random random(1);
  // The first are the open transaction's.
  const uint64_t first = plan.open / kObjectBytes;
  if (first + kObjectsEach >= ids.size()) {
    return absl::InvalidArgumentError("too few objects for the plan");
  }
  uint64_t committed = 0;
  for (uint64_t at = first; committed < plan.committed; ++committed) {
    const auto transaction = store->Begin(kPatient);
    absl::Status done;
    for (uint64_t i = 0; i < kObjectsEach && done.ok(); ++i, ++at) {
      if (at == ids.size()) at = first;
      done = Fill(*transaction, ids[at], random);
    }
    if (done.ok()) done = transaction->Commit();
    if (absl::IsResourceExhausted(done)) break;
    RETURN_IF_ERROR(done);
  }
  // Measured in use, so it includes memory for work that is put off.
  const uint64_t dram = DramBytes() - before;
  const uint64_t persistent = store->bytes_used();
  const auto open = store->Begin(kPatient);
  uint64_t written = 0;
  for (uint64_t i = 0; i < first; ++i, written += kObjectBytes) {
    absl::Status filled = Fill(*open, ids[i], random);
    if (absl::IsResourceExhausted(filled)) break;
    RETURN_IF_ERROR(filled);
  }
  std::cout << kReady << " " << committed << " " << written << " " << persistent
            << " " << dram << std::endl;
  for (;;) pause();
}

absl::StatusOr<Filled> CrashChild(const std::string& program,
                                  const CrashPlan& plan) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string name = program, flag = absl::StrCat("--crash=", ToWord(plan));
  char* words[] = {name.data(), flag.data(), nullptr};
  pid_t child = 0;
  const int spawned =
      posix_spawn(&child, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::FILE* const out = fdopen(ends[0], "r");
  char line[256] = "";
  const bool told =
      spawned == 0 && std::fgets(line, sizeof(line), out) != nullptr;
  std::fclose(out);
  if (spawned != 0) {
    return absl::InternalError(absl::StrCat("cannot start ", program));
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const std::vector<std::string> parts =
      absl::StrSplit(absl::StripSuffix(line, "\n"), ' ');
  Filled filled;
  if (!told || parts.size() != 5 || parts[0] != kReady ||
      !absl::SimpleAtoi(parts[1], &filled.committed) ||
      !absl::SimpleAtoi(parts[2], &filled.open) ||
      !absl::SimpleAtoi(parts[3], &filled.persistent) ||
      !absl::SimpleAtoi(parts[4], &filled.dram)) {
    return absl::InternalError(absl::StrCat(
        plan.scheme, ": the process that was to crash ended: ", line));
  }
  return filled;
}

}  // namespace kamino::bench::schemes
