#include "client/directory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/error.h"
#include "grpcpp/alarm.h"
#include "rpc/channel.h"
#include "rpc/grpc_time.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::Chain;
using kamino::v1::KaminoService;

constexpr size_t kMaxStubs = 64;
constexpr int kMaxAnswerBytes = 8 << 20;
// The first seed to answer waits for the others, which may be of another
// cluster, for this part of a question's timeout. One that hangs costs a client
// that much, once.
constexpr int kMeetingPart = 2;

// The same with the word whose it is.
absl::Status From(const std::string& address, const absl::Status& error) {
  if (error.ok()) return error;
  if (absl::IsUnimplemented(error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(address, " answers, but is no node (a manager, perhaps)"));
  }
  return MakeError(error.code(), DetailOf(error),
                   absl::StrCat(address, ": ", error.message()));
}

std::shared_ptr<grpc::Channel> Connect(
    const std::string& address,
    std::shared_ptr<const rpc::Credentials> credentials,
    std::shared_ptr<const rpc::ClusterIdentity> cluster) {
  rpc::ChannelOptions options;
  options.credentials = std::move(credentials);
  options.cluster = std::move(cluster);
  options.max_answer_bytes = kMaxAnswerBytes;
  options.counted = false;  // an application counts what it calls
  return rpc::MakeChannel(address, options);
}

// Which of two errors of a round says more: that another cluster has an
// address, then anything but that something is no node. The later one of two
// alike.
absl::Status Worse(const absl::Status& before, const absl::Status& now) {
  const auto weight = [](const absl::Status& error) {
    if (error.ok()) return 0;
    if (rpc::IsOtherCluster(error)) return 3;
    return absl::IsInvalidArgument(error) ? 1 : 2;
  };
  return weight(now) < weight(before) ? before : now;
}

bool AreOfOneCluster(const Chain& a, const Chain& b) {
  return a.cluster_id() == b.cluster_id() &&
         (a.cluster_uuid().empty() || b.cluster_uuid().empty() ||
          a.cluster_uuid() == b.cluster_uuid());
}

std::string NameOf(const Chain& chain) {
  return rpc::ClusterName(chain.cluster_id(), chain.cluster_uuid());
}

using Answers = std::map<std::string, kamino::v1::GetChainResponse>;

