// How long requests and log entries are in each stage at this node, by its
// clock.
//
// Reading a clock costs as much as forty to a hundred instructions, so stages
// that need it are sampled: one log entry in kOneOf is timed during execution
// and until it is durable, and one at a time on its way down the chain. Waits
// of requests use the times of inputs, and all are counted. While slow
// operations are reported, each log entry is timed during execution and until
// it is durable.
#ifndef KAMINO_NODE_DRIVER_STAGE_TIMES_H_
#define KAMINO_NODE_DRIVER_STAGE_TIMES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "metrics/latencies.h"
#include "replica/core/chain_core.h"
#include "replica/link/stage_watch.h"

namespace kamino::node {

absl::string_view StageName(replica::Stage stage);  // "admit", ...

// Core thread only, except Read.
class StageTimes final : public replica::StageWatch {
 public:
  static constexpr uint32_t kOneOf = 16;

  explicit StageTimes(std::function<absl::Time()> clock)
      : clock_(std::move(clock)) {}

  void Took(replica::Stage stage, absl::Duration time) override {
    Of(stage).Add(time);
  }
  void Begin(replica::Stage stage) override;
  void End() override;
  const Entry* last_entry() const override {
    return times_all() ? &entry_ : nullptr;
  }

  // After a batch that began at `now`: the entries that it has sent, completed
  // and cleaned.
  void OnBatch(const replica::ChainCore& core, absl::Time now);

  // Any thread.
  void TimeAll(bool all) { times_all_ = all; }
  // Any thread.
  metrics::LatencySnapshot Read(replica::Stage stage) const {
    return latencies_[static_cast<size_t>(stage)].Read();
  }

 private:
  // Follows one log entry at a time, by its last mutation, to a mark.
  struct Probe {
    uint64_t sequence = 0;  // 0: none is under way
    absl::Time since;
  };

  bool times_all() const { return times_all_.load(std::memory_order_relaxed); }
  metrics::OwnedLatencies& Of(replica::Stage stage) {
    return latencies_[static_cast<size_t>(stage)];
  }
  // Ends the current stage, and notes the entry's.
  void EndStage(absl::Time now);
  // `from`: up to where entries have come at the start of the stage, `to`: at
  // its end; `from` is behind `to` if there is nothing to time.
  void Follow(replica::Stage stage, uint64_t from, uint64_t to, absl::Time now,
              Probe* probe);

  const std::function<absl::Time()> clock_;
  std::array<metrics::OwnedLatencies, replica::kStages> latencies_;

  uint32_t skipped_ = 0;
  bool in_lap_ = false;
  bool timed_ = false;  // this lap
  replica::Stage stage_ = {};
  absl::Time began_;
  Entry entry_;
  std::atomic<bool> times_all_{false};

  // An entry begins to be followed in one batch of so many. Prime, because
  // batches of a single request come in the same order again and again.
  static constexpr uint32_t kOneBatchOf = 17;
  uint32_t skipped_batches_ = 0;
  bool begins_ = false;   // in this batch
  bool follows_ = false;  // some entry
  Probe hop_;
  Probe complete_;
  Probe clean_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_STAGE_TIMES_H_
