// Groups of pairs on devices in memory.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/transport/fake_device.h"

namespace kamino::transport {

// Everything is guarded by the fabric's lock.
class FakeGroup final : public VerbsGroup,
                        public std::enable_shared_from_this<FakeGroup> {
 public:
  FakeGroup(std::shared_ptr<FakeDevice> device, const GroupSize& size)
      : device_(std::move(device)), fabric_(*device_->fabric_), size_(size) {}

  ~FakeGroup() override {
    absl::MutexLock lock(&fabric_.mu_);
    for (const auto& [key, bytes] : memory_) {
      fabric_.counts_.registered -= bytes.size();
    }
  }

  int max_pairs() const override { return size_.max_pairs; }
  absl::StatusOr<std::unique_ptr<GroupPair>> CreatePair() override;

  absl::StatusOr<uint32_t> Register(absl::Span<std::byte> memory) override {
    absl::MutexLock lock(&fabric_.mu_);
    if (fabric_.counts_.registered + memory.size() > fabric_.max_memory_) {
      return absl::ResourceExhaustedError("over the limit of locked memory");
    }
    fabric_.counts_.registered += memory.size();
    memory_[fabric_.next_key_] = memory;
    return fabric_.next_key_++;
  }

  absl::Status PostReceives(absl::Span<const GroupReceive> receives) override {
    absl::MutexLock lock(&fabric_.mu_);
    for (const GroupReceive& one : receives) {
      EXPECT_TRUE(Holds(one.key, one.into)) << "a receive outside memory";
      for (const GroupReceive& other : receives_) {
        EXPECT_NE(one.id, other.id) << "posted twice";
      }
      receives_.push_back(one);
    }
    EXPECT_LE(receives_.size(),
              static_cast<size_t>(size_.max_pairs * size_.receives))
        << "the receive queue overflows";
    fabric_.RunLocked();
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> Poll(
      absl::Span<GroupCompletion> completions) override {
    absl::MutexLock lock(&fabric_.mu_);
    size_t count = 0;
    for (; count < completions.size() && !done_.empty(); done_.pop_front()) {
      const GroupCompletion& one = completions[count++] = done_.front();
      Retire(one);
    }
    return count;
  }

  absl::Status Arm() override {
    absl::MutexLock lock(&fabric_.mu_);
    armed_ = true;
    return absl::OkStatus();
  }
  int event_fd() const override { return event_fd_.get(); }
  void TakeEvents() override { Drain(event_fd_); }

  void Complete(const GroupCompletion& completion) {
    done_.push_back(completion);
    EXPECT_LE(done_.size(), static_cast<size_t>(size_.max_pairs *
                                                (size_.receives + size_.sends)))
        << "the completion queue overflows";
    if (std::exchange(armed_, false)) Ring(event_fd_);
  }

  bool Holds(uint32_t key, absl::Span<const std::byte> bytes) const {
    const auto found = memory_.find(key);
    return found != memory_.end() && bytes.data() >= found->second.data() &&
           bytes.data() + bytes.size() <=
               found->second.data() + found->second.size();
  }

  // A completion covers the unsignaled ones before it.
  void Retire(const GroupCompletion& completion);

  const std::shared_ptr<FakeDevice> device_;
  FakeFabric& fabric_;
  const GroupSize size_;
  const UniqueFd event_fd_ = NewEventFd();
  std::map<uint32_t, absl::Span<std::byte>> memory_;  // by key
  std::deque<GroupReceive> receives_;
  std::deque<GroupCompletion> done_;
  std::map<uint32_t, FakeGroupPair*> pairs_;
  bool armed_ = false;
};

class FakeGroupPair final : public GroupPair, public FakeEnd {
 public:
  FakeGroupPair(std::shared_ptr<FakeGroup> group, uint32_t number)
      : FakeEnd(group->device_, number), group_(std::move(group)) {}

  ~FakeGroupPair() override {
    absl::MutexLock lock(&fabric_.mu_);
    fabric_.pairs_.erase(number_);
    group_->pairs_.erase(number_);
    --fabric_.counts_.pairs;
    fabric_.RunLocked();  // a peer may wait for it
  }

  uint32_t number() const override { return number_; }
  size_t max_inline() const override { return group_->size_.max_inline; }

  absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                       const PairAddress& peer,
                       const PairPatience& patience) override {
    return ConnectTo(own_gid, own, peer, patience);
  }

  absl::Status Send(const GroupSend& send) override {
    absl::MutexLock lock(&fabric_.mu_);
    EXPECT_TRUE(connected_);
    EXPECT_LE(++outstanding_, group_->size_.sends) << "the queue overflows";
    ++fabric_.counts_.sends;
    Posted posted{send, {}};
    if (send.inlined) {
      EXPECT_LE(send.from.size(), group_->size_.max_inline);
      posted.inlined.assign(send.from.begin(), send.from.end());
    }
    posted_.push_back(std::move(posted));
    fabric_.RunLocked();
    return absl::OkStatus();
  }

  void Stop() override {
    absl::MutexLock lock(&fabric_.mu_);
    FailLocked(kFlushed);
    fabric_.Tell(device_->name_, {DeviceEvent::Kind::kPairDrained, number_, 0,
                                  "the pair has drained"});
    fabric_.RunLocked();  // a peer may wait for it
  }

  bool HasReceive() const override { return !group_->receives_.empty(); }
  const char* TakeNotice(uint32_t) override { return kNoAccess; }
  const char* TakeSend(absl::Span<const std::byte> bytes) override {
    const GroupReceive into = group_->receives_.front();
    group_->receives_.pop_front();
    GroupCompletion completion;
    completion.pair = number_;
    completion.received = true;
    completion.id = into.id;
    if (bytes.size() > into.into.size()) {
      completion.error = "local length error";
      group_->Complete(completion);
      FailLocked(kFlushed);
      return "remote invalid request error";
    }
    std::memcpy(into.into.data(), bytes.data(), bytes.size());
    completion.bytes = bytes.size();
    group_->Complete(completion);
    return nullptr;
  }

  bool HasPosted() const override { return !posted_.empty(); }
  void DropPosted() override { posted_.clear(); }

  bool ExecuteFirst() override {
    const Posted posted = posted_.front();
    FakeEnd* const peer = Peer();
    if (peer == nullptr) {
      FailLocked(kNoAnswer);
      return true;
    }
    if (!peer->HasReceive()) {
      fabric_.counts_.waits += std::exchange(waits_, true) ? 0 : 1;
      return false;
    }
    waits_ = false;
    absl::Span<const std::byte> bytes = posted.send.from;
    if (posted.send.inlined) {
      bytes = posted.inlined;
    } else {
      EXPECT_TRUE(group_->Holds(posted.send.key, bytes));
    }
    if (const char* error = peer->TakeSend(bytes)) {
      FailLocked(error);
      return true;
    }
    posted_.pop_front();
    if (posted.send.signaled) CompleteSend(posted.send.id, nullptr);
    return true;
  }

  void FailLocked(const char* first) override {
    if (std::exchange(error_, true)) return;
    for (const Posted& posted : posted_) {
      CompleteSend(posted.send.id, std::exchange(first, kFlushed));
    }
    posted_.clear();
  }

  void CompleteSend(uint64_t id, const char* error) {
    GroupCompletion completion;
    completion.pair = number_;
    completion.id = id;
    completion.error = error;
    group_->Complete(completion);
  }

  struct Posted {
    GroupSend send;
    std::vector<std::byte> inlined;
  };

  const std::shared_ptr<FakeGroup> group_;
  std::deque<Posted> posted_;
  bool waits_ = false;    // the first, for a receive
  int outstanding_ = 0;   // slots of the send queue that are taken
  uint64_t retired_ = 0;  // the newest send whose slot is free
};

void FakeGroup::Retire(const GroupCompletion& completion) {
  const auto found = pairs_.find(completion.pair);
  if (completion.received || found == pairs_.end()) return;
  FakeGroupPair* const pair = found->second;
  pair->outstanding_ -= static_cast<int>(completion.id - pair->retired_);
  pair->retired_ = completion.id;
}

absl::StatusOr<std::unique_ptr<GroupPair>> FakeGroup::CreatePair() {
  absl::MutexLock lock(&fabric_.mu_);
  if (!fabric_.units_.at(device_->name_).present) {
    return absl::UnavailableError("the device is gone");
  }
  auto pair = std::make_unique<FakeGroupPair>(shared_from_this(),
                                              fabric_.next_number_++);
  pairs_[pair->number_] = pair.get();
  EXPECT_LE(pairs_.size(), static_cast<size_t>(size_.max_pairs));
  fabric_.pairs_[pair->number_] = pair.get();
  ++fabric_.counts_.pairs;
  return pair;
}

absl::StatusOr<std::shared_ptr<VerbsGroup>> NewFakeGroup(
    std::shared_ptr<FakeDevice> device, const GroupSize& size) {
  return std::make_shared<FakeGroup>(std::move(device), size);
}

}  // namespace kamino::transport