absl::Status CheckOneCluster(const Answers& by_address) {
  for (auto one = by_address.begin(); one != by_address.end(); ++one) {
    for (auto other = std::next(one); other != by_address.end(); ++other) {
      const Chain& a = one->second.chain();
      const Chain& b = other->second.chain();
      if (AreOfOneCluster(a, b)) continue;
      return MakeError(
          absl::StatusCode::kInvalidArgument, kamino::v1::REASON_OTHER_CLUSTER,
          absl::StrCat("the seeds are of different clusters: ", one->first,
                       " is of ", NameOf(a), ", and ", other->first, " of ",
                       NameOf(b), "; name seeds of one cluster"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct Directory::Round {
  int open = 0;           // questions without an answer
  absl::Status error;     // the worst
  bool answered = false;  // the waiters were told
  std::vector<std::function<void()>> waiters;
  // No chain was known when it began: it ends when all have answered, or some
  // time after the first.
  bool meets = false;
  Answers met;                         // of one that meets, until then
  std::unique_ptr<grpc::Alarm> alarm;  // likewise
};

Directory::Directory(std::vector<std::string> seeds, ChainId chain_id,
                     std::shared_ptr<const rpc::Credentials> credentials,
                     absl::Duration question_timeout)
    : seeds_(std::move(seeds)),
      wanted_chain_(chain_id),
      credentials_(std::move(credentials)),
      question_timeout_(question_timeout) {}

Directory::~Directory() {
  std::set<std::shared_ptr<grpc::ClientContext>> asking;
  {
    absl::MutexLock lock(&mutex_);
    asking = asking_;
  }
  for (const auto& question : asking) question->TryCancel();
  asking.clear();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Directory::Idle));
}

std::shared_ptr<Directory::Stub> Directory::AtLocked(
    const std::string& address) {
  auto found = stubs_.find(address);
  if (found != stubs_.end()) return found->second;
  // Addresses come and go with nodes; those in use come back at once.
  if (stubs_.size() >= kMaxStubs) stubs_.clear();
  std::shared_ptr<Stub> stub =
      KaminoService::NewStub(Connect(address, credentials_, cluster_));
  stubs_[address] = stub;
  return stub;
}

std::shared_ptr<Directory::Stub> Directory::At(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  return AtLocked(address);
}

std::string Directory::AddressOf(Target target) const {
  absl::MutexLock lock(&mutex_);
  if (chain_.nodes().empty()) return "";
  const std::string& address = target == Target::kHead
                                   ? chain_.nodes().begin()->address()
                                   : chain_.nodes().rbegin()->address();
  return foreign_.contains(address) ? "" : address;
}

ReadSpread::Place Directory::ReplicaAt(uint64_t turn) const {
  absl::MutexLock lock(&mutex_);
  const int replicas = chain_.nodes_size() - 1;
  if (replicas < 1) return {"", /*is_tail=*/true};
  const int index = 1 + static_cast<int>(turn % replicas);
  const std::string& address = chain_.nodes(index).address();
  if (foreign_.contains(address)) return {"", /*is_tail=*/true};
  return {address, /*is_tail=*/index == replicas};
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
    foreign_.insert(address);
  } else {
    LearnLocked(DetailOf(why).chain());
  }
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

absl::Status Directory::last_error() const {
  absl::MutexLock lock(&mutex_);
  return last_error_;
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

void Directory::Refresh(std::function<void()> done) {
  std::shared_ptr<Round> round;
  std::vector<std::string> addresses;
  {
    absl::MutexLock lock(&mutex_);
    if (round_ != nullptr) {
      round_->waiters.push_back(std::move(done));
      return;
    }
    round = round_ = std::make_shared<Round>();
    round->waiters.push_back(std::move(done));
    round->meets = chain_.nodes().empty();
    addresses = AddressesLocked();
    round->open = static_cast<int>(addresses.size());
    questions_ += round->open;
  }
  for (const std::string& address : addresses) Ask(round, address);
}

void Directory::Ask(const std::shared_ptr<Round>& round,
                    const std::string& address) {
  // Context and stub hold the channel. They are let go of before the answer is
  // counted: a channel must not end on a thread of gRPC's, which would then
  // wait for itself.
  struct Question {
    std::shared_ptr<grpc::ClientContext> context;
    kamino::v1::GetChainRequest request;
    kamino::v1::GetChainResponse response;
    std::shared_ptr<Stub> stub;
  };
  auto question = std::make_shared<Question>();
  question->context = std::make_shared<grpc::ClientContext>();
  rpc::SetTimeout(question_timeout_, question->context.get());
  {
    absl::MutexLock lock(&mutex_);
    asking_.insert(question->context);
  }
  question->request.set_chain_id(chain_id());
  question->stub = At(address);
  question->stub->async()->GetChain(
      question->context.get(), &question->request, &question->response,
      [this, round, question, address](const grpc::Status& status) {
        const absl::Status error = From(address, rpc::FromGrpc(status));
        const kamino::v1::GetChainResponse response = question->response;
        {
          absl::MutexLock lock(&mutex_);
          asking_.erase(question->context);
        }
        question->context = nullptr;
        question->stub = nullptr;
        OnAnswer(round, address, error, response);
      });
}

void Directory::TakeLocked(const std::string& address,
                           const kamino::v1::GetChainResponse& response) {
  LearnLocked(response.chain());
  if (!IsOursLocked(response.chain())) {
    foreign_.insert(address);
    return;
  }
  foreign_.erase(address);
  // A node of another cluster or chain counts something else.
  seen_ = std::max<uint64_t>(seen_, response.header().sequence());
}

void Directory::MeetLocked(Round* round) {
  const absl::Status one_cluster = CheckOneCluster(round->met);
  if (!one_cluster.ok()) {
    round->error = one_cluster;
    return;
  }
  for (const auto& [address, response] : round->met) {
    TakeLocked(address, response);
  }
}

void Directory::OnAnswer(const std::shared_ptr<Round>& round,
                         const std::string& address, const absl::Status& status,
                         const kamino::v1::GetChainResponse& response) {
  std::vector<std::function<void()>> waiters;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_alarm = address.empty();
    if (!is_alarm) --round->open;
    if (is_alarm) {
      round->alarm = nullptr;  // it holds the round
    } else if (!status.ok()) {
      round->error = Worse(round->error, status);
      if (rpc::IsOtherCluster(status)) foreign_.insert(address);
    } else if (round->meets && !round->answered) {
      round->met[address] = response;
    } else {
      TakeLocked(address, response);
    }
    const bool meets = round->meets && !round->answered;
    const bool over = round->open == 0 || is_alarm || (status.ok() && !meets);
    if (meets && over) MeetLocked(round.get());
    if (!round->error.ok()) last_error_ = round->error;
    if (over && !round->answered) {
      round->answered = true;
      waiters.swap(round->waiters);
      if (round_ == round) round_ = nullptr;
      if (round->alarm != nullptr) round->alarm->Cancel();
    } else if (meets && status.ok() && round->alarm == nullptr) {
      ++questions_;
      round->alarm = std::make_unique<grpc::Alarm>();
      round->alarm->Set(rpc::FromNow(question_timeout_ / kMeetingPart),
                        [this, round](bool) {
                          OnAnswer(round, /*address=*/"", absl::OkStatus(), {});
                        });
    }
  }
  for (auto& waiter : waiters) waiter();
  absl::MutexLock lock(&mutex_);
  --questions_;
}

}  // namespace kamino::client
