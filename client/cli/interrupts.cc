#include "client/cli/interrupts.h"

#include <atomic>

namespace kamino::client {
namespace {

std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void Note(int /*number*/) { noted.store(true); }

}  // namespace

Interrupts::Interrupts() {
  noted.store(false);
  before_[0].first = SIGINT;
  before_[1].first = SIGTERM;
  for (auto& [number, before] : before_) {
    if (sigaction(number, nullptr, &before) != 0 ||
        before.sa_handler == SIG_IGN) {
      continue;
    }
    struct sigaction once = {};
    once.sa_handler = Note;
    once.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(number, &once, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (const auto& [number, before] : before_) {
    sigaction(number, &before, nullptr);
  }
}

bool Interrupts::Noted() { return noted.load(); }

}  // namespace kamino::client
