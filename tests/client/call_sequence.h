// A client's calls in sequence.
#ifndef KAMINO_TESTS_CLIENT_CALL_SEQUENCE_H_
#define KAMINO_TESTS_CLIENT_CALL_SEQUENCE_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "client/client.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// Calls that each begin the next one from their callback.
class CallSequence {
 public:
  CallSequence(Client* client, int calls) : client_(client), left_(calls) {}

  void Next() {
    const bool outer = std::exchange(beginning_, true);
    if (left_ % 3 == 1) {
      kamino::v1::GetRequest get;
      get.set_key("key");
      client_->GetAsync(get, [this](const auto& got) { End(got.status()); });
    } else if (left_ % 3 == 2) {
      kamino::v1::PutRequest put;
      put.set_key("key");
      client_->PutAsync(put, [this](const auto& done) { End(done.status()); });
    } else {
      client_->ScanAsync(
          kamino::v1::ScanRequest(), [](const auto&) { return true; },
          [this](const absl::Status& status) { End(status); });
    }
    beginning_ = outer;
  }
  // The last call's status.
  absl::Status Wait() {
    ended_.WaitForNotification();
    return last_;
  }
  int nested() const { return nested_; }

 private:
  void End(const absl::Status& status) {
    if (beginning_) ++nested_;
    last_ = status;
    if (--left_ > 0) return Next();
    ended_.Notify();
  }

  // Whether this thread is within a function that begins a call.
  static inline thread_local bool beginning_ = false;

  Client* const client_;
  int left_;
  int nested_ = 0;
  absl::Status last_;
  absl::Notification ended_;
};

}  // namespace kamino::client

#endif  // KAMINO_TESTS_CLIENT_CALL_SEQUENCE_H_
