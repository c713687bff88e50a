// The frames that a stream has yet to send, oldest first. gRPC writes one at a
// time.
#ifndef KAMINO_NODE_RPC_OUTGOING_FRAMES_H_
#define KAMINO_NODE_RPC_OUTGOING_FRAMES_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace kamino::node {

// Not thread-safe: the stream's mutex guards it.
class OutgoingFrames {
 public:
  void Add(std::string frame) {
    unsent_ += frame.size();
    waiting_.push_back(std::move(frame));
  }

  // The next frame to write now; none if there is none. Only while none is
  // being written.
  std::optional<std::string> BeginWrite() {
    if (waiting_.empty()) return std::nullopt;
    std::string frame = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = frame.size();
    return frame;
  }
  // That frame is written, or failed.
  void EndWrite() { unsent_ -= *std::exchange(writing_, std::nullopt); }
  bool writing() const { return writing_.has_value(); }

  // Drops all frames but the one that is being written.
  void Drop() {
    waiting_.clear();
    unsent_ = writing_.value_or(0);
  }

  // Bytes of all frames, the one that is being written included.
  size_t unsent() const { return unsent_; }

 private:
  std::deque<std::string> waiting_;
  size_t unsent_ = 0;
  std::optional<size_t> writing_;  // size of the frame that is being written
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_OUTGOING_FRAMES_H_
