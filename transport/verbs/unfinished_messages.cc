#include "transport/verbs/unfinished_messages.h"

#include <memory>

namespace kamino::transport {

uint64_t UnfinishedMessages::Begin(SendUser* user) {
  messages_[next_] = {user, 0};
  return next_++;
}

void UnfinishedMessages::Grow(uint64_t number, size_t bytes) {
  messages_.at(number).bytes += bytes;
  bytes_ += bytes;
  while (bytes_ > max_bytes_) {
    const auto oldest = messages_.begin();
    SendUser* const user = oldest->second.user;
    const std::shared_ptr<void> keep = user->Keep();
    End(oldest->first);
    user->OnTooMuchUnfinished();
  }
}

void UnfinishedMessages::End(uint64_t number) {
  const auto found = messages_.find(number);
  if (found == messages_.end()) return;
  bytes_ -= found->second.bytes;
  messages_.erase(found);
}

}  // namespace kamino::transport
