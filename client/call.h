// One call of the API with its retries. Private to the library.
//
// A mutation keeps its name (client id and number) through all attempts, so
// that the servers execute it once. It ends in one of these ways:
//   - answered: the lane continues with the next number;
//   - refused, and no earlier attempt can have been executed: the number is
//     unused, and the next mutation takes it;
//   - refused, but an earlier attempt's answer was lost: a mutation without
//     effect is sent under the same number. If it takes the number, the refusal
//     is final. Otherwise the first attempt had taken it, and its outcome is
//     fetched;
//   - refused because a later number has committed (superseded): the lane is
//     given up;
//   - refused because the outcome may have been dropped, and no earlier
//     attempt can have been executed: another lane sends the mutation anew,
//     with a newer `since`;
//   - out of time while an attempt's answer is missing: the outcome is unknown,
//     the error contains the name for GetOutcome, and the lane is given up.
#ifndef KAMINO_CLIENT_CALL_H_
#define KAMINO_CLIENT_CALL_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "client/call_errors.h"
#include "client/call_route.h"
#include "client/error.h"
#include "client/method.h"
#include "client/retry.h"
#include "client/runner.h"
#include "client/session/connection.h"
#include "client/start_scope.h"
#include "client/trace_scope.h"
#include "grpcpp/client_context.h"
#include "logs/trace.h"
#include "proto/session_frame.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {

// Delay before a mutation whose outcome may have been dropped is sent under
// another name.
inline constexpr absl::Duration kRenewDelay = absl::Milliseconds(1);

// Limit of a request over a connection; a node's limit for mutations is lower.
inline constexpr size_t kMaxBodyBytes = size_t{4} << 20;

// The name under which a mutation is sent.
inline void SetRequestId(const Lane& lane, kamino::v1::RequestId* id) {
  id->set_client_id(lane.client_id);
  id->set_number(lane.number);
  id->set_since(lane.since);
  id->set_in_session(lane.in_session);
}

template <typename Request>
class Call : public std::enable_shared_from_this<Call<Request>> {
 public:
  using Response = ResponseOf<Request>;
  using Done = std::function<void(absl::StatusOr<Response>)>;

  Call(Runner* runner, Target target, Request request, absl::Time deadline,
       Done done)
      : runner_(runner),
        request_(std::move(request)),
        deadline_(deadline),
        route_(target, &runner->directory(), &runner->reads()),
        done_(std::move(done)) {}
  virtual ~Call() = default;

  // Call after entering the runner; the call leaves it at its end.
  void Start() {
    const absl::Duration left = deadline_ - MonotonicNow();
    if (runner_->stopping()) return Expire(Closed());
    if (left <= absl::ZeroDuration()) return Expire(last_error_);
    if (!Prepare()) return;
    if (!route_.Choose()) return FindChainAndRetry();
    if (++attempts_ > 1) runner_->CountRetry();
    const absl::Duration timeout = route_.AttemptTimeout(left);
    if constexpr (Method<Request>::kSession != session::Method{}) {
      bool expired = false;
      const auto connection = FindConnection(route_.address(), &expired);
      if (expired) return OnAnswer(SessionExpired());
      if (connection != nullptr && SendBy(connection, timeout)) return;
    }
    SendAlone(timeout);
  }

 protected:
  // Ends the call, or continues it; a mutation settles its lane here.
  virtual void Conclude(const absl::Status& status) { Finish(status); }
  virtual void Expire(const absl::Status& cause) {
    // The cluster was overloaded until the end.
    if (ReasonOf(cause) == kamino::v1::REASON_OVERLOADED) return Finish(cause);
    Finish(absl::DeadlineExceededError(
        absl::StrCat("no answer in time (last error: ", cause.message(), ")")));
  }

  void Finish(const absl::Status& status) {
    if (!StartScope::active()) return Tell(status);
    runner_->timer().After(
        absl::ZeroDuration(),
        [self = this->shared_from_this(), status] { self->Tell(status); });
  }

  // Runs the callback on this stack and leaves the runner.
  void Tell(const absl::Status& status) {
    runner_->MakeRoom();
    if (status.ok()) {
      done_(std::move(response_));
    } else {
      done_(NamedBy(status, request_name()));
    }
    done_ = nullptr;
    // The channel must not be destroyed on this thread: see ChainFinder::Ask.
    context_ = nullptr;
    stub_ = nullptr;
    runner_->Leave();
  }

  // Retries, because the client may find the chain later. Ends the call if the
  // seeds belong to different clusters.
  void FindChainAndRetry() {
    const absl::Status error = runner_->directory().seeds_error();
    if (!error.ok()) return Conclude(error);
    RefreshAndRetry(absl::Milliseconds(50));
  }

  void RefreshAndRetry(absl::Duration delay) {
    auto self = this->shared_from_this();
    runner_->finder().Refresh([self, delay] {
      if (self->attempts_ == 0) {
        self->last_error_ = self->runner_->finder().last_error();
      }
      self->BeforeRetry();
      self->Retry(delay);
    });
  }

