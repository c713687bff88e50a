// Flow control of a stream's reads: the next frame is read only while the core
// thread has few of the stream's frames, and after the last read is done.
#ifndef KAMINO_NODE_RPC_INCOMING_FRAMES_H_
#define KAMINO_NODE_RPC_INCOMING_FRAMES_H_

#include <cstddef>

namespace kamino::node {

// Not thread-safe: the stream's mutex guards it. At first the stream is about
// to begin its first read.
class IncomingFrames {
 public:
  // Whether to begin the next read now; if so, it counts as begun.
  bool BeginRead() {
    if (reading_ || taken_ >= kMostFrames || taken_bytes_ >= kMostBytes) {
      return false;
    }
    reading_ = true;
    ++starting_;
    return true;
  }
  // The call that began a read has returned.
  void OnReadStarted() { --starting_; }
  // The read is done, and its frame passed on.
  void EndRead() { reading_ = false; }

  // A frame goes to the core, and the core is done with it.
  void Take(size_t bytes) {
    ++taken_;
    taken_bytes_ += bytes;
  }
  void Return(size_t bytes) {
    --taken_;
    taken_bytes_ -= bytes;
  }

  // The core has no frame, and no call that begins a read is under way.
  bool idle() const { return taken_ == 0 && starting_ == 0; }

 private:
  // Frames of one stream that the core may have. Those that wait there are
  // answered together; a large frame is followed by at most one more.
  static constexpr int kMostFrames = 64;
  static constexpr size_t kMostBytes = 256 << 10;

  // Frames that the core thread has.
  int taken_ = 0;
  size_t taken_bytes_ = 0;
  bool reading_ = true;
  // Calls of StartRead that have not returned: Finish must wait for them. A
  // read may be done, and the next one begin, before its call returns.
  int starting_ = 1;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_INCOMING_FRAMES_H_
