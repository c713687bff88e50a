// Counts the lines that a LineWriter drops or cannot write, and those of them
// that no notice has reported yet.
//
// Not thread-safe: the writer's mutex guards it.
#ifndef KAMINO_LOGS_LOST_LINES_H_
#define KAMINO_LOGS_LOST_LINES_H_

#include <cstdint>
#include <utility>

namespace kamino::logs {

class LostLines {
 public:
  // A line found no room. Later ordinary lines are dropped, too, until the
  // notice.
  void Drop() {
    dropping_ = true;
    CountFailed();
  }
  bool dropping() const { return dropping_; }

  // A line could not be written.
  void CountFailed() {
    ++untold_;
    ++total_;
  }
  // A notice that reports `lines` could not be written.
  void CountFailedNotice(uint64_t lines) { untold_ += lines; }

  // How many lines the next notice reports.
  uint64_t untold() const { return untold_; }
  // The same, for a notice that is about to be queued.
  uint64_t TakeUntold() {
    dropping_ = false;
    return std::exchange(untold_, 0);
  }
  uint64_t total() const { return total_; }

 private:
  bool dropping_ = false;
  uint64_t untold_ = 0;
  uint64_t total_ = 0;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LOST_LINES_H_
