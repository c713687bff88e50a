#include "lab/controller/shared_cache.h"

#include "absl/strings/str_cat.h"

namespace kamino::bench::controller {

SharedCache::SharedCache(const Machine& machine, Controller* controller,
                         bool check)
    : machine_(machine),
      controller_(controller),
      lines_(machine.l3),
      check_(check) {}

std::optional<Time> SharedCache::Find(LineNumber line) {
  const auto* const entry = lines_.Find(line);
  if (entry == nullptr) return std::nullopt;
  return entry->payload.here;
}

Time SharedCache::Fetch(Time now, LineNumber line) {
  const Controller::Fetched fetched = controller_->Miss(now, line);
  auto* const place = lines_.Oldest(line);
  if (place->line != kNoLine && place->payload.dirty) {
    controller_->Evict(now, place->line, place->payload.data);
  }
  const Time here = fetched.at + 2 * machine_.path;
  lines_.Take(place, line, {fetched.data, /*dirty=*/false, here});
  return here;
}

void SharedCache::Warm(LineNumber line) {
  if (lines_.Peek(line) != nullptr) return;
  lines_.Take(lines_.Oldest(line), line, {});
}

uint64_t SharedCache::Load(WordNumber word) {
  const uint64_t value = lines_.Peek(LineOf(word))->payload.data.at(word);
  if (check_ && wrong_.ok()) {
    const auto latest = latest_.find(word);
    if (latest != latest_.end() && latest->second != value) {
      wrong_ = absl::InternalError(absl::StrCat("word ", word, " was read as ",
                                                value, ", and its latest is ",
                                                latest->second));
    }
  }
  return value;
}

uint64_t SharedCache::Store(WordNumber word) {
  State& state = lines_.Peek(LineOf(word))->payload;
  state.data.at(word) = ++values_;
  state.dirty = true;
  if (check_) latest_[word] = values_;
  return values_;
}

std::optional<Channel::Done> SharedCache::Flush(Time now, LineNumber line) {
  auto* const entry = lines_.Peek(line);
  if (entry == nullptr || !entry->payload.dirty) return std::nullopt;
  entry->payload.dirty = false;
  return controller_->Flush(now, line, entry->payload.data);
}

absl::Status SharedCache::Check() {
  if (!wrong_.ok()) return wrong_;
  for (const auto& [word, latest] : latest_) {
    const auto* const entry = lines_.Peek(LineOf(word));
    const uint64_t value = entry != nullptr
                               ? entry->payload.data.at(word)
                               : controller_->Visible(LineOf(word)).at(word);
    if (value == latest) continue;
    return absl::InternalError(
        absl::StrCat("Property 1: word ", word, " is ", value,
                     entry != nullptr ? " in the cache" : " behind the cache",
                     ", and its latest is ", latest));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::controller
