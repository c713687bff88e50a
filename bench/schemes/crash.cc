#include "bench/schemes/crash.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"
#include "bench/engine/workload.h"
#include "bench/schemes/part.h"
#include "engine/baselines/open_store.h"

extern char** environ;

namespace kamino::bench::schemes {
namespace {

using engine::ObjectId;
using engine::Transaction;

constexpr uint32_t kObjectBytes = 1024;
constexpr uint64_t kLoadBatch = 16;
constexpr char kReady[] = "filled";

using Store = std::unique_ptr<engine::TransactionalStore>;

absl::StatusOr<std::vector<ObjectId>> MakeObjects(const Store& store,
                                                  uint64_t count) {
  std::vector<ObjectId> ids;
  uint64_t retries = 0;
  while (ids.size() < count) {
    const size_t before = ids.size();
    RETURN_IF_ERROR(Transact(*store, &retries, [&](Transaction& transaction) {
      ids.resize(before);
      for (uint64_t i = 0; i < kLoadBatch; ++i) {
        ASSIGN_OR_RETURN(const auto id, transaction.Alloc(kObjectBytes));
        ids.push_back(id);
      }
      return absl::OkStatus();
    }));
  }
  // Nothing of the load is left to recovery.
  store->Quiesce();
  return ids;
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
  ASSIGN_OR_RETURN(const auto store, engine::OpenStore(plan.scheme, plan.path,
                                                       plan.bytes, options));
  ASSIGN_OR_RETURN(const auto ids, MakeObjects(store, plan.objects));
  Random random(1);
  // The first are the open transaction's.
  const uint64_t first = plan.open / kObjectBytes;
  if (first + 1 >= ids.size()) {
    return absl::InvalidArgumentError("too few objects for the plan");
  }
  uint64_t committed = 0;
  for (; committed < plan.committed; committed += kObjectBytes) {
    const ObjectId id = ids[first + random.Below(ids.size() - first)];
    const auto transaction = store->Begin(kPatient);
    absl::Status done = Fill(*transaction, id, random);
    if (done.ok()) done = transaction->Commit();
    if (absl::IsResourceExhausted(done)) break;
    RETURN_IF_ERROR(done);
  }
  const auto open = store->Begin(kPatient);
  uint64_t written = 0;
  for (uint64_t i = 0; i < first; ++i, written += kObjectBytes) {
    absl::Status filled = Fill(*open, ids[i], random);
    if (absl::IsResourceExhausted(filled)) break;
    RETURN_IF_ERROR(filled);
  }
  std::cout << kReady << " " << committed << " " << written << std::endl;
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
  if (!told || parts.size() != 3 || parts[0] != kReady ||
      !absl::SimpleAtoi(parts[1], &filled.committed) ||
      !absl::SimpleAtoi(parts[2], &filled.open)) {
    return absl::InternalError(absl::StrCat(
        plan.scheme, ": the process that was to crash ended: ", line));
  }
  return filled;
}

}  // namespace kamino::bench::schemes
