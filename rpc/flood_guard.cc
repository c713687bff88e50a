#include "rpc/flood_guard.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"
#include "metrics/counters.h"
#include "rpc/channelz.h"

namespace kamino::rpc {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
// Checks take longer with more connections and slower processors: at most a
// tenth of a processor. Calls take most of it; without a flood they may take a
// 400th. Both are checked once a second.
constexpr int kFloodShare = 10;
constexpr int kQuietShare = 400;
constexpr absl::Duration kLongest = absl::Seconds(1);
// With fewer calls without an answer since the last check, connections are not
// checked; otherwise the next check comes soon: thirty thousand calls may come
// in a second.
constexpr int64_t kFewCalls = 256;
constexpr absl::Duration kLookSoon = absl::Milliseconds(10);
// Growth since the last check, once half of the limit is used, that brings the
// next check soon: gRPC can allocate a gigabyte a second.
constexpr size_t kFastGrowth = 4u << 20;
// The least memory worth returning, and the least interval.
constexpr size_t kWorthwhile = 64u << 20;
constexpr absl::Duration kTrimEvery = absl::Seconds(5);
constexpr int kTrimsAfterEnd = 3;
constexpr absl::Duration kTrimInNeed = absl::Seconds(1);

metrics::Counters ended(
    "kamino_server_ended_connections_total",
    "Connections to gRPC servers that the process ended, by reason: resets (of "
    "calls, one after the other), memory (the process took too much memory, "
    "and these connections had sent most).",
    {"reason"});

// Processor time of this thread, so that other threads' load does not delay it.
absl::Duration OwnTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

// The process's memory without mapped files; 0: unknown.
size_t OwnMemory() {
  // Kept open: the guard reads it ten times a second, in idle processes too.
  // The process may have had no descriptor left at the first attempt.
  static int file = -1;
  if (file < 0) file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128] = {};
  if (pread(file, text, sizeof(text) - 1, 0) <= 0) return 0;
  size_t size = 0;
  size_t resident = 0;
  size_t shared = 0;
  if (std::sscanf(text, "%zu %zu %zu", &size, &resident, &shared) != 3 ||
      shared > resident) {
    return 0;
  }
  return (resident - shared) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::shared_ptr<FloodGuard> FloodGuard::OfProcess() {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const known = new std::weak_ptr<FloodGuard>;
  absl::MutexLock lock(&mutex);
  std::shared_ptr<FloodGuard> guard = known->lock();
  if (guard == nullptr) {
    guard.reset(new FloodGuard);
    *known = guard;
  }
  return guard;
}

FloodGuard::FloodGuard() {
  for (const char* reason : {"resets", "memory"}) ended.Of({reason});
  thread_ = std::thread([this] { Run(); });
}

FloodGuard::~FloodGuard() {
  {
    absl::MutexLock lock(&mutex_);
    stops_ = true;
  }
  thread_.join();
}

void FloodGuard::AddServer(int port, size_t max_memory) {
  absl::MutexLock lock(&mutex_);
  servers_[port] = max_memory;
}

void FloodGuard::RemoveServer(int port) {
  absl::MutexLock lock(&mutex_);
  servers_.erase(port);
}

void FloodGuard::Run() {
  pthread_setname_np(pthread_self(), "flood-guard");
  absl::Duration pause = kLook;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stops_), pause);
      if (stops_) return;
    }
    const absl::Duration began = OwnTime();
    const absl::Time now = MonotonicNow();
    bool flood = LookAtMemory(now);
    if (flood || now >= calls_at_) {
      flood = LookAtCalls() || flood;
      calls_at_ = flood ? now
                        : now + std::clamp(kQuietShare * (OwnTime() - began),
                                           kLook, kLongest);
    }
    ends_.End();
    pause = std::clamp(kFloodShare * (OwnTime() - began),
                       flood ? kLookSoon : kLook, kLongest);
  }
}

