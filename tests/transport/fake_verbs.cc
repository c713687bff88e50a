#include "tests/transport/fake_verbs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/transport/fake_device.h"

namespace kamino::transport {
absl::Status FakeEnd::ConnectTo(const GidEntry& own_gid, const PairAddress& own,
                                const PairAddress& peer,
                                const PairPatience& patience) {
  EXPECT_EQ(own.number, number_);
  EXPECT_EQ(own_gid.kind, peer.kind);
  EXPECT_LT(patience.receiver_not_ready_retries, 7) << "retries for ever";
  EXPECT_GT(patience.ack_timeout, 0) << "waits for ever";
  EXPECT_LT(patience.retries, 7) << "soft-RoCE retries for ever";
  absl::MutexLock lock(&fabric_.mu_);
  if (error_) return absl::UnavailableError("the pair is in error");
  peer_ = peer;
  connected_ = true;
  return absl::OkStatus();
}

FakeEnd* FakeEnd::Peer() {
  const auto found = fabric_.pairs_.find(peer_.number);
  if (found == fabric_.pairs_.end()) return nullptr;
  FakeEnd* const peer = found->second;
  if (peer->dead_ || peer->error_ || !peer->connected_ ||
      peer->peer_.number != number_) {
    return nullptr;
  }
  return peer;
}

// Everything is guarded by the fabric's lock.
class FakePair final : public VerbsPair, public FakeEnd {
 public:
  struct Range {
    absl::Span<std::byte> bytes;
    MemoryKeys keys;
    bool peer_writes;
  };

  FakePair(std::shared_ptr<FakeDevice> device, const PairSize& size,
           uint32_t number)
      : FakeEnd(std::move(device), number), size_(size) {}

  ~FakePair() override {
    absl::MutexLock lock(&fabric_.mu_);
    fabric_.pairs_.erase(number_);
    --fabric_.counts_.pairs;
    for (const Range& range : ranges_) {
      fabric_.counts_.registered -= range.bytes.size();
    }
  }

  uint32_t number() const override { return number_; }
  size_t max_inline() const override { return size_.max_inline; }

  absl::StatusOr<MemoryKeys> Register(absl::Span<std::byte> memory,
                                      bool peer_writes) override {
    absl::MutexLock lock(&fabric_.mu_);
    if (fabric_.counts_.registered + memory.size() > fabric_.max_memory_) {
      return absl::ResourceExhaustedError("over the limit of locked memory");
    }
    fabric_.counts_.registered += memory.size();
    const MemoryKeys keys = {fabric_.next_key_++, fabric_.next_key_++};
    ranges_.push_back({memory, keys, peer_writes});
    return keys;
  }

  void Deregister(const MemoryKeys& keys) override {
    absl::MutexLock lock(&fabric_.mu_);
    const auto found = std::find_if(
        ranges_.begin(), ranges_.end(),
        [&](const Range& range) { return range.keys.remote == keys.remote; });
    ASSERT_NE(found, ranges_.end()) << "deregistered twice";
    fabric_.counts_.registered -= found->bytes.size();
    ranges_.erase(found);
  }

  absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                       const PairAddress& peer,
                       const PairPatience& patience) override {
    return ConnectTo(own_gid, own, peer, patience);
  }

  absl::Status PostReceives(int count) override {
    absl::MutexLock lock(&fabric_.mu_);
    receives_ += count;
    EXPECT_LE(receives_, size_.max_receives) << "the receive queue overflows";
    if (error_) FlushLocked();
    return absl::OkStatus();
  }

