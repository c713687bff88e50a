#include "client/cli/program_call.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

constexpr size_t kMostBytes = 64 << 10;

// Reads until all writers have closed the pipe. False: not in time.
bool ReadAll(int from, absl::Time end, std::string* text) {
  char bytes[4096];
  for (;;) {
    const absl::Duration left = end - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    pollfd wait = {from, POLLIN, 0};
    const int ready =
        poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready <= 0) continue;
    const ssize_t count = read(from, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (text->size() < kMostBytes) {
      text->append(bytes, static_cast<size_t>(count));
    }
  }
}

// False: it did not end in time.
bool AwaitEnd(pid_t child, absl::Time end) {
  // By number: Debian 12's header has no C linkage for C++.
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (process < 0) return false;
  pollfd wait = {process, POLLIN, 0};
  absl::Duration left;
  int ended = 0;
  while (ended <= 0 && (left = end - MonotonicNow()) > absl::ZeroDuration()) {
    ended =
        poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
  close(process);
  return ended > 0;
}

// Its outputs go to `to`; its input is empty.
absl::StatusOr<pid_t> Spawn(const std::string& program,
                            std::vector<std::string>* words, int to) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, to, STDERR_FILENO);
  std::string name = program;
  std::vector<char*> arguments = {name.data()};
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error = ENOENT;
  const std::string beside = BesideThis(program);
  if (!beside.empty()) {
    error = posix_spawn(&child, beside.c_str(), &files, nullptr,
                        arguments.data(), environ);
  }
  if (error == ENOENT) {
    error = posix_spawnp(&child, program.c_str(), &files, nullptr,
                         arguments.data(), environ);
  }
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return child;
  const std::string why =
      absl::StrCat("cannot run ", program, ": ", strerror(error));
  return error == ENOENT ? absl::NotFoundError(why)
                         : absl::FailedPreconditionError(why);
}

}  // namespace

std::string BesideThis(const std::string& program) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : std::string(self.parent_path() / program);
}

absl::StatusOr<ProgramSaid> RunProgram(const std::string& program,
                                       std::vector<std::string> words,
                                       absl::Duration patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe");
  }
  auto child = Spawn(program, &words, ends[1]);
  close(ends[1]);
  ProgramSaid said;
  const absl::Time end = MonotonicNow() + patience;
  // The program may close its outputs and continue.
  const bool ended =
      child.ok() && ReadAll(ends[0], end, &said.text) && AwaitEnd(*child, end);
  close(ends[0]);
  RETURN_IF_ERROR(child.status());
  if (!ended) kill(*child, SIGKILL);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat(program, " took longer than ",
                     absl::FormatDuration(patience), ", and was ended"));
  }
  if (!WIFEXITED(status)) {
    return absl::UnknownError(
        absl::StrCat(program, " was ended by signal ", WTERMSIG(status)));
  }
  said.code = WEXITSTATUS(status);
  return said;
}

}  // namespace kamino::client
