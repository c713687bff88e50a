// Links to hosts that are named: the thread of the links never waits for the
// name server.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"
#include "tests/transport/link_rig.h"
#include "transport/socket/resolver.h"
#include "transport/tcp/tcp_transport.h"

namespace kamino::transport {
namespace {

using ::testing::HasSubstr;

constexpr char kHere[] = "127.0.0.1";

// Keeps questions until the test answers them.
class HeldResolver final : public Resolver {
 public:
  void LookUp(const std::string& host, absl::Time, Answer answer) override {
    absl::MutexLock lock(&mutex_);
    asked_.emplace_back(host, std::move(answer));
  }
  Addresses LastGood(const std::string& host) const override {
    absl::MutexLock lock(&mutex_);
    const auto found = last_good_.find(host);
    return found == last_good_.end() ? Addresses() : found->second;
  }

  void Remember(const std::string& host, const std::string& number) {
    absl::MutexLock lock(&mutex_);
    last_good_[host] = {*AddressOfNumber(number, 0)};
  }
  bool AwaitAsked(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return asked_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&enough),
                                   Patience(absl::Seconds(60)));
  }
  size_t asked() {
    absl::MutexLock lock(&mutex_);
    return asked_.size();
  }
  // Answers the lookup of that number.
  void AnswerTo(size_t number, const absl::StatusOr<Addresses>& found) {
    Answer answer;
    {
      absl::MutexLock lock(&mutex_);
      answer = asked_[number].second;
    }
    answer(found);
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::pair<std::string, Answer>> asked_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Addresses> last_good_ ABSL_GUARDED_BY(mutex_);
};

class NamedLinkTest : public ::testing::Test {
 protected:
  NamedLinkTest() {
    rig_.options.connect_timeout = Patience(absl::Seconds(60));
    server_ = rig_.NewTransport();
    listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  }

  std::unique_ptr<Transport> NewClient(bool last_good) {
    return *TcpTransports({resolver_, last_good}).Make(rig_.options);
  }
  std::string Named(const std::string& host) const {
    const std::string& at = listener_->address();
    return absl::StrCat(host, at.substr(at.rfind(':')));
  }
  std::shared_ptr<Recorder> Connect(Transport* client,
                                    const std::string& address) {
    auto recorder = rig_.NewRecorder();
    const auto link = client->Connect(address, recorder);
    EXPECT_TRUE(link.ok()) << link.status();
    return recorder;
  }
  bool Connects(const std::shared_ptr<Recorder>& recorder) {
    return rig_.Until([&] { return recorder->connected == 1; });
  }
  bool Fails(const std::shared_ptr<Recorder>& recorder) {
    return rig_.Until([&] { return recorder->closed == 1; });
  }
  static Resolver::Addresses At(const std::string& number) {
    return {*AddressOfNumber(number, 0)};
  }

