#include "lab/controller/wrap_controller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::bench::controller {

WrapController::WrapController(const Machine& machine, EventQueue* queue,
                               bool check)
    : machine_(machine),
      queue_(queue),
      scm_(machine.device, machine.scm_slowdown, machine.channel_queue),
      log_(machine.device, machine.scm_slowdown, machine.channel_queue),
      victims_(MakeVictimCache(machine,
                               [this](LineNumber line, const LineData& data) {
                                 home_.Write(line, data);
                                 scm_.Write(now_, line);
                               })),
      check_(check) {}

Controller::Fetched WrapController::Miss(Time now, LineNumber line) {
  now_ = now;
  // Hardware looks up in parallel with the request to SCM, firmware before it.
  const Time look_up = machine_.victim_cache.cycles * machine_.cycle;
  if (const LineData* const victim = victims_->Find(line)) {
    return {now + look_up, *victim};
  }
  const Time wait = machine_.victims == VictimForm::kHashed ? look_up : 0;
  return {scm_.Read(now, line).at + wait, home_.Read(line)};
}

void WrapController::Evict(Time now, LineNumber line, const LineData& data) {
  now_ = now;
  victims_->Put(line, data);
}

Channel::Done WrapController::Flush(Time now, LineNumber line,
                                    const LineData& data) {
  Evict(now, line, data);
  return {now, now};
}

Channel::Done WrapController::WriteLog(Time now, LineNumber line) {
  return log_.Write(now, line);
}

std::optional<WrapNumber> WrapController::OpenWrap(Time, Actor* waiting) {
  if (open_ >= machine_.open_wraps) {
    ++counts_.refused;
    waiting_.push_back(waiting);
    return std::nullopt;
  }
  counts_.most_open = std::max(counts_.most_open, ++open_);
  victims_->Open(++last_wrap_);
  return last_wrap_;
}

void WrapController::CloseWrap(Time now, WrapNumber wrap, Bucket bucket) {
  Closed closed{wrap, std::move(bucket)};
  closed.lines = LinesOf(closed.bucket);
  closed_.push_back(std::move(closed));
  Pump(now);
}

LineData WrapController::Visible(LineNumber line) {
  const LineData* const victim = victims_->Find(line);
  return victim != nullptr ? *victim : home_.Read(line);
}

absl::Status WrapController::CheckHome() const {
  for (const auto& [word, value] : retired_) {
    const uint64_t home = home_.ReadWord(word);
    if (home == value) continue;
    return absl::InternalError(absl::StrCat(
        "word ", word, " is ", home, " at home, and was retired as ", value));
  }
  return absl::OkStatus();
}

ControllerCounts WrapController::counts() const {
  ControllerCounts counts = counts_;
  counts.scm = scm_.counts();
  counts.log = log_.counts();
  counts.victims = victims_->counts();
  return counts;
}

void WrapController::Act(Time now, uint64_t what) {
  now_ = now;
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

uint64_t WrapController::LinesOf(const Bucket& bucket) const {
  const uint64_t bytes =
      bucket.records.size() * machine_.record_bytes + machine_.marker_bytes;
  return (bytes + kLineBytes - 1) / kLineBytes;
}

uint64_t WrapController::RecordsIn(const Closed& closed, uint64_t lines) const {
  return std::min<uint64_t>(closed.bucket.records.size(),
                            lines * kLineBytes / machine_.record_bytes);
}

void WrapController::ReadAhead(Time now) {
  for (Closed& closed : closed_) {
    while (closed.lines_asked < closed.lines) {
      if (reading_ == machine_.read_ahead) return;
      ++reading_;
      const LineNumber line = closed.bucket.first_line + closed.lines_asked++;
      queue_->At(log_.Read(now, line).at, this, kLineRead);
    }
  }
}

bool WrapController::StoreHome(Time now, Closed* closed) {
  while (closed->stored < RecordsIn(*closed, closed->lines_here)) {
    if (now < full_until_) return false;
    const LogRecord& record = closed->bucket.records[closed->stored++];
    const Channel::Done done = scm_.Write(now, LineOf(record.word));
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

// Algorithm 2, RetireWrap, over and over: logs are read ahead, and values are
// stored of as many wraps as may go home together.
void WrapController::Pump(Time now) {
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

void WrapController::Retire(Time now) {
  const Closed closed = std::move(closed_.front());
  closed_.pop_front();
  for (const LogRecord& record : closed.bucket.records) {
    home_.WriteWord(record.word, record.value);
    if (check_) retired_[record.word] = record.value;
    victims_->MarkClean(LineOf(record.word));
  }
  victims_->Retire(closed.wrap);
  ++counts_.retired;
  --open_;
  NoteRetired(now, closed.wrap);
  if (!waiting_.empty()) {
    queue_->At(now, waiting_.front(), 0);
    waiting_.pop_front();
  }
}

}  // namespace kamino::bench::controller
