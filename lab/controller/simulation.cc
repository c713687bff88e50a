#include "lab/controller/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "lab/controller/event_queue.h"
#include "lab/controller/shared_cache.h"
#include "lab/controller/wrap_controller.h"

namespace kamino::bench::controller {
namespace {

double PerSecond(size_t count, Time time) {
  return time == 0 ? 0
                   : static_cast<double>(count) * static_cast<double>(kSecond) /
                         static_cast<double>(time);
}

double MeanMicroseconds(const std::vector<Piece>& pieces, Time Piece::*end) {
  if (pieces.empty()) return 0;
  double sum = 0;
  for (const Piece& piece : pieces) {
    sum += static_cast<double>(piece.*end - piece.arrived);
  }
  return sum / static_cast<double>(pieces.size()) /
         static_cast<double>(kMicrosecond);
}

class Simulation {
 public:
  Simulation(const Trace& trace, const RunOptions& options)
      : options_(options),
        controller_(MakeController()),
        cache_(options.machine, controller_.get(), options.check) {
    controller_->OnRetired([this](Time now, WrapNumber wrap) {
      Piece* const piece =
          owners_[wrap - 1].first->piece(owners_[wrap - 1].second);
      if (piece != nullptr) piece->completed = now;
      completed_ = std::max(completed_, now);
    });
    for (const WarmBytes& warm : options.warm) {
      for (uint64_t at = 0; at < warm.bytes; at += kLineBytes) {
        cache_.Warm((warm.address + at) / kLineBytes);
      }
    }
    for (size_t i = 0; i < trace.threads.size(); ++i) AddCore(i, trace);
  }

  absl::Status Run() {
    while (!queue_.empty()) {
      queue_.RunNext();
      if (!options_.check) continue;
      RETURN_IF_ERROR(cache_.Check());
      RETURN_IF_ERROR(controller_->CheckHome());
    }
    return absl::OkStatus();
  }

  RunResult Result() {
    RunResult result;
    result.completed = completed_;
    for (const auto& core : cores_) {
      for (Piece& piece : core->pieces()) {
        piece.completed = std::max(piece.completed, piece.responded);
        result.responded = std::max(result.responded, piece.responded);
        result.pieces.push_back(piece);
      }
      result.cores.fences += core->counts().fences;
      result.cores.misses += core->counts().misses;
      result.cores.log_bytes += core->counts().log_bytes;
    }
    result.completed = std::max(result.completed, result.responded);
    result.controller = controller_->counts();
    return result;
  }

 private:
  std::unique_ptr<Controller> MakeController() {
    if (options_.method != Method::kWrap) {
      return MakePlainController(options_.machine);
    }
    auto wrap = std::make_unique<WrapController>(options_.machine, &queue_,
                                                 options_.check);
    wrap->victims().OnReleased(options_.released);
    return wrap;
  }

  void AddCore(size_t number, const Trace& trace) {
    Core::Surroundings around = {&options_.machine, &queue_, controller_.get(),
                                 &cache_, nullptr};
    around.opened = [this, number](WrapNumber wrap, size_t piece) {
      owners_.resize(std::max<size_t>(owners_.size(), wrap));
      owners_[wrap - 1] = {cores_[number].get(), piece};
    };
    const Arrivals arrivals = {
        options_.interval * number / trace.threads.size(), options_.interval};
    cores_.push_back(std::make_unique<Core>(static_cast<int>(number),
                                            options_.method, arrivals,
                                            &trace.threads[number], around));
    queue_.At(0, cores_.back().get(), 0);
  }

  const RunOptions& options_;
  EventQueue queue_;
  const std::unique_ptr<Controller> controller_;
  SharedCache cache_;
  std::vector<std::unique_ptr<Core>> cores_;
  // Core and piece of each wrap, by the wrap's number.
  std::vector<std::pair<Core*, size_t>> owners_;
  Time completed_ = 0;
};

}  // namespace

double RunResult::MeanResponse() const {
  return MeanMicroseconds(pieces, &Piece::responded);
}

double RunResult::MeanCompletion() const {
  return MeanMicroseconds(pieces, &Piece::completed);
}

double RunResult::ResponsesPerSecond() const {
  return PerSecond(pieces.size(), responded);
}

double RunResult::CompletionsPerSecond() const {
  return PerSecond(pieces.size(), completed);
}

absl::StatusOr<RunResult> Simulate(const Trace& trace,
                                   const RunOptions& options) {
  RETURN_IF_ERROR(CheckTrace(trace));
  Simulation simulation(trace, options);
  RETURN_IF_ERROR(simulation.Run());
  return simulation.Result();
}

}  // namespace kamino::bench::controller
