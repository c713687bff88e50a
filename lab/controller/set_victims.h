// The victim cache as hardware has it (WrAP, section 4): sets of a few ways,
// each with a tag of its own. What is free to go stays until its place is
// needed (section 3.2). Lines for which there is no place are the firmware's.
#ifndef KAMINO_LAB_CONTROLLER_SET_VICTIMS_H_
#define KAMINO_LAB_CONTROLLER_SET_VICTIMS_H_

#include <algorithm>
#include <utility>

#include "lab/controller/hashed_victims.h"
#include "lab/controller/set_associative.h"
#include "lab/controller/victim_cache.h"

namespace kamino::bench::controller {

template <typename Rule>
class SetVictims final : public VictimCache {
 public:
  SetVictims(const CacheShape& shape, WriteHome write_home)
      : VictimCache(std::move(write_home)),
        sets_(shape),
        overflow_([this](LineNumber line, const LineData& data) {
          GoHome(line, data);
        }) {
    overflow_.OnReleased([this](LineNumber line) {
      --held_;
      NoteReleased(line);
    });
  }

  void Open(WrapNumber wrap) override {
    rule_.Open(wrap);
    overflow_.Open(wrap);
  }

  // Older versions, which are in the overflow, before newer ones.
  void Retire(WrapNumber wrap) override {
    overflow_.Retire(wrap);
    rule_.Retire(wrap);
    for (Entry& entry : sets_.entries()) LookAt(&entry);
  }

  void Put(LineNumber line, const LineData& data) override {
    ++counts_.put;
    overflow_.Supersede(line);
    Entry* const entry = PlaceFor(line);
    ++held_;
    if (entry == nullptr) {
      ++counts_.overflowed;
      overflow_.Put(line, data);
    } else {
      sets_.Take(entry, line,
                 {data, /*dirty=*/true, /*free=*/false, rule_.Now()});
      LookAt(entry);
    }
    counts_.most = std::max(counts_.most, held_);
  }

  const LineData* Find(LineNumber line) override {
    const Entry* const entry = sets_.Find(line);
    const LineData* const data =
        entry != nullptr ? &entry->payload.data : overflow_.Find(line);
    if (data != nullptr) ++counts_.found;
    return data;
  }

  void MarkClean(LineNumber line) override {
    Entry* const entry = sets_.Peek(line);
    if (entry != nullptr) entry->payload.dirty = false;
    overflow_.Supersede(line);
  }

  uint64_t held() const override { return held_; }

 private:
  struct Version {
    LineData data;
    bool dirty = false;  // home may need it
    bool free = true;    // to go
    typename Rule::Tag tag{};
  };
  using Entry = typename SetAssociative<Version>::Entry;

  void LookAt(Entry* entry) {
    if (entry->line == kNoLine || entry->payload.free) return;
    if (!rule_.MayGo(&entry->payload.tag)) return;
    entry->payload.free = true;
    --held_;
    NoteReleased(entry->line);
  }

  // The entry of an older version, an empty one, or one of those that are free
  // to go: a clean one, else the least recently used, which goes home. Null:
  // none.
  Entry* PlaceFor(LineNumber line) {
    if (Entry* const older = sets_.Peek(line); older != nullptr) {
      if (!older->payload.free) {
        --held_;
        NoteReleased(line);
      }
      return older;
    }
    Entry* best = nullptr;
    for (Entry& entry : sets_.SetOf(line)) {
      if (entry.line == kNoLine) return &entry;
      if (!entry.payload.free) continue;
      if (best == nullptr || IsBetter(entry, *best)) best = &entry;
    }
    if (best != nullptr && best->payload.dirty) {
      GoHome(best->line, best->payload.data);
    }
    return best;
  }

  static bool IsBetter(const Entry& a, const Entry& b) {
    if (a.payload.dirty != b.payload.dirty) return !a.payload.dirty;
    return a.used < b.used;
  }

  Rule rule_;
  SetAssociative<Version> sets_;
  HashedVictims<Rule> overflow_;
  uint64_t held_ = 0;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_SET_VICTIMS_H_
