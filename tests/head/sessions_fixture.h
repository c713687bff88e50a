// A head with a session, and a clock that ticks.
#ifndef KAMINO_TESTS_HEAD_SESSIONS_FIXTURE_H_
#define KAMINO_TESTS_HEAD_SESSIONS_FIXTURE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "replica/errors.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {

inline constexpr uint64_t kSession = 0x1122334455667788;
inline constexpr absl::Duration kLease = absl::Seconds(5);
inline constexpr absl::Duration kSessionTick = absl::Milliseconds(50);

inline void ExpectReason(const absl::Status& status, kamino::v1::Reason reason,
                         const std::string& text) {
  EXPECT_EQ(replica::ReasonOf(status), reason) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(text));
}

class HeadSessionsTest : public AdmissionTest {
 protected:
  explicit HeadSessionsTest(AdmissionOptions options = {})
      : AdmissionTest(options), options_(std::move(options)) {}

  using Opened = std::optional<absl::StatusOr<SessionInfo>>;

  // Opens a session; the answer lands in the result.
  std::shared_ptr<Opened> Open(uint64_t id, uint32_t window = 8,
                               absl::Duration lease = kLease,
                               std::function<bool()> abandoned = nullptr) {
    auto answer = std::make_shared<Opened>();
    SessionParams params;
    params.id = id;
    params.window = window;
    params.lease = lease;
    params.by = by_;
    params.abandoned = std::move(abandoned);
    admission_->sessions().Open(
        params, now_, [answer](absl::StatusOr<SessionInfo> session) {
          EXPECT_FALSE(answer->has_value()) << "answered twice";
          *answer = std::move(session);
        });
    return answer;
  }
  absl::StatusOr<SessionInfo> RunOpen(uint64_t id, uint32_t window = 8,
                                      absl::Duration lease = kLease) {
    const auto answer = Open(id, window, lease);
    Run();
    return answer->value_or(absl::UnknownError("no answer"));
  }

  std::shared_ptr<std::optional<absl::Status>> Close(uint64_t id) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    admission_->sessions().Close(
        id, now_,
        [answer](absl::Status status) {
          EXPECT_FALSE(answer->has_value()) << "answered twice";
          *answer = std::move(status);
        },
        by_);
    return answer;
  }

  // Until no request is ready.
  void Run() {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
  }
  absl::Status Run(size_t index) {
    Run();
    return StatusOf(index);
  }

  // With its ticks and their effects.
  void Pass(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; Run()) {
      now_ += kSessionTick;
      admission_->OnTick(now_);
    }
  }

  // A new head on the same state.
  void Promote() {
    admission_.reset();
    admission_ =
        std::make_unique<Admission>(options_, &under_.store(), &state_, &core_);
    ASSERT_TRUE(admission_->Promote(now_, &actions_).ok());
  }

  uint64_t Parked() const { return admission_->stats().parked; }
  uint64_t InFlight() const { return admission_->stats().in_flight; }
  uint64_t BytesUsed() { return under_.heap().stats().bytes_used; }

  const AdmissionOptions options_;
};

class OpenSessionTest : public HeadSessionsTest {
 protected:
  explicit OpenSessionTest(AdmissionOptions options = {})
      : HeadSessionsTest(std::move(options)) {
    EXPECT_TRUE(RunOpen(kSession).ok());
    for (const char* key : {"a", "b"}) {
      EXPECT_TRUE(Run(Put(key, "0", 1, ++number_)).ok());
    }
  }

  uint64_t number_ = 0;
};

}  // namespace kamino::head

#endif  // KAMINO_TESTS_HEAD_SESSIONS_FIXTURE_H_
