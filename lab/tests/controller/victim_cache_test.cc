#include "lab/controller/victim_cache.h"

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::bench::controller {
namespace {

constexpr VictimForm kForms[] = {VictimForm::kSetAssociative,
                                 VictimForm::kHashed};
constexpr ReleaseForm kRules[] = {ReleaseForm::kWatermark,
                                  ReleaseForm::kDependenceSets};

LineData DataOf(uint64_t value) {
  LineData data;
  data.words.fill(value);
  return data;
}

// One of few places, with what it lets go of.
class Victims {
 public:
  Victims(VictimForm form, ReleaseForm rule, uint32_t sets, uint32_t ways) {
    Machine machine;
    machine.victims = form;
    machine.release = rule;
    machine.victim_cache.sets = sets;
    machine.victim_cache.ways = ways;
    cache_ =
        MakeVictimCache(machine, [this](LineNumber line, const LineData& data) {
          written_.emplace_back(line, data.words[0]);
        });
    cache_->OnReleased([this](LineNumber line) { released_.push_back(line); });
  }

  VictimCache& operator*() { return *cache_; }
  VictimCache* operator->() { return cache_.get(); }
  // 0: not there.
  uint64_t Value(LineNumber line) {
    const LineData* const data = cache_->Find(line);
    return data == nullptr ? 0 : data->words[0];
  }

  std::vector<LineNumber> released_;
  std::vector<std::pair<LineNumber, uint64_t>> written_;

 private:
  std::unique_ptr<VictimCache> cache_;
};

class VictimCacheTest
    : public ::testing::TestWithParam<std::pair<VictimForm, ReleaseForm>> {
 protected:
  Victims Make(uint32_t sets, uint32_t ways) {
    return Victims(GetParam().first, GetParam().second, sets, ways);
  }
};

// Table 1 of the paper.
TEST_P(VictimCacheTest, MatchesTheExampleInThePaper) {
  constexpr LineNumber kA = 100, kB = 101;
  Victims victims = Make(4, 2);
  victims->Open(1);
  victims->Put(kA, DataOf(1));
  victims->Open(3);
  victims->Put(kB, DataOf(2));
  EXPECT_EQ(victims.Value(kA), 1u);
  victims->Put(kA, DataOf(3));
  EXPECT_EQ(victims.Value(kA), 3u);
  victims.released_.clear();  // the older version of A, in one of the forms
  victims->Retire(3);
  EXPECT_EQ(victims.Value(kA), 3u);
  EXPECT_EQ(victims.Value(kB), 2u);
  EXPECT_TRUE(victims.released_.empty());
  victims->MarkClean(kA);
  victims->MarkClean(kB);
  victims->Retire(1);
  EXPECT_EQ(victims->held(), 0u);
  EXPECT_TRUE(victims.written_.empty());
}

// RetireWrap as it is printed leaves the wrap that retires in the dependence
// set of what comes between the look through all lines and its end.
TEST_P(VictimCacheTest, NoLineIsHeldAfterAllWrapsRetire) {
  Victims victims = Make(4, 2);
  for (WrapNumber wrap = 1; wrap <= 20; ++wrap) {
    victims->Open(wrap);
    for (LineNumber line = 0; line < 30; ++line) {
      victims->Put(line * wrap, DataOf(wrap));
    }
  }
  EXPECT_GT(victims->held(), 0u);
  for (WrapNumber wrap = 20; wrap > 0; --wrap) victims->Retire(wrap);
  EXPECT_EQ(victims->held(), 0u);
}

TEST_P(VictimCacheTest, OrdinaryLinesAreWrittenHomeBeforeRelease) {
  Victims victims = Make(2, 2);
  std::map<LineNumber, uint64_t> latest, home;
  std::mt19937_64 random(1);
  for (uint64_t i = 1; i <= 2000; ++i) {
    const LineNumber line = random() % 40;
    victims->Put(line, DataOf(i));
    latest[line] = i;
    for (const auto& [at, value] : victims.written_) home[at] = value;
    for (const auto& [at, value] : latest) {
      const uint64_t here = victims.Value(at);
      ASSERT_EQ(here != 0 ? here : home[at], value) << at;
    }
  }
}

TEST_P(VictimCacheTest, CleanLinesAreNotWrittenHome) {
  Victims victims = Make(1, 2);
  victims->Open(1);
  for (LineNumber line = 0; line < 10; ++line) {
    victims->Put(line, DataOf(1));
    victims->MarkClean(line);
  }
  victims->Retire(1);
  for (LineNumber line = 20; line < 22; ++line) victims->Put(line, DataOf(2));
  EXPECT_TRUE(victims.written_.empty() || victims.written_[0].first >= 20);
}

// Both versions are kept where there is a hash table; the older one must not
// come over what has been retired since.
TEST_P(VictimCacheTest, AnOlderVersionIsNotWrittenHome) {
  Victims victims = Make(1, 1);
  victims->Open(1);
  victims->Put(7, DataOf(1));
  victims->Put(8, DataOf(1));  // fills what places there are
  victims->Open(2);
  victims->Put(7, DataOf(2));
  victims->MarkClean(7);
  victims->Retire(2);
  victims->MarkClean(8);
  victims->Retire(1);
  victims->Put(9, DataOf(3));
  for (const auto& [line, value] : victims.written_) EXPECT_NE(line, 7u);
}

TEST_P(VictimCacheTest, OverflowingLinesAreKept) {
  Victims victims = Make(1, 2);
  victims->Open(1);
  for (LineNumber line = 0; line < 50; ++line) {
    victims->Put(line, DataOf(line + 1));
  }
  for (LineNumber line = 0; line < 50; ++line) {
    EXPECT_EQ(victims.Value(line), line + 1);
  }
  EXPECT_EQ(victims->held(), 50u);
  EXPECT_EQ(victims->counts().overflowed,
            GetParam().first == VictimForm::kSetAssociative ? 48u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Forms, VictimCacheTest,
                         ::testing::Values(std::pair(kForms[0], kRules[0]),
                                           std::pair(kForms[0], kRules[1]),
                                           std::pair(kForms[1], kRules[0]),
                                           std::pair(kForms[1], kRules[1])));

// Both rules release the same lines after the same steps, whatever happens.
TEST(ReleaseRuleTest, WatermarksAndDependenceSetsReleaseTheSameLines) {
  for (VictimForm form : kForms) {
    uint64_t released = 0, out_of_order = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      std::mt19937_64 random(seed);
      const uint32_t ways = 1 + random() % 4;
      Victims watermark(form, ReleaseForm::kWatermark, 4, ways);
      Victims sets(form, ReleaseForm::kDependenceSets, 4, ways);
      std::set<WrapNumber> open;
      WrapNumber last = 0;
      for (int step = 0; step < 400; ++step) {
        const LineNumber line = random() % 60;
        switch (random() % 4) {
          case 0:
            if (open.size() == 10) break;
            open.insert(++last);
            watermark->Open(last);
            sets->Open(last);
            break;
          case 1: {
            if (open.empty()) break;
            const auto wrap = std::next(open.begin(), random() % open.size());
            if (wrap != open.begin()) ++out_of_order;
            watermark->MarkClean(line);
            sets->MarkClean(line);
            watermark->Retire(*wrap);
            sets->Retire(*wrap);
            open.erase(wrap);
            break;
          }
          default:
            watermark->Put(line, DataOf(step + 1));
            sets->Put(line, DataOf(step + 1));
            break;
        }
        ASSERT_EQ(watermark.released_, sets.released_) << seed << " " << step;
        ASSERT_EQ(watermark.written_, sets.written_) << seed << " " << step;
        ASSERT_EQ(watermark->held(), sets->held()) << seed << " " << step;
        ASSERT_EQ(watermark.Value(line), sets.Value(line));
      }
      released += watermark.released_.size();
    }
    EXPECT_GT(released, 10'000u);
    EXPECT_GT(out_of_order, 1'000u);
  }
}

}  // namespace
}  // namespace kamino::bench::controller
