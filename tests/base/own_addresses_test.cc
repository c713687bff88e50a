#include "base/own_addresses.h"

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace {

constexpr char kSilent[] = "silent.test";
absl::Notification* answers = nullptr;  // of the name servers

}  // namespace

// Takes the place of libc's: the name servers of kSilent answer once the test
// says so; other names are not known.
extern "C" int getaddrinfo(const char* host, const char* port,
                           const addrinfo* hints, addrinfo** found) {
  const bool numeric = (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (host != nullptr && absl::string_view(host) == kSilent && !numeric) {
    answers->WaitForNotification();
  }
  if (host != nullptr && absl::string_view(host) != "::1" &&
      absl::string_view(host) != kSilent) {
    return EAI_NONAME;
  }
  if (numeric && absl::string_view(host) == kSilent) return EAI_NONAME;
  auto* const address = new sockaddr_in6{};
  address->sin6_family = AF_INET6;
  address->sin6_port = htons(static_cast<uint16_t>(std::stoi(port)));
  auto* const entry = new addrinfo{};
  entry->ai_family = AF_INET6;
  entry->ai_addr = reinterpret_cast<sockaddr*>(address);
  entry->ai_addrlen = sizeof(*address);
  *found = entry;
  return 0;
}

extern "C" void freeaddrinfo(addrinfo* entry) {
  delete reinterpret_cast<sockaddr_in6*>(entry->ai_addr);
  delete entry;
}

namespace kamino {
namespace {

uint16_t PortOf(const OwnAddress& address) {
  return ntohs(
      reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
}

class OwnAddressesTest : public ::testing::Test {
 protected:
  OwnAddressesTest() {
    answers = &answers_;
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  sigset_t signals_;
  // Outlives the thread of a lookup.
  absl::Notification& answers_ = *new absl::Notification;
};

TEST_F(OwnAddressesTest, ReadsNumbersAndNames) {
  answers_.Notify();
  for (const char* host : {"", "::1", kSilent}) {
    const auto found = LookUpOwnAddresses(host, 7001);
    ASSERT_TRUE(found.ok()) << host << ": " << found.status();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(PortOf(found->front()), 7001);
  }
  const auto unknown = LookUpOwnAddresses("unknown.test", 7001);
  EXPECT_TRUE(absl::IsUnavailable(unknown.status())) << unknown.status();
}

TEST_F(OwnAddressesTest, ASignalEndsTheWaitForASilentNameServer) {
  EXPECT_EQ(PendingEndSignal(), 0);
  pthread_kill(pthread_self(), SIGTERM);
  EXPECT_EQ(PendingEndSignal(), SIGTERM);
  EXPECT_TRUE(LookUpOwnAddresses("::1", 7001).ok());
  const auto found = LookUpOwnAddresses(kSilent, 7001);
  EXPECT_TRUE(absl::IsCancelled(found.status())) << found.status();
  int taken = 0;
  sigwait(&signals_, &taken);
  EXPECT_EQ(taken, SIGTERM);
  answers_.Notify();
}

}  // namespace
}  // namespace kamino
