#include "client/directory.h"

#include <algorithm>
#include <utility>

#include "client/error.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::Chain;
using kamino::v1::KaminoService;

constexpr int kMaxAnswerBytes = 8 << 20;

using Connect = Stubs<KaminoService>::Connect;

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    std::shared_ptr<const rpc::Credentials> credentials,
    std::shared_ptr<const rpc::ClusterIdentity> cluster) {
  rpc::ChannelOptions options;
  options.credentials = std::move(credentials);
  options.cluster = std::move(cluster);
  options.max_answer_bytes = kMaxAnswerBytes;
  options.counted = false;  // applications count their own calls
  return rpc::MakeChannel(address, options);
}

// The channels of the options; they name the cluster.
Connect ConnectFor(const DirectoryOptions& options,
                   std::shared_ptr<const rpc::ClusterIdentity> cluster) {
  if (options.connect != nullptr) return options.connect;
  return [credentials = options.credentials,
          cluster = std::move(cluster)](const std::string& address) {
    return MakeChannel(address, credentials, cluster);
  };
}

}  // namespace

Directory::Directory(DirectoryOptions options, Timer* timer)
    : seeds_(std::move(options.seeds)),
      wanted_chain_(options.chain_id),
      stubs_(ConnectFor(options, cluster_), timer) {}

std::shared_ptr<Directory::Stub> Directory::At(const std::string& address) {
  return stubs_.At(address);
}

void Directory::AvoidLocked(const std::string& address) {
  foreign_.insert(address);
  // The node's name may have moved.
  stubs_.Renew(address);
}

std::string Directory::AddressOf(Target target) const {
  absl::MutexLock lock(&mutex_);
  if (chain_.nodes().empty() || !seed_answers_.error().ok()) return "";
  const std::string& address = target == Target::kHead
                                   ? chain_.nodes().begin()->address()
                                   : chain_.nodes().rbegin()->address();
  return foreign_.contains(address) ? "" : address;
}

ReadSpread::Place Directory::ReplicaAt(uint64_t turn) const {
  absl::MutexLock lock(&mutex_);
  const int replicas = chain_.nodes_size() - 1;
  if (!seed_answers_.error().ok()) return {"", /*is_tail=*/true};
  for (int step = 0; step < replicas; ++step) {
    const int index = 1 + static_cast<int>((turn + step) % replicas);
    const std::string& address = chain_.nodes(index).address();
    if (!foreign_.contains(address)) {
      return {address, /*is_tail=*/index == replicas};
    }
  }
  return {"", /*is_tail=*/true};
}

bool Directory::Learn(const Chain& chain) {
  absl::MutexLock lock(&mutex_);
  return LearnLocked(chain);
}

bool Directory::IsOursLocked(const Chain& chain) const {
  if (!cluster_->Fits(chain.cluster_uuid())) return false;
  if (chain_.nodes().empty())
    return IsForChain(wanted_chain_, chain.chain_id());
  return chain_.cluster_id() == chain.cluster_id() &&
         chain_.chain_id() == chain.chain_id();
}

bool Directory::LearnLocked(const Chain& chain) {
  if (chain.nodes().empty() || !IsOursLocked(chain)) return false;
  cluster_->Pin(chain.cluster_id(), chain.cluster_uuid());
  if (chain.view_id() <= chain_.view_id()) return false;
  chain_ = chain;
  foreign_.clear();
  return true;
}

void Directory::OnRefused(const std::string& address, const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (rpc::IsOtherCluster(why)) {
    AvoidLocked(address);
  } else {
    LearnLocked(DetailOf(why).chain());
  }
}

bool Directory::known() const {
  absl::MutexLock lock(&mutex_);
  return !chain_.nodes().empty();
}

Chain Directory::chain() const {
  absl::MutexLock lock(&mutex_);
  return chain_;
}

uint64_t Directory::view_id() const {
  absl::MutexLock lock(&mutex_);
  return chain_.view_id();
}

ChainId Directory::chain_id() const {
  absl::MutexLock lock(&mutex_);
  return chain_.nodes().empty() ? wanted_chain_ : chain_.chain_id();
}

uint64_t Directory::seen() const {
  absl::MutexLock lock(&mutex_);
  return seen_;
}

void Directory::Saw(const kamino::v1::ResponseHeader& header) {
  absl::MutexLock lock(&mutex_);
  seen_ = std::max<uint64_t>(seen_, header.sequence());
}

absl::Status Directory::seeds_error() const {
  absl::MutexLock lock(&mutex_);
  return seed_answers_.error();
}

std::vector<std::string> Directory::AddressesLocked() const {
  std::vector<std::string> addresses;
  const auto add = [&addresses](const std::string& address) {
    if (std::find(addresses.begin(), addresses.end(), address) ==
        addresses.end()) {
      addresses.push_back(address);
    }
  };
  for (const auto& node : chain_.nodes()) add(node.address());
  for (const std::string& seed : seeds_) add(seed);
  return addresses;
}

std::vector<std::string> Directory::Addresses() const {
  absl::MutexLock lock(&mutex_);
  return AddressesLocked();
}

void Directory::TakeLocked(const std::string& address,
                           const kamino::v1::GetChainResponse& response) {
  LearnLocked(response.chain());
  if (!IsOursLocked(response.chain())) return AvoidLocked(address);
  foreign_.erase(address);
  // A node of another cluster or chain has other sequence numbers.
  seen_ = std::max<uint64_t>(seen_, response.header().sequence());
}

bool Directory::Meet() {
  absl::MutexLock lock(&mutex_);
  if (!chain_.nodes().empty() || !seed_answers_.error().ok()) return false;
  for (const auto& [address, response] : seed_answers_.answers()) {
    TakeLocked(address, response);
  }
  return !chain_.nodes().empty();
}

void Directory::OnAnswer(const std::string& address, bool meets,
                         const kamino::v1::GetChainResponse& response) {
  absl::MutexLock lock(&mutex_);
  if (meets) seed_answers_.Add(address, response);
  // Meet compares the seeds first.
  if (chain_.nodes().empty()) return;
  TakeLocked(address, response);
}

void Directory::OnOtherCluster(const std::string& address, bool meets,
                               const absl::Status& error) {
  absl::MutexLock lock(&mutex_);
  if (meets) seed_answers_.AddOther(error);
  AvoidLocked(address);
}

}  // namespace kamino::client
