#include "client/chain_finder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/error.h"
#include "rpc/channel.h"
#include "rpc/cluster_identity.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

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
                     " answers, but is no node (a manager or etcd, perhaps); "
                     "check --seeds"));
  }
  return MakeError(error.code(), DetailOf(error),
                   absl::StrCat(address, ": ", error.message()));
}

Questions::After AfterOf(Timer* timer) {
  if (timer == nullptr) return nullptr;
  return [timer](absl::Duration delay, std::function<void()> task) {
    timer->After(delay, std::move(task));
  };
}

}  // namespace

ChainFinder::ChainFinder(Directory* directory, Timer* timer,
                         absl::Duration question_timeout)
    : directory_(directory),
      question_timeout_(question_timeout),
      questions_({MonotonicNow,
                  [this](const std::string& address, Questions::Ended ended) {
                    Ask(address, std::move(ended));
                  },
                  AfterOf(timer)}),
      silent_seeds_(directory->seeds(), {MonotonicNow, AfterOf(timer),
                                         [this](const std::string& address) {
                                           return questions_.AskBeside(address);
                                         }}) {}

ChainFinder::~ChainFinder() { Stop(absl::InfiniteDuration()); }

bool ChainFinder::Stop(absl::Duration patience) {
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

absl::Status ChainFinder::last_error() const {
  const absl::Status error = directory_->seeds_error();
  return error.ok() ? questions_.last_error() : error;
}

void ChainFinder::Refresh(std::function<void()> done) {
  // Before the addresses: a chain that is found between the two calls must not
  // end a round of seeds at the first answer.
  const auto until =
      directory_->known() ? Questions::Until::kFirst : Questions::Until::kAll;
  questions_.Begin(directory_->Addresses(), until,
                   [this, done = std::move(done)] {
                     Meet();
                     done();
                   });
}

void ChainFinder::Ask(const std::string& address, Questions::Ended ended) {
  // The context and the stub hold the channel. They are released before the
  // answer is counted, because a channel that is destroyed on a thread of gRPC
  // would wait for that thread.
  struct Question {
    std::shared_ptr<grpc::ClientContext> context;
    kamino::v1::GetChainRequest request;
    kamino::v1::GetChainResponse response;
    std::shared_ptr<Directory::Stub> stub;
  };
  auto question = std::make_shared<Question>();
  question->context = std::make_shared<grpc::ClientContext>();
  rpc::SetTimeout(question_timeout_, question->context.get());
  const bool meets = !directory_->known() || silent_seeds_.Compares(address);
  {
    absl::MutexLock lock(&mutex_);
    asking_.insert(question->context);
    if (stopping_) question->context->TryCancel();
  }
  question->request.set_chain_id(directory_->chain_id());
  question->stub = directory_->At(address);
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

void ChainFinder::Meet() {
  if (directory_->Meet()) silent_seeds_.Start();
}

void ChainFinder::OnAnswer(const std::string& address, bool meets,
                           const kamino::v1::GetChainResponse& response) {
  silent_seeds_.Heard(address);
  directory_->OnAnswer(address, meets, response);
}

void ChainFinder::OnFailure(const std::string& address, bool meets,
                            const absl::Status& error) {
  if (IsAnswer(error)) silent_seeds_.Heard(address);
  if (!rpc::IsOtherCluster(error)) return;
  directory_->OnOtherCluster(address, meets, error);
}

}  // namespace kamino::client
