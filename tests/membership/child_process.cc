#include "tests/membership/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glog/logging.h"

namespace kamino::membership {
namespace {

// Waits until `fd` has something to read; false at the deadline.
bool AwaitReadable(int fd, absl::Time deadline) {
  const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
  pollfd entry{fd, POLLIN, 0};
  return left > 0 && poll(&entry, 1, static_cast<int>(left)) > 0;
}

}  // namespace

int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  PCHECK(socket >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  PCHECK(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  PCHECK(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
         0);
  close(socket);
  return ntohs(address.sin_port);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::string& log)
    : log_(log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const int output =
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  PCHECK(output >= 0) << log;
  const pid_t parent = getpid();
  pid_ = fork();
  PCHECK(pid_ >= 0);
  if (pid_ == 0) {
    // Only calls that are safe after a fork of a process with threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(output);
}

ChildProcess::~ChildProcess() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int signal) {
  CHECK(!ended_);
  PCHECK(kill(pid_, signal) == 0);
  if (signal != SIGSTOP) return;
  // Its threads run on until the signal has taken effect.
  int status = 0;
  PCHECK(waitpid(pid_, &status, WUNTRACED) == pid_);
  CHECK(WIFSTOPPED(status));
}

int ChildProcess::Wait(absl::Duration timeout) {
  CHECK(!ended_);
  // Becomes readable when the process has ended.
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  PCHECK(handle >= 0);
  const bool in_time = AwaitReadable(handle, absl::Now() + timeout);
  close(handle);
  if (!in_time) return -1000;
  int status = 0;
  PCHECK(waitpid(pid_, &status, 0) == pid_);
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string ChildProcess::Output() const {
  std::ifstream file(log_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool ChildProcess::AwaitOutput(absl::string_view text,
                               absl::Duration timeout) const {
  const absl::Time deadline = absl::Now() + timeout;
  const int changes = inotify_init1(IN_CLOEXEC);
  PCHECK(changes >= 0);
  PCHECK(inotify_add_watch(changes, log_.c_str(), IN_MODIFY) >= 0);
  bool found = absl::StrContains(Output(), text);
  while (!found && AwaitReadable(changes, deadline)) {
    char events[4096];
    PCHECK(read(changes, events, sizeof(events)) > 0);
    found = absl::StrContains(Output(), text);
  }
  close(changes);
  return found;
}

EtcdProcess::EtcdProcess(const std::string& folder,
                         std::vector<std::string> flags, std::string scheme)
    : folder_(folder), flags_(std::move(flags)), scheme_(std::move(scheme)) {
  Start();
}

std::string EtcdProcess::endpoint() const {
  return absl::StrCat("127.0.0.1:", port_);
}

void EtcdProcess::Restart() {
  process_.reset();
  Start();
}

void EtcdProcess::Start() {
  const std::string client = absl::StrCat(scheme_, "://127.0.0.1:", port_);
  const std::string peer = absl::StrCat("http://127.0.0.1:", peer_port_);
  std::vector<std::string> command = {
      "/usr/bin/etcd",
      absl::StrCat("--data-dir=", folder_, "/etcd"),
      absl::StrCat("--listen-client-urls=", client),
      absl::StrCat("--advertise-client-urls=", client),
      absl::StrCat("--listen-peer-urls=", peer),
      absl::StrCat("--initial-advertise-peer-urls=", peer),
      absl::StrCat("--initial-cluster=default=", peer)};
  command.insert(command.end(), flags_.begin(), flags_.end());
  process_ = std::make_unique<ChildProcess>(command,
                                            absl::StrCat(folder_, "/etcd.log"));
}

}  // namespace kamino::membership
