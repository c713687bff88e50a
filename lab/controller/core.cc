#include "lab/controller/core.h"

#include <algorithm>

namespace kamino::bench::controller {
namespace {

// An op of the processor that appends eight bytes past the cache.
constexpr uint64_t kBytesPerCycle = kWordBytes;

}  // namespace

Core::Core(int number, Method method, const Arrivals& arrivals,
           const std::vector<Event>* events, const Surroundings& around)
    : arrivals_(arrivals),
      around_(around),
      machine_(*around.machine),
      ops_(method, around.machine, events),
      caches_(around.machine),
      buffers_(machine_.line_buffers),
      log_(number) {}

void Core::Act(Time now, uint64_t what) {
  if (what >= kFlushLine) {
    // The thread continued after the line arrived.
    const auto done = around_.cache->Flush(now, what - kFlushLine);
    if (done.has_value()) Sent(*done);
    return;
  }
  while (const Op* const op = ops_.Current()) {
    const Step step = Do(now, *op);
    if (step.done) ops_.Advance();
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
      log_.AddRecord({stored_word_, stored_value_});
      ops_.Replace({OpKind::kLog, machine_.record_bytes});
      return {false, now};
    case OpKind::kPushLog:
      return PushLog(now);
    case OpKind::kNewLog:
      log_.StartBucket();
      return {true, now};
    case OpKind::kFence:
      return Fence(now);
    case OpKind::kOpenWrap:
      return OpenWrap(now);
    case OpKind::kCloseWrap:
      around_.controller->CloseWrap(now, wrap_, log_.TakeBucket());
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

Core::Step Core::Load(Time now, WordNumber word) {
  const LineNumber line = LineOf(word);
  const std::optional<Time> here = around_.cache->Find(line);
  Time then;
  if (here.has_value()) {
    then = std::max(now + caches_.HitLatency(line), *here);
  } else {
    if (const auto full = buffers_.FullUntil(now)) return {false, *full};
    ++counts_.misses;
    caches_.HitLatency(line);
    then = around_.cache->Fetch(now, line);
    buffers_.Take(then);
  }
  around_.cache->Load(word);
  return {true, then};
}

Core::Step Core::Store(Time now, WordNumber word) {
  const LineNumber line = LineOf(word);
  if (!around_.cache->Find(line).has_value()) {
    if (const auto full = buffers_.FullUntil(now)) return {false, *full};
    ++counts_.misses;
    buffers_.Take(around_.cache->Fetch(now, line));
  }
  caches_.HitLatency(line);
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
  if (const auto full = buffers_.FullUntil(now)) return {false, *full};
  const auto done = around_.cache->Flush(now, line);
  if (done.has_value()) Sent(*done);
  return {true, now + Cycles(1)};
}

Core::Step Core::Log(Time now, uint64_t bytes) {
  // A line at a time, so that it can be waited for.
  const uint64_t part = std::min(bytes, kLineBytes - log_.taken());
  if (log_.taken() + part == kLineBytes) {
    if (const auto full = buffers_.FullUntil(now)) return {false, *full};
    Sent(around_.controller->WriteLog(now, log_.line()));
  }
  log_.Append(part);
  counts_.log_bytes += part;
  const Time then = now + Cycles((part + kBytesPerCycle - 1) / kBytesPerCycle);
  if (part == bytes) return {true, then};
  ops_.Replace({OpKind::kLog, bytes - part});
  return {false, then};
}

Core::Step Core::PushLog(Time now) {
  if (log_.taken() == 0) return {true, now};
  if (const auto full = buffers_.FullUntil(now)) return {false, *full};
  Sent(around_.controller->WriteLog(now, log_.line()));
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

void Core::Sent(const Channel::Done& done) {
  buffers_.Take(done.accepted + machine_.path);
  durable_ = std::max(durable_, done.at + 2 * machine_.path);
}

}  // namespace kamino::bench::controller
