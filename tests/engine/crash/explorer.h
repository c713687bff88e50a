// Memory under a store, which at any moment can be looked at as a crash would
// leave it.
//
// A crash point is every Drain, some of the Flushes, and wherever the workload
// says so between stores. At every Drain, and some of the Flushes, another
// thread may go on. At each, images are made of what is at risk, first in
// whole lines, then in single words; each is recovered and checked. Words stand
// for the crash points between single stores too: what a prefix of the stores
// leaves is one of the subsets of words. Some images are recovered on memory
// that has crash points itself.
#ifndef KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_
#define KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/pmem/cache_model.h"
#include "engine/pmem/plain_region.h"
#include "engine/pmem/sim_region.h"
#include "tests/engine/crash/oracle.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

struct ExplorerOptions {
  // Images in lines and in words at a crash point: every combination up to the
  // first, else as many as the second.
  size_t exhaustive = 64;
  size_t most = 32;
  size_t exhaustive_words = 32;
  size_t most_words = 12;
  // The same within recovery, in lines.
  size_t exhaustive_deep = 16;
  size_t most_deep = 8;

  // Of flushes, which are many, against drains.
  uint64_t flush_percent = 3;    // crash points
  uint64_t switch_percent = 25;  // let another thread go on
  uint64_t deep_one_in = 150;    // images are recovered with crash points

  // Not 0: chance does not decide which lines that nobody has flushed are
  // durable. A cache of that size does: those that it had to evict are, those
  // that it holds at the crash are lost.
  size_t cache_bytes = 0;
  size_t cache_ways = 11;

  // The memory is a file on a disk: SimRegion::SyncPages. Images are made in
  // pages first, and the kernel writes pages back by chance.
  bool pages = false;

  // Puts something between the store under test and its memory; null: nothing.
  std::function<std::unique_ptr<Region>(Region* memory, size_t area)> decorate;
  // Called before the first crash point, when all is well.
  std::function<void()> at_start;
};

struct ExplorerCounts {
  uint64_t points = 0;
  uint64_t images = 0;       // in all
  uint64_t torn_images = 0;  // in words
  uint64_t deep_images = 0;  // within recovery
  uint64_t repaired = 0;     // images of which lines were made again
  uint64_t losses = 0;       // images of which objects were lost
};

// What a crash has left, and what it is.
struct Survivor {
  std::vector<SimRegion::Image> memory;
  Found found;
};

class Explorer {
 public:
  Explorer(const Scheme* scheme, uint64_t seed, const ExplorerOptions& options);

  // Where the store under test lies.
  const std::vector<Region*>& regions() const { return regions_; }
  // Starts from a survivor's memory. No store may be open.
  void Restart(const Survivor& survivor);

  // Off at first.
  void Explore(bool on);
  // How many of the crash points there could be are looked at; 100 at first.
  void SetPercent(uint64_t percent) { percent_ = percent; }
  // Crash points are passed by while there have been so many images in all, but
  // for those that are looked at closely; all are looked at, at first. Bounds
  // how often threads take turns within calls as well.
  void SetAllowance(uint64_t images) { allowance_ = images; }
  void Expect(Expectation expectation) {
    expectation_ = std::move(expectation);
    ++expectations_;
  }
  // See SimRegion::ActAs.
  void ActAs(int thread);

  // A crash could be now.
  void CrashPoint() {
    if (random_() % 100 < percent_) CrashPoint("between stores");
  }

  // Somebody has read what lies there, in a region of the store under test.
  void Loaded(absl::Span<const std::byte> bytes);

  // Something that happened, for an account of a failure.
  void Note(std::string what);

  // The first image that was not right; nothing is explored any more.
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  void Fail(const std::string& failure);

  const ExplorerCounts& counts() const { return counts_; }
  // One of the images that were right, any of them.
  std::optional<Survivor> TakeSurvivor();

 private:
  using Memory = std::vector<std::unique_ptr<SimRegion>>;

  // Bytes that a crash may change: a page's, 64 or 8.
  struct Piece {
    size_t area;
    size_t offset;
    size_t length;
    std::vector<const std::byte*> outcomes;
  };

  void Hooked(const char* where, uint64_t crash_percent,
              uint64_t switch_percent);
  void LookAtBranches();
  // Lines that were stored to since the last time have come into the cache.
  void FollowStores();
  void UseLine(size_t area, size_t line);
  void CrashPoint(const char* where, bool closely = false);
  void DeepCrashPoint();
  std::vector<Piece> LinesOf(const Memory& memory) const;
  // Those that the lines lie in, or the lines themselves without `pages`.
  std::vector<Piece> WholesOf(const std::vector<Piece>& lines,
                              const Memory& memory) const;
  void WriteSomePageBack();
  static std::vector<Piece> WordsOf(const std::vector<Piece>& lines,
                                    const Memory& memory);
  bool SeenBefore(const std::vector<Piece>& lines);

  // Makes the images of `pieces` and checks each.
  void TryImages(const Memory& memory, const std::vector<Piece>& pieces,
                 size_t exhaustive, size_t most, bool deep, const char* where);
  // In three of four images at most one object of a code has lost lines, and so
  // none is lost.
  std::vector<CodedObjects> CodedNow() const;
  void SpareCoded(const std::vector<CodedObjects>& coded,
                  const std::vector<Piece>& pieces,
                  std::vector<uint8_t>* picks);
  // Of the image on the scratch regions.
  std::set<ObjectId> MayBeLost() const;
  // Losses that recovery reported are real, and can be got rid of.
  absl::Status CheckLosses(std::unique_ptr<Rig> rig,
                           const std::vector<Region*>& regions,
                           const Found& found);
  // What lies on `regions` recovers and is right.
  absl::StatusOr<Found> Check(const std::vector<Region*>& regions,
                              uint64_t seed);
  absl::StatusOr<Found> CheckDeep(uint64_t seed);
  std::string Account(const char* where, const std::vector<Piece>& pieces,
                      const std::vector<uint8_t>& picks,
                      const absl::Status& wrong) const;

  const Scheme& scheme_;
  const ExplorerOptions options_;
  std::mt19937_64 random_;

  Memory live_;  // under the store under test
  std::vector<std::unique_ptr<Region>> decorated_;
  std::vector<Region*> regions_;
  // Images are made and recovered here, or copied to where a recovery has
  // crash points.
  std::vector<std::unique_ptr<PlainRegion>> scratch_;
  std::vector<Region*> scratch_regions_;
  Memory deep_;
  std::vector<Region*> deep_regions_;

  std::optional<CacheModel> cache_;
  std::vector<SimRegion::Image> followed_;  // as of the last FollowStores

  // Of the crash point, and of the image.
  uint64_t durable_ = 0;
  std::set<ObjectId> may_be_lost_;

  uint64_t percent_ = 100;
  uint64_t allowance_ = UINT64_MAX;  // images
  uint64_t switches_ = 0;            // within calls
  // Branches of the engine come by before, in the process and in this run; and
  // the crash points that are looked at whatever chance says, after a new one.
  std::vector<uint64_t> reached_before_;
  std::vector<bool> reached_;
  int close_looks_ = 0;
  bool started_ = false;
  bool exploring_ = false;
  bool recovering_deep_ = false;
  Expectation expectation_;
  uint64_t expectations_ = 0;
  uint64_t last_seen_ = 0;
  ExplorerCounts counts_;
  std::optional<Survivor> survivor_;
  uint64_t survivors_ = 0;
  std::vector<std::string> notes_;
  std::string failure_;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_
