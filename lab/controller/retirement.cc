#include "lab/controller/retirement.h"

#include <algorithm>
#include <utility>

namespace kamino::bench::controller {

Retirement::Retirement(const Machine& machine, EventQueue* queue, Channel* scm,
                       Channel* log, AtHome at_home)
    : machine_(machine),
      queue_(queue),
      scm_(scm),
      log_(log),
      at_home_(std::move(at_home)) {}

void Retirement::Add(Time now, WrapNumber wrap, Bucket bucket) {
  Closed closed{wrap, std::move(bucket)};
  closed.lines = LinesOf(closed.bucket);
  closed_.push_back(std::move(closed));
  Pump(now);
}

void Retirement::Act(Time now, uint64_t what) {
  if (what == kLineRead) {
    // Reads come in the order in which they were asked for.
    for (Closed& closed : closed_) {
      if (closed.lines_here == closed.lines_asked) continue;
      ++closed.lines_here;
      break;
    }
  }
  if (what == kRetire) Retire(now);
  Pump(now);
}

uint64_t Retirement::LinesOf(const Bucket& bucket) const {
  const uint64_t bytes =
      bucket.records.size() * machine_.record_bytes + machine_.marker_bytes;
  return (bytes + kLineBytes - 1) / kLineBytes;
}

uint64_t Retirement::RecordsIn(const Closed& closed, uint64_t lines) const {
  return std::min<uint64_t>(closed.bucket.records.size(),
                            lines * kLineBytes / machine_.record_bytes);
}

void Retirement::ReadAhead(Time now) {
  for (Closed& closed : closed_) {
    while (closed.lines_asked < closed.lines) {
      if (reading_ == machine_.read_ahead) return;
      ++reading_;
      const LineNumber line = closed.bucket.first_line + closed.lines_asked++;
      queue_->At(log_->Read(now, line).at, this, kLineRead);
    }
  }
}

bool Retirement::StoreHome(Time now, Closed* closed) {
  while (closed->stored < RecordsIn(*closed, closed->lines_here)) {
    if (now < full_until_) return false;
    const LogRecord& record = closed->bucket.records[closed->stored++];
    const Channel::Done done = scm_->Write(now, LineOf(record.word));
    closed->durable = std::max(closed->durable, done.at);
    if (done.accepted > now) {
      full_until_ = done.accepted;
      queue_->At(full_until_, this, kGoOn);
    }
  }
  while (closed->lines_freed < closed->lines_here) {
    ++closed->lines_freed;
    --reading_;
  }
  return closed->lines_here == closed->lines;
}

void Retirement::Pump(Time now) {
  uint32_t together = 0;
  for (Closed& closed : closed_) {
    if (together++ == machine_.retired_together) break;
    if (closed.retiring) continue;
    if (!StoreHome(now, &closed)) break;
    closed.retiring = true;
    last_retire_ = std::max({last_retire_, closed.durable, now});
    queue_->At(last_retire_, this, kRetire);
  }
  ReadAhead(now);
}

void Retirement::Retire(Time now) {
  const Closed closed = std::move(closed_.front());
  closed_.pop_front();
  at_home_(now, closed.wrap, closed.bucket.records);
}

}  // namespace kamino::bench::controller
