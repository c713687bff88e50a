// The seeds' answers to the questions that a client sends before it knows its
// cluster. They decide which cluster that is. Seeds of different clusters are
// an error for good, also where one of them answers after the client has taken
// the cluster of the others: the client cannot tell which one is meant. (An
// address that another cluster takes over later is no such error: the client
// only stops using it.)
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

  // The last answer of the seed at `address`.
  void Add(const std::string& address,
           const kamino::v1::GetChainResponse& answer);
  // A seed belongs to another cluster than the one that was taken; `error`
  // (rpc::OtherCluster) names the seed.
  void AddOther(const absl::Status& error);

  const ByAddress& answers() const { return answers_; }
  // kInvalidArgument with REASON_OTHER_CLUSTER: the seeds are of different
  // clusters. Names two of them.
  const absl::Status& error() const { return error_; }

 private:
  ByAddress answers_;
  absl::Status error_;  // the first one
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SEED_ANSWERS_H_