  LinkRig rig_{"tcp"};
  const std::shared_ptr<HeldResolver> resolver_ =
      std::make_shared<HeldResolver>();
  std::unique_ptr<Transport> server_;
  std::unique_ptr<RecordingListener> listener_;
};

TEST_F(NamedLinkTest, AHangingLookupDelaysNoOtherLink) {
  auto client = NewClient(/*last_good=*/false);
  const auto hangs = Connect(client.get(), Named("hangs"));
  ASSERT_TRUE(resolver_->AwaitAsked(1));
  const auto other = Connect(client.get(), listener_->address());
  EXPECT_TRUE(Connects(other));
  {
    absl::MutexLock lock(rig_.mutex());
    EXPECT_EQ(hangs->connected, 0);
    EXPECT_EQ(hangs->closed, 0);
  }
  resolver_->AnswerTo(0, At(kHere));
  EXPECT_TRUE(Connects(hangs));
}

TEST_F(NamedLinkTest, ANameIsLookedUpByTheResolver) {
  const auto asks = [this] {
    auto client = NewClient(/*last_good=*/false);
    const size_t before = resolver_->asked();
    // The system would find that as well.
    const auto link = Connect(client.get(), Named("localhost"));
    EXPECT_TRUE(rig_.Until(
        [&] { return resolver_->asked() > before || link->connected == 1; }));
    return resolver_->asked() > before;
  };
  EXPECT_TRUE(asks());
  const faults::Planted planted("links-look-names-up-on-their-thread");
  EXPECT_FALSE(asks());
}

TEST_F(NamedLinkTest, AFailedLookupEndsTheLink) {
  auto client = NewClient(/*last_good=*/true);
  const auto link = Connect(client.get(), Named("unknown"));
  ASSERT_TRUE(resolver_->AwaitAsked(1));
  resolver_->AnswerTo(0, absl::UnavailableError("no such name"));
  ASSERT_TRUE(Fails(link));
  EXPECT_EQ(link->why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(link->why.message()), HasSubstr("no such name"));
}

TEST_F(NamedLinkTest, TheLastGoodAddressIsUsedWhenALookupIsLateOrFails) {
  resolver_->Remember("late", kHere);
  resolver_->Remember("fails", kHere);
  auto client = NewClient(/*last_good=*/true);
  const auto late = Connect(client.get(), Named("late"));
  EXPECT_TRUE(Connects(late));
  const auto fails = Connect(client.get(), Named("fails"));
  ASSERT_TRUE(resolver_->AwaitAsked(2));
  resolver_->AnswerTo(1, absl::UnavailableError("no such name"));
  EXPECT_TRUE(Connects(fails));
  resolver_->AnswerTo(0, At(kHere));  // which comes too late to matter
  EXPECT_EQ(late->closed, 0);
}

TEST_F(NamedLinkTest, AClientThatDoesNotCheckPeersIgnoresFormerAddresses) {
  resolver_->Remember("fails", kHere);
  auto client = NewClient(/*last_good=*/false);
  const auto fails = Connect(client.get(), Named("fails"));
  ASSERT_TRUE(resolver_->AwaitAsked(1));
  resolver_->AnswerTo(0, absl::UnavailableError("no such name"));
  EXPECT_TRUE(Fails(fails));
}

// As of a pod that has moved: its former address takes no connection.
TEST_F(NamedLinkTest, ALateAnswerIsAlsoTried) {
  // The address has no listener, and refuses connections at once.
  const std::string nowhere = "127.0.0.77";
  auto client = NewClient(/*last_good=*/true);
  const auto link = Connect(client.get(), Named("moved"));
  ASSERT_TRUE(resolver_->AwaitAsked(1));
  resolver_->AnswerTo(0, Resolver::Addresses{*AddressOfNumber(nowhere, 0),
                                             *AddressOfNumber(kHere, 0)});
  EXPECT_TRUE(Connects(link));
}

TEST_F(NamedLinkTest, TheEndWaitsForNoLookup) {
  auto client = NewClient(/*last_good=*/true);
  const auto link = Connect(client.get(), Named("hangs"));
  ASSERT_TRUE(resolver_->AwaitAsked(1));
  client.reset();
  EXPECT_EQ(link->closed, 1);
  EXPECT_EQ(link->why.code(), absl::StatusCode::kCancelled);
  resolver_->AnswerTo(0, At(kHere));  // no link waits for it
  EXPECT_EQ(link->connected, 0);
}

TEST_F(NamedLinkTest, AnExpectedNameIsLookedUpAtOnce) {
  auto client = NewClient(/*last_good=*/true);
  client->Expect(Named("soon"));
  EXPECT_EQ(resolver_->asked(), 1u);
  client->Expect(listener_->address());
  client->Expect("no address");
  EXPECT_EQ(resolver_->asked(), 1u);
}

TEST_F(NamedLinkTest, AnInvalidAddressIsRefusedAtOnce) {
  auto client = NewClient(/*last_good=*/true);
  for (const std::string address : {"nowhere", "fd00::1:7001", "a:70000"}) {
    EXPECT_EQ(client->Connect(address, rig_.NewRecorder()).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kamino::transport
