#include "lab/controller/synthetic.h"

#include <random>
#include <utility>

#include "lab/controller/line.h"

namespace kamino::bench::controller {
namespace {

// The standard fixes its numbers, but not those of its distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t bound) { return engine_() % bound; }

 private:
  std::mt19937_64 engine_;
};

Event StoreTo(WordNumber word) {
  return {EventKind::kStore, kWordBytes, word * kWordBytes};
}

class RandomThread {
 public:
  RandomThread(int thread, int threads, int lines, Random* random)
      : thread_(thread), threads_(threads), lines_(lines), random_(*random) {}

  std::vector<Event> Events(int wraps, int most_stores) {
    for (int i = 0; i < wraps; ++i) {
      Add({EventKind::kBegin});
      while (random_.Below(3) == 0) AddOrdinary();
      Add({EventKind::kOpen});
      const int steps = 1 + static_cast<int>(random_.Below(most_stores));
      for (int step = 0; step < steps; ++step) AddStep();
      Add({EventKind::kClose});
    }
    return std::move(events_);
  }

 private:
  void Add(const Event& event) { events_.push_back(event); }

  WordNumber Own() {
    const uint64_t words = lines_ * kWordsPerLine / threads_;
    return random_.Below(words) * threads_ + thread_;
  }

  void AddStep() {
    switch (random_.Below(6)) {
      case 0:
        return Add({EventKind::kLoad, kWordBytes,
                    random_.Below(lines_ * kWordsPerLine) * kWordBytes});
      case 1:
        return Add(
            {EventKind::kCompute, static_cast<uint32_t>(random_.Below(300))});
      default:
        return Add(StoreTo(Own()));
    }
  }

  // In lines behind those that wraps store to.
  void AddOrdinary() {
    const WordNumber word = lines_ * kWordsPerLine + Own();
    Add(StoreTo(word));
    if (random_.Below(4) != 0) return;
    Add({EventKind::kFlush, kWordBytes, word * kWordBytes});
    if (random_.Below(2) == 0) Add({EventKind::kDrain});
  }

  const int thread_;
  const uint64_t threads_;
  const uint64_t lines_;
  Random& random_;
  std::vector<Event> events_;
};

}  // namespace

Trace ArrayUpdates(int threads, int pieces, int stores, uint64_t seed) {
  Random random(seed);
  Trace trace;
  for (int thread = 0; thread < threads; ++thread) {
    std::vector<Event>& events = trace.threads.emplace_back();
    for (int piece = 0; piece < pieces; ++piece) {
      events.push_back({EventKind::kBegin});
      events.push_back({EventKind::kOpen});
      for (int i = 0; i < stores; ++i) {
        events.push_back(StoreTo(random.Below(kArrayBytes / kWordBytes)));
      }
      events.push_back({EventKind::kClose});
    }
  }
  return trace;
}

Trace MixedGroups(int groups, int transactional, uint64_t seed) {
  constexpr uint64_t kHalfWords = kArrayBytes / kWordBytes / 2;
  Random random(seed);
  Trace trace;
  std::vector<Event>& events = trace.threads.emplace_back();
  for (int group = 0; group < groups; ++group) {
    events.push_back({EventKind::kBegin});
    if (transactional > 0) events.push_back({EventKind::kOpen});
    for (int i = 0; i < kGroupStores; ++i) {
      if (i == transactional && i > 0) events.push_back({EventKind::kClose});
      const uint64_t half = i < transactional ? 0 : kHalfWords;
      events.push_back(StoreTo(half + random.Below(kHalfWords)));
    }
    if (transactional == kGroupStores) events.push_back({EventKind::kClose});
  }
  return trace;
}

Trace RandomTrace(int threads, int wraps, int most_stores, int lines,
                  uint64_t seed) {
  Random random(seed);
  Trace trace;
  for (int thread = 0; thread < threads; ++thread) {
    trace.threads.push_back(RandomThread(thread, threads, lines, &random)
                                .Events(wraps, most_stores));
  }
  return trace;
}

}  // namespace kamino::bench::controller
