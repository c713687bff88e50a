// The seeds' answers before the client knows its cluster; they decide which
// cluster that is. Seeds of different clusters are a permanent error, even if
// one of them answers only after the client has accepted the others' cluster:
// the client cannot tell which one is meant. (An address that another cluster
// takes over later is not such an error; the client only stops using it.)
#ifndef KAMINO_CLIENT_SEED_ANSWERS_H_
#define KAMINO_CLIENT_SEED_ANSWERS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// Not thread-safe.
class SeedAnswers {
 public:
  using ByAddress = std::map<std::string, kamino::v1::GetChainResponse>;

  // Records the last answer of the seed at `address`.
  void Add(const std::string& address,
           const kamino::v1::GetChainResponse& answer);
  // A seed belongs to another cluster than the accepted one; `error`
  // (rpc::OtherCluster) names the seed.
  void AddOther(const absl::Status& error);

  const ByAddress& answers() const { return answers_; }
  // kInvalidArgument with REASON_OTHER_CLUSTER: the seeds belong to different
  // clusters. The message names two of them.
  const absl::Status& error() const { return error_; }

 private:
  ByAddress answers_;
  absl::Status error_;  // the first one
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SEED_ANSWERS_H_
