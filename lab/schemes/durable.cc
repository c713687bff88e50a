// Time until Commit returns, and until the transaction survives a crash. These
// differ for Archapt alone; the bench counts what Archapt flushes when a caller
// waits for each transaction.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/schemes/open_loop.h"
#include "lab/schemes/part.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kBytes = 96u << 20;
constexpr uint32_t kSize = 1024;
constexpr double kArrivals = 20'000;
constexpr uint64_t kSeed = 9;
constexpr uint64_t kSlowDrain = 1000;  // nanoseconds more

struct Subject {
  std::string name;
  std::unique_ptr<Words> words;
};

// One subject of a turn: a store, with a delay that is added to its drains.
struct Turn {
  size_t subject = 0;
  uint64_t drain_ns = 0;

  std::string memory() const {
    return drain_ns == 0 ? AsItIs().name
                         : absl::StrCat(drain_ns, " ns a drain");
  }
};

// Overwrites of whole objects that come so often, and are all waited for.
absl::StatusOr<Responses> Overwrites(const Setting& setting, Words& words,
                                     uint64_t seed) {
  Random random(seed);
  Arrivals arrivals{kArrivals, setting.Scaled<uint64_t>(10'000, 1000)};
  arrivals.patience = absl::Milliseconds(500);
  auto done =
      RunArrivals(words.store(), arrivals, [&](engine::Transaction& one) {
        return words.StoreWhole(one, random.Below(words.objects()), random);
      });
  if (!done.ok()) return Annotate(done.status(), words.name());
  return done;
}

absl::StatusOr<std::unique_ptr<Words>> MakeWords(const Setting& setting,
                                                 const std::string& store,
                                                 Watch watch) {
  // Three times Archapt's queue; quick: twice.
  return Words::Make(setting, store, {AsItIs().name, {}, /*drains_vary=*/true},
                     kBytes, setting.Scaled<uint64_t>(60'000, 40'000), kSize,
                     watch);
}

// Lines and drains of a transaction that a caller waits for.
absl::Status CountAwaited(Setting& setting, const std::string& store) {
  ASSIGN_OR_RETURN(const auto words, MakeWords(setting, store, Watch::kCounts));
  RETURN_IF_ERROR(Overwrites(setting, *words, kSeed).status());
  const engine::PmemCounts before = words->opened().counts();
  ASSIGN_OR_RETURN(const Responses done,
                   Overwrites(setting, *words, kSeed + 1));
  const engine::PmemCounts counts = words->opened().counts() - before;
  const auto add = [&](const char* measure, uint64_t count) {
    setting.points->push_back({"durable",
                               store,
                               kByCount,
                               measure,
                               kSize,
                               {static_cast<double>(count) /
                                static_cast<double>(done.service.count())}});
  };
  add("lines, each waited for", counts.lines);
  add("drains, each waited for", counts.drains);
  return absl::OkStatus();
}

// Whether what has committed is on the medium then, or comes there by itself.
bool BecomesDurable(const std::string& store) { return store != "cached"; }

void AddPoints(Setting& setting, const std::string& store,
               const std::string& memory,
               const std::vector<Responses>& rounds) {
  const auto add = [&](const char* measure, auto value) {
    std::vector<double> values;
    for (const Responses& one : rounds) values.push_back(value(one));
    setting.points->push_back(
        {"durable", store, memory, measure, kSize, std::move(values)});
  };
  add("p50 ns to the commit",
      [](const Responses& r) { return r.service.Quantile(0.5); });
  add("p99 ns to the commit",
      [](const Responses& r) { return r.service.Quantile(0.99); });
  if (!BecomesDurable(store)) return;
  add("p50 ns until durable",
      [](const Responses& r) { return r.durable.Quantile(0.5); });
  add("p99 ns until durable",
      [](const Responses& r) { return r.durable.Quantile(0.99); });
  add("p50 transactions behind",
      [](const Responses& r) { return r.lag.Quantile(0.5); });
  add("p99 transactions behind",
      [](const Responses& r) { return r.lag.Quantile(0.99); });
  add("never durable",
      [](const Responses& r) { return static_cast<double>(r.never_durable); });
}

}  // namespace

absl::Status DurableLatency(Setting& setting) {
  std::vector<Subject> subjects;
  std::vector<Turn> turns;
  for (const StoreSpec& store : setting.stores) {
    ASSIGN_OR_RETURN(auto words,
                     MakeWords(setting, store.Name(), Watch::kNothing));
    turns.push_back({subjects.size(), 0});
    subjects.push_back({store.Name(), std::move(words)});
  }
  // After all the others, or a store would find in the cache what it has just
  // had there.
  for (size_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].words->opened().set_drain_ns) {
      turns.push_back({i, kSlowDrain});
    }
  }
  const auto measure = [&](int at) -> absl::StatusOr<Responses> {
    Words& words = *subjects[turns[at].subject].words;
    if (words.opened().set_drain_ns) {
      words.opened().set_drain_ns(turns[at].drain_ns);
    }
    ASSIGN_OR_RETURN(auto done, Overwrites(setting, words, kSeed));
    words.store().Quiesce();
    return done;
  };
  ASSIGN_OR_RETURN(auto rounds,
                   InTurnsOf<Responses>(static_cast<int>(turns.size()),
                                        setting.rounds, measure));
  for (size_t i = 0; i < turns.size(); ++i) {
    AddPoints(setting, subjects[turns[i].subject].name, turns[i].memory(),
              rounds[i]);
  }
  for (Subject& subject : subjects) {
    // Schemes without a lag have the counts of any transaction.
    const bool lags =
        subject.words->store().durable_sequence() != engine::kAllDurable;
    subject.words.reset();
    if (lags) RETURN_IF_ERROR(CountAwaited(setting, subject.name));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
