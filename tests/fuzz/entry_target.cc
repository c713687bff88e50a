// A log entry as a peer may send it, or a ring may hold it: what is taken for
// one can be read to its end, and says of itself what it is.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "replica/log/log_entry.h"
#include "tests/fuzz/targets.h"
#include "tests/replica/change_entry.h"

namespace kamino::fuzz {
namespace {

using replica::LogEntry;
using replica::LogEntryDraft;
using replica::Mutation;

void Run(absl::string_view bytes) {
  // A checksum keeps chance out, not malice: it is made right.
  std::string entry(bytes);
  replica::FixChecksum(&entry);
  const auto checked = LogEntry::Check(entry);
  if (!checked.ok()) {
    CHECK(absl::IsDataLoss(checked.status())) << checked.status();
    CHECK(!checked.status().message().empty());
    return;
  }
  CHECK_GE(checked->last(), checked->first());
  CHECK_EQ(checked->last() - checked->first() + 1,
           checked->count() + checked->skipped());
  size_t names = 0;
  uint32_t count = 0;
  CHECK(checked
            ->VisitMutations([&](const replica::MutationView& mutation) {
              ++count;
              for (absl::string_view part :
                   {mutation.function, mutation.arguments}) {
                CHECK(part.empty() || (part.data() >= entry.data() &&
                                       part.data() + part.size() <=
                                           entry.data() + entry.size()));
                names += part.size();
              }
              return absl::OkStatus();
            })
            .ok());
  CHECK_EQ(count, checked->count());
  CHECK_LE(names, entry.size());
  const auto write_set = checked->WriteSet();
  CHECK(write_set.ok());
  if (!LogEntry::Check(entry, ChainMode::kImages).ok()) return;
  size_t intents = 0;
  const absl::Status visited = checked->VisitImages(
      [&](const engine::Intent& intent, absl::string_view image) {
        CHECK(intents < write_set->size() && intent == (*write_set)[intents]);
        ++intents;
        CHECK(image.empty() ||
              (image.data() >= entry.data() &&
               image.data() + image.size() <= entry.data() + entry.size()));
        CHECK_LE(image.size(), intent.length);
        return absl::OkStatus();
      });
  CHECK(visited.ok()) << visited;
  CHECK_EQ(intents, write_set->size());
  CHECK(checked->HashImages().ok());
}

std::vector<std::string> Seeds() {
  Mutation put;
  put.function = "kv.put";
  put.arguments = std::string(100, 'v');
  put.client_id = 7;
  put.number = 3;
  Mutation call;
  call.function = "bank.transfer";
  call.dropped_clients = {1, 2, 3};
  const engine::WriteSet write_set = {
      {4096, 0, 116, engine::IntentKind::kWrite},
      {8192, 0, 64, engine::IntentKind::kAlloc}};
  std::vector<std::string> seeds;
  for (const auto& mutations :
       std::vector<std::vector<const Mutation*>>{{&put}, {&put, &call}}) {
    LogEntryDraft draft;
    draft.first = 5;
    draft.chain_id = 1;
    draft.mutations = mutations;
    draft.write_set = &write_set;
    seeds.push_back(draft.ToString());
    const engine::AfterImage image = {7, {40}};
    const std::string bytes(200, 'i');
    const auto image_of = [&bytes](const engine::Intent& intent) {
      return absl::string_view(bytes).substr(0, intent.length);
    };
    draft.image = &image;
    draft.image_of.emplace(image_of);
    seeds.push_back(draft.ToString());
  }
  return seeds;
}

}  // namespace

std::string MutateEntry(const std::string& input, uint64_t seed, size_t max) {
  std::string entry = MutateBytes(input, seed, max);
  if (seed % 4 != 0) replica::FixLength(&entry);
  if (seed % 8 != 0) replica::FixChecksum(&entry);
  return entry;
}

Target EntryTarget() { return {"entry", Run, Seeds, MutateEntry}; }

}  // namespace kamino::fuzz
