#include "bench/service/workload.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kamino::bench::service {
namespace {

constexpr int kDraws = 100;

}  // namespace

bool Mix::Has(Kind kind) const {
  return std::any_of(parts.begin(), parts.end(),
                     [kind](const Part& part) { return part.kind == kind; });
}

// The paper's dependent transactions (section 7.1), and the same with another
// object each time.
Mix InTurns(const char* name, const char* about, int writes, bool one_object) {
  Mix mix{name, about, {{Kind::kGet, 80}, {Kind::kPut, 20}}};
  mix.period = 5 * writes;
  mix.writes = writes;
  mix.one_object = one_object;
  return mix;
}

const std::vector<Mix>& Mixes() {
  static const auto& mixes = *new std::vector<Mix>{
      {"put", "writes", {{Kind::kPut, 100}}},
      {"get", "reads", {{Kind::kGet, 100}}},
      {"tx10", "10 puts, all or none", {{Kind::kTransaction, 100}}},
      {"ycsb-a", "half reads", {{Kind::kGet, 50}, {Kind::kPut, 50}}},
      {"ycsb-b", "95 % reads", {{Kind::kGet, 95}, {Kind::kPut, 5}}},
      {"ycsb-c", "reads", {{Kind::kGet, 100}}},
      {"ycsb-d",
       "reads of the latest, 5 % inserts",
       {{Kind::kGet, 95}, {Kind::kInsert, 5}},
       true},
      {"ycsb-e",
       "scans of 1 to 100, 5 % inserts",
       {{Kind::kScan, 95}, {Kind::kInsert, 5}}},
      {"ycsb-f",
       "half read-modify-writes",
       {{Kind::kGet, 50}, {Kind::kReadModifyWrite, 50}}},
      InTurns("tree-spaced", "4 reads, then a put of one object", 1, true),
      InTurns("tree-bursts", "8 puts of one object, then 32 reads", 8, true),
      InTurns("tree-spaced-any", "4 reads, then a put of any", 1, false),
      InTurns("tree-bursts-any", "8 puts of any, then 32 reads", 8, false),
      {"tpcc", "TPC-C's mix of transactions", {{Kind::kTpcc, 100}}},
      {"load", "new objects", {{Kind::kLoad, 100}}},
  };
  return mixes;
}

const Mix* FindMix(absl::string_view name) {
  for (const Mix& mix : Mixes()) {
    if (name == mix.name) return &mix;
  }
  return nullptr;
}

uint64_t Population::Reserve() {
  absl::MutexLock lock(&mutex_);
  return next_++;
}

void Population::Inserted(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  early_.insert(number);
  while (!early_.empty() && *early_.begin() == acknowledged_) {
    early_.erase(early_.begin());
    ++acknowledged_;
  }
}

uint64_t Population::acknowledged() const {
  absl::MutexLock lock(&mutex_);
  return acknowledged_;
}

uint64_t Workload::Choose(Random& random) const {
  return mix_.latest ? Latest(zipfian_, population_->acknowledged(), random)
                     : Scrambled(zipfian_, random);
}

uint64_t Workload::ChooseAnother(Random& random,
                                 const std::vector<uint64_t>& but) const {
  const auto taken = [&but](uint64_t number) {
    return std::find(but.begin(), but.end(), number) != but.end();
  };
  uint64_t number = Choose(random);
  for (int i = 0; i < kDraws && taken(number); ++i) number = Choose(random);
  // With few objects some may never be drawn.
  while (taken(number)) number = (number + 1) % zipfian_.n();
  return number;
}

Kind Workload::KindOfNext(Random& random) const {
  if (mix_.period != 0) {
    const uint64_t turn =
        begun_.fetch_add(1) % static_cast<uint64_t>(mix_.period);
    return turn < static_cast<uint64_t>(mix_.writes) ? Kind::kPut : Kind::kGet;
  }
  auto drawn = static_cast<int>(random.Below(100));
  for (const Mix::Part& part : mix_.parts) {
    if (drawn < part.percent) return part.kind;
    drawn -= part.percent;
  }
  return mix_.parts.back().kind;
}

void Workload::Next(Random& random, Step* step) const {
  step->kind = KindOfNext(random);
  step->numbers.clear();
  if (mix_.one_object && step->kind == Kind::kPut) {
    step->numbers.push_back(0);
    return;
  }
  if (step->kind == Kind::kInsert || step->kind == Kind::kLoad) {
    step->numbers.push_back(population_->Reserve());
    return;
  }
  const uint64_t wanted =
      step->kind == Kind::kTransaction
          ? std::min<uint64_t>(kPutsOfTransaction, zipfian_.n())
          : 1;
  while (step->numbers.size() < wanted) {
    step->numbers.push_back(ChooseAnother(random, step->numbers));
  }
  if (step->kind == Kind::kScan) step->limit = random.Between(1, kMostScanned);
}

std::string KeyOf(uint64_t number) {
  return absl::StrFormat("bench/%010d", number);
}

std::string ValueOf(uint64_t number, size_t size) {
  std::string value = KeyOf(number);
  value.resize(size, 'x');
  return value;
}

absl::Status CheckValue(absl::string_view value, uint64_t number, size_t size) {
  if (value.size() == size && absl::StartsWith(value, KeyOf(number))) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "object ", number, " is not as it was written: ", value.size(),
      " bytes instead of ", size, ", or another object's"));
}

}  // namespace kamino::bench::service
