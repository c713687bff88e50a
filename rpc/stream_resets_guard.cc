// What gRPC tells of its servers and their connections, by channelz: as JSON.
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "glog/logging.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"
#include "metrics/counters.h"
#include "rpc/stream_resets.h"

namespace kamino::rpc {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr absl::Duration kLook = absl::Milliseconds(100);
// Of all connections it takes longer, the more there are: a tenth of a
// processor at most, but it comes once a second.
constexpr int kLookShare = 10;
constexpr absl::Duration kLongest = absl::Seconds(1);
// With fewer calls than that it is not looked at connections.
constexpr int64_t kFewCalls = 512;

metrics::Counters ended(
    "kamino_server_ended_connections_total",
    "Connections to gRPC servers that were ended, by reason: resets (calls "
    "that were reset, one after the other).",
    {"reason"});

// Processor time of this thread: others' do not make it wait longer.
absl::Duration OwnTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

Struct Parse(char* json) {
  Struct parsed;
  if (json == nullptr) return parsed;
  // Of gRPC's own making; what it says in another version is not there.
  (void)google::protobuf::util::JsonStringToMessage(json, &parsed);
  gpr_free(json);
  return parsed;
}

const Value& Field(const Struct& of, const std::string& name) {
  const auto found = of.fields().find(name);
  return found == of.fields().end() ? Value::default_instance() : found->second;
}

const Struct& Part(const Struct& of, const std::string& name) {
  return Field(of, name).struct_value();
}

// Zero is left out.
int64_t Number(const Struct& of, const std::string& name) {
  int64_t number = 0;
  const Value& value = Field(of, name);
  if (value.kind_case() == Value::kNumberValue) {
    return static_cast<int64_t>(value.number_value());
  }
  return absl::SimpleAtoi(value.string_value(), &number) ? number : 0;
}

struct Server {
  int64_t id;
  int64_t calls;  // that there are
};

std::vector<Server> Servers() {
  std::vector<Server> servers;
  const Struct all = Parse(grpc_channelz_get_servers(0));
  for (const Value& each : Field(all, "server").list_value().values()) {
    const Struct& data = Part(each.struct_value(), "data");
    servers.push_back({Number(Part(each.struct_value(), "ref"), "serverId"),
                       Number(data, "callsStarted") -
                           Number(data, "callsSucceeded") -
                           Number(data, "callsFailed")});
  }
  return servers;
}

struct Socket {
  int64_t id;
  int64_t unanswered;
  std::string peer;  // as ServerContext has it
  int port;          // here
};

Socket SocketOf(int64_t id) {
  const Struct all = Parse(grpc_channelz_get_socket(id));
  const Struct& socket = Part(all, "socket");
  const Struct& data = Part(socket, "data");
  std::string name = Field(Part(socket, "ref"), "name").string_value();
  name = std::string(absl::StripPrefix(name, "chttp2 "));
  return {id, Number(data, "streamsStarted") - Number(data, "streamsSucceeded"),
          std::move(name),
          static_cast<int>(
              Number(Part(Part(socket, "local"), "tcpip_address"), "port"))};
}

void AddSockets(int64_t server, std::vector<Socket>* sockets) {
  int64_t next = 0;
  while (true) {
    const Struct some =
        Parse(grpc_channelz_get_server_sockets(server, next, 0));
    const auto& refs = Field(some, "socketRef").list_value().values();
    for (const Value& ref : refs) {
      const int64_t id = Number(ref.struct_value(), "socketId");
      sockets->push_back(SocketOf(id));
      next = id + 1;
    }
    if (refs.empty() || Field(some, "end").bool_value()) return;
  }
}

}  // namespace

std::shared_ptr<StreamResetsGuard> StreamResetsGuard::OfProcess() {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const known = new std::weak_ptr<StreamResetsGuard>;
  absl::MutexLock lock(&mutex);
  std::shared_ptr<StreamResetsGuard> guard = known->lock();
  if (guard == nullptr) {
    guard.reset(new StreamResetsGuard);
    *known = guard;
  }
  return guard;
}

StreamResetsGuard::StreamResetsGuard() {
  ended.Of({"resets"});  // shown from the start
  thread_ = std::thread([this] { Run(); });
}

StreamResetsGuard::~StreamResetsGuard() {
  {
    absl::MutexLock lock(&mutex_);
    stops_ = true;
  }
  thread_.join();
}

void StreamResetsGuard::Run() {
  pthread_setname_np(pthread_self(), "resets");
  absl::Duration pause = kLook;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stops_), pause);
      if (stops_) return;
    }
    const absl::Duration began = OwnTime();
    Look();
    pause = std::clamp(kLookShare * (OwnTime() - began), kLook, kLongest);
  }
}

void StreamResetsGuard::Look() {
  int64_t calls = 0;
  const std::vector<Server> servers = Servers();
  for (const Server& each : servers) calls += each.calls;
  if (calls < kFewCalls) {
    if (std::exchange(trims_, false)) ::malloc_trim(0);
    return;
  }
  std::vector<Socket> sockets;
  for (const Server& each : servers) AddSockets(each.id, &sockets);
  std::vector<StreamResets::Connection> connections;
  connections.reserve(sockets.size());
  for (const Socket& each : sockets) {
    connections.push_back({each.id, each.unanswered});
  }
  const auto which = resets_.Look(connections, calls, MonotonicNow());
  for (const Socket& each : sockets) {
    if (std::find(which.begin(), which.end(), each.id) == which.end()) continue;
    ended.Of({"resets"})->Add();
    ends_.AddPeer(each.port, AddressOfPeer(each.peer));
    trims_ = true;
    const auto more = told_.Take(MonotonicNow());
    LOG_IF(WARNING, more.has_value())
        << "ends the connection from " << AddressOfPeer(each.peer)
        << ": it begins calls and resets them, " << each.unanswered
        << " so far; " << calls << " calls are there" << *more;
  }
  ends_.End();
}

}  // namespace kamino::rpc
