#include "bench/engine/pool_folder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::bench {
namespace {

constexpr int kSignalExit = 128;

// SIGUSR1 ends the wait without a signal from outside.
sigset_t Awaited() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PoolFolder>> PoolFolder::Create(
    const std::string& parent) {
  std::string path = absl::StrCat(parent, "/kamino-bench-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot make a folder in ", parent, ": ", std::strerror(errno)));
  }
  return absl::WrapUnique(new PoolFolder(std::move(path)));
}

PoolFolder::PoolFolder(std::string path) : path_(std::move(path)) {
  const sigset_t set = Awaited();
  PCHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_ = std::thread([this] { AwaitSignal(); });
}

PoolFolder::~PoolFolder() {
  pthread_kill(signals_.native_handle(), SIGUSR1);
  signals_.join();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void PoolFolder::AwaitSignal() {
  const sigset_t set = Awaited();
  int signal = 0;
  sigwait(&set, &signal);
  if (signal == SIGUSR1) return;
  // Another thread may add a file while the others are being removed.
  std::error_code error;
  do {
    std::filesystem::remove_all(path_, error);
  } while (error == std::errc::directory_not_empty);
  _exit(kSignalExit + signal);
}

void PoolFolder::Unlink() {
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(path_, ignored)) {
    std::filesystem::remove_all(entry.path(), ignored);
  }
}

uint64_t PoolFolder::FreeBytes() const {
  std::error_code error;
  const auto space = std::filesystem::space(path_, error);
  return error ? 0 : space.available;
}

}  // namespace kamino::bench
