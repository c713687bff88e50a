// Damaged memory is noticed or harmless: opening it and working on it ends,
// with an error or without, and touches nothing outside. MUTANT=n in the
// environment repeats that one within the process.
#include "tests/engine/damage/damage_suite.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/explore.h"
#include "engine/index/key_value.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/session.h"
#include "tests/engine/crash/world.h"
#include "tests/engine/damage/guarded_region.h"
#include "tests/engine/damage/mutation.h"

namespace kamino::engine::damage {
namespace {

using crash::Rig;
using crash::Scheme;
using crash::Session;
using crash::World;

// For each scheme.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kMutants = 5000;
#else
constexpr uint64_t kMutants = 30000;
#endif
constexpr size_t kMostGrown = 64 * 100 + 4096;
constexpr unsigned kSecondsEach = 5;

// A store in the middle of its work: some transactions are not in the undo copy
// yet, one has not ended.
Images MakeImages(const Scheme& scheme) {
  std::vector<std::unique_ptr<SimRegion>> memory;
  std::vector<Region*> regions;
  for (const crash::Area& area : scheme.areas) {
    memory.push_back(absl::make_unique<SimRegion>(area.bytes));
    regions.push_back(memory.back().get());
  }
  auto rig = scheme.open(regions, /*make=*/true);
  EXPECT_TRUE(rig.ok()) << rig.status();
  EXPECT_TRUE(crash::MakeWorld(**rig).ok());
  std::mt19937_64 random(1);
  std::unique_ptr<Session> last;
  for (int i = 0; i < 80; ++i) {
    last = absl::make_unique<Session>(rig->get(), i % 3, /*world=*/nullptr,
                                      &random, [] {});
    bool done = true;
    for (int k = 0; k < 3 && done; ++k) done = last->DoSomething().ok();
    if (i == 79) break;
    if (!done || !last->transaction().Commit().ok()) continue;
    if (i < 74) (*rig)->store().Quiesce();
  }
  Images images;
  for (const auto& region : memory) {
    images.emplace_back(region->base(), region->base() + region->size());
  }
  return images;
}

bool Holds(const Region& region, const void* data, size_t length) {
  const size_t at = static_cast<const std::byte*>(data) - region.base();
  return at < region.size() && length <= region.size() - at;
}

// Reads all content and changes some of it. Errors are fine.
void Use(Rig& rig, const Region& heap, uint64_t seed) {
  const ObjectId root = rig.store().root();
  auto transaction = rig.store().Begin(absl::ZeroDuration());
  const auto look = [&](ObjectId id) {
    auto bytes = transaction->Read(id);
    if (!bytes.ok()) return false;
    CHECK(Holds(heap, bytes->data(), bytes->size())) << "served from outside";
    return true;
  };
  if (look(root)) {
    for (uint32_t i = 1; i <= crash::kDirectories; ++i) {
      auto directory = crash::ReadId(*transaction, root, i);
      if (!directory.ok() || !look(*directory)) continue;
      for (uint32_t slot = 0; slot < crash::kSlots; ++slot) {
        auto id = crash::ReadId(*transaction, *directory, slot);
        if (id.ok()) look(*id);
      }
    }
    auto tree = crash::ReadId(*transaction, root, 0);
    if (tree.ok()) {
      KeyValueReader reader(transaction.get(), *tree);
      const auto visit = [&](absl::string_view key,
                             const KeyValueReader::Entry& entry) {
        CHECK(Holds(heap, key.data(), key.size()) || key.empty());
        CHECK(Holds(heap, entry.value.data(), entry.value.size()) ||
              entry.value.empty());
        return true;
      };
      reader.Scan("", "", 1000, visit).IgnoreError();
      reader.RangeUnchangedSince("", "", 1).status().IgnoreError();
    }
  }
  transaction->Abort().IgnoreError();

  std::mt19937_64 random(seed);
  for (int i = 0; i < 3; ++i) {
    Session session(&rig, i, /*world=*/nullptr, &random, [] {});
    bool done = true;
    for (int k = 0; k < 2 && done; ++k) done = session.DoSomething().ok();
    if (done && i != 1) {
      session.transaction().Commit().IgnoreError();
    } else {
      session.transaction().Abort().IgnoreError();
    }
    rig.store().Quiesce();
  }
}

struct Tally {
  uint64_t mutant;  // at work
  uint64_t opened;
  uint64_t refused;
};

void TryMutants(const Scheme& scheme, const Images& images, uint64_t end,
                Tally* tally) {
  check_intents = false;  // differences to the undo copy are damage here
  std::vector<std::unique_ptr<GuardedRegion>> memory;
  std::vector<Region*> regions;
  for (const SimRegion::Image& image : images) {
    memory.push_back(
        absl::make_unique<GuardedRegion>(image.size() + kMostGrown));
    regions.push_back(memory.back().get());
  }
  for (; tally->mutant < end; ++tally->mutant) {
    alarm(kSecondsEach);
    Images damaged = images;
    Mutate(tally->mutant, &damaged);
    for (size_t i = 0; i < memory.size(); ++i) memory[i]->Load(damaged[i]);
    auto rig = scheme.open(regions, /*make=*/false);
    if (!rig.ok()) {
      ++tally->refused;
      continue;
    }
    ++tally->opened;
    const Region* const view = (*rig)->view();
    Use(**rig, view != nullptr ? *view : *memory[0], tally->mutant);
  }
}

class DamageTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DamageTest, UseOfDamagedMemoryEndsAndStaysInside) {
  const Scheme* scheme = nullptr;
  for (const Scheme& one : crash::Schemes()) {
    if (one.name == GetParam()) scheme = &one;
  }
  const Images images = MakeImages(*scheme);
  auto* tally =
      static_cast<Tally*>(mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *tally = Tally{};
  if (const char* only = std::getenv("MUTANT"); only != nullptr) {
    tally->mutant = std::strtoull(only, nullptr, 10);
    TryMutants(*scheme, images, tally->mutant + 1, tally);
    return;
  }
  int deaths = 0;
  // In processes of their own: after one has died the next continues.
  while (tally->mutant < kMutants && deaths < 20) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      TryMutants(*scheme, images, kMutants, tally);
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++deaths;
    Images damaged = images;
    ADD_FAILURE() << scheme->name << ", mutant " << tally->mutant << ": "
                  << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                          : "a sanitizer's report")
                  << "\n  " << Mutate(tally->mutant, &damaged);
    ++tally->mutant;
  }
  std::printf("%s: %llu opened, %llu refused\n", scheme->name.c_str(),
              static_cast<unsigned long long>(tally->opened),
              static_cast<unsigned long long>(tally->refused));
  // Much damage passes the opening, and is often noticed.
  EXPECT_GT(tally->opened, kMutants / 10);
  EXPECT_GT(tally->refused, kMutants / 10);
  munmap(tally, sizeof(Tally));
}

INSTANTIATE_TEST_SUITE_P(Schemes, DamageTest,
                         ::testing::ValuesIn(SchemesToDamage()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace kamino::engine::damage
