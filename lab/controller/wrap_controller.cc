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
      retirement_(machine, queue, &scm_, &log_,
                  [this](Time now, WrapNumber wrap,
                         const std::vector<LogRecord>& records) {
                    Retire(now, wrap, records);
                  }),
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
  retirement_.Add(now, wrap, std::move(bucket));
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

void WrapController::Retire(Time now, WrapNumber wrap,
                            const std::vector<LogRecord>& records) {
  now_ = now;
  for (const LogRecord& record : records) {
    home_.WriteWord(record.word, record.value);
    if (check_) retired_[record.word] = record.value;
    victims_->MarkClean(LineOf(record.word));
  }
  victims_->Retire(wrap);
  ++counts_.retired;
  --open_;
  NoteRetired(now, wrap);
  if (!waiting_.empty()) {
    queue_->At(now, waiting_.front(), 0);
    waiting_.pop_front();
  }
}

}  // namespace kamino::bench::controller
