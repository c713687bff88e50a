// A client's stubs of one service, by address. Private to the library.
//
// A channel resolves its name when it connects, and not again while the
// connection lasts. If the name has moved to another address and another
// cluster uses the former one, only a new channel finds the new address.
#ifndef KAMINO_CLIENT_STUBS_H_
#define KAMINO_CLIENT_STUBS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "client/timer.h"
#include "grpcpp/channel.h"

namespace kamino::client {

// Thread-safe.
template <typename Service>
class Stubs {
 public:
  using Stub = typename Service::Stub;
  using Connect =
      std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;

  // Minimum interval between two channels to one address.
  static constexpr absl::Duration kRenewAfter = absl::Seconds(1);

  // `timer` must outlive all calls of this object. Null: former stubs are kept
  // until the end of this object.
  Stubs(Connect connect, Timer* timer,
        std::function<absl::Time()> clock = MonotonicNow)
      : connect_(std::move(connect)), timer_(timer), clock_(std::move(clock)) {}

  std::shared_ptr<Stub> At(const std::string& address) {
    absl::MutexLock lock(&mutex_);
    // Addresses come and go with nodes; addresses in use are added again at
    // once.
    if (stubs_.size() >= kMaxStubs && !stubs_.contains(address)) {
      for (auto& [other, entry] : stubs_) Retire(std::move(entry.stub));
      stubs_.clear();
    }
    Entry& entry = stubs_[address];
    if (entry.stub == nullptr) {
      entry = {Service::NewStub(connect_(address)), clock_()};
    }
    return entry.stub;
  }

  // A process of another cluster answers at `address`: the next call of At
  // makes a new channel, unless this one is younger than kRenewAfter.
  void Renew(const std::string& address) {
    absl::MutexLock lock(&mutex_);
    const auto found = stubs_.find(address);
    if (found == stubs_.end() || clock_() < found->second.made + kRenewAfter) {
      return;
    }
    Retire(std::move(found->second.stub));
    stubs_.erase(found);
  }

 private:
  static constexpr size_t kMaxStubs = 64;
  static constexpr absl::Duration kSweepAfter = absl::Seconds(10);

  struct Entry {
    std::shared_ptr<Stub> stub;
    absl::Time made;
  };

  // A channel must not be destroyed on a thread of gRPC, because its destructor
  // waits for those threads. The timer releases a former stub once no call uses
  // it; this object's destructor releases the rest.
  struct Retired {
    void Sweep() {
      std::vector<std::shared_ptr<Stub>> unused;  // destroyed without the lock
      absl::MutexLock lock(&mutex);
      sweeps = false;
      for (auto& stub : stubs) {
        if (stub.use_count() == 1) unused.push_back(std::move(stub));
      }
      std::erase(stubs, nullptr);
    }

    absl::Mutex mutex;
    std::vector<std::shared_ptr<Stub>> stubs ABSL_GUARDED_BY(mutex);
    bool sweeps ABSL_GUARDED_BY(mutex) = false;
  };

  void Retire(std::shared_ptr<Stub> stub) {
    absl::MutexLock lock(&retired_->mutex);
    retired_->stubs.push_back(std::move(stub));
    if (timer_ == nullptr || std::exchange(retired_->sweeps, true)) return;
    timer_->After(kSweepAfter, [retired = retired_] { retired->Sweep(); });
  }

  const Connect connect_;
  Timer* const timer_;
  const std::function<absl::Time()> clock_;
  const std::shared_ptr<Retired> retired_ = std::make_shared<Retired>();
  absl::Mutex mutex_;
  std::map<std::string, Entry> stubs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_STUBS_H_