  // False: the call cannot begin yet; Start is called again later.
  virtual bool Prepare() { return true; }
  // Called after the chain was fetched.
  virtual void BeforeRetry() {}

  // The connection for the attempt; null: send it as a unary call. `*expired`:
  // do not send it at all.
  virtual std::shared_ptr<Connection> FindConnection(const std::string& address,
                                                     bool* expired) {
    (void)expired;
    return runner_->connections().Find(address, /*mutates=*/false,
                                       runner_->directory().chain_id());
  }
  // The mutation's number in its session.
  virtual uint64_t number() const { return 0; }
  // The request's name in the logs of nodes; "": none.
  virtual std::string request_name() const { return ""; }
  // Adds the fields that only a unary request carries.
  virtual void AddRequestId(Request*) const {}

  Runner* const runner_;
  Request request_;
  const absl::Time deadline_;
  bool outcome_unknown_ = false;  // of some attempt

 private:
  // True if the answer came from a replica and the tail is asked instead.
  bool GoToTail(const absl::Status& status) {
    if (!route_.TurnsToTail(status)) return false;
    last_error_ = status;
    --attempts_;  // failed attempts at replicas do not count
    Retry(absl::ZeroDuration());
    return true;
  }

  void SendAlone(absl::Duration timeout) {
    stub_ = runner_->directory().At(route_.address());
    request_.set_chain_id(runner_->directory().chain_id());
    AddRequestId(&request_);
    context_ = std::make_unique<grpc::ClientContext>();
    rpc::SetTimeout(timeout, context_.get());
    if (!trace_.empty()) context_->AddMetadata(logs::kTraceparentKey, trace_);
    response_.Clear();
    Method<Request>::Send(
        stub_.get(), context_.get(), &request_, &response_,
        [self = this->shared_from_this()](grpc::Status status) {
          self->OnAnswer(rpc::FromGrpc(status));
        });
  }

  // False: it was not sent.
  bool SendBy(const std::shared_ptr<Connection>& connection,
              absl::Duration timeout) {
    Strip(&request_);
    // A node would refuse it.
    if (request_.ByteSizeLong() > kMaxBodyBytes) return false;
    return connection->Send(
        Method<Request>::kSession, number(), timeout, request_, trace_,
        [self = this->shared_from_this(),
         connection](const Connection::Answer& answer) {
          self->OnConnectionAnswer(connection->welcome(), answer);
        });
  }

  // Removes fields that the connection has already sent in its hello.
  static void Strip(Request* request) {
    request->clear_chain_id();
    if constexpr (requires { request->clear_request_id(); }) {
      request->clear_request_id();
    }
  }

  void OnConnectionAnswer(const kamino::v1::SessionWelcome& welcome,
                          const Connection::Answer& answer) {
    response_.Clear();
    if (!answer.status.ok()) return OnAnswer(answer.status);
    if (!response_.ParseFromArray(answer.body.data(),
                                  static_cast<int>(answer.body.size()))) {
      // The same error as a node's for an outcome of another method.
      return OnAnswer(absl::DataLossError("the answer cannot be read"));
    }
    auto* const header = response_.mutable_header();
    header->set_view_id(
        std::max(welcome.view_id(), runner_->directory().view_id()));
    header->set_sequence(answer.sequence);
    header->set_served_by(welcome.node_id());
    header->set_chain_id(welcome.chain_id());
    OnAnswer(absl::OkStatus());
  }

  void OnAnswer(const absl::Status& status) {
    if (status.ok()) {
      runner_->directory().Saw(response_.header());
    } else {
      runner_->directory().OnRefused(route_.address(), status);
    }
    if (GoToTail(status)) return;
    const int failures =
        status.ok() ? 0 : failures_.Add(runner_->directory().chain().view_id());
    const Decision decision = DecideAfter(status, failures, runner_->Random());
    outcome_unknown_ |=
        decision.outcome_unknown && rpc::MayHaveBeenSent(status);
    if (!decision.retry) return Conclude(status);
    last_error_ = status;
    // The answer named the node to go to: try it once.
    if (!decision.outcome_unknown && decision.refresh &&
        route_.HasNewerView()) {
      return Retry(absl::ZeroDuration());
    }
    if (decision.refresh) return RefreshAndRetry(decision.delay);
    Retry(decision.delay);
  }

  void Retry(absl::Duration delay) {
    auto self = this->shared_from_this();
    runner_->timer().After(std::min(delay, std::max(deadline_ - MonotonicNow(),
                                                    absl::ZeroDuration())),
                           [self] { self->Start(); });
  }

  const std::string trace_ = TraceScope::current();
  CallRoute route_;
  Done done_;
  int attempts_ = 0;
  FailureCount failures_;
  absl::Status last_error_ = absl::UnavailableError("no chain is known");
  std::shared_ptr<Directory::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  Response response_;
};

