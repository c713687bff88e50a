// One connection to one node (docs/formats/session.md). Batches requests of
// many threads as they come, and answers each once. Private to the library.
#ifndef KAMINO_CLIENT_SESSION_CONNECTION_H_
#define KAMINO_CLIENT_SESSION_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/session/wire.h"
#include "google/protobuf/message_lite.h"
#include "kamino/v1/session.pb.h"
#include "proto/session_frame.h"

namespace kamino::client {

// Thread-safe.
class Connection final : public WireHandler,
                         public std::enable_shared_from_this<Connection> {
 public:
  struct Answer {
    absl::Status status;  // with an ErrorDetail if it is the node's
    uint64_t sequence = 0;
    absl::string_view body;  // until the call returns
  };
  using Done = absl::AnyInvocable<void(const Answer&)>;
  // The node's answer to the hello, or an error.
  using Opened =
      absl::AnyInvocable<void(const std::shared_ptr<Connection>&,
                              absl::StatusOr<kamino::v1::SessionWelcome>)>;

  // The clock of timeouts; never goes back. Any thread.
  using Clock = std::function<absl::Time()>;

  // Calls `opened` once, on the wire's thread, or on this one if there is no
  // way. `hello` names the session, if any. Close cancels the opening.
  static std::shared_ptr<Connection> Open(const kamino::v1::SessionHello& hello,
                                          const WireMaker& make, Clock clock,
                                          Opened opened);

  // For an open connection. False: it has ended, nothing was sent, and `done`
  // is not called. Otherwise `done` is called once, on the wire's thread or on
  // that of EndOverdue; with kUnavailable if the connection ends, or
  // kDeadlineExceeded if no answer comes within `timeout`. Requests sent by
  // `done` leave together, after all answers of the frame. `traceparent`: sent
  // with the request if the node supports it; "": none.
  bool Send(session::Method method, uint64_t number, absl::Duration timeout,
            absl::string_view body, Done done);
  bool Send(session::Method method, uint64_t number, absl::Duration timeout,
            const google::protobuf::MessageLite& body,
            absl::string_view traceparent, Done done);

  // Ends requests without an answer in time, in the order of sending, and the
  // connection if nothing has arrived since such a request was sent. Call it
  // regularly. `now` is the clock's.
  void EndOverdue(absl::Time now);
  // Ends all outstanding requests, and the wire.
  void Close();
  // The wire is gone, and no callback runs any more.
  bool over() const {
    absl::MutexLock lock(&mutex_);
    return over_;
  }
  // Call after Close, not on the wire's thread.
  void AwaitEnd() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&over_));
  }

  // No request is outstanding.
  bool idle() const {
    absl::MutexLock lock(&mutex_);
    return pending_.empty();
  }
  bool opening() const {
    absl::MutexLock lock(&mutex_);
    return state_ == State::kOpening;
  }
  bool ended() const {
    absl::MutexLock lock(&mutex_);
    return state_ == State::kEnded;
  }
  // Only for an open connection.
  const kamino::v1::SessionWelcome& welcome() const { return welcome_; }

 private:
  enum class State { kOpening, kOpen, kEnded };
  struct Pending {
    Done done;
    absl::Time sent;
    absl::Time deadline;
  };

  Connection(Clock clock, Opened opened)
      : clock_(std::move(clock)), opened_(std::move(opened)) {}

  // `write` writes the body, of `body_bytes` bytes.
  bool Send(session::Method method, uint64_t number, absl::Duration timeout,
            size_t body_bytes, absl::FunctionRef<void(char* to)> write,
            absl::string_view traceparent, Done done);
  void OnFrame(absl::string_view bytes) override;
  void OnWireClosed(const absl::Status& why) override;
  void OnWelcome(absl::string_view body);
  void OnResponses(const session::Frame& frame);
  void End(const absl::Status& why);
  // Sends the collected requests, unless another thread will.
  void Flush();

  const Clock clock_;
  Opened opened_;                       // until called; the wire's thread
  kamino::v1::SessionWelcome welcome_;  // constant once it is open

  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kOpening;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Wire> wire_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<uint32_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  absl::Time heard_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint32_t next_tag_ ABSL_GUARDED_BY(mutex_) = 1;
  session::FrameWriter out_ ABSL_GUARDED_BY(mutex_){
      session::FrameKind::kRequests};
  std::deque<std::string> full_ ABSL_GUARDED_BY(mutex_);  // before out_
  // A thread sends or delivers answers, and will check out_ afterwards.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_CONNECTION_H_
