#include "lab/controller/core.h"

#include <algorithm>
#include <utility>

namespace kamino::bench::controller {
namespace {

// Lines of a core's log area: more than any trace fills.
constexpr LineNumber kLogArea = LineNumber{1} << 36;

// An op of the processor that appends eight bytes past the cache.
constexpr uint64_t kBytesPerCycle = kWordBytes;

}  // namespace

Core::Core(int number, Method method, const Arrivals& arrivals,
           const std::vector<Event>* events, const Surroundings& around)
    : method_(method),
      arrivals_(arrivals),
      events_(*events),
      around_(around),
      machine_(*around.machine),
      l1_(machine_.l1),
      l2_(machine_.l2),
      buffers_(machine_.line_buffers),
      log_line_(number * kLogArea) {
  bucket_.first_line = log_line_;
}

void Core::Act(Time now, uint64_t what) {
  if (what >= kFlushLine) {
    // The thread continued after the line arrived.
    const auto done = around_.cache->Flush(now, what - kFlushLine);
    if (done.has_value()) Sent(*done);
    return;
  }
  while (next_op_ < ops_.size() || TranslateNext()) {
    const Step step = Do(now, ops_[next_op_]);
    if (step.done) ++next_op_;
    if (!step.then.has_value()) return;
    if (*step.then >= around_.queue->next()) {
      around_.queue->At(*step.then, this, kGoOn);
      return;
    }
    now = *step.then;
  }
  if (!pieces_.empty() && pieces_.back().responded == 0) {
    pieces_.back().responded = now;
  }
}

bool Core::TranslateNext() {
  ops_.clear();
  next_op_ = 0;
  while (ops_.empty()) {
    if (next_event_ == events_.size()) return false;
    size_t end = next_event_ + 1;
    if (events_[next_event_].kind == EventKind::kOpen) {
      while (events_[end - 1].kind != EventKind::kClose) ++end;
    }
    Translate(
        method_, machine_,
        absl::MakeConstSpan(events_).subspan(next_event_, end - next_event_),
        &ops_);
    next_event_ = end;
  }
  return true;
}

Core::Step Core::Do(Time now, const Op& op) {
  switch (op.kind) {
    case OpKind::kBegin:
      return Begin(now);
    case OpKind::kSpend:
      return {true, now + op.value};
    case OpKind::kLoad:
      return Load(now, op.value);
    case OpKind::kStore:
      return Store(now, op.value);
    case OpKind::kFlush:
      return Flush(now, op.value);
    case OpKind::kLog:
      return Log(now, op.value);
    case OpKind::kLogStored:
      bucket_.records.push_back({stored_word_, stored_value_});
      GoOnWith({OpKind::kLog, machine_.record_bytes});
      return {false, now};
    case OpKind::kPushLog:
      return PushLog(now);
    case OpKind::kNewLog:
      if (log_bytes_ > 0) ++log_line_;
      log_bytes_ = 0;
      bucket_ = {log_line_, {}};
      return {true, now};
    case OpKind::kFence:
      return Fence(now);
    case OpKind::kOpenWrap:
      return OpenWrap(now);
    case OpKind::kCloseWrap:
      around_.controller->CloseWrap(now, wrap_, std::move(bucket_));
      return {true, now};
  }
  return {true, now};
}

Core::Step Core::Begin(Time now) {
  if (!pieces_.empty()) pieces_.back().responded = now;
  const Time arrives =
      arrivals_.interval == 0
          ? now
          : arrivals_.first + pieces_.size() * arrivals_.interval;
  pieces_.push_back({arrives});
  return {true, std::max(now, arrives)};
}

Time Core::HitLatency(LineNumber line) {
  const bool in_l1 = l1_.Find(line) != nullptr;
  const bool in_l2 = l2_.Find(line) != nullptr;
  if (!in_l1) l1_.Take(l1_.Oldest(line), line, 0);
  if (!in_l2) l2_.Take(l2_.Oldest(line), line, 0);
  return Cycles(in_l1   ? machine_.l1.cycles
                : in_l2 ? machine_.l2.cycles
                        : machine_.l3.cycles);
}

Core::Step Core::Load(Time now, WordNumber word) {
  const LineNumber line = LineOf(word);
  const std::optional<Time> here = around_.cache->Find(line);
  Time then;
  if (here.has_value()) {
    then = std::max(now + HitLatency(line), *here);
  } else {
    if (const auto full = BuffersFullUntil(now)) return {false, *full};
    ++counts_.misses;
    HitLatency(line);
    then = around_.cache->Fetch(now, line);
    TakeBuffer(then);
  }
  around_.cache->Load(word);
  return {true, then};
}

Core::Step Core::Store(Time now, WordNumber word) {
  const LineNumber line = LineOf(word);
  if (!around_.cache->Find(line).has_value()) {
    if (const auto full = BuffersFullUntil(now)) return {false, *full};
    ++counts_.misses;
    TakeBuffer(around_.cache->Fetch(now, line));
  }
  HitLatency(line);
  stored_word_ = word;
  stored_value_ = around_.cache->Store(word);
  return {true, now + Cycles(1)};
}

Core::Step Core::Flush(Time now, LineNumber line) {
  const std::optional<Time> here = around_.cache->Find(line);
  if (here.has_value() && *here > now) {
    around_.queue->At(*here, this, kFlushLine + line);
    flushes_until_ = std::max(flushes_until_, *here);
    return {true, now + Cycles(1)};
  }
  if (const auto full = BuffersFullUntil(now)) return {false, *full};
  const auto done = around_.cache->Flush(now, line);
  if (done.has_value()) Sent(*done);
  return {true, now + Cycles(1)};
}

Core::Step Core::Log(Time now, uint64_t bytes) {
  // A line at a time, so that it can be waited for.
  const uint64_t part = std::min(bytes, kLineBytes - log_bytes_);
  if (log_bytes_ + part == kLineBytes) {
    if (const auto full = BuffersFullUntil(now)) return {false, *full};
    Sent(around_.controller->WriteLog(now, log_line_++));
    log_bytes_ = 0;
  } else {
    log_bytes_ += part;
  }
  counts_.log_bytes += part;
  const Time then = now + Cycles((part + kBytesPerCycle - 1) / kBytesPerCycle);
  if (part == bytes) return {true, then};
  GoOnWith({OpKind::kLog, bytes - part});
  return {false, then};
}

Core::Step Core::PushLog(Time now) {
  if (log_bytes_ == 0) return {true, now};
  if (const auto full = BuffersFullUntil(now)) return {false, *full};
  Sent(around_.controller->WriteLog(now, log_line_));
  return {true, now + Cycles(1)};
}

Core::Step Core::Fence(Time now) {
  if (flushes_until_ > now) return {false, flushes_until_};
  ++counts_.fences;
  return {true, std::max(now, durable_) + Cycles(1)};
}

Core::Step Core::OpenWrap(Time now) {
  const auto wrap = around_.controller->OpenWrap(now, this);
  if (!wrap.has_value()) return {false, std::nullopt};
  wrap_ = *wrap;
  around_.opened(wrap_, pieces_.empty() ? 0 : pieces_.size() - 1);
  return {true, now};
}

std::optional<Time> Core::BuffersFullUntil(Time now) const {
  const Time first = *std::min_element(buffers_.begin(), buffers_.end());
  if (first <= now) return std::nullopt;
  return first;
}

void Core::TakeBuffer(Time until) {
  *std::min_element(buffers_.begin(), buffers_.end()) = until;
}

void Core::Sent(const Channel::Done& done) {
  TakeBuffer(done.accepted + machine_.path);
  durable_ = std::max(durable_, done.at + 2 * machine_.path);
}

}  // namespace kamino::bench::controller
