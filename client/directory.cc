#include "client/directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/error.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::Chain;
using kamino::v1::KaminoService;

constexpr int kMaxAnswerBytes = 8 << 20;

// Whether a node has answered with an error that a retry does not change.
bool IsAnswer(const absl::Status& error) {
  return absl::IsInvalidArgument(error) || absl::IsFailedPrecondition(error) ||
         absl::IsPermissionDenied(error);
}

// Prefixes the error with the address.
absl::Status From(const std::string& address, const absl::Status& error) {
  if (error.ok()) return error;
  if (absl::IsUnimplemented(error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(address,
                     " answers, but is no node (a manager or etcd, "
                     "perhaps)"));
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
  options.counted = false;  // applications count their own calls
  return rpc::MakeChannel(address, options);
}

Questions::After AfterOf(Timer* timer) {
  if (timer == nullptr) return nullptr;
  return [timer](absl::Duration delay, std::function<void()> task) {
    timer->After(delay, std::move(task));
  };
}

}  // namespace

Directory::Directory(std::vector<std::string> seeds, ChainId chain_id,
                     std::shared_ptr<const rpc::Credentials> credentials,
                     absl::Duration question_timeout, Timer* timer,
                     Stubs<KaminoService>::Connect connect)
    : seeds_(std::move(seeds)),
      wanted_chain_(chain_id),
      credentials_(std::move(credentials)),
      question_timeout_(question_timeout),
      stubs_(
          [this, connect = std::move(connect)](const std::string& address) {
            return connect != nullptr
                       ? connect(address)
                       : Connect(address, credentials_, cluster_);
          },
          timer),
      questions_({MonotonicNow,
                  [this](const std::string& address, Questions::Ended ended) {
                    Ask(address, std::move(ended));
                  },
                  AfterOf(timer)}),
      silent_seeds_(seeds_, {MonotonicNow, AfterOf(timer),
                             [this](const std::string& address) {
                               return questions_.AskBeside(address);
                             }}) {}

Directory::~Directory() { Stop(absl::InfiniteDuration()); }

bool Directory::Stop(absl::Duration patience) {
  silent_seeds_.Stop();
  std::set<std::shared_ptr<grpc::ClientContext>> asking;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    asking = asking_;
  }
  for (const auto& question : asking) question->TryCancel();
  asking.clear();
  return questions_.AwaitEnd(patience);
}

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

absl::Status Directory::last_error() const {
  const absl::Status error = seeds_error();
  return error.ok() ? questions_.last_error() : error;
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
  bool meets;
  {
    absl::MutexLock lock(&mutex_);
    meets = chain_.nodes().empty();
  }
  questions_.Begin(Addresses(),
                   meets ? Questions::Until::kAll : Questions::Until::kFirst,
                   [this, done = std::move(done)] {
                     Meet();
                     done();
                   });
}

void Directory::Ask(const std::string& address, Questions::Ended ended) {
  // The context and the stub hold the channel. They are released before the
  // answer is counted, because a channel that is destroyed on a thread of gRPC
  // would wait for that thread.
  struct Question {
    std::shared_ptr<grpc::ClientContext> context;
    kamino::v1::GetChainRequest request;
    kamino::v1::GetChainResponse response;
    std::shared_ptr<Stub> stub;
  };
  auto question = std::make_shared<Question>();
  question->context = std::make_shared<grpc::ClientContext>();
  rpc::SetTimeout(question_timeout_, question->context.get());
  bool meets;
  {
    absl::MutexLock lock(&mutex_);
    asking_.insert(question->context);
    if (stopping_) question->context->TryCancel();
    meets = chain_.nodes().empty() || silent_seeds_.Compares(address);
  }
  question->request.set_chain_id(chain_id());
  question->stub = At(address);
  question->stub->async()->GetChain(
      question->context.get(), &question->request, &question->response,
      [this, question, address, meets,
       ended = std::move(ended)](const grpc::Status& status) {
        const absl::Status error = From(address, rpc::FromGrpc(status));
        const kamino::v1::GetChainResponse response = question->response;
        {
          absl::MutexLock lock(&mutex_);
          asking_.erase(question->context);
        }
        question->context = nullptr;
        question->stub = nullptr;
        if (error.ok()) {
          OnAnswer(address, meets, response);
        } else {
          OnFailure(address, meets, error);
        }
        ended(error);
      });
}

void Directory::TakeLocked(const std::string& address,
                           const kamino::v1::GetChainResponse& response) {
  LearnLocked(response.chain());
  if (!IsOursLocked(response.chain())) return AvoidLocked(address);
  foreign_.erase(address);
  // A node of another cluster or chain has other sequence numbers.
  seen_ = std::max<uint64_t>(seen_, response.header().sequence());
}

void Directory::Meet() {
  {
    absl::MutexLock lock(&mutex_);
    if (!chain_.nodes().empty() || !seed_answers_.error().ok()) return;
    for (const auto& [address, response] : seed_answers_.answers()) {
      TakeLocked(address, response);
    }
    if (chain_.nodes().empty()) return;
  }
  silent_seeds_.Start();
}

void Directory::OnAnswer(const std::string& address, bool meets,
                         const kamino::v1::GetChainResponse& response) {
  silent_seeds_.Heard(address);
  absl::MutexLock lock(&mutex_);
  if (meets) seed_answers_.Add(address, response);
  // Meet compares the seeds first.
  if (chain_.nodes().empty()) return;
  TakeLocked(address, response);
}

void Directory::OnFailure(const std::string& address, bool meets,
                          const absl::Status& error) {
  if (IsAnswer(error)) silent_seeds_.Heard(address);
  if (!rpc::IsOtherCluster(error)) return;
  absl::MutexLock lock(&mutex_);
  if (meets) seed_answers_.AddOther(error);
  AvoidLocked(address);
}

}  // namespace kamino::client
