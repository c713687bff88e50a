#include "node/storage/medium_speed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"

namespace kamino::node {
namespace {

constexpr size_t kMeasured = 7;
constexpr absl::Duration kMemory = absl::Microseconds(50);
constexpr int kUsualChain = 3;
// The part of a lease that the syncs of one commit may take.
constexpr int kCommitShare = 2;

std::string Millis(absl::Duration time) {
  return absl::StrFormat("%.1f ms", absl::ToDoubleMilliseconds(time));
}

}  // namespace

OrderedSyncs OrderedSyncsOf(ChainMode mode, UndoCopyKind undo_copy) {
  // The numbers that ordered_syncs_test counts.
  const bool logs = undo_copy == UndoCopyKind::kLog;
  const int head = logs ? 7 : 6;
  if (mode != ChainMode::kTraditional) return {head, 4};
  return {head, logs ? 6 : 5};
}

absl::Duration MeasureSync(engine::Region* region,
                           const std::function<absl::Time()>& clock) {
  // Volatile, because the compiler may remove a store that changes nothing.
  auto* const word = reinterpret_cast<volatile uint64_t*>(region->base());
  std::array<absl::Duration, kMeasured> times;
  for (absl::Duration& time : times) {
    // The page is dirty then, and its content the same.
    const uint64_t value = *word;
    *word = value;
    const absl::Time began = clock();
    region->Persist(region->base(), sizeof(value));
    time = clock() - began;
  }
  std::sort(times.begin(), times.end());
  return times[kMeasured / 2];
}

std::string TellMedium(absl::Duration sync, const OrderedSyncs& ordered) {
  if (sync < kMemory) {
    return absl::StrCat("a sync of this medium takes ",
                        absl::FormatDuration(sync), ", as fast as memory");
  }
  const int syncs = ordered.InChain(kUsualChain);
  return absl::StrCat("a sync of this medium takes ", Millis(sync),
                      "; a put to a chain of ", kUsualChain,
                      " such nodes will take about ", Millis(sync * syncs),
                      ", which is ", syncs, " syncs");
}

absl::Status CheckMedium(absl::Duration sync, const OrderedSyncs& ordered,
                         absl::Duration lease) {
  const absl::Duration commit = sync * ordered.head;
  if (sync < kMemory || lease <= absl::ZeroDuration() ||
      commit < lease / kCommitShare) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the medium is too slow: a sync takes ", Millis(sync), ", and a commit ",
      ordered.head, " of them, ", Millis(commit),
      "; the manager grants leases of ", Millis(lease),
      ", of which that may take 1/", kCommitShare,
      " at most. Put the node's files on a faster disk or on persistent "
      "memory, raise the managers' --failure_timeout_ms, or give the node "
      "--pmem=force where a power cut may lose its files"));
}

MediumCheck::MediumCheck(absl::Duration sync, const OrderedSyncs& ordered,
                         std::function<absl::Time()> clock,
                         std::function<void()> measure)
    : ordered_(ordered),
      clock_(std::move(clock)),
      measure_(std::move(measure)),
      best_(sync) {}

void MediumCheck::Note(absl::Duration sync) {
  absl::MutexLock lock(&mutex_);
  measuring_ = false;
  best_ = std::min(best_, sync);
}

bool MediumCheck::BeginRound(absl::Time now) {
  if (measuring_ || now < next_) return false;
  measuring_ = true;
  ++rounds_;
  next_ = now + kSpacing;
  return true;
}

absl::Status MediumCheck::Check(absl::Duration lease) {
  bool begins = false;
  absl::Status found;
  {
    absl::MutexLock lock(&mutex_);
    found = CheckMedium(best_, ordered_, lease);
    const absl::Time now = clock_();
    if (found.ok()) {
      // A manager with another lease starts the check anew.
      if (rounds_ > 0) LOG(INFO) << "a sync now takes " << Millis(best_);
      rounds_ = 0;
      next_ = end_ = absl::InfinitePast();
      return found;
    }
    if (end_ == absl::InfinitePast()) {
      end_ = now + kLongest;
      LOG(WARNING) << found.message() << ". The node measures the medium again "
                   << "for up to " << kLongest << " before it decides";
    }
    const bool last = rounds_ >= kMostRounds && !measuring_;
    if (last || now >= end_) return found;
    begins = rounds_ < kMostRounds && BeginRound(now);
  }
  if (begins) measure_();
  return absl::UnavailableError(found.message());
}

}  // namespace kamino::node
