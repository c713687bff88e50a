#include "tests/engine/crash/oracle.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "tests/engine/crash/session.h"

namespace kamino::engine::crash {
namespace {

absl::Status Annotate(absl::string_view when, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(when, ": ", status.message()));
}

// Overwrites objects and aborts: their copies must be right. The store is at
// rest, so that no transaction waits for another's room.
absl::Status AbortOver(Rig& rig, const World& world,
                       const std::vector<ObjectId>& objects) {
  auto transaction = rig.store().Begin(absl::ZeroDuration());
  for (ObjectId id : objects) {
    const auto found = world.objects.find(id);
    if (found == world.objects.end()) continue;
    const uint32_t size = found->second->size();
    auto bytes = transaction->Write(id, 0, size);
    if (ResourceOf(bytes.status()) == Resource::kLog) {
      return Annotate("with nobody to wait for", bytes.status());
    }
    if (absl::IsResourceExhausted(bytes.status())) break;
    if (!bytes.ok()) return bytes.status();
    std::memset(*bytes, '#', size);
  }
  return transaction->Abort();
}

}  // namespace

absl::StatusOr<Found> CheckRecovered(Rig& rig, const Expectation& expected) {
  const size_t count = expected.in_flight.size();
  uint64_t most = expected.sequence;
  for (const InFlight& one : expected.in_flight) {
    most = std::max(most, one.sequence);
  }
  std::string wrong;
  for (uint32_t mask = 0; mask < uint32_t{1} << count; ++mask) {
    Found found{expected.before, expected.sequence, {}};
    if (mask != 0) {
      World world = *expected.before;
      for (size_t i = 0; i < count; ++i) {
        if ((mask >> i & 1) == 0) continue;
        Apply(*expected.in_flight[i].change, &world);
        found.sequence =
            std::max(found.sequence, expected.in_flight[i].sequence);
      }
      found.world = std::make_shared<const World>(std::move(world));
    }
    const absl::Status there = CheckObjects(rig, *found.world);
    if (!there.ok()) {
      absl::StrAppend(&wrong, wrong.empty() ? "" : "; ",
                      mask == 0 ? "not the state acknowledged"
                                : "nor that with some in flight",
                      ": ", there.message());
      continue;
    }
    const auto last = rig.last_sequence();
    // A transaction in flight may have changed nothing.
    if (last.has_value() && (*last < found.sequence || *last > most)) {
      return absl::InternalError(absl::StrCat("the last sequence is ", *last,
                                              ", not from ", found.sequence,
                                              " to ", most));
    }
    if (last.has_value()) found.sequence = *last;
    return found;
  }
  return absl::InternalError(wrong);
}

absl::StatusOr<Found> CheckLagging(Rig& rig, const Expectation& expected,
                                   uint64_t durable,
                                   const std::set<ObjectId>& may_be_lost) {
  std::vector<InFlight> steps = expected.lagging;
  for (const InFlight& one : expected.in_flight) {
    if (*one.place != 0) steps.push_back(one);
  }
  std::stable_sort(
      steps.begin(), steps.end(),
      [](const InFlight& a, const InFlight& b) { return *a.place < *b.place; });
  const uint64_t most = steps.empty() ? expected.sequence : *steps.back().place;
  const RecoveryReport report = rig.store().recovery_report();
  if (report.last_sequence < durable || report.last_sequence > most) {
    return absl::InternalError(
        absl::StrCat("recovery says that ", report.last_sequence,
                     " is the last one; what is durable goes up to ", durable,
                     ", what is committed up to ", most));
  }
  World world = *expected.before;
  for (const InFlight& step : steps) {
    if (*step.place <= report.last_sequence) Apply(*step.change, &world);
  }
  Found found;
  found.sequence = report.last_sequence;
  found.lost.insert(report.lost_objects.begin(), report.lost_objects.end());
  for (ObjectId id : found.lost) {
    if (world.objects.count(id) > 0 && may_be_lost.count(id) > 0) continue;
    return absl::InternalError(absl::StrCat(
        "object ", id, " is reported lost, and ",
        world.objects.count(id) == 0 ? "is not there" : "could be repaired"));
  }
  const absl::Status there = CheckObjects(rig, world, found.lost);
  if (!there.ok()) {
    return Annotate(absl::StrCat("the state up to ", found.sequence, " of ",
                                 durable, " to ", most),
                    there);
  }
  found.world = std::make_shared<const World>(std::move(world));
  return found;
}

absl::Status CheckCopies(Rig& rig, const World& world) {
  // One at a time: no undo copy has room for all.
  for (const auto& [id, unused] : world.objects) {
    absl::Status checked = AbortOver(rig, world, {id});
    if (!checked.ok()) return checked;
  }
  return CheckObjects(rig, world);
}

absl::Status CheckGoesOn(Rig& rig, const World& world,
                         const std::vector<ObjectId>& recent, uint64_t seed) {
  absl::Status checked = AbortOver(rig, world, recent);
  if (checked.ok()) checked = CheckObjects(rig, world);
  if (!checked.ok()) return Annotate("after recovery and an abort", checked);

  std::mt19937_64 random(seed);
  auto now = std::make_shared<const World>(world);
  CommitOptions options;
  options.sequence = rig.last_sequence().value_or(0);
  for (int i = 0; i < 2; ++i) {
    Session session(&rig, random() % kDirectories, &now, &random, [] {});
    absl::Status done;
    for (int k = 0; k < 2 && done.ok(); ++k) done = session.DoSomething();
    if (done.ok()) {
      session.StoreLater();
      auto change = session.Changes();
      if (!change.ok())
        return Annotate("reading its own writes", change.status());
      ++options.sequence;
      done = session.transaction().Commit(options);
      if (done.ok()) {
        World after = *now;
        Apply(*change, &after);
        now = std::make_shared<const World>(std::move(after));
      }
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
                  CheckObjects(rig, *now));
}

}  // namespace kamino::engine::crash