bool FloodGuard::LookAtCalls() {
  const std::vector<ChannelzServer> servers = ChannelzServers();
  int64_t unanswered = 0;
  for (const ChannelzServer& each : servers) unanswered += each.unanswered;
  const int64_t since = unanswered - std::exchange(unanswered_, unanswered);
  const bool looked_soon = std::exchange(looks_soon_, since >= kFewCalls);
  if (!looked_soon && !looks_soon_) return false;
  std::vector<ChannelzSocket> sockets;
  for (const ChannelzServer& each : servers) {
    for (ChannelzSocket& socket : ChannelzSocketsOf(each)) {
      sockets.push_back(std::move(socket));
    }
  }
  std::vector<StreamResets::Connection> connections;
  connections.reserve(sockets.size());
  for (const ChannelzSocket& each : sockets) {
    connections.push_back({each.id, each.unanswered});
  }
  const auto found = resets_.Look(connections, MonotonicNow());
  const absl::flat_hash_set<int64_t> which(found.begin(), found.end());
  for (const ChannelzSocket& each : sockets) {
    if (!which.contains(each.id)) continue;
    EndOne(each.port, AddressOfPeer(each.peer), "resets",
           absl::StrCat("it begins calls and resets them, ", each.unanswered,
                        " so far"));
  }
  return looks_soon_;
}

bool FloodGuard::LookAtMemory(absl::Time now) {
  size_t most = 0;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [port, max_memory] : servers_) {
      most = std::max(most, max_memory);
    }
  }
  size_t memory = OwnMemory();
  const size_t before = std::exchange(memory_, memory);
  if (most == 0 || memory <= most) {
    const bool soon = memory > most / 2 && memory >= before + kFastGrowth;
    // So that the heaviest senders are known at once if memory exceeds the
    // limit.
    received_ = soon ? Received() : Bytes();
    trimmed_to_ = std::min(trimmed_to_, memory);
    const bool worthwhile =
        trims_left_ > 0 || memory > trimmed_to_ + kWorthwhile;
    if (worthwhile && now - trimmed_at_ >= kTrimEvery) {
      trims_left_ = std::max(0, trims_left_ - 1);
      Trim(now);
    }
    return soon;
  }
  // Some of it may be free already.
  if (now - trimmed_at_ >= kTrimInNeed) memory = Trim(now);
  if (memory <= most) return false;
  EndWhoSendsMost(memory);
  return true;
}

size_t FloodGuard::Trim(absl::Time now) {
  ::malloc_trim(0);
  trimmed_at_ = now;
  return trimmed_to_ = OwnMemory();
}

FloodGuard::Bytes FloodGuard::Received() {
  const std::vector<Traffic> traffic = TrafficNow();
  Bytes received;
  absl::MutexLock lock(&mutex_);
  for (const Traffic& each : traffic) {
    if (servers_.count(each.local_port) == 0) continue;
    received[{each.local_port, each.peer}] = each.bytes_received;
  }
  return received;
}

void FloodGuard::EndWhoSendsMost(size_t memory) {
  Bytes received = Received();
  // A connection that is new since then has sent all of its bytes since, or
  // reuses the address of another one.
  const bool compares = !received_.empty();
  std::vector<std::pair<uint64_t, Bytes::key_type>> sent;
  for (const auto& [connection, bytes] : received) {
    const auto before = received_.find(connection);
    const bool same = before != received_.end() && before->second <= bytes;
    sent.emplace_back(bytes - (same ? before->second : 0), connection);
  }
  received_ = std::move(received);
  if (!compares || sent.empty()) return;  // the next check decides
  const uint64_t half = std::max_element(sent.begin(), sent.end())->first / 2;
  for (const auto& [bytes, connection] : sent) {
    if (bytes <= half) continue;
    EndOne(connection.first, connection.second, "memory",
           absl::StrCat("this process has ", memory >> 20,
                        " MiB of memory, more than its limit, and that "
                        "connection sends most"));
  }
}

void FloodGuard::EndOne(int port, const std::string& address,
                        absl::string_view reason, const std::string& why) {
  ended.Of({std::string(reason)})->Add();
  trims_left_ = kTrimsAfterEnd;
  ends_.AddPeer(port, address);
  const auto more = told_.Take(MonotonicNow());
  LOG_IF(WARNING, more.has_value())
      << "ends the connection from " << address << ": " << why << *more;
}

}  // namespace kamino::rpc
