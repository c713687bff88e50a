#include "replica/repair/heap_sending.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/pmem/page_set.h"
#include "glog/logging.h"
#include "replica/repair/joining_pace.h"

namespace kamino::replica {

using kamino::internal::v1::StateBegin;
using kamino::internal::v1::StateWanted;

namespace {

constexpr absl::Duration kPacedBurst = JoiningPace::kLongTick;
// Passes over the changed pages without slowing clients down. A heap that
// changes more slowly than it is sent nearly always reaches the cut by then.
constexpr uint64_t kFreePasses = 3;
// Passes up to this one are logged each; later ones every so many.
constexpr uint64_t kLoggedPasses = 32;

}  // namespace

HeapSending::HeapSending(const ChainContext& chain,
                         const Downstream* downstream)
    : options_(*chain.options),
      ring_(chain.ring),
      copy_(chain.copy),
      downstream_(downstream),
      outbox_(chain.outbox),
      stats_(chain.stats),
      pacer_(options_.transfer_bytes_per_s, kPacedBurst) {}

void HeapSending::Reset(const std::string& joining) {
  joining_ = joining;
  awaits_wanted_ = false;
  chunks_sent_ = chunks_acked_ = 0;
}

void HeapSending::Begin(const CatchUpHistory::Plan& plan, StateBegin* begin) {
  stats_->bytes = stats_->pass = stats_->pages = 0;
  stats_->of_changes = awaits_wanted_ = plan.changes_after.has_value();
  bytes_sent_ = 0;
  pass_ = {};
  if (!plan.changes_after.has_value()) {
    ++stats_->whole[static_cast<size_t>(plan.reason)];
    LOG(INFO) << "sending the whole heap to " << joining_
              << (plan.why.empty() ? "" : ": ") << plan.why;
    return copy_->BeginSending(ring_->applied());
  }
  ++stats_->caught_up;
  stats_->pages =
      copy_->BeginSendingChanges(ring_->applied(), *plan.changes_after);
  stats_->bytes_left = copy_->BytesLeft();
  begin->set_changes(true);
  begin->set_changes_after(*plan.changes_after);
  begin->set_changed_pages(stats_->pages);
  LOG(INFO) << joining_ << " catches up after mutation " << *plan.changes_after
            << ": " << stats_->pages << " pages have changed since";
}

void HeapSending::End() {
  copy_->EndSending();
  stats_->bytes_left = 0;
}

bool HeapSending::OnWanted(const StateWanted& wanted) {
  if (!awaits_wanted_) return false;
  if (static_cast<size_t>(wanted.runs_size()) > StateCopy::kMaxRuns) {
    return false;
  }
  std::vector<PageRun> runs;
  for (const auto& run : wanted.runs()) {
    runs.push_back({run.first(), run.count()});
  }
  copy_->AddWanted(runs);
  stats_->pages = copy_->BytesLeft() / engine::PageSet::kPageBytes;
  awaits_wanted_ = false;
  return true;
}

void HeapSending::OnChunkAck(uint64_t chunks) {
  chunks_acked_ = std::min(chunks_sent_, std::max(chunks_acked_, chunks));
}

bool HeapSending::Continue(bool unpaced, absl::Time now) {
  for (int i = 0; i < options_.chunks_at_once &&
                  chunks_sent_ - chunks_acked_ < options_.window_chunks;
       ++i) {
    CountPass();
    if (stats_->bytes_left <= options_.cut_bytes) {
      SendCut();
      return true;
    }
    if (!unpaced && !pacer_.MayGo(now)) return false;
    SendChunk();
  }
  return false;
}

void HeapSending::CountPass() {
  stats_->bytes_left = copy_->BytesLeft();
  if (stats_->pass > 0 && stats_->bytes - pass_.sent < pass_.left) return;
  ++stats_->pass;
  pass_ = {stats_->bytes, stats_->bytes_left};
  if (stats_->pass <= kFreePasses) return;
  if (stats_->pass == kFreePasses + 1) braked_ = pass_;
  LOG_IF(INFO,
         stats_->pass <= kLoggedPasses || stats_->pass % kLoggedPasses == 0)
      << joining_ << " joins: pass " << stats_->pass << ", "
      << (stats_->bytes_left >> 10)
      << " KiB are left; writes are slowed down until it has them";
}

bool HeapSending::lags() const {
  if (stats_->pass <= kFreePasses) return false;
  const uint64_t gained = (stats_->bytes - braked_.sent) / 2;
  return copy_->BytesLeft() > braked_.left - std::min(braked_.left, gained);
}

void HeapSending::Send(std::string chunk, size_t bytes) {
  ++chunks_sent_;
  stats_->bytes += bytes;
  bytes_sent_ += chunk.size();
  pacer_.Went(chunk.size());
  outbox_->Send(downstream_->link())
      .mutable_state_chunk()
      ->set_snapshot(std::move(chunk));
}

bool HeapSending::SendChunk() {
  std::string chunk;
  const size_t bytes = copy_->NextChunk(&chunk);
  if (bytes == 0) return false;
  Send(std::move(chunk), bytes);
  return true;
}

void HeapSending::SendCut() {
  copy_->PrepareCut();
  while (SendChunk()) {
  }
  std::string end;
  copy_->FinishSending(ring_->applied(), &end);
  End();
  Send(std::move(end), 0);
  LOG(INFO) << joining_ << " has the heap as of mutation " << ring_->applied()
            << ", " << (stats_->bytes >> 20) << " MiB, of which "
            << (bytes_sent_ >> 20) << " were sent";
}

}  // namespace kamino::replica