// The connection for a mutation with that name.
inline std::shared_ptr<Connection> FindConnectionOf(Runner* runner,
                                                    const Lane& lane,
                                                    const std::string& address,
                                                    bool* expired) {
  const ChainId chain_id = runner->directory().chain_id();
  if (lane.in_session) {
    return runner->connections().FindOf(lane.client_id, address, chain_id,
                                        expired);
  }
  // Opens the session for later mutations once they justify one.
  runner->connections().Find(address, /*mutates=*/true, chain_id);
  return nullptr;
}

// Sends a mutation without effect under a name that may be taken. `done(true)`:
// it took the name. `done(false)`: an earlier mutation has the name. An error:
// unknown.
void Settle(Runner* runner, const Lane& lane, absl::Time deadline,
            std::function<void(absl::StatusOr<bool>)> done);

template <typename Request>
class Mutation : public Call<Request> {
 public:
  using Base = Call<Request>;

  Mutation(Runner* runner, Request request, absl::Time deadline,
           typename Base::Done done)
      : Base(runner, Target::kHead, std::move(request), deadline,
             std::move(done)) {}

 protected:
  void Conclude(const absl::Status& status) override {
    if (status.ok()) {
      this->runner_->lanes().Release(*lane_, /*used=*/true);
      return this->Finish(status);
    }
    if (committed_) return FinishUnknown(status);
    if (this->outcome_unknown_) return SettleThenFinish(status);
    if (ReasonOf(status) == kamino::v1::REASON_CLIENT_EXPIRED ||
        ReasonOf(status) == kamino::v1::REASON_SESSION_EXPIRED) {
      if (lane_->in_session)
        this->runner_->connections().Expired(lane_->client_id);
      // The servers may have dropped the lane's outcome, and no attempt has
      // changed anything. The mutation is sent anew once the chain's present
      // sequence is known.
      expired_ = true;
      return this->RefreshAndRetry(kRenewDelay);
    }
    // A superseded number has no further use.
    if (ReasonOf(status) != kamino::v1::REASON_SUPERSEDED) {
      this->runner_->lanes().Release(*lane_, /*used=*/false);
    } else {
      this->runner_->GiveUp(*lane_);
    }
    this->Finish(status);
  }

  void Expire(const absl::Status& cause) override {
    if (this->outcome_unknown_) return FinishUnknown(cause);
    if (!lane_.has_value() && !this->runner_->stopping()) {
      return Base::Expire(NoRoomInWindow(this->runner_->lanes().window()));
    }
    if (lane_.has_value()) {
      this->runner_->lanes().Release(*lane_, /*used=*/false);
    }
    Base::Expire(cause);
  }

 private:
  // The session's window is full. This mutation waits rather than take the
  // unary path, which costs busy nodes more.
  bool Prepare() override {
    if (lane_.has_value()) return true;
    auto self = std::static_pointer_cast<Mutation>(this->shared_from_this());
    const auto lane = this->runner_->lanes().AcquireOr(
        this->runner_->directory().seen(), this->deadline_,
        [self](std::optional<Lane> freed) {
          self->lane_ = freed;
          self->StartByLane();
        });
    if (!lane.has_value()) return false;  // it may have begun meanwhile
    lane_ = lane;
    return true;
  }

  // A call that ends at once passes its lane to the next waiting call, so each
  // waiting call starts on its own stack.
  void StartByLane() {
    if (!StartScope::active()) {
      const StartScope scope;
      return this->Start();
    }
    auto self = this->shared_from_this();
    this->runner_->timer().After(absl::ZeroDuration(),
                                 [self] { self->Start(); });
  }

  void BeforeRetry() override {
    if (std::exchange(expired_, false)) lane_.reset();
  }

  std::shared_ptr<Connection> FindConnection(const std::string& address,
                                             bool* expired) override {
    return FindConnectionOf(this->runner_, *lane_, address, expired);
  }
  uint64_t number() const override { return lane_->number; }
  std::string request_name() const override {
    if (!lane_.has_value()) return "";
    return absl::StrCat(lane_->client_id, "/", lane_->number);
  }
  void AddRequestId(Request* request) const override {
    SetRequestId(*lane_, request->mutable_request_id());
  }

  void FinishUnknown(const absl::Status& cause) {
    this->runner_->GiveUp(*lane_);
    this->Finish(OutcomeUnknown(
        *lane_, this->runner_->directory().cluster()->uuid(), cause));
  }

  void SettleThenFinish(const absl::Status& refusal) {
    auto self = std::static_pointer_cast<Mutation>(this->shared_from_this());
    Settle(this->runner_, *lane_, this->deadline_,
           [self, refusal](absl::StatusOr<bool> took) {
             if (!took.ok()) {
               return self->FinishUnknown(took.status());
             }
             if (!*took) {
               self->committed_ = true;
               return self->Start();  // fetches the outcome
             }
             self->runner_->lanes().Release(*self->lane_, /*used=*/true);
             self->Finish(refusal);
           });
  }

  std::optional<Lane> lane_;  // none: it waits for one
  bool expired_ = false;      // take another lane
  // Learned from settling: the number is taken, so without an answer the lane
  // cannot be reused.
  bool committed_ = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CALL_H_
