// State that all calls of a client share. Private to the library.
#ifndef KAMINO_CLIENT_RUNNER_H_
#define KAMINO_CLIENT_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "client/chain_finder.h"
#include "client/chain_watch.h"
#include "client/directory.h"
#include "client/forks.h"
#include "client/lane_pool.h"
#include "client/read_spread.h"
#include "client/session/connections.h"
#include "client/timer.h"

namespace kamino::client {

// How long Stop waits for cancelled questions. They end at once unless gRPC
// fails.
inline constexpr absl::Duration kEndPatience = absl::Seconds(5);

// Thread-safe.
class Runner {
 public:
  Runner(std::vector<std::string> seeds, ChainId chain_id, int max_outstanding,
         ConnectionsOptions connections)
      : max_outstanding_(max_outstanding),
        directory_({std::move(seeds), chain_id, connections.dialer.credentials,
                    /*connect=*/nullptr},
                   &timer_),
        finder_(&directory_, &timer_),
        connections_(
            OfCluster(std::move(connections), directory_.cluster()), &lanes_,
            &timer_,
            [this](const std::string& address, const absl::Status& why) {
              directory_.OnRefused(address, why);
            },
            [this] { return directory_.AddressOf(Target::kHead); }),
        watch_(&directory_, &timer_) {}
  // Waits for all calls, which end early once stopping() is true. Call it once,
  // before the destructor. False: gRPC has not reported the end of a cancelled
  // question, for example because it could not start a thread; this object must
  // then never be destroyed.
  bool Stop() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    lanes_.EndWaiting();
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Runner::Idle));
    }
    watch_.Stop();
    connections_.Stop();
    return finder_.Stop(kEndPatience);
  }

  // kFailedPrecondition in a forked child, where nothing else of this object
  // may be used: threads that do not exist there may hold its locks.
  absl::Status CheckForks() const {
    if (Forks() == forks_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "this client is the parent's: a child of fork makes one of its own");
  }

  Directory& directory() { return directory_; }
  ChainFinder& finder() { return finder_; }
  // The outcome of the lane's mutation is unknown.
  void GiveUp(const Lane& lane) {
    if (lanes_.GiveUp(lane)) connections_.Expired(lane.client_id);
  }
  Connections& connections() { return connections_; }
  ReadSpread& reads() { return reads_; }
  ChainWatch& watch() { return watch_; }
  LanePool& lanes() { return lanes_; }
  Timer& timer() { return timer_; }

  // --- A call's life: TryEnter or EnterBefore; MakeRoom; its callback; Leave.

  // False: max_outstanding calls are outstanding.
  bool TryEnter() {
    absl::MutexLock lock(&mutex_);
    if (outstanding_ >= max_outstanding_) return false;
    ++outstanding_;
    ++live_;
    return true;
  }
  // Waits for room. False: none until `deadline`.
  bool EnterBefore(absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(this, &Runner::HasRoom),
                                 deadline - MonotonicNow())) {
      return false;
    }
    ++outstanding_;
    ++live_;
    return true;
  }
  // For a call that another call waits for: it must not wait itself.
  void EnterNested() {
    absl::MutexLock lock(&mutex_);
    ++outstanding_;
    ++live_;
  }
  // The call has its answer: its callback may start another one.
  void MakeRoom() {
    absl::MutexLock lock(&mutex_);
    --outstanding_;
  }
  // The call no longer uses this object.
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --live_;
  }

  void CountRetry() {
    absl::MutexLock lock(&mutex_);
    ++retries_;
  }
  uint64_t retries() const {
    absl::MutexLock lock(&mutex_);
    return retries_;
  }

  bool stopping() const {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }
  double Random() {
    absl::MutexLock lock(&mutex_);
    return absl::Uniform<double>(random_, 0, 1);
  }

 private:
  static ConnectionsOptions OfCluster(
      ConnectionsOptions options,
      std::shared_ptr<const rpc::ClusterIdentity> cluster) {
    options.dialer.cluster = std::move(cluster);
    return options;
  }
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return live_ == 0; }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outstanding_ < max_outstanding_;
  }

  const uint64_t forks_ = Forks();
  const int max_outstanding_;
  LanePool lanes_;

  mutable absl::Mutex mutex_;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;  // without an answer
  int live_ ABSL_GUARDED_BY(mutex_) = 0;         // callback included
  uint64_t retries_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);

  ReadSpread reads_;
  Directory directory_;
  ChainFinder finder_;
  Connections connections_;
  ChainWatch watch_;
  Timer timer_;  // last: its tasks use the above
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_RUNNER_H_
