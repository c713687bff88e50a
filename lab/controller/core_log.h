// A core's log: where the next bytes go, in an area of its own, and the records
// of the wrap that is open.
#ifndef KAMINO_LAB_CONTROLLER_CORE_LOG_H_
#define KAMINO_LAB_CONTROLLER_CORE_LOG_H_

#include <cstdint>
#include <utility>

#include "lab/controller/controller.h"
#include "lab/controller/line.h"

namespace kamino::bench::controller {

class CoreLog {
 public:
  // `number` 0 and on, of the cores.
  explicit CoreLog(int number) : line_(number * kArea) {
    bucket_.first_line = line_;
  }

  // The line that the next byte goes to, and its bytes that are taken; fewer
  // than kLineBytes.
  LineNumber line() const { return line_; }
  uint64_t taken() const { return taken_; }

  // At most as many bytes as the line has room for.
  void Append(uint64_t bytes) {
    taken_ += bytes;
    if (taken_ == kLineBytes) StartLine();
  }
  // Continues with a new line, which a wrap's log begins with.
  void StartBucket() {
    if (taken_ > 0) StartLine();
    bucket_ = {line_, {}};
  }
  void AddRecord(const LogRecord& record) { bucket_.records.push_back(record); }
  Bucket TakeBucket() { return std::move(bucket_); }

 private:
  // Lines of an area: more than any trace fills.
  static constexpr LineNumber kArea = LineNumber{1} << 36;

  void StartLine() {
    ++line_;
    taken_ = 0;
  }

  LineNumber line_;
  uint64_t taken_ = 0;
  Bucket bucket_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_CORE_LOG_H_
