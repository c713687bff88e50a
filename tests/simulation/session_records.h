// When each client was heard: whether a session was closed that was not silent.
#ifndef KAMINO_TESTS_SIMULATION_SESSION_RECORDS_H_
#define KAMINO_TESTS_SIMULATION_SESSION_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/simulation/committed_log.h"

namespace kamino::simulation {

// Times are the world's.
class SessionRecords {
 public:
  // The client was told that its session is open, with that lease and recovery
  // epoch.
  void Opened(uint64_t id, absl::Duration lease, uint64_t epoch) {
    of(id).lease = lease;
    of(id).epoch = epoch;
  }
  // The client asks for it to be closed.
  void AskedToClose(uint64_t id) { of(id).asked_to_close = true; }
  // A request sent at that time, in the session, has an answer that is no
  // error: the head had heard it.
  void Answered(uint64_t id, absl::Time sent) { of(id).sent.push_back(sent); }

  // Some node has the log entry in its ring.
  void OnAppended(uint64_t first, absl::string_view bytes, absl::Time now);

  // For every session that the log closes, the client asked to close it, or was
  // silent for as long as its lease, and no request that it sent later was
  // answered. Except sessions from before the last recovery by force, which
  // ended them all.
  absl::Status Check(const CommittedLog& log, uint64_t last_epoch) const;

 private:
  struct Session {
    absl::Duration lease;
    uint64_t epoch = 0;
    bool asked_to_close = false;
    std::vector<absl::Time> sent;
  };
  Session& of(uint64_t id) { return sessions_[id]; }
  absl::Status CheckClosed(uint64_t id, absl::Time closed,
                           uint64_t last_epoch) const;

  std::map<uint64_t, Session> sessions_;
  // When an entry that closes sessions was first appended.
  std::map<std::pair<uint64_t, std::string>, absl::Time> closings_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SESSION_RECORDS_H_
