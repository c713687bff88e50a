// The subjects there are, and how one is told of on the command line.
#ifndef KAMINO_BENCH_SERVICE_SUBJECTS_H_
#define KAMINO_BENCH_SERVICE_SUBJECTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/service/machine.h"
#include "bench/service/subject.h"

namespace kamino::bench::service {

struct RedisConnections {
  int writing = 1;
  int reading = 1;
  int replicas = 2;  // that have a write before it is answered
};

// "name=redis;kind=redis;at=127.0.0.1:6379;processes=master:12,replica1:14":
// settings in any order, those with a default may be left out.
struct SubjectSpec {
  std::string name;
  std::string kind;                    // "kamino", "redis", "etcd"
  std::vector<std::string> addresses;  // host:port; one, but of Kamino
  std::vector<Process> processes;
  // Kamino's carrier of calls. See MakeKamino.
  std::string carrier;  // client::ClientOptions::carrier
  RedisConnections redis;
  int connections = 1;  // of etcd
  std::string about;    // for the reader: nodes, durability
};

// kInvalidArgument: it is not as above.
absl::StatusOr<SubjectSpec> ParseSubject(absl::string_view text);

// Each is connected.
absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const SubjectSpec& spec);

// By our SDK. Carriers: "grpc".
absl::StatusOr<std::unique_ptr<Subject>> MakeKamino(
    const std::string& name, const std::string& carrier,
    const std::vector<std::string>& seeds);

// By hiredis; redis_subject.cc says how connections are used.
absl::StatusOr<std::unique_ptr<Subject>> MakeRedis(
    const std::string& name, const std::string& address,
    const RedisConnections& connections);

// By gRPC stubs, over so many connections to the member there.
absl::StatusOr<std::unique_ptr<Subject>> MakeEtcd(const std::string& name,
                                                  const std::string& address,
                                                  int connections);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_SUBJECTS_H_
