// A Resolver that calls getaddrinfo, which blocks until the name server answers
// or 5 to 30 s have passed.
//
// Invariants:
//   1. Lookups run on threads of the pool's own, kMostThreads at most. A thread
//      ends when nothing is left to look up.
//   2. There is at most one lookup of a name at a time. Requests for the same
//      name meanwhile share its answer.
//   3. The destructor waits for no lookup. A thread that is in one ends when
//      the lookup returns, and uses only State, which it shares with the pool.
//   4. The numbers of names, waiting requests and kept addresses are bounded.
#ifndef KAMINO_TRANSPORT_SOCKET_LOOKUP_POOL_H_
#define KAMINO_TRANSPORT_SOCKET_LOOKUP_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/socket/resolver.h"

namespace kamino::transport {

// Runs `work` on a detached thread that blocks all signals. False: the system
// has no thread left.
bool StartResolverThread(std::function<void()> work);

// Calls getaddrinfo for stream sockets. kUnavailable: as Resolver::LookUp.
absl::StatusOr<Resolver::Addresses> LookUpBySystem(const std::string& host);

class LookupPool final : public Resolver {
 public:
  static constexpr int kMostThreads = 4;
  static constexpr size_t kMostNames = 64;    // in lookup, or queued
  static constexpr size_t kMostWaiting = 64;  // requests for one name
  static constexpr size_t kMostKept = 256;    // names with a last good answer

  using Blocking =
      std::function<absl::StatusOr<Addresses>(const std::string& host)>;

  // Runs `work` on a thread of its own. False: it cannot be started.
  using StartThread = std::function<bool(std::function<void()> work)>;

  explicit LookupPool(Blocking look_up = LookUpBySystem,
                      StartThread start_thread = StartResolverThread);
  ~LookupPool() override;
  LookupPool(const LookupPool&) = delete;
  LookupPool& operator=(const LookupPool&) = delete;

  void LookUp(const std::string& host, absl::Time deadline,
              Answer answer) override;
  Addresses LastGood(const std::string& host) const override;

 private:
  struct State;
  static void Work(const std::shared_ptr<State>& state);
  // A thread could not be started. Fails the requests that no other thread will
  // serve.
  void GiveUpThread();

  const StartThread start_thread_;
  const std::shared_ptr<State> state_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_LOOKUP_POOL_H_
