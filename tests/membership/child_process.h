// Programs that a test runs, on loopback ports.
#ifndef KAMINO_TESTS_MEMBERSHIP_CHILD_PROCESS_H_
#define KAMINO_TESTS_MEMBERSHIP_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::membership {

// A port on which no process listened a moment ago.
int FreePort();

// Killed at the latest when it, or the test, ends. Not thread-safe.
class ChildProcess {
 public:
  // Runs command[0], a path; both its outputs go to the file `log`.
  ChildProcess(const std::vector<std::string>& command, const std::string& log);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // If the signal is to stop the process, returns when it has stopped.
  void Signal(int signal);
  // The exit code, minus the signal that ended it, or -1000 when it has not
  // ended in time.
  int Wait(absl::Duration timeout);

  // Its output so far; or waits until that contains `text`, and returns whether
  // it did in time.
  std::string Output() const;
  bool AwaitOutput(absl::string_view text, absl::Duration timeout) const;

 private:
  const std::string log_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

// A real etcd, of one member, with its data in `folder`.
class EtcdProcess {
 public:
  // `scheme`: of its clients' URLs.
  explicit EtcdProcess(const std::string& folder,
                       std::vector<std::string> flags = {},
                       std::string scheme = "http");

  std::string endpoint() const;
  // Ends it with SIGKILL, starts it again on the same data and port.
  void Restart();
  void Signal(int signal) { process_->Signal(signal); }

 private:
  void Start();

  const std::string folder_;
  const std::vector<std::string> flags_;
  const std::string scheme_;
  const int port_ = FreePort();
  const int peer_port_ = FreePort();
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_CHILD_PROCESS_H_
