#include "node/driver/stage_times.h"

#include <utility>

namespace kamino::node {

using replica::Stage;

absl::string_view StageName(Stage stage) {
  switch (stage) {
    case Stage::kAdmit:
      return "admit";
    case Stage::kLock:
      return "lock";
    case Stage::kExecute:
      return "execute";
    case Stage::kPersist:
      return "persist";
    case Stage::kHop:
      return "hop";
    case Stage::kComplete:
      return "complete";
    case Stage::kClean:
      return "clean";
  }
  return "";
}

void StageTimes::Begin(Stage stage) {
  if (!std::exchange(in_lap_, true)) {
    timed_ = ++skipped_ >= kOneOf || times_all();
    if (!timed_) return;
    skipped_ = 0;
    began_ = clock_();
    entry_ = {};
  } else {
    if (!timed_) return;
    EndStage(clock_());
  }
  stage_ = stage;
}

void StageTimes::End() {
  in_lap_ = false;
  if (timed_) EndStage(clock_());
}

void StageTimes::EndStage(absl::Time now) {
  const absl::Duration took = now - began_;
  Of(stage_).Add(took);
  (stage_ == Stage::kExecute ? entry_.execute : entry_.persist) = took;
  entry_.ended = began_ = now;
}

void StageTimes::OnBatch(const replica::ChainCore& core, absl::Time now) {
  begins_ = ++skipped_batches_ >= kOneBatchOf;
  if (begins_) skipped_batches_ = 0;
  if (!std::exchange(follows_, false) && !begins_) return;
  const uint64_t applied = core.ring().applied();
  const bool sends = core.links().downstream.replicates();
  Follow(Stage::kHop, sends ? core.links().downstream.sent() : 0,
         sends ? core.links().downstream.acked() : 0, now, &hop_);
  const bool completes = core.place().is_head();
  Follow(Stage::kComplete, completes ? applied : 0,
         completes ? core.progress().completed() : 0, now, &complete_);
  Follow(Stage::kClean, applied, core.ring().cleaned(), now, &clean_);
}

void StageTimes::Follow(Stage stage, uint64_t from, uint64_t to, absl::Time now,
                        Probe* probe) {
  if (probe->sequence > from) probe->sequence = 0;  // it is gone
  if (probe->sequence != 0) {
    if (to < probe->sequence) {
      follows_ = true;
      return;
    }
    Of(stage).Add(now - probe->since);
    probe->sequence = 0;
  }
  if (from <= to || !begins_) return;
  follows_ = true;
  probe->sequence = from;
  probe->since = clock_();
}

}  // namespace kamino::node
