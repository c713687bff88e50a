// The messages that links without rings have received in part: counts their
// bytes, and makes the link with the oldest one give way when they are too
// many. The links hold the bytes.
//
// Threads: the loop's thread only. Users are not owned; each ends its messages
// before it is destroyed.
#ifndef KAMINO_TRANSPORT_VERBS_UNFINISHED_MESSAGES_H_
#define KAMINO_TRANSPORT_VERBS_UNFINISHED_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/verbs/send_user.h"

namespace kamino::transport {

class UnfinishedMessages {
 public:
  // All messages together have at most `max_bytes`.
  explicit UnfinishedMessages(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Numbers a message; 0 is none.
  uint64_t Begin(SendUser* user);
  // The message `number` has grown by `bytes`. May end messages, also this one:
  // calls OnTooMuchUnfinished of their users.
  void Grow(uint64_t number, size_t bytes);
  // Does nothing if the message has ended.
  void End(uint64_t number);

 private:
  struct Message {
    SendUser* user;
    size_t bytes = 0;
  };

  const size_t max_bytes_;
  uint64_t next_ = 1;
  std::map<uint64_t, Message> messages_;  // oldest first
  size_t bytes_ = 0;                      // of all
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_UNFINISHED_MESSAGES_H_
