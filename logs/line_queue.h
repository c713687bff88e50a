// The lines of a LineWriter that are not written yet, in the order in which
// they were added. A line stays in the counts while it is being written.
//
// Not thread-safe: the writer's mutex guards a queue and its receipts.
#ifndef KAMINO_LOGS_LINE_QUEUE_H_
#define KAMINO_LOGS_LINE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace kamino::logs {

class LineQueue {
 public:
  // A kept line, for the caller that waits for it.
  class Receipt {
   private:
    friend class LineQueue;
    uint64_t number_ = 0;
    int error_ = 0;  // errno of its write
  };
  struct Line {
    std::string text;
    std::shared_ptr<Receipt> receipt = nullptr;  // of a kept line
    uint64_t tells_of = 0;  // number of dropped lines that this notice reports
  };

  // Adds an end of line to the text.
  void Push(Line line);
  // Whether there is no line to take.
  bool empty() const { return lines_.empty(); }
  // The oldest line, to be written now.
  Line Take();
  // The line that was taken is written, or `error` is its errno.
  void Finish(const Line& line, int error);

  // Size of the lines that are not finished. 0: there is none.
  size_t bytes() const { return bytes_; }
  // Number of the newest line, counted from 1, and of the newest finished one.
  uint64_t added() const { return added_; }
  uint64_t finished() const { return finished_; }
  uint64_t NumberOf(const Receipt& receipt) const { return receipt.number_; }
  // 0: the line is written, or not finished.
  int ErrorOf(const Receipt& receipt) const { return receipt.error_; }

 private:
  std::deque<Line> lines_;
  size_t bytes_ = 0;
  uint64_t added_ = 0;
  uint64_t finished_ = 0;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LINE_QUEUE_H_
