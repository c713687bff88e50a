#include "client/seed_answers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/error.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

using kamino::v1::Chain;

bool AreOfOneCluster(const Chain& a, const Chain& b) {
  return a.cluster_id() == b.cluster_id() &&
         (a.cluster_uuid().empty() || b.cluster_uuid().empty() ||
          a.cluster_uuid() == b.cluster_uuid());
}

std::string NameOf(const Chain& chain) {
  return rpc::ClusterName(chain.cluster_id(), chain.cluster_uuid());
}

absl::Status Different(absl::string_view how) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   kamino::v1::REASON_OTHER_CLUSTER,
                   absl::StrCat("the seeds are of different clusters: ", how,
                                "; name seeds of one cluster"));
}

}  // namespace

void SeedAnswers::Add(const std::string& address,
                      const kamino::v1::GetChainResponse& answer) {
  answers_[address] = answer;
  if (!error_.ok()) return;
  for (const auto& [other, said] : answers_) {
    if (AreOfOneCluster(said.chain(), answer.chain())) continue;
    error_ =
        Different(absl::StrCat(other, " is of ", NameOf(said.chain()), ", and ",
                               address, " of ", NameOf(answer.chain())));
    return;
  }
}

void SeedAnswers::AddOther(const absl::Status& error) {
  if (error_.ok()) error_ = Different(error.message());
}

}  // namespace kamino::client
