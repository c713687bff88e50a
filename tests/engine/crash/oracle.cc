#include "tests/engine/crash/oracle.h"

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash/session.h"

namespace kamino::engine::crash {
namespace {

absl::Status Annotate(absl::string_view when, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(when, ": ", status.message()));
}

// Writes over objects and takes it back: their copies must be right.
absl::Status AbortOver(Rig& rig, const World& world,
                       const std::vector<ObjectId>& objects) {
  auto transaction = rig.store().Begin(absl::ZeroDuration());
  for (ObjectId id : objects) {
    const auto found = world.objects.find(id);
    if (found == world.objects.end()) continue;
    const uint32_t size = found->second->size();
    auto bytes = transaction->Write(id, 0, size);
    if (absl::IsResourceExhausted(bytes.status())) break;
    if (!bytes.ok()) return bytes.status();
    std::memset(*bytes, '#', size);
  }
  return transaction->Abort();
}

}  // namespace

absl::StatusOr<WorldPointer> CheckRecovered(Rig& rig,
                                            const Expectation& expected) {
  const absl::Status before = CheckObjects(rig, *expected.before);
  if (before.ok()) return expected.before;
  if (expected.after == nullptr) {
    return Annotate("not the state of the last commit", before);
  }
  const absl::Status after = CheckObjects(rig, *expected.after);
  if (after.ok()) return expected.after;
  return absl::InternalError(
      absl::StrCat("neither the state before the commit (", before.message(),
                   ") nor the one after it (", after.message(), ")"));
}

absl::Status CheckGoesOn(Rig& rig, const World& world,
                         const std::vector<ObjectId>& recent, uint64_t seed) {
  absl::Status checked = AbortOver(rig, world, recent);
  if (checked.ok()) checked = CheckObjects(rig, world);
  if (!checked.ok()) return Annotate("after recovery and an abort", checked);

  std::mt19937_64 random(seed);
  World now = world;
  for (int i = 0; i < 2; ++i) {
    Session session(&rig, random() % kDirectories, &random, [] {});
    absl::Status done;
    for (int k = 0; k < 2 && done.ok(); ++k) done = session.DoSomething();
    if (done.ok()) {
      auto outcome = session.Outcome(now);
      if (!outcome.ok())
        return Annotate("reading its own writes", outcome.status());
      done = session.transaction().Commit();
      if (done.ok()) now = std::move(*outcome);
      if (absl::IsResourceExhausted(done)) done = absl::OkStatus();  // aborted
    } else {
      if (!session.Expected(done)) {
        return Annotate(absl::StrCat("after recovery, ", session.what()), done);
      }
      done = session.transaction().Abort();
    }
    if (!done.ok()) return Annotate("ending a transaction", done);
    rig.store().Quiesce();
  }
  return Annotate("after recovery and two transactions",
                  CheckObjects(rig, now));
}

}  // namespace kamino::engine::crash