  absl::Status PostWrites(absl::Span<const RdmaWrite> writes) override {
    absl::MutexLock lock(&fabric_.mu_);
    EXPECT_TRUE(connected_);
    for (const RdmaWrite& write : writes) {
      EXPECT_LE(++outstanding_, size_.max_writes) << "the send queue overflows";
      EXPECT_LE(write.from.size(), fabric_.max_message_);
      FakeFabric::Posted posted{write, {}};
      ++fabric_.counts_.writes;
      if (write.signaled) ++fabric_.counts_.signaled;
      if (!write.immediate.has_value() && !write.from.empty()) {
        ++fabric_.counts_.in_pieces;
      }
      if (write.inlined) {
        EXPECT_LE(write.from.size(), size_.max_inline);
        ++fabric_.counts_.inlined;
        posted.inlined.assign(write.from.begin(), write.from.end());
      }
      posted_.push_back(std::move(posted));
    }
    fabric_.RunLocked();
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> Poll(absl::Span<Completion> completions) override {
    absl::MutexLock lock(&fabric_.mu_);
    size_t count = 0;
    while (count < completions.size() && !done_.empty()) {
      const Completion& one = completions[count++] = done_.front();
      done_.pop_front();
      // A completion covers the unsignaled ones before it.
      if (!one.received) {
        outstanding_ -= static_cast<int>(one.id - retired_);
        retired_ = one.id;
      }
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

  void Complete(Completion completion) {
    done_.push_back(completion);
    if (std::exchange(armed_, false)) Ring(event_fd_);
  }

  // The pair is in error; `first` is what the write under way completes with.
  void FailLocked(const char* first) override {
    if (std::exchange(error_, true)) return;
    for (FakeFabric::Posted& posted : posted_) {
      Completion completion;
      completion.id = posted.write.id;
      completion.error = std::exchange(first, kFlushed);
      Complete(completion);
    }
    posted_.clear();
    FlushLocked();
  }

  void FlushLocked() {
    for (; receives_ > 0; --receives_) {
      Completion completion;
      completion.received = true;
      completion.error = kFlushed;
      Complete(completion);
    }
  }

  const Range* FindLocal(uint32_t key, absl::Span<const std::byte> bytes) {
    for (const Range& range : ranges_) {
      if (range.keys.local == key && bytes.data() >= range.bytes.data() &&
          bytes.data() + bytes.size() <=
              range.bytes.data() + range.bytes.size()) {
        return &range;
      }
    }
    return nullptr;
  }

  bool HasReceive() const override { return receives_ > 0; }
  const char* TakeNotice(uint32_t immediate) override {
    --receives_;
    Completion completion;
    completion.received = true;
    completion.immediate = immediate;
    Complete(completion);
    return nullptr;
  }
  const char* TakeSend(absl::Span<const std::byte>) override {
    return "remote operation error";
  }
  bool HasPosted() const override { return !posted_.empty(); }
  void DropPosted() override { posted_.clear(); }
  bool ExecuteFirst() override;

  std::byte* FindRemote(uint32_t key, uint64_t address,
                        size_t length) override {
    for (const Range& range : ranges_) {
      const auto base = reinterpret_cast<uint64_t>(range.bytes.data());
      if (range.keys.remote == key && range.peer_writes && address >= base &&
          length <= range.bytes.size() &&
          address - base <= range.bytes.size() - length) {
        return range.bytes.data() + (address - base);
      }
    }
    return nullptr;
  }

  const PairSize size_;
  const UniqueFd event_fd_ = NewEventFd();
  std::vector<Range> ranges_;
  bool armed_ = false;
  int receives_ = 0;
  int outstanding_ = 0;   // slots of the send queue that are taken
  uint64_t retired_ = 0;  // the newest write whose slot is free
  std::deque<FakeFabric::Posted> posted_;
  std::deque<Completion> done_;
};

absl::StatusOr<std::vector<PortInfo>> FakeDevice::Ports() {
  absl::MutexLock lock(&fabric_->mu_);
  const FakeFabric::Unit& unit = fabric_->units_.at(name_);
  if (!unit.present) return absl::UnavailableError("the device is gone");
  PortInfo port;
  port.active = unit.port_active;
  port.ethernet = true;
  port.max_message = fabric_->max_message_;
  GidEntry one;
  one.gid = {0xfe, 0x80};
  one.kind = GidKind::kRoceV1;
  GidEntry two;
  two.index = 1;
  two.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  two.kind = GidKind::kRoceV2;
  port.gids = {one, two};
  return std::vector<PortInfo>{port};
}

absl::StatusOr<std::unique_ptr<VerbsPair>> FakeDevice::CreatePair(
    int port, const PairSize& size) {
  EXPECT_EQ(port, 1);
  absl::MutexLock lock(&fabric_->mu_);
  if (!fabric_->units_.at(name_).present) {
    return absl::UnavailableError("the device is gone");
  }
  auto pair = std::make_unique<FakePair>(shared_from_this(), size,
                                         fabric_->next_number_++);
  fabric_->pairs_[pair->number_] = pair.get();
  ++fabric_->counts_.pairs;
  return pair;
}

absl::StatusOr<std::shared_ptr<VerbsGroup>> FakeDevice::CreateGroup(
    int port, const GroupSize& size) {
  EXPECT_EQ(port, 1);
  return NewFakeGroup(shared_from_this(), size);
}

FakeFabric::FakeFabric() { AddDevice("fake0"); }
FakeFabric::~FakeFabric() = default;

void FakeFabric::AddDevice(const std::string& name) {
  absl::MutexLock lock(&mu_);
  units_[name] = Unit();
}

void FakeFabric::LimitMessage(size_t bytes) {
  absl::MutexLock lock(&mu_);
  max_message_ = bytes;
}

void FakeFabric::LimitMemory(size_t bytes) {
  absl::MutexLock lock(&mu_);
  max_memory_ = bytes;
}

void FakeFabric::Hold() {
  absl::MutexLock lock(&mu_);
  held_ = true;
}

void FakeFabric::Release() {
  absl::MutexLock lock(&mu_);
  held_ = false;
  RunLocked();
}

void FakeFabric::FailNextWrite(const char* error) {
  absl::MutexLock lock(&mu_);
  fail_next_ = error;
}

void FakeFabric::Tell(const std::string& device, const DeviceEvent& event) {
  for (const std::weak_ptr<FakeDevice>& one : units_.at(device).opened) {
    if (auto opened = one.lock()) {
      opened->events_.push_back(event);
      Ring(opened->event_fd_);
    }
  }
}

void FakeFabric::PortDown(const std::string& device) {
  absl::MutexLock lock(&mu_);
  units_.at(device).port_active = false;
  Tell(device, {DeviceEvent::Kind::kPortDown, 0, 1, "port 1 is down"});
}

void FakeFabric::PortUp(const std::string& device) {
  absl::MutexLock lock(&mu_);
  units_.at(device).port_active = true;
}

void FakeFabric::Unplug(const std::string& device) {
  absl::MutexLock lock(&mu_);
  units_.at(device).present = false;
  for (const auto& [number, pair] : pairs_) {
    if (pair->device_->name_ == device) pair->FailLocked(kFlushed);
  }
  Tell(device, {DeviceEvent::Kind::kDeviceGone, 0, 0, "the device is gone"});
}

void FakeFabric::Remove(const std::string& device) {
  absl::MutexLock lock(&mu_);
  units_.at(device).being_removed = true;
}

int FakeFabric::times_open(const std::string& device) {
  absl::MutexLock lock(&mu_);
  const auto& opened = units_.at(device).opened;
  return static_cast<int>(
      std::count_if(opened.begin(), opened.end(),
                    [](const auto& one) { return !one.expired(); }));
}

void FakeFabric::FailPair(uint32_t number) {
  absl::MutexLock lock(&mu_);
  Tell(pairs_.at(number)->device_->name_,
       {DeviceEvent::Kind::kPairFailed, number, 0, "the pair has failed"});
}

void FakeFabric::Kill(uint32_t number) {
  absl::MutexLock lock(&mu_);
  FakeEnd* pair = pairs_.at(number);
  pair->dead_ = true;
  pair->DropPosted();
}

FakeFabric::Counts FakeFabric::counts() {
  absl::MutexLock lock(&mu_);
  return counts_;
}

std::vector<uint32_t> FakeFabric::live_pairs() {
  absl::MutexLock lock(&mu_);
  std::vector<uint32_t> numbers;
  for (const auto& [number, pair] : pairs_) numbers.push_back(number);
  return numbers;
}

absl::StatusOr<std::vector<std::string>> FakeFabric::DeviceNames() {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const auto& [name, unit] : units_) {
    if (unit.present && !unit.being_removed) names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::shared_ptr<VerbsDevice>> FakeFabric::Open(
    const std::string& name) {
  absl::MutexLock lock(&mu_);
  auto found = units_.find(name);
  if (found == units_.end() || !found->second.present ||
      found->second.being_removed) {
    return absl::NotFoundError(absl::StrCat("no device ", name));
  }
  auto device = std::make_shared<FakeDevice>(shared_from_this(), name);
  found->second.opened.push_back(device);
  return device;
}

void FakeFabric::RunLocked() {
  if (held_) return;
  for (bool any = true; any;) {
    any = false;
    for (const auto& [number, pair] : pairs_) {
      if (!pair->HasPosted()) continue;
      if (pair->dead_) {
        pair->DropPosted();
      } else if (pair->error_) {
        pair->error_ = false;
        pair->FailLocked(kFlushed);
      } else if (fail_next_ != nullptr) {
        pair->FailLocked(std::exchange(fail_next_, nullptr));
      } else if (!pair->ExecuteFirst()) {
        continue;
      }
      any = true;
    }
  }
}

bool FakePair::ExecuteFirst() {
  const FakeFabric::Posted posted = posted_.front();
  const RdmaWrite& write = posted.write;
  const auto fail = [this](const char* why) {
    FailLocked(why);
    return true;
  };
  FakeEnd* const peer = Peer();
  if (peer == nullptr) return fail(kNoAnswer);
  if (!write.from.empty()) {
    if (!write.inlined && FindLocal(write.local_key, write.from) == nullptr) {
      return fail("local protection error");
    }
    std::byte* to =
        peer->FindRemote(write.remote_key, write.to, write.from.size());
    if (to == nullptr) {
      FailLocked(kNoAccess);
      peer->FailLocked(kFlushed);
      return true;
    }
    const std::byte* bytes =
        write.inlined ? posted.inlined.data() : write.from.data();
    std::memcpy(to, bytes, write.from.size());
  }
  if (write.immediate.has_value()) {
    if (!peer->HasReceive()) return fail(kNoReceive);
    if (const char* error = peer->TakeNotice(*write.immediate)) {
      return fail(error);
    }
  }
  posted_.pop_front();
  if (write.signaled) {
    Completion completion;
    completion.id = write.id;
    Complete(completion);
  }
  return true;
}

}  // namespace kamino::transport
