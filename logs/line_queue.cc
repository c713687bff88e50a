#include "logs/line_queue.h"

#include <utility>

namespace kamino::logs {

void LineQueue::Push(Line line) {
  line.text.push_back('\n');
  ++added_;
  bytes_ += line.text.size();
  if (line.receipt != nullptr) line.receipt->number_ = added_;
  lines_.push_back(std::move(line));
}

LineQueue::Line LineQueue::Take() {
  Line line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

void LineQueue::Finish(const Line& line, int error) {
  ++finished_;
  bytes_ -= line.text.size();
  if (line.receipt != nullptr) line.receipt->error_ = error;
}

}  // namespace kamino::logs
