#include <utility>

#include "absl/random/random.h"
#include "client/call.h"

namespace kamino::client {

using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;

namespace {

class Settling final : public Call<CommitRequest> {
 public:
  template <typename... Arguments>
  explicit Settling(const Lane& lane, Arguments&&... arguments)
      : Call(std::forward<Arguments>(arguments)...), lane_(lane) {}

 private:
  std::shared_ptr<Connection> FindConnection(const std::string& address,
                                             bool* expired) override {
    return FindConnectionOf(runner_, lane_, address, expired);
  }
  uint64_t number() const override { return lane_.number; }
  void AddRequestId(CommitRequest* request) const override {
    SetRequestId(lane_, request->mutable_request_id());
  }

  const Lane lane_;
};

}  // namespace

void Settle(Runner* runner, const Lane& lane, absl::Time deadline,
            std::function<void(absl::StatusOr<bool>)> done) {
  CommitRequest request;
  // A precondition that never holds, on a random key that identifies the
  // answer.
  absl::BitGen random;
  const std::string mark =
      absl::StrCat("kamino.settle/", absl::Hex(absl::Uniform<uint64_t>(random)),
                   absl::Hex(absl::Uniform<uint64_t>(random)));
  auto* condition = request.add_preconditions();
  condition->set_key(mark);
  condition->set_exists(true);
  runner->EnterNested();
  auto call = std::make_shared<Settling>(
      lane, runner, Target::kHead, std::move(request), deadline,
      [mark, done = std::move(done)](absl::StatusOr<CommitResponse> response) {
        // The outcome of another method need not parse as that of a commit.
        if (absl::IsDataLoss(response.status())) return done(false);
        if (!response.ok()) return done(response.status());
        done(response->failed_keys_size() == 1 &&
             response->failed_keys(0) == mark);
      });
  call->Start();
}

}  // namespace kamino::client
