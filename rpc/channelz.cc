// Uses grpc_channelz_...(), which return JSON (gRPC 1.51) and are on by
// default.
#include "rpc/channelz.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace kamino::rpc {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

Struct Parse(char* json) {
  Struct parsed;
  if (json == nullptr) return parsed;
  // Made by gRPC; fields of other versions are missing.
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

// JSON omits zeros.
int64_t Number(const Struct& of, const std::string& name) {
  int64_t number = 0;
  const Value& value = Field(of, name);
  if (value.kind_case() == Value::kNumberValue) {
    return static_cast<int64_t>(value.number_value());
  }
  return absl::SimpleAtoi(value.string_value(), &number) ? number : 0;
}

ChannelzSocket SocketOf(int64_t id) {
  const Struct all = Parse(grpc_channelz_get_socket(id));
  const Struct& socket = Part(all, "socket");
  const Struct& data = Part(socket, "data");
  const std::string& name = Field(Part(socket, "ref"), "name").string_value();
  return {id, Number(data, "streamsStarted") - Number(data, "streamsSucceeded"),
          std::string(absl::StripPrefix(name, "chttp2 ")),
          static_cast<int>(
              Number(Part(Part(socket, "local"), "tcpip_address"), "port"))};
}

}  // namespace

absl::Mutex& ServersMutex() {
  static absl::Mutex* const mutex = new absl::Mutex;
  return *mutex;
}

std::vector<ChannelzServer> ChannelzServers() {
  std::vector<ChannelzServer> servers;
  char* json;
  {
    absl::MutexLock lock(&ServersMutex());
    json = grpc_channelz_get_servers(0);
  }
  const Struct all = Parse(json);
  for (const Value& each : Field(all, "server").list_value().values()) {
    const Struct& data = Part(each.struct_value(), "data");
    servers.push_back(
        {Number(Part(each.struct_value(), "ref"), "serverId"),
         Number(data, "callsStarted") - Number(data, "callsSucceeded")});
  }
  return servers;
}

std::vector<ChannelzSocket> ChannelzSocketsOf(const ChannelzServer& server) {
  std::vector<ChannelzSocket> sockets;
  int64_t next = 0;
  while (true) {
    const Struct some =
        Parse(grpc_channelz_get_server_sockets(server.id, next, 0));
    const auto& refs = Field(some, "socketRef").list_value().values();
    for (const Value& ref : refs) {
      const int64_t id = Number(ref.struct_value(), "socketId");
      sockets.push_back(SocketOf(id));
      next = id + 1;
    }
    if (refs.empty() || Field(some, "end").bool_value()) return sockets;
  }
}

}  // namespace kamino::rpc
