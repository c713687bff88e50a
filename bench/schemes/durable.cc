// What the caller waits for: until Commit returns, and until the transaction
// survives a crash. One scheme's are apart.
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "bench/schemes/open_loop.h"
#include "bench/schemes/part.h"
#include "bench/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kBytes = 96u << 20;
constexpr uint64_t kObjects = 20'000;
constexpr uint32_t kSize = 1024;
constexpr double kArrivals = 20'000;
constexpr uint64_t kSeed = 9;

struct Subject {
  std::string name;
  std::unique_ptr<Words> words;
  std::vector<Responses> rounds;
};

void AddPoints(Setting& setting, const Subject& subject) {
  const auto add = [&](const char* measure, auto value) {
    std::vector<double> values;
    for (const Responses& one : subject.rounds) values.push_back(value(one));
    setting.points->push_back({"durable", subject.name, AsItIs().name, measure,
                               kSize, std::move(values)});
  };
  add("p50 ns to the commit",
      [](const Responses& r) { return r.service.Quantile(0.5); });
  add("p99 ns to the commit",
      [](const Responses& r) { return r.service.Quantile(0.99); });
  add("p50 ns until durable",
      [](const Responses& r) { return r.durable.Quantile(0.5); });
  add("p99 ns until durable",
      [](const Responses& r) { return r.durable.Quantile(0.99); });
  add("p50 transactions behind",
      [](const Responses& r) { return r.lag.Quantile(0.5); });
  add("never durable",
      [](const Responses& r) { return static_cast<double>(r.never_durable); });
}

}  // namespace

absl::Status DurableLatency(Setting& setting) {
  std::vector<Subject> subjects;
  for (const StoreSpec& store : setting.stores) {
    ASSIGN_OR_RETURN(auto words, Words::Make(setting, store.Name(), AsItIs(),
                                             kBytes, kObjects, kSize));
    subjects.push_back({store.Name(), std::move(words), {}});
  }
  const auto measure = [&](int at) -> absl::StatusOr<double> {
    Subject& subject = subjects[at];
    Random random(kSeed);
    Arrivals arrivals{kArrivals, setting.Scaled<uint64_t>(10'000, 2000)};
    arrivals.patience = absl::Milliseconds(500);
    auto done = RunArrivals(
        subject.words->store(), arrivals, [&](engine::Transaction& one) {
          return subject.words->StoreWhole(
              one, random.Below(subject.words->objects()), random);
        });
    if (!done.ok()) return Annotate(done.status(), subject.name);
    subject.words->store().Quiesce();
    subject.rounds.push_back(*std::move(done));
    return 0.0;
  };
  RETURN_IF_ERROR(
      InTurns(static_cast<int>(subjects.size()), setting.rounds, measure)
          .status());
  for (Subject& subject : subjects) {
    subject.rounds.erase(subject.rounds.begin());  // the warm-up
    AddPoints(setting, subject);
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
